// The transport engine: lambda is lowered in stages, and in each the marginals are met by Sinkhorn
// iterations while these contract fast, else by truncated Newton steps on the semi-dual.
#include "remblai/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "base/linalg.h"
#include "base/memory.h"
#include "remblai/domain.h"
#include "remblai/error.h"
#include "transport/anderson.h"
#include "transport/costs.h"
#include "transport/kernel.h"

namespace remblai {
namespace {

// Points on the source side up to which a Newton step may factorise its matrix.
constexpr Index largest_factored = 4096;

// Of conjugate gradients in a Newton step.
constexpr int most_iterations = 500;

}  // namespace

struct Transport::Pairs {
  // From points (x, z, stored) or from a matrix of costs.
  template <class... Arguments>
  explicit Pairs(Precision precision, Arguments&&... arguments)
      : costs(precision == Precision::float64
                  ? AnyCosts(Costs<double>(std::forward<Arguments>(arguments)...))
                  : AnyCosts(Costs<float>(std::forward<Arguments>(arguments)...))) {}

  Index rows() const {
    return std::visit([](const auto& c) { return c.rows(); }, costs);
  }
  Index columns() const {
    return std::visit([](const auto& c) { return c.columns(); }, costs);
  }
  double largest() const {
    return std::visit([](const auto& c) { return c.largest(); }, costs);
  }
  double between(const Vector& alpha, const Vector& beta) const {
    return std::visit([&](const auto& c) { return c.between(alpha, beta); }, costs);
  }
  void make_kernel(const Vector& p, const Vector& q, int threads) {
    kernel =
        std::visit([&](const auto& c) { return remblai::make_kernel(c, p, q, threads); }, costs);
  }

  using AnyCosts = std::variant<Costs<double>, Costs<float>>;
  AnyCosts costs;
  std::unique_ptr<Kernel> kernel;  // the plan, at the end of a solve
};

// One solve. With b = q/(K' a) the dual is a concave function of log a alone:
//   phi(log a) = <p, log a> + <q, log b>   (per lambda),  gradient p - r,  r = a * (K b),
//   -Hessian   = diag(r) - P diag(1/q) P',  P = diag(a) K diag(b).
class Solver {
 public:
  Solver(Transport& problem, const TransportOptions& options)
      : problem_(problem),
        options_(options),
        p_(problem.p_),
        q_(problem.q_),
        kernel_(*problem.pairs_->kernel) {}

  TransportResult run(double lambda);

 private:
  double first_stage(double lambda);
  void restart(double lambda);
  bool reach(double tolerance);
  bool reach_by_anderson(double tolerance);
  void newton_step(double error);
  Vector newton_direction(const Vector& r, double error);
  bool factorise(const Vector& r);
  bool conjugate_gradients(const Vector& r, double error, double goal, int most, Vector& x,
                           Vector& residual);
  bool may_go_on(double error);
  void certify(double lambda, TransportResult& result);

  Transport& problem_;
  const TransportOptions& options_;
  const Vector& p_;
  const Vector& q_;
  Kernel& kernel_;
  int newton_steps_ = 0;
  linalg::FloatMatrix factor_;  // of a scaled Hessian, the preconditioner; empty: its diagonal is
  Vector root_;                 // that it was scaled by
  bool stale_ = false;          // it belongs to another lambda
  bool unfactorable_ = false;   // at this lambda
  bool stopped_ = false;
};

TransportResult Solver::run(double lambda) {
  TransportResult result;
  double stage = first_stage(lambda);
  while (true) {
    const bool last = stage <= lambda;
    // Between the stages the potentials only need to be close. At the end the check of what is
    // returned adds its rounding.
    result.converged = reach(last ? 0.9 * options_.tolerance : std::max(0.05, options_.tolerance));
    if (last || stopped_ || !kernel_.b.allFinite()) break;
    stage = std::max(lambda, stage / 2);
    restart(stage);
  }
  if (stage > lambda)
    restart(lambda);  // stopped early: what is returned belongs to lambda all the same
  kernel_.finish_rows();
  kernel_.potentials(problem_.f_, problem_.g_);
  result.stopped = stopped_;
  certify(lambda, result);
  return result;
}

// Potentials of an earlier solve that put most of the mass in its place are kept. Any other start
// is annealed from max cost / lambda <= 128: potentials change little when lambda halves.
double Solver::first_stage(double lambda) {
  if (problem_.g_.size() > 0) {
    kernel_.start(lambda, problem_.g_);
    if (kernel_.sinkhorn() < 0.5) return lambda;
  }
  double stage = lambda;
  if (options_.solver != SolverChoice::sinkhorn)
    while (problem_.pairs_->largest() > 128 * stage) stage *= 2;
  kernel_.start(stage, Vector::Zero(q_.size()));
  return stage;
}

// The same potentials, another lambda.
void Solver::restart(double lambda) {
  kernel_.potentials(problem_.f_, problem_.g_);
  kernel_.start(lambda, problem_.g_);
  stale_ = factor_.size() > 0;
  unfactorable_ = false;
}

bool Solver::may_go_on(double error) {
  if (options_.keep_going && !options_.keep_going(kernel_.counts().all(), error)) stopped_ = true;
  return !stopped_ && kernel_.counts().all() < options_.max_passes;
}

bool Solver::reach(double tolerance) {
  if (options_.solver == SolverChoice::anderson) return reach_by_anderson(tolerance);
  // Newton steps cost about 1/sqrt(1 - rate) passes, Sinkhorn about 1/(1 - rate).
  const double slow_rate = options_.solver == SolverChoice::newton ? 0 : 0.75;
  double last_error = 0, best = std::numeric_limits<double>::infinity();
  int in_vain = 0;  // Newton steps that did not lower the error, in the range of rounding
  for (int round = 0;; ++round) {
    const double error = kernel_.sinkhorn();
    if (error <= tolerance) return true;
    if (!std::isfinite(error) || !may_go_on(error) || in_vain > 30) return false;
    kernel_.keep_in_range();
    if (error < 0.9 * best || error > kernel_.rounding()) {
      best = error;
      in_vain = 0;
    }
    const bool slow = round >= 2 && error > slow_rate * last_error;
    if (slow && options_.solver != SolverChoice::sinkhorn) {
      newton_step(error);
      ++in_vain;
    }
    last_error = error;
  }
}

// Sinkhorn is a fixed-point iteration t = T(y) on the potentials of the columns. The next y is the
// combination of the last t whose residual t - y is shortest. An iterate that lowers the dual,
// which T itself never does but for rounding, and does not lower the error either, is taken back,
// and the memory with it.
bool Solver::reach_by_anderson(double tolerance) {
  Anderson memory(5);
  Vector y = kernel_.columns(), safe = y;
  double last_dual = -std::numeric_limits<double>::infinity(), last_error = 0;
  while (true) {
    const Vector before = kernel_.b;
    kernel_.sinkhorn();
    const double error = q_.dot((before.cwiseQuotient(kernel_.b).array() - 1).abs().matrix());
    const double dual = kernel_.dual();
    if (!(dual >= last_dual || error < last_error) && !memory.empty()) {
      kernel_.set_columns(safe);
      y = kernel_.columns();
      memory.clear();
      continue;
    }
    if (error <= tolerance) return true;
    if (!std::isfinite(error) || !may_go_on(error)) return false;
    last_dual = dual;
    last_error = error;
    const int made = kernel_.counts().exponentials;
    kernel_.keep_in_range();
    safe = kernel_.columns();
    kernel_.set_columns(y = memory.next(y, safe));
    if (kernel_.counts().exponentials > made) {  // K was made anew, with an iteration of its own
      memory.clear();
      y = kernel_.columns();
    }
  }
}

void Solver::newton_step(double error) {
  const Vector r = kernel_.a.cwiseProduct(kernel_.times(kernel_.b));
  ++newton_steps_;
  const Vector direction = newton_direction(r, error);
  const double slope = direction.dot(p_ - r);
  if (!(slope > 0)) return;
  const Vector a = kernel_.a, b = kernel_.b;
  double step = std::min(1.0, kernel_.longest_step() / direction.cwiseAbs().maxCoeff());
  for (int attempt = 0; attempt < 12; ++attempt, step /= 2) {
    kernel_.a = a.array() * (step * direction).array().exp();
    kernel_.b = q_.cwiseQuotient(kernel_.transpose_times(kernel_.a));
    const double gain =
        step * p_.dot(direction) + q_.dot((kernel_.b.array() / b.array()).log().matrix());
    if (gain >= 1e-4 * step * slope - 1e-15) {
      kernel_.keep_in_range();
      return;
    }
  }
  kernel_.a = a;
  kernel_.b = b;
}

// Conjugate gradients with the preconditioner at hand, as long as that costs less than a new one.
Vector Solver::newton_direction(const Vector& r, double error) {
  const double m = static_cast<double>(p_.size()), n = static_cast<double>(q_.size());
  // Iterations in the time of a factorisation: one reads 16 m n bytes, the other makes m^2 n +
  // m^3/3 multiply-adds in float.
  const int worth = static_cast<int>((m + m * m / (3 * n)) / 30);
  const double goal = std::max(std::clamp(error, 1e-3, 0.1), 0.1 * options_.tolerance / error);
  const bool may_factorise = p_.size() <= largest_factored && kernel_.stored() && !unfactorable_;
  Vector x = Vector::Zero(r.size()), residual = p_ - r;
  const auto reached = [&](int most) {
    return conjugate_gradients(r, error, goal, most, x, residual);
  };
  const bool fresh = stale_ && may_factorise && factorise(r);
  const int patience = factor_.size() == 0 ? worth : std::max(3, worth / 6);
  if (may_factorise && !fresh) {
    if (reached(patience)) return x;
    factorise(r);
  }
  reached(factor_.size() > 0 ? std::max(20, worth) : most_iterations);
  return x;
}

// H = diag(r) - P diag(1/q) P', scaled by diag(r)^-1/2 from both sides, becomes the preconditioner
// by Cholesky's factor in float, which is enough for that. H has the null vector 1, and the
// right-hand side is orthogonal to it: r r'/sum(r) is added. False when H is singular to working
// precision beyond that.
bool Solver::factorise(const Vector& r) {
  stale_ = false;
  root_ = r.cwiseSqrt();
  const Eigen::VectorXf null = (root_ / root_.norm()).cast<float>();
  factor_.resize(r.size(), r.size());
  for (Index i = 0; i < r.size(); ++i) {
    factor_.row(i).head(i + 1) = null[i] * null.head(i + 1).transpose();
    factor_(i, i) += 1 + 1e-6F;
  }
  linalg::subtract_gram_of_rows(
      kernel_.rounded(kernel_.a.cwiseQuotient(root_), kernel_.b.cwiseQuotient(q_.cwiseSqrt())),
      factor_);
  unfactorable_ = !linalg::cholesky_in_place(factor_);
  if (unfactorable_) factor_.resize(0, 0);
  return !unfactorable_;
}

// For H x = p - r, on from x and its residual, which it updates, until the L1 norm of the residual
// is `goal` times that of p - r, or for `most` iterations. The matrix has the null vector 1; the
// right-hand side is orthogonal to it and so stay the iterates, up to rounding. Whatever its end, x
// is a direction of ascent. True when there is nothing left to do.
bool Solver::conjugate_gradients(const Vector& r, double error, double goal, int most, Vector& x,
                                 Vector& residual) {
  const Vector w = kernel_.b.cwiseAbs2().cwiseQuotient(q_);
  Vector diagonal;
  if (factor_.size() == 0)
    diagonal =
        (r - kernel_.a.cwiseAbs2().cwiseProduct(kernel_.squares_times(w))).cwiseMax(1e-6 * r);
  const auto preconditioned = [&](const Vector& y) -> Vector {
    if (factor_.size() == 0) return y.cwiseQuotient(diagonal);
    Eigen::VectorXf scaled = y.cwiseQuotient(root_).cast<float>();
    linalg::solve_factored(factor_, scaled);
    return scaled.cast<double>().cwiseQuotient(root_);
  };
  const double enough = goal * (p_ - r).lpNorm<1>();
  Vector z = preconditioned(residual);
  Vector d = z;
  double rho = residual.dot(z);
  for (int k = 0; k < most; ++k) {
    if (residual.lpNorm<1>() <= enough) return true;
    if (k > 0 && !may_go_on(error)) return true;
    const Vector t = w.cwiseProduct(kernel_.transpose_times(kernel_.a.cwiseProduct(d)));
    const Vector product = r.cwiseProduct(d) - kernel_.a.cwiseProduct(kernel_.times(t));
    const double curvature = d.dot(product);
    if (!(curvature > 0)) return true;
    const double alpha = rho / curvature;
    x += alpha * d;
    residual -= alpha * product;
    z = preconditioned(residual);
    const double next = residual.dot(z);
    d = z + (next / rho) * d;
    rho = next;
  }
  return residual.lpNorm<1>() <= enough;
}

// Marginals, cost and an upper bound of the duality gap of the returned potentials. P is rounded
// onto Pi(p, q): rows and columns scaled down by x and y, then the missing mass alpha beta'/tau
// added. The gap of the rounded plan is lambda KL(rounded | P), bounded from above by the log-sum
// inequality, which needs no logarithm of a matrix.
void Solver::certify(double lambda, TransportResult& result) {
  const Vector& f = problem_.f_;
  const Vector& g = problem_.g_;
  Vector& rows = problem_.row_sums_;
  Vector& columns = problem_.column_sums_;
  result.cost = kernel_.measure(lambda, f, g, rows, columns);
  // ln P = (f + g - c)/lambda
  result.entropy = (result.cost - rows.dot(f) - columns.dot(g)) / lambda;
  result.source_error = (rows - p_).lpNorm<1>();
  result.target_error = (columns - q_).lpNorm<1>();
  const double mass = rows.sum();
  result.dual = p_.dot(f) + q_.dot(g) + lambda * (1 - mass);

  const Vector x = p_.cwiseQuotient(rows).cwiseMin(1);
  const Vector scaled_columns = kernel_.transpose_times(x);
  const Vector y = q_.cwiseQuotient(scaled_columns).cwiseMin(1);
  const Vector kept_rows = x.cwiseProduct(kernel_.times(y));
  const Vector kept_columns = scaled_columns.cwiseProduct(y);
  const Vector alpha = (p_ - kept_rows).cwiseMax(0);
  const Vector beta = (q_ - kept_columns).cwiseMax(0);
  const double tau = std::min(alpha.sum(), beta.sum());

  const auto x_log_x = [](double v) { return v > 0 ? v * std::log(v) : 0.0; };
  double divergence = kept_rows.dot(x.array().log().matrix()) +
                      kept_columns.dot(y.array().log().matrix()) + mass - 1;
  if (tau > 0 && tau < 1) {
    const double moved_cost = problem_.pairs_->between(alpha, beta) / tau;
    divergence += -x_log_x(1 - tau) + alpha.unaryExpr(x_log_x).sum() +
                  beta.unaryExpr(x_log_x).sum() - 2 * x_log_x(tau) -
                  (alpha.dot(f) + beta.dot(g) - moved_cost) / lambda;
  }
  result.gap = divergence < 0 ? 0 : lambda * divergence;  // NaN stays NaN
  result.by_kind = kernel_.counts();
  result.passes = result.by_kind.all();
  result.newton_steps = newton_steps_;
  // Rounding of the potentials may add its share to what the iterations reached.
  const double limit = options_.tolerance + 1e-11;
  result.converged =
      result.converged && result.source_error <= limit && result.target_error <= limit;
}

Transport::Transport(Vector p, Vector q, const EngineOptions& engine)
    : p_(std::move(p)), q_(std::move(q)), engine_(engine) {
  engine_.threads = std::max(1, engine_.threads);
  for (const Vector* weights : {&p_, &q_})
    if (weights->size() == 0 || !(weights->minCoeff() > 0) ||
        !(std::abs(weights->sum() - 1) < 1e-9))
      throw Error("weights: not positive with sum 1; the function transport() takes any weights");
  const double smallest = std::min(p_.minCoeff(), q_.minCoeff());
  if (engine_.precision == Precision::float32 && smallest < 1e-20)
    throw Error(fmt::format(
        "weights: {:.1e} of all is too little for float; give the precision double", smallest));
}

Transport::~Transport() = default;

void Transport::set_points(const Matrix& x, const Matrix& z) {
  if (x.cols() != z.cols())
    throw Error(
        fmt::format("points: {} and {} coordinates; both sides need the same", x.cols(), z.cols()));
  require_finite(x, "points");
  require_finite(z, "points");
  if (engine_.memory == 0) engine_.memory = available_memory() / 2;
  // Costs, kernel, and the plan in float that Newton steps may factorise.
  const double each = engine_.precision == Precision::float64 ? 20 : 12;
  const double m = static_cast<double>(x.rows()), n = static_cast<double>(z.rows());
  const double needed = each * m * n + (x.rows() <= largest_factored ? 4 * m * m : 0);
  const linalg::Threads scope(engine_.threads);
  pairs_.reset();
  use(std::make_unique<Pairs>(engine_.precision, x, z, needed <= engine_.memory));
}

void Transport::set_cost(Matrix cost) {
  require_finite(cost, "cost");
  pairs_.reset();
  use(std::make_unique<Pairs>(engine_.precision, std::move(cost)));
}

void Transport::use(std::unique_ptr<Pairs> pairs) {
  if (pairs->rows() != p_.size() || pairs->columns() != q_.size())
    throw Error(
        fmt::format("cost: {} x {} for {} source and {} target weights; the sizes must agree",
                    pairs->rows(), pairs->columns(), p_.size(), q_.size()));
  if (!std::isfinite(pairs->largest()))
    throw Error("cost: the distances are too large for double precision; rescale the points");
  pairs_ = std::move(pairs);
}

void Transport::start_from(Vector g) {
  if (g.size() != q_.size())
    throw Error(fmt::format("start: {} potentials for {} target weights; the sizes must agree",
                            g.size(), q_.size()));
  require_finite(g, "start");
  g_ = std::move(g);
}

TransportResult Transport::solve(double lambda, const TransportOptions& options) {
  if (!(lambda > 0 && std::isfinite(lambda)))
    throw Error(
        fmt::format("lambda: {} is not a positive finite number; for lambda = 0 use "
                    "exact_transport",
                    lambda));
  if (!(options.tolerance > 0))
    throw Error(fmt::format("tolerance: {} is not positive", options.tolerance));
  if (!pairs_) throw Error("cost: none was set; call set_cost or set_points before solve");
  const linalg::Threads scope(engine_.threads);
  pairs_->make_kernel(p_, q_, engine_.threads);
  return Solver(*this, options).run(lambda);
}

const Kernel& Transport::solved() const {
  if (!pairs_ || !pairs_->kernel) throw Error("plan: there is none before solve");
  return *pairs_->kernel;
}

Matrix Transport::plan_times(const Matrix& y) const {
  const linalg::Threads scope(engine_.threads);
  return solved().times(y);
}

Matrix Transport::plan() const {
  const linalg::Threads scope(engine_.threads);
  return solved().scaled(Vector::Ones(p_.size()), Vector::Ones(q_.size()));
}

TransportPlan transport(const MatrixView& cost, const Vector& p, const Vector& q, double lambda,
                        const TransportOptions& options, const EngineOptions& engine,
                        const Vector& start) {
  require_finite(cost, "cost");
  // The cost says how many points there are; the weights are checked like those of a domain.
  const Domain source{Matrix::Zero(cost.rows(), 1), {}, p};
  const Domain target{Matrix::Zero(cost.cols(), 1), {}, q};
  source.validate("source");
  target.validate("target");
  const Vector all_p = source.probabilities();
  const Vector all_q = target.probabilities();
  const std::vector<Index> rows = positive_entries(all_p);
  const std::vector<Index> columns = positive_entries(all_q);

  Transport problem(all_p(rows), all_q(columns), engine);
  const bool whole = static_cast<Index>(rows.size()) == cost.rows() &&
                     static_cast<Index>(columns.size()) == cost.cols();
  problem.set_cost(whole ? Matrix(cost) : Matrix(cost(rows, columns)));
  if (start.size() > 0) {
    if (start.size() != cost.cols() || !start(columns).allFinite())
      throw Error(
          fmt::format("start: give a finite potential for each of {} columns", cost.cols()));
    problem.start_from(start(columns));
  }
  const double none = -std::numeric_limits<double>::infinity();
  TransportPlan out;
  out.result = problem.solve(lambda, options);
  out.f = Vector::Constant(cost.rows(), none);
  out.g = Vector::Constant(cost.cols(), none);
  out.f(rows) = problem.f();
  out.g(columns) = problem.g();
  out.plan = problem.plan();
  if (!whole) {
    Matrix all = Matrix::Zero(cost.rows(), cost.cols());
    all(rows, columns) = out.plan;
    out.plan = std::move(all);
  }
  return out;
}

}  // namespace remblai

// The functions `transport`: one problem of given costs, solved once. Points without weight take no
// part.
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/linalg.h"
#include "remblai/domain.h"
#include "remblai/error.h"
#include "remblai/transport.h"

namespace remblai {
namespace {

// The same problem in another unit of the cost, 2^-shift of it.
TransportPlan transport_in_unit(int shift, const MatrixView& cost, const Vector& p, const Vector& q,
                                double lambda, TransportOptions options, const Resources& resources,
                                const Vector& start) {
  const auto there = [shift](double value) { return std::ldexp(value, shift); };
  const auto back = [shift](double value) { return std::ldexp(value, -shift); };
  options.relax_source = there(options.relax_source);
  options.relax_target = there(options.relax_target);
  TransportPlan out = transport(Matrix(cost.unaryExpr(there)), p, q, there(lambda), options,
                                resources, Vector(start.unaryExpr(there)));
  out.f = out.f.unaryExpr(back).eval();
  out.g = out.g.unaryExpr(back).eval();
  TransportResult& result = out.result;
  for (double* value : {&result.cost, &result.relaxation, &result.dual, &result.gap})
    *value = back(*value);
  return out;
}

// Where 1/lambda would overflow, the problem has another unit.
constexpr double least_lambda = 0x1p-960;

void require_no_comm(const Resources& resources) {
  if (resources.comm)
    throw Error({.field = "comm",
                 .problem = "this function works in one process",
                 .remedy = "use the class Transport, or give no comm"});
}

// Weights as a solve takes them, and where they are positive.
struct Sides {
  Sides(Index m, Index n, const Vector& given_p, const Vector& given_q,
        const TransportOptions& options);
  bool whole() const {
    return static_cast<Index>(rows.size()) == p.size() &&
           static_cast<Index>(columns.size()) == q.size();
  }
  void start(Transport& problem, const Vector& from) const;

  Vector p, q;
  std::vector<Index> rows, columns;
};

// They are checked like those of a domain.
Sides::Sides(Index m, Index n, const Vector& given_p, const Vector& given_q,
             const TransportOptions& options) {
  const Domain source{Matrix::Zero(m, 1), {}, given_p}, target{Matrix::Zero(n, 1), {}, given_q};
  source.validate("source");
  target.validate("target");
  p = source.probabilities();
  q = target.probabilities();
  if (options.relax_source > 0 || options.relax_target > 0) {
    if (given_p.size() > 0) p *= given_p.sum();
    if (given_q.size() > 0) q *= given_q.sum();
  }
  rows = positive_entries(p);
  columns = positive_entries(q);
}

void Sides::start(Transport& problem, const Vector& from) const {
  if (from.size() == 0) return;
  if (from.size() != q.size() || !from(columns).allFinite())
    throw Error({.field = "start",
                 .value = fmt::format("{} potentials", from.size()),
                 .problem = fmt::format("for {} columns, or not finite", q.size()),
                 .remedy = "give a finite potential for each column"});
  problem.start_from(from(columns));
}

}  // namespace

TransportPlan transport(const MatrixView& cost, const Vector& p, const Vector& q, double lambda,
                        const TransportOptions& options, const Resources& resources,
                        const Vector& start) {
  require_no_comm(resources);
  require_finite(cost, "cost");
  if (lambda > 0 && lambda < least_lambda && cost.size() > 0 &&
      cost.cwiseAbs().maxCoeff() < 0x1p+100)
    return transport_in_unit(900, cost, p, q, lambda, options, resources, start);
  const Sides sides(cost.rows(), cost.cols(), p, q, options);
  const auto& [all_p, all_q, rows, columns] = sides;

  Transport problem(all_p(rows), all_q(columns), resources);
  problem.set_cost(sides.whole() ? Matrix(cost) : Matrix(cost(rows, columns)));
  sides.start(problem, start);
  TransportPlan out;
  out.result = problem.solve(lambda, options);
  out.f = linalg::spread(problem.f(), rows, cost.rows());
  out.g = linalg::spread(problem.g(), columns, cost.cols());
  out.plan = problem.plan();
  if (!sides.whole()) {
    Matrix all = Matrix::Zero(cost.rows(), cost.cols());
    all(rows, columns) = out.plan;
    out.plan = std::move(all);
  }
  return out;
}

TransportOnGpu transport(const MatrixOnGpu& cost, const Vector& p, const Vector& q, double lambda,
                         const TransportOptions& options, const Resources& resources,
                         const Vector& start) {
  require_no_comm(resources);
  const Sides sides(cost.rows, cost.columns, p, q, options);
  Resources there = resources;
  if (there.device == Device::automatic)
    there.device = static_cast<Device>(static_cast<int>(Device::cuda) + cost.gpu);

  Transport problem(sides.p, sides.q, there);
  problem.set_cost(cost);
  sides.start(problem, start);
  TransportOnGpu out;
  out.result = problem.solve(lambda, options);
  out.f = problem.f();
  out.g = problem.g();
  out.plan = problem.plan_on_gpu();
  return out;
}

}  // namespace remblai

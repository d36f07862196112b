// A session whose targets are placed once, and labelled by inner products alone.
#include "remblai/fit_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/linalg.h"
#include "fit/session.h"
#include "remblai/error.h"
#include "remblai/threads.h"
#include "transport/engine.h"

namespace remblai {
namespace {

using linalg::Op;

// |t - y|^2 up to |t|^2 for all targets t and the barycentres y = sum_k w_k z_k of the first of
// them, from inner products alone: t'y and y'y follow from t'z.
Matrix distances_to_barycentres(const Matrix& products, const Matrix& weights) {
  Matrix distances(products.rows(), weights.rows());
  linalg::gemm(Op::none, products, Op::transpose, weights, -2, 0, distances);
  // y'y = -sum_k w_k distance_k / 2, some rows at a time, so that both matrices are in a cache.
  Eigen::RowVectorXd squares = Eigen::RowVectorXd::Zero(weights.rows());
  constexpr Index some = 16;
  for (Index first = 0; first < weights.cols(); first += some) {
    const Index count = std::min(some, weights.cols() - first);
    const Matrix beside = weights.middleCols(first, count).transpose();
    squares -= 0.5 * distances.middleRows(first, count).cwiseProduct(beside).colwise().sum();
  }
  distances.rowwise() += squares;
  return distances;
}

}  // namespace

struct REMBLAI_LOCAL FitPath::State {
  State(const Problem& problem, const Options& options, const MatrixView& points)
      : session(problem, options, Span::with_origin), common(options) {
    if (options.resources.comm)
      throw Error({.field = "comm",
                   .problem = "a path of fits works in one process",
                   .remedy = "give no comm, or fit one after another"});
    require_finite(points, "points");
    if (points.rows() > 0 && points.cols() != problem.target.dimension())
      throw Error({.field = "points",
                   .value = fmt::format("{} coordinates", points.cols()),
                   .problem = fmt::format("for a target of {}", problem.target.dimension()),
                   .remedy = "give points with the features of the problem"});
    targets = session.scaler().apply(problem.target.points);
    further = points.rows() > 0 ? session.scaler().apply(points) : Matrix(0, targets.cols());
  }

  // Inner products, in the metric of the neighbour rule, of all targets with those of positive
  // weight. They stay the same while a fixed metric does.
  const Matrix& inner_products(KnnMetric metric);

  Session session;
  Options common;
  Matrix targets, further;   // preprocessed
  std::vector<Index> order;  // of the targets: those of positive weight, then the others
  Matrix placed;             // coordinates of the targets in this order, then of the further points
  const Space* placed_in = nullptr;
  Matrix products;
  int products_version = -1;  // of the metric
  KnnMetric products_metric = KnnMetric::model;
};

// What lies outside the span is equally far from all mapped points: it changes no neighbour.
const Matrix& FitPath::State::inner_products(KnnMetric metric) {
  const Space& space = session.space();
  if (placed_in != &space) {
    order = space.target_rows;
    for (Index j = 0, next = 0; j < targets.rows(); ++j) {
      const bool moved = next < space.z.rows() && order[static_cast<std::size_t>(next)] == j;
      if (moved)
        ++next;
      else
        order.push_back(j);
    }
    Matrix all(targets.rows() + further.rows(), targets.cols());
    all << targets(order, Eigen::all), further;
    placed = space.frame.coordinates(all);
    placed_in = &space;
    products_version = -1;
  }
  if (products_version == session.metric_version() && products_metric == metric) return products;
  const Matrix seen = metric == KnnMetric::euclidean ? placed : session.learner().embed(placed);
  products = linalg::multiply(seen, seen.topRows(space.z.rows()), Op::none, Op::transpose);
  products_version = session.metric_version();
  products_metric = metric;
  return products;
}

FitPath::FitPath(const Problem& problem, const Options& options, const MatrixView& points)
    : state_(std::make_unique<State>(problem, options, points)) {}
FitPath::~FitPath() = default;
FitPath::FitPath(FitPath&&) noexcept = default;
FitPath& FitPath::operator=(FitPath&&) noexcept = default;

void FitPath::fit(const Options& options, const Callback& callback) {
  Options whole = options;
  whole.preprocess = state_->common.preprocess;
  whole.resources = state_->common.resources;
  state_->session.fit(whole, {.diagnostics = Diagnostics::brief, .callback = callback});
}

const std::vector<Step>& FitPath::history() const {
  return state_->session.history();
}
const Status& FitPath::status() const {
  return state_->session.status();
}
Model FitPath::model() const {
  return state_->session.model();
}

Labels FitPath::labels(const PredictOptions& options) const {
  const Session& session = state_->session;
  session.require_fit();
  if (session.source_labels().size() == 0)
    throw Error({.field = "source-labels",
                 .value = {},
                 .problem = "there are none to carry over",
                 .remedy = "give a label for each source point"});
  const Space& space = session.space();
  const Resources& resources = state_->common.resources;
  const DenseWork scope(thread_count(resources.threads), resources, space.x.rows(), space.z.rows());
  const bool nearest = options.rule == Rule::automatic || options.rule == Rule::nearest;
  if (session.options().method == Method::class_aware || !nearest) {
    const Model model = session.model();
    const Predictor predictor(model, options);
    Labels all(state_->targets.rows() + state_->further.rows());
    all << predictor(model.scaler.undo(state_->targets)),
        predictor(model.scaler.undo(state_->further));
    return all;
  }
  Matrix plan = session.planner().plan();
  const Vector sums = plan.rowwise().sum();
  // A point that a relaxed plan leaves without mass goes nowhere and has no vote.
  const std::vector<Index> voters = positive_entries(sums);
  if (static_cast<Index>(voters.size()) < plan.rows()) plan = Matrix(plan(voters, Eigen::all));
  plan.array().colwise() *= sums(voters).cwiseInverse().array();
  const Labels voices = session.source_labels()(space.source_rows);
  options.validate(static_cast<Index>(voters.size()));
  const Labels found = nearest_labels_by_distance(
      distances_to_barycentres(state_->inner_products(options.knn_metric), plan), voices(voters),
      options.neighbours);
  Labels labels = found;
  for (std::size_t k = 0; k < state_->order.size(); ++k)
    labels[state_->order[k]] = found[static_cast<Index>(k)];
  return labels;
}

void fit_path(const Problem& problem, std::span<const Options> grid,
              const std::function<bool(std::size_t place, const FitPath& fit)>& visit,
              const MatrixView& points) {
  if (grid.empty()) return;
  FitPath path(problem, grid.front(), points);
  for (std::size_t place = 0; place < grid.size(); ++place) {
    path.fit(grid[place]);
    if (!visit(place, path)) return;
  }
}

}  // namespace remblai

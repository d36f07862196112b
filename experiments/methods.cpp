// What a task shares is made once: the span and its coordinates, the first moment, and each path
// along lambda, of which one may serve several methods.
#include "methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <tuple>

#include "base/linalg.h"
#include "fit/alternation.h"
#include "fit/space.h"
#include "remblai/error.h"
#include "remblai/evaluate.h"
#include "remblai/io.h"
#include "remblai/predict.h"
#include "remblai/preprocess.h"
#include "transport/pairs.h"

namespace remblai::experiments {
namespace {

using linalg::Op;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

constexpr std::array methods{
    Method{"none", "no adaptation", Kind::no_transport},
    Method{"exact", "exact OT_I", Kind::exact},
    Method{"ot-identity", "OT_I"},
    Method{"ot-w", "OT_W", Kind::entropic, MetricChoice::w, PriorChoice::identity, true},
    Method{"ot-w-inverse", "OT_W^-1", Kind::entropic, MetricChoice::w_inverse,
           PriorChoice::identity, true},
    Method{"learned", "Proposed", Kind::entropic, MetricChoice::learned},
    Method{"learned-ridge", "Proposed, ridge tuned", Kind::entropic, MetricChoice::learned,
           PriorChoice::identity, true},
    Method{"learned-w", "Proposed, D = W", Kind::entropic, MetricChoice::learned, PriorChoice::w},
    Method{"learned-w-inverse", "Proposed, D = W^-1", Kind::entropic, MetricChoice::learned,
           PriorChoice::w_inverse},
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Of all points with the first `count` of them.
Matrix inner_products(const Matrix& points, Index count) {
  return linalg::multiply(points, points.topRows(count), Op::none, Op::transpose);
}

// |t - y|^2 up to |t|^2 for all targets t and the barycentres y of the first of them, from inner
// products alone: y = sum_k w_k z_k, and t'y and y'y follow from t'z.
Matrix distances_to_barycentres(const Matrix& products, const Matrix& weights) {
  Matrix distances(products.rows(), weights.rows());
  linalg::gemm(Op::none, products, Op::transpose, weights, -2, 0, distances);
  const Vector squares =
      -0.5 * distances.topRows(weights.cols()).transpose().cwiseProduct(weights).rowwise().sum();
  distances.rowwise() += squares.transpose();
  return distances;
}

// A learned metric may keep the ridge it has untuned.
std::vector<double> tuned_ridges(const Method& method, const Settings& settings) {
  std::vector<double> ridges = settings.ridges;
  const double untuned = settings.options.ridge;
  if (method.metric == MetricChoice::learned &&
      std::find(ridges.begin(), ridges.end(), untuned) == ridges.end())
    ridges.push_back(untuned);
  std::sort(ridges.rbegin(), ridges.rend());
  return ridges;
}

class TaskRunner {
 public:
  TaskRunner(const Split& split, const Settings& settings, const std::function<bool()>& stop);

  /// Throws Stopped.
  std::vector<Trial> runs(const Method& method);

  struct Stopped {};

 private:
  using Key = std::tuple<Kind, MetricChoice, PriorChoice, double>;

  Trial without_adaptation() const;
  const std::vector<Trial>& path(const Method& method, double ridge);
  std::vector<Trial> walk(const Method& method, double ridge);
  void score(Trial& run, const Matrix& distances) const;

  const Settings& settings_;
  const std::function<bool()>& stop_;
  Labels train_labels_, test_labels_;
  Problem problem_;  // preprocessed
  Space space_;
  Matrix targets_;  // train, then test, in the coordinates of the space
  std::map<Key, std::vector<Trial>> paths_;
};

TaskRunner::TaskRunner(const Split& split, const Settings& settings,
                       const std::function<bool()>& stop)
    : settings_(settings),
      stop_(stop),
      train_labels_(split.train.labels),
      test_labels_(split.test.labels) {
  const Scaler scaler = fit_scaler(settings.options.preprocess, split.source, split.train);
  problem_.source = {scaler.apply(split.source.points), split.source.labels, {}};
  problem_.target.points = scaler.apply(split.train.points);
  space_ = make_shared_space(problem_, problem_.source.points, problem_.target.points);
  // What lies outside the span is equally far from all mapped points: it changes no neighbour.
  targets_.resize(split.train.size() + split.test.size(), space_.rank());
  targets_ << space_.z, space_.frame.coordinates(scaler.apply(split.test.points));
}

// `distances` between all targets and the labelled points.
void TaskRunner::score(Trial& run, const Matrix& distances) const {
  const Labels labels = nearest_labels_by_distance(distances, problem_.source.labels,
                                                   settings_.prediction.neighbours);
  const Index train = train_labels_.size();
  run.train_accuracy = evaluate(labels.head(train), train_labels_).accuracy();
  run.test_accuracy = evaluate(labels.tail(test_labels_.size()), test_labels_).accuracy();
}

Trial TaskRunner::without_adaptation() const {
  const auto start = Clock::now();
  Trial run;
  run.lambda = run.ridge = none;
  Matrix distances;
  squared_distances(targets_, space_.x, distances);
  score(run, distances);
  run.seconds = seconds_since(start);
  return run;
}

std::vector<Trial> TaskRunner::walk(const Method& method, double ridge) {
  Options options = settings_.options;
  options.metric = method.metric;
  options.prior = method.prior;
  const bool learned = method.metric == MetricChoice::learned;
  if (method.tunes_ridge) (learned ? options.ridge : options.prior_ridge) = ridge;
  const bool euclidean = settings_.prediction.knn_metric == KnnMetric::euclidean;
  auto start = Clock::now();  // what comes before the first run belongs to it
  set_reference(space_, problem_, options);
  Alternation alternation(space_, options, 1, Diagnostics::brief,
                          [this](const Progress&) { return !stop_(); });
  std::vector<Trial> runs;
  Matrix targets = targets_;  // in the metric of the neighbour rule
  Matrix products;            // of all targets with those that were fitted
  const std::vector<double> exact{0};
  for (const double lambda : method.kind == Kind::exact ? exact : settings_.lambdas) {
    alternation.run(lambda);
    if (alternation.status().outcome == Outcome::stopped) throw Stopped();
    Trial run;
    run.lambda = lambda;
    run.ridge = ridge;
    run.outcome = alternation.status().outcome;
    if (!euclidean && (learned || runs.empty())) targets = alternation.embed(targets_);
    if (learned || runs.empty()) products = inner_products(targets, space_.z.rows());
    if (run.outcome != Outcome::diverged)
      score(run, distances_to_barycentres(products, alternation.conditionals()));
    for (const Step& step : alternation.history()) run.passes += step.inner_iterations;
    run.steps = static_cast<int>(alternation.history().size());
    run.seconds = seconds_since(start);
    start = Clock::now();
    runs.push_back(run);
  }
  return runs;
}

const std::vector<Trial>& TaskRunner::path(const Method& method, double ridge) {
  const Key key{method.kind, method.metric, method.prior, ridge};
  const auto found = paths_.find(key);
  return found != paths_.end() ? found->second
                               : paths_.emplace(key, walk(method, ridge)).first->second;
}

std::vector<Trial> TaskRunner::runs(const Method& method) {
  std::vector<double> ridges{settings_.options.ridge};
  if (method.metric == MetricChoice::identity) ridges = {0};
  if (method.tunes_ridge) ridges = tuned_ridges(method, settings_);
  std::vector<Trial> runs;
  if (method.kind == Kind::no_transport) {
    runs = {without_adaptation()};
  } else {
    for (const double ridge : ridges)
      for (const Trial& run : path(method, ridge)) runs.push_back(run);
  }
  for (Trial& run : runs) {
    run.method = method.key;
    if (method.metric == MetricChoice::identity) run.ridge = none;
  }
  std::max_element(runs.begin(), runs.end(), [](const Trial& a, const Trial& b) {
    return a.train_accuracy < b.train_accuracy;
  })->chosen = true;
  return runs;
}

}  // namespace

std::span<const Method> all_methods() {
  return methods;
}

const Method& method_named(const std::string& key) {
  for (const Method& method : methods)
    if (method.key == key) return method;
  std::vector<std::string> keys;
  for (const Method& method : methods) keys.push_back(method.key);
  const std::string near = io::nearest_name(key, keys);
  throw Error({.field = "--methods",
               .problem = fmt::format("there is no '{}'{}", literal(key),
                                      near.empty() ? "" : " (did you mean '" + near + "'?)"),
               .remedy = fmt::format("the methods are {}", fmt::join(keys, ", "))});
}

std::optional<std::vector<Trial>> run_methods(const Split& split, const Settings& settings,
                                              const std::function<bool()>& stop) {
  TaskRunner runner(split, settings, stop);
  std::vector<Trial> all;
  try {
    for (const std::string& key : settings.methods)
      for (Trial& run : runner.runs(method_named(key))) all.push_back(std::move(run));
  } catch (const TaskRunner::Stopped&) {
    return std::nullopt;
  }
  return all;
}

}  // namespace remblai::experiments

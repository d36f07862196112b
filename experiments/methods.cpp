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

#include "remblai/error.h"
#include "remblai/evaluate.h"
#include "remblai/fit.h"
#include "remblai/fit_path.h"
#include "remblai/io.h"
#include "remblai/predict.h"

namespace remblai::experiments {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

constexpr std::array methods{
    Method{"none", "no adaptation", Kind::source_only},
    Method{"logistic", "logistic regression", Kind::source_only, {}, {}, false, Baseline::logistic},
    Method{
        "kernel-ridge", "kernel ridge", Kind::source_only, {}, {}, false, Baseline::kernel_ridge},
    Method{"kernel-ridge-shares",
           "kernel ridge, shares",
           Kind::source_only,
           {},
           {},
           false,
           Baseline::kernel_ridge_shares},
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
    Method{"class-aware", "class-aware", Kind::class_aware, MetricChoice::learned},
    Method{"class-aware-map",
           "class-aware, map + 1-NN",
           Kind::class_aware,
           MetricChoice::learned,
           {},
           false,
           {},
           Rule::nearest},
    Method{"class-aware-identity", "class-aware, A = I", Kind::class_aware},
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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

  Trial source_only(const Method& method) const;
  Trial class_aware(const Method& method);
  const std::vector<Trial>& path(const Method& method, double ridge);
  std::vector<Trial> walk(const Method& method, double ridge);
  void score(Trial& run, const Labels& labels) const;

  const Settings& settings_;
  const std::function<bool()>& stop_;
  const Split& split_;
  FitPath fits_;
  std::map<Key, std::vector<Trial>> paths_;
  std::map<MetricChoice, std::pair<Model, double>> class_models_;  // and their seconds
};

Problem problem_of(const Split& split) {
  Problem problem;
  problem.source = split.source;
  problem.target.points = split.train.points;
  return problem;
}

Options one_thread(Options options) {
  options.resources.threads = 1;  // the tasks share the cores
  return options;
}

TaskRunner::TaskRunner(const Split& split, const Settings& settings,
                       const std::function<bool()>& stop)
    : settings_(settings),
      stop_(stop),
      split_(split),
      fits_(problem_of(split), one_thread(settings.options), split.test.points) {}

// `labels` of the training half, then of the test half.
void TaskRunner::score(Trial& run, const Labels& labels) const {
  const Domain &train = split_.train, &test = split_.test;
  run.train_accuracy = evaluate(labels.head(train.size()), train.labels).accuracy();
  run.test_accuracy = evaluate(labels.tail(test.size()), test.labels).accuracy();
}

Matrix both_halves(const Split& split) {
  Matrix targets(split.train.size() + split.test.size(), split.train.dimension());
  targets << split.train.points, split.test.points;
  return targets;
}

Trial TaskRunner::source_only(const Method& method) const {
  const auto start = Clock::now();
  Trial run;
  run.lambda = run.ridge = none;
  score(run, baseline_labels(method.baseline, problem_of(split_), both_halves(split_),
                             one_thread(settings_.options), settings_.prediction.neighbours));
  run.seconds = seconds_since(start);
  return run;
}

// One fit answers by every rule.
Trial TaskRunner::class_aware(const Method& method) {
  const auto start = Clock::now();
  auto found = class_models_.find(method.metric);
  if (found == class_models_.end()) {
    Options options{.method = remblai::Method::class_aware};
    options.resources = one_thread(settings_.options).resources;
    options.metric = method.metric;
    options.preprocess = settings_.options.preprocess;
    options.classes = settings_.options.classes;
    Model model = fit(problem_of(split_), options, [this](const Progress&) { return !stop_(); });
    if (model.status.outcome == Outcome::stopped) throw Stopped();
    const double seconds = seconds_since(start);
    found = class_models_.emplace(method.metric, std::pair(std::move(model), seconds)).first;
  }
  const Model& model = found->second.first;
  Trial run;
  run.lambda = model.options.lambda;
  run.ridge = model.options.ridge;
  run.outcome = model.status.outcome;
  const auto answer = Clock::now();
  if (run.outcome != Outcome::diverged)
    score(run, predict(model, both_halves(split_), {.rule = method.rule}));
  for (const Step& step : model.history) run.passes += step.inner_iterations;
  run.steps = static_cast<int>(model.history.size());
  run.seconds = found->second.second + seconds_since(answer);
  return run;
}

std::vector<Trial> TaskRunner::walk(const Method& method, double ridge) {
  Options options = settings_.options;
  options.metric = method.metric;
  options.prior = method.prior;
  const bool learned = method.metric == MetricChoice::learned;
  if (method.tunes_ridge) (learned ? options.ridge : options.prior_ridge) = ridge;
  std::vector<Trial> runs;
  const std::vector<double> exact{0};
  for (const double lambda : method.kind == Kind::exact ? exact : settings_.lambdas) {
    const auto start = Clock::now();
    options.lambda = lambda;
    fits_.fit(options, [this](const Progress&) { return !stop_(); });
    Trial run;
    run.lambda = lambda;
    run.ridge = ridge;
    run.outcome = fits_.status().outcome;
    if (run.outcome == Outcome::stopped) throw Stopped();
    if (run.outcome != Outcome::diverged) score(run, fits_.labels(settings_.prediction));
    for (const Step& step : fits_.history()) run.passes += step.inner_iterations;
    run.steps = static_cast<int>(fits_.history().size());
    run.seconds = seconds_since(start);
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
  if (method.kind == Kind::source_only) {
    runs = {source_only(method)};
  } else if (method.kind == Kind::class_aware) {
    runs = {class_aware(method)};
  } else {
    for (const double ridge : ridges)
      for (const Trial& run : path(method, ridge)) runs.push_back(run);
  }
  for (Trial& run : runs) {
    run.method = method.key;
    if (method.metric == MetricChoice::identity) run.ridge = none;  // it has no metric step
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

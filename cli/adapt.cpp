// remblai adapt: fit, map and predict in one go, into one folder.
// Everything is read and checked first; once the fit is done, no later failure loses it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <new>
#include <utility>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "outputs.h"
#include "progress.h"
#include "ranks.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/page.h"
#include "remblai/predict.h"
#include "remblai/report.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct AdaptCommand {
  FitArguments fit;
  PredictOptions prediction;
  RunArguments run;
  std::string test, test_labels, out, page;
  bool save_plan = false, save_metric = false, overwrite = false;
};

/// Points to label, and their labels when they are known.
struct Scored {
  Matrix points;
  Labels truth, predicted;

  std::optional<Score> score(const Labels& source, const Labels& given = {}) const {
    if (truth.size() == 0 || predicted.size() == 0) return std::nullopt;
    return evaluate(predicted, truth, source, given);
  }
};

Scored load_test(const AdaptCommand& arguments, const Problem& problem, const Labels& source) {
  Scored test;
  if (arguments.test.empty()) return test;
  test.points =
      load_points_like({"--source", problem.source.dimension(), problem.features}, "--test",
                       arguments.test, arguments.fit.transpose,
                       skip_of(arguments.test, arguments.fit.skip), {arguments.test_labels});
  if (!arguments.test_labels.empty()) {
    test.truth =
        load_target_labels(arguments.test_labels, "--test-labels", test.points.rows(), source);
  }
  return test;
}

Inputs all_inputs(const AdaptCommand& arguments) {
  Inputs inputs = inputs_of(arguments.fit);
  if (!arguments.test.empty()) inputs.emplace_back("test", arguments.test);
  if (!arguments.test_labels.empty()) inputs.emplace_back("test-labels", arguments.test_labels);
  return inputs;
}

/// One run: what it read, the model, and how far it came with the rest.
struct Job {
  const AdaptCommand& arguments;
  Stopwatch watch;
  Problem problem;
  Options options;
  Scored target, test;
  Labels source_labels;                      // of all ranks, where something is scored
  Model model;                               // with the source points of this rank
  std::optional<Model> gathered_model = {};  // with all of them, where there are ranks

  const Model& whole() const { return gathered_model ? *gathered_model : model; }
  void read();
  void require_voters() const;
  std::string finish(const OutputFolder* folder);
  Report report() const;
  void write_page(const Report& report) const;
};

// All points in the order of the ranks, by the first of them.
void write_rows(const std::string& path, const Matrix& rows) {
  if (!ranks()) return io::write_npy(path, rows);
  const Matrix all = gather_rows(ranks().get(), rows);
  on_first_rank([&] { io::write_npy(path, all); });
}

double sum_of_ranks(double here) {
  const Comm* comm = ranks().get();
  if (!comm) return here;
  const std::vector<Index> sizes(static_cast<std::size_t>(comm->size()), 1);
  return comm->gather(Vector::Constant(1, here), sizes).sum();
}

// What stands between the rows of two ranks.
constexpr double no_more = 0;

// To the first rank, some rows at a time.
void send_plan(const Model& model, const Comm& comm) {
  visit_plan(model, [&](Index, const Matrix& rows) {
    const auto count = static_cast<double>(rows.rows());
    comm.send(&count, 1, 0);
    comm.send(rows.data(), rows.size(), 0);
  });
  comm.send(&no_more, 1, 0);
}

// The rows of the plan in the order of the ranks, some at a time: it is nowhere as a whole.
void write_plan(const std::string& path, const Model& model) {
  const Comm* comm = ranks().get();
  const double points = sum_of_ranks(static_cast<double>(model.source.size()));
  if (!first_rank()) send_plan(model, *comm);
  int next = 1;
  const auto receive = [&](const io::TakeRows& take) {
    for (; comm && next < comm->size(); ++next) {
      double count = no_more;
      for (comm->receive(&count, 1, next); count != no_more; comm->receive(&count, 1, next)) {
        Matrix rows(static_cast<Index>(count), model.target.size());
        comm->receive(rows.data(), rows.size(), next);
        take(rows);
      }
    }
  };
  on_first_rank([&] {
    try {
      io::write_npy(path, static_cast<Index>(points), model.target.size(),
                    [&](const io::TakeRows& take) {
                      visit_plan(model, [&](Index, const Matrix& rows) { take(rows); });
                      receive(take);
                    });
    } catch (...) {
      receive([](const Matrix&) {});  // the others send all the same
      throw;
    }
  });
}

void Job::read() {
  const PhaseLine line(arguments.run.quiet, watch, "reading");
  arguments.prediction.validate();
  problem = load_problem(arguments.fit);
  options = load_options(arguments.fit, problem);
  if (arguments.prediction.rule == Rule::head && options.method == Method::paper)
    throw Error({.field = "--rule",
                 .value = "head",
                 .problem = "needs the class-aware method",
                 .remedy = "leave out $method, or give another $rule"});
  if (!arguments.fit.target_labels.empty() || !arguments.test_labels.empty())
    source_labels = labels_of_source(arguments.fit, problem);
  test = load_test(arguments, problem, source_labels);
  if (!arguments.fit.target_labels.empty())
    target.truth = load_target_labels(arguments.fit.target_labels, "--target-labels",
                                      problem.target.size(), source_labels);
}

// More neighbours than all ranks have are refused before the fit. Where no point has a weight, the
// fit refuses that.
void Job::require_voters() const {
  const Rule rule = arguments.prediction.rule;
  if (rule != Rule::nearest && !(rule == Rule::automatic && options.method == Method::paper))
    return;
  const Vector& weights = problem.source.weights;
  const Index here = weights.size() > 0 ? (weights.array() > 0).count() : problem.source.size();
  const double voters = sum_of_ranks(static_cast<double>(here));
  if (voters > 0) arguments.prediction.validate(static_cast<Index>(voters));
}

Report Job::report() const {
  return {.target_score = target.score(source_labels, known_labels(model)),
          .test_score = test.score(source_labels),
          .seconds = watch.seconds(),
          .inputs = all_inputs(arguments),
          .files = {},
          .prediction = arguments.prediction,
          .spelling = flag_of};
}

/// Writes what follows from the model. A Ctrl-C that comes meanwhile leaves out what has not begun;
/// one that ended the fit does not. Returns the files left out.
std::string Job::finish(const OutputFolder* folder) {
  const bool stopped = any_rank(Interrupt::requested());
  std::vector<std::string> missing;
  const auto phase = [&](const char* what, const std::string& name, auto&& write) {
    if (any_rank(Interrupt::requested()) && !stopped) {
      missing.push_back(name);
      return;
    }
    const PhaseLine line(arguments.run.quiet, watch, what);
    write(folder ? folder->file(name) : std::string());
  };
  std::optional<Predictor> predictor;  // maps the source points once for all sets of points
  const auto label_into = [&](Scored& scored, const Matrix* points) {
    return [&, points](const std::string& path) {
      if (!predictor) predictor.emplace(model, arguments.prediction);
      scored.predicted = points ? (*predictor)(*points) : predictor->of_targets();
      on_first_rank([&] { io::write_npy(path, scored.predicted); });
    };
  };
  phase("mapping", "mapped.npy", [&](const auto& path) { write_rows(path, map(model)); });
  phase("labelling", "labels.npy", label_into(target, nullptr));
  if (test.points.size() > 0) {
    phase("labelling", "test_labels.npy", label_into(test, &test.points));
  }
  if (arguments.save_plan) {
    phase("writing the plan", "plan.npy", [&](const auto& path) { write_plan(path, model); });
  }
  if (arguments.save_metric) {  // on all ranks: they ask each other whether to go on
    phase("writing the metric", "metric.npy", [&](const auto& path) {
      on_first_rank([&] { io::write_npy(path, model.metric.matrix()); });
    });
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

void Job::write_page(const Report& report) const {
  PageOptions page;
  page.target_labels = target.truth;
  page.predicted = target.predicted;
  try {
    const PhaseLine line(arguments.run.quiet, watch, "writing the page");
    io::write_text(arguments.page, to_html(whole(), report, page));
  } catch (const std::exception& error) {
    throw Error({.field = "--report",
                 .problem = literal(words_of(error)),
                 .remedy = fmt::format("the results in {} are kept, and 'remblai report' makes a "
                                       "page of model.npz",
                                       literal(arguments.out))});
  }
  if (!arguments.run.quiet && !arguments.run.json)
    tell("the page for a browser is {}\n", printable(arguments.page));
}

/// The files of this run.
std::vector<std::string> wanted(const AdaptCommand& arguments) {
  std::vector<std::string> names{"model.npz", "mapped.npy", "labels.npy", "report.json"};
  if (!arguments.test.empty()) names.push_back("test_labels.npy");
  if (arguments.save_plan) names.push_back("plan.npy");
  if (arguments.save_metric) names.push_back("metric.npy");
  return names;
}

// The fit is kept when what follows it fails.
Error unfinished(const AdaptCommand& arguments, const std::string& failure,
                 const std::vector<std::string>& written) {
  std::vector<std::string> lost = wanted(arguments);
  for (const std::string& name : written) std::erase(lost, name);
  return Error({.problem = literal(failure),
                .remedy = fmt::format(
                    "the fit is kept, with what was ready: {} holds {}; not written: {}",
                    literal(arguments.out), fmt::join(written, ", "), fmt::join(lost, ", "))});
}

int run(const AdaptCommand& arguments) {
  Job job{arguments, {}, {}, {}, {}, {}, {}, {}};
  const Inputs inputs = all_inputs(arguments);
  const std::string& checkpoint = arguments.fit.checkpoint;
  std::optional<OutputFolder> folder;
  on_first_rank([&] {
    require_outputs({{"--report", arguments.page, ".html"}}, inputs, arguments.overwrite,
                    arguments.out);
    // Needed before the folder of the results is there.
    require_outputs({{"--checkpoint", checkpoint, ".npz", arguments.fit.resume}}, inputs,
                    arguments.overwrite);
    Inputs others = inputs;  // files that no result may replace
    if (!checkpoint.empty()) others.emplace_back("checkpoint", checkpoint);
    folder.emplace(
        arguments.out,
        std::vector<std::string>{"model.npz", "mapped.npy", "labels.npy", "test_labels.npy",
                                 "plan.npy", "metric.npy", "report.json"},
        wanted(arguments), others, arguments.overwrite);
  });
  agree(ranks().get(), [&] { job.read(); });
  job.require_voters();
  warn_of(job.problem);
  if (arguments.fit.dry_run) {
    agree(ranks().get(), [&] { tell_estimate(job.problem, job.options, arguments.run.json); });
    return Exit::success;
  }
  agree(ranks().get(), [&] { require_reachable(job.problem, job.options); });
  const Interrupt interrupt(!arguments.run.quiet);
  on_first_rank([&] { folder->open(); });
  job.model = fit_with_progress(std::move(job.problem), job.options, arguments.run.quiet, job.watch,
                                {.path = checkpoint, .resume = arguments.fit.resume});
  if (ranks()) job.gathered_model = gathered(job.model);
  on_first_rank([&] { save(job.whole(), folder->file("model.npz")); });

  std::string missing, failure;
  std::vector<std::string> written;
  try {
    missing = job.finish(folder ? &*folder : nullptr);
  } catch (const std::bad_alloc&) {
    failure = "not enough memory for what follows the fit";
  } catch (const std::exception& error) {
    failure = words_of(error);
  }
  Report report = job.report();
  std::string json;
  on_first_rank([&] {
    report.files = folder->kept();
    for (const std::string& name : folder->written()) report.files.push_back(name);
    report.files.push_back("report.json");
    try {
      json = to_json(job.whole(), report);
      io::write_text(folder->file("report.json"), json);
    } catch (const std::exception& error) {
      if (failure.empty()) failure = words_of(error);
    }
    written = folder->written();
    folder->publish();
    drop_checkpoint(checkpoint, job.model.status);
    if (!failure.empty()) throw unfinished(arguments, failure, written);
  });
  if (!failure.empty())
    throw Error({.problem = literal(failure)});  // of this rank, not of the first

  on_first_rank([&] {
    if (arguments.run.json) {
      tell("{}", json);
    } else if (!arguments.run.quiet) {
      tell("{}\nwritten to {}: {}\n", summary(job.whole(), report), printable(arguments.out),
           fmt::join(written, ", "));
    }
    if (arguments.run.json || arguments.run.quiet) warn_of(job.whole());
    if (arguments.page.empty()) return;
    if (missing.empty())
      job.write_page(report);
    else
      missing += ", " + arguments.page;
  });
  return conclude(job.model.status, missing);
}

}  // namespace

void add_adapt(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<AdaptCommand>();
  CLI::App& command = *app.add_subcommand(
      "adapt",
      "fit, map and predict in one go: labels for target points from labelled source points");
  FitArguments& fit = arguments->fit;
  fit.options.method = Method::class_aware;
  add_file(command, "--source", fit.source, "source points, one a row")->required();
  add_file(command, "--source-labels", fit.source_labels, "their labels, whole numbers")
      ->required();
  add_file(command, "--target", fit.target, "target points, one a row")->required();
  add_file(command, "--out", arguments->out, "folder for the results; made if it is not there",
           "DIR")
      ->required();
  add_file(command, "--target-labels", fit.target_labels,
           "true labels of the target points, only to score the predicted ones");
  add_file(command, "--test", arguments->test, "more target points, kept out of the fit, to label");
  add_file(command, "--test-labels", arguments->test_labels, "their true labels, only to score")
      ->needs("--test");
  add_file(command, "--source-weights", fit.source_weights, "a weight for each source point");
  add_file(command, "--target-weights", fit.target_weights, "a weight for each target point");
  add_known_labels(command, fit.known_labels);
  add_report_file(command, arguments->page);
  add_checkpoint(command, fit);
  add_overwrite(command, arguments->overwrite);
  add_skip(command, fit.skip);
  add_transpose(command, fit.transpose);
  add_flag(command, "--save-plan", arguments->save_plan, "write the transport plan to plan.npy",
           group::files);
  add_flag(command, "--save-metric", arguments->save_metric,
           "write the metric A (d x d) to metric.npy", group::files);
  add_options(command, fit);
  add_options(command, arguments->prediction);
  add_dry_run(command, fit.dry_run);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action, &command] {
    settle_rule(command, arguments->prediction);
    action = [arguments] { return run(*arguments); };
  });
}

}  // namespace remblai::cli

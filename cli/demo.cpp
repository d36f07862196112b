// remblai demo: the paper's comparison on the digits inside the program.
// Source digits are balanced, target digits are not; accuracy is on target digits that no fit has
// seen.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "files.h"
#include "progress.h"
#include "remblai/fit.h"
#include "remblai/io.h"
#include "remblai/page.h"
#include "remblai/predict.h"
#include "remblai/sample.h"

namespace remblai::cli {
namespace {

struct Arguments {
  Options options;
  RunArguments run;
  std::string page;
};

struct Result {
  std::string key, method;
  Score score = {};
  double seconds = 0;
  Status status{Outcome::converged};
};

struct Contender {
  const char* key;
  const char* method;
  MetricChoice metric;
};
constexpr std::array contenders{
    Contender{"ot-identity", "transport, Euclidean metric (OT_I)", MetricChoice::identity},
    Contender{"ot-w", "transport, metric W (OT_W)", MetricChoice::w},
    Contender{"ot-w-inverse", "transport, metric W^-1 (OT_W^-1)", MetricChoice::w_inverse},
    Contender{"learned", "transport and metric learned together", MetricChoice::learned},
};

/// The most frequent label and its share.
std::pair<std::int64_t, double> most_frequent(const Labels& labels) {
  std::map<std::int64_t, Index> counts;
  for (std::int64_t label : labels) ++counts[label];
  const auto top = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  return {top->first, static_cast<double>(top->second) / static_cast<double>(labels.size())};
}

Result without_adaptation(const Sample& sample) {
  const Stopwatch watch;
  const Labels labels =
      nearest_labels(sample.source.points, sample.source.labels, sample.test.points);
  Result result{"none", "no adaptation: nearest source digit"};
  result.score = evaluate(labels, sample.test.labels);
  result.seconds = watch.seconds();
  return result;
}

/// The result; the model goes to `model`.
Result contend(const Contender& contender, const Sample& sample, const Arguments& arguments,
               Model& model) {
  const Stopwatch watch;
  Options options = arguments.options;
  options.metric = contender.metric;
  Problem problem;
  problem.source = sample.source;
  problem.target.points = sample.target.points;
  {
    ProgressLine line(arguments.run.quiet || arguments.run.json, 2,
                      std::string(contender.method) + ": ");
    model = fit(problem, options, std::ref(line));
  }
  Result result{contender.key, contender.method};
  result.score = evaluate(predict(model, sample.test.points), sample.test.labels);
  result.seconds = watch.seconds();
  result.status = model.status;
  return result;
}

void print_row(const Result& result, bool bold) {
  fmt::print("{}{:<40}{:>7.1f} %{:>9.2f} s{}{}\n", bold ? "\033[1m" : "", result.method,
             100 * result.score.accuracy(), result.seconds,
             result.status.converged() ? "" : fmt::format("   {}", name(result.status.outcome)),
             bold ? "\033[0m" : "");
}

std::string points_apart(double a, double b) {
  const double points = 100 * (a - b);
  if (std::abs(points) < 0.05) return "as many as";
  return fmt::format("{:.1f} points {}", std::abs(points), points > 0 ? "more than" : "fewer than");
}

std::string sentence(const std::vector<Result>& results) {
  const auto at = [&](std::string_view key) {
    return std::find_if(results.begin(), results.end(),
                        [&](const Result& result) { return result.key == key; })
        ->score.accuracy();
  };
  return fmt::format(
      "The learned metric labels {:.1f} % of the held-out digits right: {} the\n"
      "Euclidean one ({:.1f} %), which carries balanced digits onto a skewed set, and {}\n"
      "no adaptation ({:.1f} %).",
      100 * at("learned"), points_apart(at("learned"), at("ot-identity")), 100 * at("ot-identity"),
      points_apart(at("learned"), at("none")), 100 * at("none"));
}

std::string json(const std::vector<Result>& results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Result& result : results) {
    list.push_back({{"method", result.key},
                    {"accuracy", result.score.accuracy()},
                    {"seconds", result.seconds},
                    {"status", name(result.status.outcome)}});
  }
  return nlohmann::ordered_json{{"results", list}}.dump(2);
}

/// `text` in lines of at most `width` characters.
std::string wrapped(std::string text, std::size_t width) {
  for (std::size_t begin = 0; begin + width < text.size();) {
    const std::size_t space = text.rfind(' ', begin + width);
    text[space] = '\n';
    begin = space + 1;
  }
  return text;
}

/// What is asked, in a sentence or two.
std::string question(const Sample& sample) {
  const auto [digit, share] = most_frequent(sample.test.labels);
  return fmt::format(
      "MNIST digits with label shift: {} labelled source digits, the ten classes alike; {} target "
      "digits without labels, {:.0f} % of them {}s. Accuracy is on {} more digits like the "
      "target's.",
      sample.source.size(), sample.target.size(), 100 * share, digit, sample.test.size());
}

void write_page(const std::string& path, const Sample& sample, const std::vector<Result>& results,
                const Model& learned, double seconds) {
  PageOptions page;
  page.title = "Digits with label shift";
  page.asked = question(sample);
  page.verdict = sentence(results);
  std::replace(page.verdict.begin(), page.verdict.end(), '\n', ' ');
  page.target_labels = sample.target.labels;
  for (const Result& result : results)
    page.scores.push_back(
        {result.method, result.score,
         result.status.converged() ? "" : std::string(name(result.status.outcome)),
         result.key == "learned"});
  Report report;
  report.seconds = seconds;
  report.spelling = flag_of;
  io::write_text(path, to_html(learned, report, page));
}

int run(const Arguments& arguments) {
  arguments.options.validate();
  if (!arguments.page.empty()) require_page(arguments.page, {}, "--report");
  const Stopwatch watch;
  const bool talk = !arguments.run.json;
  const Sample sample = mnist_sample();
  if (talk && !arguments.run.quiet) {
    fmt::print("{}\nlambda is {} x the mean cost between the centred clouds.\n\n",
               wrapped(question(sample), 92), arguments.options.lambda);
  }
  if (talk) {
    fmt::print("{:<40}{:>9}{:>11}\n", "method", "accuracy", "time");
    std::fflush(stdout);
  }
  const Interrupt interrupt(false);
  const bool colour = colours(stdout);
  std::vector<Result> results{without_adaptation(sample)};
  if (talk) print_row(results.back(), false);
  Model model;  // of the last one, which is the learned
  for (const Contender& contender : contenders) {
    results.push_back(contend(contender, sample, arguments, model));
    if (Interrupt::requested()) return conclude(results.back().status);
    if (talk) print_row(results.back(), colour && contender.metric == MetricChoice::learned);
    std::fflush(stdout);
  }
  if (!arguments.page.empty()) write_page(arguments.page, sample, results, model, watch.seconds());
  if (!talk) {
    fmt::print("{}\n", json(results));
  } else if (!arguments.run.quiet) {
    fmt::print("\n{}\n", sentence(results));
    if (!arguments.page.empty()) fmt::print("\nThe page for a browser is {}\n", arguments.page);
  }
  for (const Result& result : results) {
    if (!result.status.converged()) return conclude(result.status);
  }
  return Exit::success;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App& command =
      *app.add_subcommand("demo", "compare the methods on a sample of MNIST inside the program");
  command.footer("");
  arguments->options.lambda =
      0.5;  // among the best here for the Euclidean and for the learned metric
  add_options(command, arguments->options, {"lambda", "threads"});
  add_report_file(command, arguments->page);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli

// remblai demo: the methods side by side on the digits inside the program, once with label shift
// and once with domain shift. Accuracy is on target digits that no fit has seen.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "commands.h"
#include "contest.h"
#include "outputs.h"
#include "progress.h"
#include "remblai/diagnosis.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/page.h"
#include "remblai/sample.h"
#include "terminal.h"

namespace remblai::cli {
namespace {

struct DemoCommand {
  Options options;
  RunArguments run;
  std::string page;
  bool overwrite = false;
};

/// One of the two jobs: a sample, and what the methods made of it.
struct DemoJob {
  const char* key;
  const char* title;
  Sample sample;
  std::vector<Entry> entries = {};
  std::vector<Score> scores = {};  ///< one for each entry
  TimedModel fitted = {};          ///< the class-aware one

  Score score(const Contender& contender) const {
    for (std::size_t k = 0; k < entries.size(); ++k)
      if (entries[k].contender.key == contender.key) return scores[k];
    return {};
  }
};

const std::array demo_contenders{&no_adaptation, &kernel_ridge, &ot_identity, &paper_method,
                                 &class_aware};

/// The most frequent label and its share.
std::pair<std::int64_t, double> most_frequent(const Labels& labels) {
  std::map<std::int64_t, Index> counts;
  for (std::int64_t label : labels) ++counts[label];
  const auto top = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  return {top->first, static_cast<double>(top->second) / static_cast<double>(labels.size())};
}

void print_row(const Entry& entry, const Score& score, bool bold) {
  tell("{}{:<40}{:>9}{:>9.2f} s{}{}\n", bold ? "\033[1m" : "", entry.contender.title,
       score.known() ? score.percent() : "–", entry.seconds,
       entry.status.converged() ? "" : fmt::format("   {}", name(entry.status.outcome)),
       bold ? "\033[0m" : "");
}

/// What a job showed, in a sentence or two.
std::string sentence(const DemoJob& job) {
  const Score plain = job.score(ot_identity);
  return fmt::format(
      "The class-aware method labels {} of the held-out digits right. A classifier of the "
      "source alone reaches {}, plain transport {}, the nearest source digit {}. "
      "It found by itself, without a target label, that the shift is {}.",
      job.score(class_aware).percent(), job.score(kernel_ridge).percent(),
      plain.known() ? plain.percent() : "nothing with this lambda",
      job.score(no_adaptation).percent(), diagnose(*job.fitted.model.classes).shift_words);
}

std::string json(const std::vector<DemoJob>& jobs) {
  nlohmann::ordered_json all;
  for (const DemoJob& job : jobs) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::size_t k = 0; k < job.entries.size(); ++k) {
      const Entry& entry = job.entries[k];
      list.push_back({{"method", entry.contender.key},
                      {"accuracy", job.scores[k].accuracy()},
                      {"seconds", entry.seconds},
                      {"status", name(entry.status.outcome)}});
    }
    all[job.key] = list;
  }
  return nlohmann::ordered_json{{"results", all}}.dump(2);
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
std::string question(const DemoJob& job) {
  const Sample& sample = job.sample;
  const auto [digit, share] = most_frequent(sample.test.labels);
  const std::string what =
      share > 0.2 ? fmt::format("without labels, {:.0f} % of them {}s", 100 * share, digit)
                  : std::string("without labels, turned, thicker and paler");
  return fmt::format(
      "{}: {} labelled source digits, the ten classes alike; {} target digits {}. Accuracy is on "
      "{} "
      "more digits like the target's.",
      job.title, sample.source.size(), sample.target.size(), what, sample.test.size());
}

void write_page(const std::string& path, const std::vector<DemoJob>& jobs, double seconds) {
  const DemoJob& job = jobs.front();
  PageOptions page;
  page.title = job.title;
  page.asked = question(job);
  page.verdict = sentence(job);
  page.target_labels = job.sample.target.labels;
  for (const DemoJob& one : jobs)
    for (std::size_t k = 0; k < one.entries.size(); ++k) {
      const Entry& entry = one.entries[k];
      page.scores.push_back(
          {fmt::format("{}: {}", one.title, entry.contender.title), one.scores[k],
           entry.status.converged() ? "" : std::string(name(entry.status.outcome)),
           &one == &job && entry.contender.key == class_aware.key});
    }
  Report report;
  report.seconds = seconds;
  report.spelling = flag_of;
  io::write_text(path, to_html(job.fitted.model, report, page));
}

/// False when it was stopped; its status is then that of the last entry.
bool run_job(DemoJob& job, const DemoCommand& arguments) {
  const bool talk = !arguments.run.json;
  if (talk && !arguments.run.quiet) tell("{}\n\n", wrapped(question(job), 92));
  if (talk) {
    tell("{:<40}{:>9}{:>11}\n", "labels by", "accuracy", "time");
    std::fflush(stdout);
  }
  Problem problem;
  problem.source = job.sample.source;
  problem.target.points = job.sample.target.points;
  for (const Contender* contender : demo_contenders) {
    ProgressLine line(arguments.run.quiet || arguments.run.json, 2,
                      std::string(contender->title) + ": ");
    job.entries.push_back(run_contender(*contender, problem, job.sample.test.points,
                                        arguments.options, std::ref(line), job.fitted));
    if (Interrupt::requested()) return false;
    const Entry& entry = job.entries.back();
    job.scores.push_back(score_of(entry, job.sample.test.labels));
    if (talk) print_row(entry, job.scores.back(), colours(stdout) && contender == &class_aware);
    std::fflush(stdout);
  }
  if (talk && !arguments.run.quiet) tell("\n{}\n\n", wrapped(sentence(job), 92));
  return true;
}

int run(const DemoCommand& arguments) {
  arguments.options.validate();
  require_outputs({{"--report", arguments.page, ".html"}}, {}, arguments.overwrite);
  const Stopwatch watch;
  const Interrupt interrupt(false);
  std::vector<DemoJob> jobs;
  jobs.push_back({"label-shift", "Digits with label shift", mnist_sample()});
  jobs.push_back({"domain-shift", "Digits with domain shift", turned_mnist_sample()});
  for (DemoJob& job : jobs)
    if (!run_job(job, arguments)) return conclude(job.entries.back().status);
  if (!arguments.page.empty()) write_page(arguments.page, jobs, watch.seconds());
  if (arguments.run.json) {
    tell("{}\n", json(jobs));
  } else if (!arguments.run.quiet) {
    tell("No method has seen a target label. lambda of plain transport is {} x the mean cost.\n",
         arguments.options.lambda);
    if (!arguments.page.empty())
      tell("\nThe page for a browser is {}\n", printable(arguments.page));
  }
  for (const DemoJob& job : jobs)
    for (const Entry& entry : job.entries)
      if (!entry.status.converged()) return conclude(entry.status);
  return Exit::success;
}

}  // namespace

void add_demo(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<DemoCommand>();
  CLI::App& command =
      *app.add_subcommand("demo", "compare the methods on two samples of MNIST inside the program");
  command.footer("");
  arguments->options.lambda =
      0.5;  // among the best here for plain transport, Euclidean and learned
  add_options(command, arguments->options, {"lambda", "threads"});
  add_report_file(command, arguments->page);
  add_overwrite(command, arguments->overwrite);
  add_quiet(command, arguments->run.quiet);
  add_json(command, arguments->run.json);
  add_help(command);
  command.callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace remblai::cli

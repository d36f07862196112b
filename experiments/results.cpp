// Means, standard errors and differences to the paper, on the screen, as Markdown, CSV and JSON.
#include "results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace remblai::experiments {
namespace {

const Trial& chosen_run(const std::vector<Trial>& runs, const std::string& method) {
  return *std::find_if(runs.begin(), runs.end(),
                       [&](const Trial& run) { return run.chosen && run.method == method; });
}

Cell cell_of(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  Cell cell;
  for (const double value : values) cell.mean += value / count;
  if (values.size() < 2) return cell;
  double squares = 0;
  for (const double value : values) squares += (value - cell.mean) * (value - cell.mean);
  cell.error = std::sqrt(squares / (count - 1) / count);
  return cell;
}

// Rows count alike, whatever number of tasks they have.
Row average(const std::vector<Row>& rows) {
  Row all{"average", 0, {}};
  for (std::size_t m = 0; m < rows[0].cells.size(); ++m) {
    Cell cell;
    double variance = 0;
    const double count = static_cast<double>(rows.size());
    bool known = true;
    for (const Row& row : rows) {
      cell.mean += row.cells[m].mean / count;
      known = known && row.cells[m].error.has_value();
      variance += std::pow(row.cells[m].error.value_or(0) / count, 2);
    }
    if (known) cell.error = std::sqrt(variance);
    all.cells.push_back(cell);
  }
  for (const Row& row : rows) all.draws += row.draws;
  return all;
}

void mark_best(Row& row) {
  const auto shown = [](double value) { return std::round(100 * value); };
  double best = 0;
  for (const Cell& cell : row.cells) best = std::max(best, shown(cell.mean));
  for (Cell& cell : row.cells) cell.best = shown(cell.mean) == best;
}

std::string value_text(const Cell& cell) {
  return cell.error ? fmt::format("{:.2f} ± {:.2f}", cell.mean, *cell.error)
                    : fmt::format("{:.2f}", cell.mean);
}

std::string published_text(const Cell& cell) {
  return cell.published ? fmt::format("{:.2f}", *cell.published) : "";
}

std::string difference_text(const Cell& cell) {
  return cell.published ? fmt::format("{:+.2f}", cell.mean - *cell.published) : "";
}

bool has_published(const Row& row) {
  return std::any_of(row.cells.begin(), row.cells.end(),
                     [](const Cell& cell) { return cell.published.has_value(); });
}

// The sign ± is two bytes and one column.
std::string right(const std::string& text, std::size_t width) {
  const auto columns = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
  return std::string(columns < width ? width - columns : 0, ' ') + text;
}

std::string in_words(int count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// visit(task, run) in the order of the tables.
template <class Visitor>
void for_each_run(const Experiment& experiment, const Journal& journal, Visitor&& visit) {
  for (const Task& task : experiment.tasks)
    for (const Trial& run : *journal.find(task)) visit(task, run);
}

// How far the class-aware method is ahead of each other one, on the same draws.
std::vector<std::string> paired_differences(const Experiment& experiment, const Settings& settings,
                                            const Journal& journal) {
  std::vector<std::string> sentences;
  const std::string ours = "class-aware";
  const auto& keys = settings.methods;
  if (std::find(keys.begin(), keys.end(), ours) == keys.end() || experiment.tasks.size() < 2)
    return sentences;
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    if (key == ours) continue;
    std::vector<double> differences;
    for (const Task& task : experiment.tasks) {
      const std::vector<Trial>& runs = *journal.find(task);
      differences.push_back(
          100 * (chosen_run(runs, ours).test_accuracy - chosen_run(runs, key).test_accuracy));
    }
    const Cell cell = cell_of(differences);
    parts.push_back(fmt::format("{} {:+.2f} ± {:.2f}", method_named(key).title, cell.mean,
                                cell.error.value_or(0)));
  }
  sentences.push_back(fmt::format("Class-aware minus each other column, over the same {}: {}.",
                                  in_words(static_cast<int>(experiment.tasks.size()), "draw"),
                                  fmt::join(parts, "; ")));
  return sentences;
}

// What is not tuned, of each kind of method that is there.
std::vector<std::string> fixed_settings(const Settings& settings) {
  const auto any = [&](auto&& wanted) {
    return std::any_of(settings.methods.begin(), settings.methods.end(),
                       [&](const std::string& key) { return wanted(method_named(key)); });
  };
  const Options& options = settings.options;
  const PredictOptions& prediction = settings.prediction;
  std::vector<std::string> sentences;
  if (any([](const Method& method) {
        return method.kind == Kind::entropic || method.kind == Kind::exact;
      }))
    sentences.push_back(fmt::format(
        "Columns of transport otherwise: ridge {}, ridge of W {}, at most {} steps, outer "
        "tolerance {}, tolerance {}, {}.",
        options.ridge, options.prior_ridge, options.steps, options.outer_tolerance,
        options.tolerance,
        prediction.rule == Rule::propagate
            ? "labels through the plan"
            : fmt::format(
                  "{} nearest in the {} metric", in_words(prediction.neighbours, "neighbour"),
                  prediction.knn_metric == KnnMetric::model ? "method's own" : "Euclidean")));
  if (any([](const Method& method) { return method.kind == Kind::class_aware; })) {
    const Options own = Options{.method = remblai::Method::class_aware}.resolved();
    sentences.push_back(fmt::format(
        "Class-aware columns: lambda {}, ridge {}, prior {} with ridge {}, {} steps, tolerance {}.",
        own.lambda, own.ridge, name(own.prior), own.prior_ridge, own.steps, own.tolerance));
  }
  if (any([](const Method& method) {
        return method.kind == Kind::source_only && method.baseline == Baseline::nearest;
      }))
    sentences.push_back(
        fmt::format("No adaptation: {} nearest.", in_words(prediction.neighbours, "neighbour")));
  sentences.push_back(fmt::format("Preprocessing of all columns: {}.", name(options.preprocess)));
  return sentences;
}

std::vector<std::string> notes_on(const Experiment& experiment, const Settings& settings,
                                  const Journal& journal) {
  std::vector<std::string> notes{
      "Accuracy on target points that no fit has seen, in percent: mean and standard error over "
      "the draws; the best of each row is marked."};
  std::vector<std::string> ridge_tuned;
  bool lambda_tuned = false, learned_tuned = false;
  for (const std::string& key : settings.methods) {
    const Method& method = method_named(key);
    lambda_tuned = lambda_tuned || method.kind == Kind::entropic;
    if (!method.tunes_ridge) continue;
    ridge_tuned.push_back(method.title);
    learned_tuned = learned_tuned || method.metric == MetricChoice::learned;
  }
  std::vector<std::string> blind;
  for (const std::string& key : settings.methods)
    if (!method_named(key).sees_labels()) blind.push_back(method_named(key).title);
  if (!blind.empty())
    notes.push_back(
        fmt::format("These columns never see a target label: {}.", fmt::join(blind, "; ")));
  if (lambda_tuned)
    notes.push_back(fmt::format(
        "In the other columns lambda is chosen for each task by the accuracy on the training half "
        "of the target, as in "
        "the paper: this uses target labels, which a user does not have. It is one of {} x the "
        "mean cost between the centred clouds under the first metric; of equally good values the "
        "largest.",
        fmt::join(settings.lambdas, ", ")));
  if (!ridge_tuned.empty())
    notes.push_back(fmt::format(
        "The ridge of {} is chosen with it, of {}{}: the larger it is, the nearer these are to "
        "OT_I.",
        fmt::join(ridge_tuned, ", "), fmt::join(settings.ridges, ", "),
        learned_tuned ? fmt::format(" (of a learned metric also {})", settings.options.ridge)
                      : ""));
  for (std::string& sentence : fixed_settings(settings)) notes.push_back(std::move(sentence));
  int fits = 0, unfinished = 0;
  for_each_run(experiment, journal, [&](const Task&, const Trial& run) {
    fits += run.steps > 0;
    unfinished += run.outcome != Outcome::converged;
  });
  if (fits > 0)
    notes.push_back(fmt::format("{} of {} converged.", fits - unfinished, in_words(fits, "fit")));
  for (std::string& sentence : paired_differences(experiment, settings, journal))
    notes.push_back(std::move(sentence));
  if (!experiment.published_note.empty()) notes.push_back(experiment.published_note);
  for (const std::string& sentence : experiment.missing)
    notes.push_back("Not run: " + sentence + ".");
  return notes;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

}  // namespace

Table summarise(const Experiment& experiment, const Settings& settings, const Journal& journal) {
  Table table;
  table.title = experiment.title;
  table.row_heading = experiment.row_heading;
  for (const std::string& key : settings.methods) table.methods.push_back(method_named(key).title);
  std::vector<std::string> names;
  for (const Task& task : experiment.tasks)
    if (std::find(names.begin(), names.end(), task.row) == names.end()) names.push_back(task.row);
  for (const std::string& name : names) {
    Row row{name, 0, {}};
    for (const Task& task : experiment.tasks) row.draws += task.row == name;
    for (const std::string& method : settings.methods) {
      std::vector<double> values;
      for (const Task& task : experiment.tasks) {
        if (task.row != name) continue;
        const Trial& run = chosen_run(*journal.find(task), method);
        values.push_back(100 * run.test_accuracy);
        table.chosen_not_converged += run.outcome != Outcome::converged;
      }
      Cell cell = cell_of(values);
      cell.published = experiment.published(name, method);
      row.cells.push_back(cell);
    }
    table.rows.push_back(row);
  }
  if (table.rows.size() > 1) {
    Row all = average(table.rows);
    // The paper's average is one of all its rows.
    const bool complete = std::all_of(table.rows.begin(), table.rows.end(), has_published) &&
                          table.rows.size() == experiment.published_rows;
    for (std::size_t m = 0; complete && m < settings.methods.size(); ++m)
      all.cells[m].published = experiment.published("average", settings.methods[m]);
    table.rows.push_back(all);
  }
  for (Row& row : table.rows) mark_best(row);
  table.notes = notes_on(experiment, settings, journal);
  return table;
}

std::string screen(const Table& table, bool colour) {
  const std::size_t first = 13;
  std::vector<std::size_t> widths;
  std::string text = table.title + "\n\n" + fmt::format("{:<{}}", table.row_heading, first);
  for (const std::string& method : table.methods) {
    widths.push_back(std::max<std::size_t>(method.size(), 13) + 2);
    text += right(method, widths.back());
  }
  text += "\n";
  const auto line = [&](const std::string& name, const Row& row, auto&& cell_text) {
    text += fmt::format("{:<{}}", name, first);
    for (std::size_t m = 0; m < row.cells.size(); ++m) {
      const std::string cell = right(cell_text(row.cells[m]), widths[m]);
      text += colour && row.cells[m].best ? "\033[1m" + cell + "\033[0m" : cell;
    }
    while (text.back() == ' ') text.pop_back();
    text += "\n";
  };
  for (const Row& row : table.rows) {
    line(row.name, row, [&](const Cell& cell) {
      return fmt::format("{}{}", cell.best && !colour ? "*" : "", value_text(cell));
    });
    if (!has_published(row)) continue;
    line("  paper", row, published_text);
    line("  difference", row, difference_text);
  }
  for (const std::string& note : table.notes) text += "\n" + note;
  return text + "\n";
}

std::string markdown(const Table& table) {
  std::string text = "# " + table.title + "\n\n| " + table.row_heading + " |";
  for (const std::string& method : table.methods) text += " " + method + " |";
  text += "\n|---|";
  for (std::size_t m = 0; m < table.methods.size(); ++m) text += "---|";
  text += "\n";
  const auto line = [&](const std::string& name, const Row& row, auto&& cell_text) {
    text += fmt::format("| {} |", name);
    for (const Cell& cell : row.cells) text += fmt::format(" {} |", cell_text(cell));
    text += "\n";
  };
  for (const Row& row : table.rows) {
    line(fmt::format("{} ({})", row.name, in_words(row.draws, "draw")), row, [](const Cell& cell) {
      return cell.best ? fmt::format("**{}**", value_text(cell)) : value_text(cell);
    });
    if (!has_published(row)) continue;
    line("paper", row, published_text);
    line("difference", row, difference_text);
  }
  for (const std::string& note : table.notes) text += "\n" + note + "\n";
  return text;
}

std::string runs_csv(const Experiment& experiment, const Journal& journal) {
  std::string text =
      "task,seed,method,lambda,ridge,train_accuracy,test_accuracy,steps,passes,status,chosen\n";
  for_each_run(experiment, journal, [&](const Task& task, const Trial& run) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", task.name, task.seed, run.method,
                        csv_number(run.lambda), csv_number(run.ridge), run.train_accuracy,
                        run.test_accuracy, run.steps, run.passes, name(run.outcome),
                        run.chosen ? 1 : 0);
  });
  return text;
}

std::string runs_json(const Experiment& experiment, const Journal& journal, const Json& about) {
  std::string text = about.dump(2);
  text.resize(text.rfind('\n'));  // the closing brace comes after the runs, one a line
  text += ",\n  \"runs\": [";
  const char* separator = "\n";
  for_each_run(experiment, journal, [&](const Task& task, const Trial& run) {
    Json line{{"task", task.name}, {"seed", task.seed}};
    line.update(run_json(run));
    line.erase("seconds");
    text += fmt::format("{}    {}", separator, line.dump());
    separator = ",\n";
  });
  return text + "\n  ]\n}\n";
}

std::string times_csv(const Experiment& experiment, const Journal& journal) {
  std::string text = "task,seed,method,lambda,ridge,seconds\n";
  for_each_run(experiment, journal, [&](const Task& task, const Trial& run) {
    text += fmt::format("{},{},{},{},{},{:.4f}\n", task.name, task.seed, run.method,
                        csv_number(run.lambda), csv_number(run.ridge), run.seconds);
  });
  return text;
}

}  // namespace remblai::experiments

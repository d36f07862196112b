// What an experiment gave: the table for people, and every run for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment.h"
#include "journal.h"

namespace remblai::experiments {

/// One method in one row. Accuracies in percent.
struct Cell {
  double mean = 0;
  std::optional<double> error;  ///< standard error of the mean; none for a single task
  std::optional<double> published;
  bool best = false;  ///< the highest mean of its row
};

struct Row {
  std::string name;
  int draws = 0;
  std::vector<Cell> cells;  ///< one a method
};

struct Table {
  std::string title, row_heading;
  std::vector<std::string> methods;  ///< titles
  std::vector<Row> rows;             ///< and their average last, where there are several
  std::vector<std::string> notes;    ///< how the numbers came about, one sentence or two each
  int chosen_not_converged = 0;
};

/// Every task must be in the journal.
Table summarise(const Experiment& experiment, const Settings& settings, const Journal& journal);

/// For a terminal; `colour` prints the best of each row in bold, else it has a star.
std::string screen(const Table& table, bool colour);
std::string markdown(const Table& table);

/// All runs in the order of the tasks. None of these holds a time, so a run that was interrupted
/// ends in the same bytes as one that was not; `times_csv` has the seconds.
std::string runs_csv(const Experiment& experiment, const Journal& journal);
std::string runs_json(const Experiment& experiment, const Journal& journal, const Json& about);
std::string times_csv(const Experiment& experiment, const Journal& journal);

}  // namespace remblai::experiments

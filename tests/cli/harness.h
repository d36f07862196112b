// Runs the real program: arguments in; exit code, standard output and standard error out.
// Each test has a folder of its own, small data in it, and leaves nothing behind.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "remblai/types.h"

namespace remblai::cli_test {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

/// The path of the program.
const std::string& binary();

struct Finished {
  int code = -1;  ///< exit code; 128 + the signal when one ended the program
  std::string out, err;
};

/// The program while it runs.
class Process {
 public:
  /// With `terminal`, standard error is a terminal, and what was shown there comes as
  /// Finished::err.
  explicit Process(const Words& words, const Environment& environment = {}, bool terminal = false);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;

  /// Reads the terminal until it has shown `text`, or the program has ended; what it showed so far.
  const std::string& wait_for(const std::string& text);

  Finished wait();

 private:
  std::string folder_;
  int pid_ = -1;
  int terminal_ = -1;
  std::string shown_;  // on the terminal
};

Finished run(const Words& words, const Environment& environment = {});

/// Any command of the shell.
Finished shell(const std::string& command);

std::string read(const std::string& path);
void write(const std::string& path, const std::string& text);
bool exists(const std::string& path);

/// A file of the MNIST sample: part "source", "target" or "test", kind "images" or "labels".
std::string sample(const std::string& part, const std::string& kind);

class Cli : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// A path in the folder of this test.
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  /// Names in a folder, sorted.
  static Words names_in(const std::string& folder);

  /// Two clouds of 40 and 30 points in 3 dimensions, two classes: source.npy, source_labels.npy,
  /// ...
  void write_small_data() const;

  /// name.csv with columns a, class, b, c, weight: the points of name.npy, their labels, and 1, 2,
  /// 3, 1, ... as weights. `header` comes first.
  void write_table(const std::string& name, const std::string& header) const;

  /// The flags of adapt for them, into the folder `out`.
  Words small_adapt() const;

  /// What a fit takes that goes on until it is stopped.
  const Words without_end{"--method",          "paper", "--steps", "100000",
                          "--outer-tolerance", "0",     "--inner", "tight"};

  std::string folder_;
};

Words operator+(Words a, const Words& b);

/// Expects exit code 2, nothing on standard output, and "error: " with all of `parts` on standard
/// error.
void expect_refused(const Words& words, const Words& parts);

}  // namespace remblai::cli_test

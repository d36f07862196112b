// Results as files, by one rule for every command: no input is harmed, nothing that is not ours is
// replaced unless the user says so, and results appear together or not at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arguments.h"

namespace remblai::cli {

/// A file that a command is going to write.
struct Output {
  std::string flag;  ///< that names it
  std::string path;  ///< empty: nothing is written
  std::string extension;
  bool ours = false;  ///< what stands there may be replaced without being asked for
};

/// Throws Error, before anything is computed, unless all of these could be written: a place in a
/// folder that is there, none of the inputs (by whatever link) and none of the other outputs. What
/// stands there already is replaced only with `overwrite`. `folder` will be made before they are
/// written. Also removes what runs that were killed left beside them.
void require_outputs(const std::vector<Output>& outputs, const Inputs& inputs, bool overwrite,
                     const std::string& folder = "");

/// Writes, by `write`, what require_outputs has found a place for. What came there in the meantime
/// is replaced by the same rule as before: else the result gets a name beside it, which the Error
/// has that is thrown then.
void write_output(const Output& output, bool overwrite,
                  const std::function<void(const std::string&)>& write);

/// A folder of results. Files are written aside. A folder that was not there appears with all of
/// them in one move; into one that was there they are moved one after the other. If they never are,
/// whatever was made for them goes away again. report.json in the folder lists what is ours.
class OutputFolder {
 public:
  /// `names` are all the files that may be written, report.json among them, and `wanted` those of
  /// this run. Throws Error when one of these is an input, and when something that no earlier run
  /// has listed as its own is in the way, unless `overwrite`. Nothing is made yet.
  OutputFolder(const std::string& path, std::vector<std::string> names,
               const std::vector<std::string>& wanted, const Inputs& inputs, bool overwrite);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  /// Makes room for the results, and keeps other runs from a folder that is there. Throws Error
  /// when it cannot be written to, and when another run has it.
  void open();

  /// Where to write the result called `name`.
  std::string file(const std::string& name) const;

  /// The names that were written so far, in order.
  std::vector<std::string> written() const;

  /// Files of an earlier run that stay ours, because this one reads them.
  std::vector<std::string> kept() const;

  /// Moves everything that was written into place, report.json last, and removes what an earlier
  /// run listed under the other names, but no input. What came into the folder since it was looked
  /// at is not replaced, unless `overwrite`. Throws Error that says which files are new, and where
  /// the others are kept, when it cannot move them all.
  void publish();

 private:
  void discard() noexcept;
  std::string keep_aside();
  bool replaces(const std::string& name) const;

  std::string path_;
  bool overwrite_;
  bool made_ = false;                 // the folder was not there
  std::string aside_;                 // on the same file system, so that moving is renaming
  int lock_ = -1, folder_lock_ = -1;  // on it, and on the folder, while this run lives
  std::vector<std::string> created_;  // folders made, outermost first
  std::vector<std::string> names_, own_;
  Inputs inputs_;
};

}  // namespace remblai::cli

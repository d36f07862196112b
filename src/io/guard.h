// Work on a file that may crash the library that does it: in a child process, with limits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/types.h"

namespace remblai::io {

/// Values in sequence, for another process of the same program.
class Packed {
 public:
  void add(std::uint64_t value);
  void add(std::string_view text);
  void add(const std::vector<Index>& values);

  /// Room for so many bytes more, at the end.
  char* extend(std::size_t bytes);

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// The same values, in the same order. Throws Error when they are not there.
class Unpacked {
 public:
  Unpacked(std::string_view bytes, std::string label) : bytes_(bytes), label_(std::move(label)) {}

  std::uint64_t number();
  std::string text();
  std::vector<Index> numbers();
  std::string_view rest() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(std::uint64_t bytes);

  std::string_view bytes_;
  std::string label_;
};

/// What a child process may take. Time grows with the file, and so does memory.
struct Limits {
  std::uint64_t file_size = 0;
  std::uint64_t most_reply = 0;  ///< bytes
};

/// Calls `work` in a child process and returns what it returned. An Error that it throws is thrown
/// here. A crash, a hang and a want of memory are Errors too, which name `label` and say that the
/// file is damaged. `work` may call nothing that needs another thread of this process.
std::string in_child(const std::string& label, const Limits& limits,
                     const std::function<std::string()>& work);

/// In the child: room for so many bytes beyond those of the limits.
void allow_memory(std::uint64_t bytes);

}  // namespace remblai::io

// The HDF5 library as mat73.cpp needs it: open things that close themselves, kinds of numbers,
// what stands in the way of reading them. Nothing here knows MATLAB. Everything here is called in a
// child process (guard.h): HDF5 trusts its files, and a damaged one may crash it.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/formats.h"

namespace remblai::io {

/// HDF5's numbers for what is open; closed at the end.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// For reading only; throws Error when HDF5 does not find the file whole.
Handle open_hdf5(const std::string& path);

/// The names of the objects at the root that lie in this file, sorted.
std::vector<std::string> names_at_root(hid_t file, const std::string& path);

/// An attribute that holds one text, however padded; none when it holds anything else.
std::optional<std::string> text_attribute(hid_t object, const char* name);

/// What a type is in memory: a number of this machine, which HDF5 converts to.
struct Number {
  Scalar scalar;
  hid_t type;
  std::string name;
};

std::optional<Number> number_of(hid_t type);

/// Why the numbers of this type are not taken; empty when they are.
std::string refusal_of_type(hid_t type);

/// Why the numbers, though of a known type, cannot be brought here; empty when they can.
std::string refusal_of_storage(hid_t dataset);

/// Throws Error when the file holds less than the numbers that the dataset claims, or when reading
/// them would take memory out of proportion to it. Otherwise allows that memory.
void require_stored(hid_t dataset, hid_t type, std::uint64_t file_size, const std::string& label);

}  // namespace remblai::io

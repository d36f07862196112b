// MATLAB's .mat: which version a file has. io_mat5.cpp reads versions 5 to 7, io_mat73.cpp 7.3 and
// any other HDF5.
#include "io/formats.h"

namespace remblai::io {
namespace {

enum class Version { v5, v73 };

/// By the header that MATLAB's versions share; HDF5 written by other programs need not have it.
Version version_of(const std::string& path) {
  File file(path);
  char start[128] = {};
  const std::size_t size = file.read(start, sizeof start);
  const std::string_view order(start + 126, 2);
  const bool swapped = order == "MI";
  const int major = start[swapped ? 124 : 125], minor = start[swapped ? 125 : 124];
  const bool matlab = size == sizeof start && (swapped || order == "IM") && minor == 0;
  if (matlab && major == 1) return Version::v5;
  if (is_hdf5(path)) return Version::v73;
  if (matlab && major == 2) {
    cannot_read(path,
                "version 7.3 must hold HDF5, this does not; the file is truncated or damaged");
  }
  cannot_read(path,
              "it does not begin like a .mat file of version 5, 6, 7 or 7.3; in MATLAB, save it "
              "with -v7");
}

}  // namespace

std::string refusal_of_class(const std::string& name, bool is_complex) {
  if (name == "sparse") return "it is sparse; save full(...) of it";
  for (const char* other : {"cell", "struct", "object", "char", "other"}) {
    if (name == other) return "it is of class " + name + ", not an array of numbers";
  }
  return is_complex ? "its numbers are complex; save real(...) of it" : "";
}

std::vector<Entry> list_mat(const std::string& path) {
  return version_of(path) == Version::v5 ? list_mat5(path) : list_mat73(path);
}

void visit_mat(const std::string& path, const TakeEntry& take) {
  if (version_of(path) == Version::v5) return visit_mat5(path, take);
  for (const Entry& entry : list_mat73(path))
    take(entry, [&] { return read_mat73(path, entry.name, {}); });
}

Array read_mat(const std::string& path, const std::string& name, const RowRange& rows) {
  if (version_of(path) == Version::v73) return read_mat73(path, name, rows);
  Array array = read_mat5(path, name);
  if (!rows.whole()) array.values = Matrix(array.values.middleRows(rows.first, rows.count));
  return array;
}

}  // namespace remblai::io

// MATLAB's .mat: which version a file has, and version 7.3 (HDF5) by matio; io_mat5.cpp reads the
// rest. The only file that includes matio. HDF5 itself may crash on a damaged file.
#include <fmt/format.h>
#include <matio.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "io_formats.h"

namespace remblai::io {
namespace {

struct Free {
  void operator()(mat_t* file) const { Mat_Close(file); }
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using MatFile = std::unique_ptr<mat_t, Free>;
using Variable = std::unique_ptr<matvar_t, Free>;

enum class Version { v5, v73 };

/// By the header of the file, which both versions share.
Version version_of(const std::string& path) {
  File file(path);
  char start[520] = {};
  const std::size_t size = file.read(start, sizeof start);
  const std::string_view order(start + 126, 2);
  const bool swapped = order == "MI";
  const int major = start[swapped ? 124 : 125], minor = start[swapped ? 125 : 124];
  if (size < 128 || (!swapped && order != "IM") || (major != 1 && major != 2) || minor != 0) {
    cannot_read(path,
                "it does not begin like a .mat file of version 5, 6, 7 or 7.3; in MATLAB, save "
                "it with -v7");
  }
  if (major == 1) return Version::v5;
  if (size < sizeof start || std::memcmp(start + 512, "\x89HDF\r\n\x1a\n", 8) != 0) {
    cannot_read(path, "version 7.3 must hold HDF5, this does not; the file is damaged");
  }
  return Version::v73;
}

MatFile open_mat(const std::string& path) {
  Mat_LogInitFunc("remblai", [](int, char*) {});  // matio would write to the standard error
  MatFile file(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  if (!file) cannot_read(path, "HDF5 cannot open it; the file is truncated or damaged");
  return file;
}

const char* class_name(const matvar_t& variable) {
  if (variable.isLogical != 0) return "logical";
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      return "double";
    case MAT_C_SINGLE:
      return "single";
    case MAT_C_INT8:
      return "int8";
    case MAT_C_UINT8:
      return "uint8";
    case MAT_C_INT16:
      return "int16";
    case MAT_C_UINT16:
      return "uint16";
    case MAT_C_INT32:
      return "int32";
    case MAT_C_UINT32:
      return "uint32";
    case MAT_C_INT64:
      return "int64";
    case MAT_C_UINT64:
      return "uint64";
    case MAT_C_CELL:
      return "cell";
    case MAT_C_STRUCT:
      return "struct";
    case MAT_C_CHAR:
      return "char";
    case MAT_C_SPARSE:
      return "sparse";
    default:
      return "other";
  }
}

std::optional<Scalar> scalar_of(matio_types type) {
  switch (type) {
    case MAT_T_INT8:
      return Scalar::i8;
    case MAT_T_UINT8:
      return Scalar::u8;
    case MAT_T_INT16:
      return Scalar::i16;
    case MAT_T_UINT16:
      return Scalar::u16;
    case MAT_T_INT32:
      return Scalar::i32;
    case MAT_T_UINT32:
      return Scalar::u32;
    case MAT_T_INT64:
      return Scalar::i64;
    case MAT_T_UINT64:
      return Scalar::u64;
    case MAT_T_SINGLE:
      return Scalar::f32;
    case MAT_T_DOUBLE:
      return Scalar::f64;
    default:
      return {};
  }
}

Entry describe(const matvar_t& variable) {
  Entry entry{.name = variable.name == nullptr ? "" : variable.name,
              .type = class_name(variable),
              .shape = {},
              .refusal = ""};
  for (int axis = 0; axis < variable.rank && variable.dims != nullptr; ++axis) {
    entry.shape.push_back(static_cast<Index>(variable.dims[axis]));
  }
  entry.refusal =
      refusal_of_class(variable.isLogical != 0 ? "uint8" : entry.type, variable.isComplex != 0);
  return entry;
}

/// Every number takes a byte at least, more only when packed.
void require_room(const Entry& entry, std::uint64_t file_size, const std::string& label) {
  const auto [rows, cols] = extent(entry.shape, label);
  const auto count = static_cast<std::uint64_t>(rows * cols);
  if (count / max_unpacking > file_size) {
    cannot_read(label, fmt::format("a shape of {} does not fit in a file of {} bytes",
                                   shape_text(entry.shape), file_size));
  }
}

}  // namespace

std::string refusal_of_class(const std::string& name, bool is_complex) {
  if (name == "sparse") return "it is sparse; save full(...) of it";
  for (const char* other : {"cell", "struct", "object", "char", "other"}) {
    if (name == other) return fmt::format("it is of class {}, not an array of numbers", name);
  }
  return is_complex ? "its numbers are complex; save real(...) of it" : "";
}

std::vector<Entry> list_mat(const std::string& path) {
  if (version_of(path) == Version::v5) return list_mat5(path);
  const MatFile file = open_mat(path);
  std::vector<Entry> entries;
  while (const Variable variable{Mat_VarReadNextInfo(file.get())}) {
    entries.push_back(describe(*variable));
    if (entries.back().name.empty()) entries.pop_back();
  }
  return entries;
}

Array read_mat(const std::string& path, const std::string& name) {
  if (version_of(path) == Version::v5) return read_mat5(path, name);
  const std::string label = path + ":" + name;
  const MatFile file = open_mat(path);
  const Variable variable(Mat_VarReadInfo(file.get(), name.c_str()));
  if (!variable) cannot_read(label, "the file is damaged");
  const Entry entry = describe(*variable);
  if (!entry.refusal.empty()) cannot_read(label, entry.refusal);
  require_room(entry, File(path).size(), label);
  const auto [rows, cols] = extent(entry.shape, label);
  const auto count = static_cast<std::size_t>(rows * cols);
  if (count > 0 && Mat_VarReadDataAll(file.get(), variable.get()) != 0) {
    cannot_read(label, "its numbers cannot be read; the file is damaged");
  }
  const auto scalar = scalar_of(variable->data_type);
  if (count > 0 && (!scalar || variable->data == nullptr ||
                    static_cast<std::size_t>(variable->data_size) != size_of(*scalar) ||
                    variable->nbytes != count * size_of(*scalar))) {
    cannot_read(label, "its numbers are not what its description says; the file is damaged");
  }
  const Layout layout{.scalar = scalar.value_or(Scalar::f64),
                      .swapped = false,
                      .column_major = true,
                      .shape = entry.shape};
  return {.name = name,
          .type = entry.type,
          .shape = entry.shape,
          .values = decode(variable->data, layout, label)};
}

}  // namespace remblai::io

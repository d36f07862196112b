// HDF5: the file, its table of contents, attributes, and which numbers can be read from it.
// Nothing here writes, and no other file is opened on behalf of the one that was named.
#include "io/hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "io/guard.h"

namespace remblai::io {

namespace {

/// Bytes of numbers for each byte of the file, at most, where filters pack them: more than deflate
/// does.
constexpr std::uint64_t most_packed = 4096;

std::uint64_t chunk_bytes(hid_t properties, std::uint64_t number_size) {
  std::vector<hsize_t> dims(H5S_MAX_RANK);
  const int rank = H5Pget_chunk(properties, H5S_MAX_RANK, dims.data());
  std::uint64_t bytes = number_size;
  for (int axis = 0; axis < rank; ++axis) {
    if (__builtin_mul_overflow(bytes, dims[static_cast<std::size_t>(axis)], &bytes))
      return UINT64_MAX;
  }
  return bytes;
}

}  // namespace

Handle open_hdf5(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it would write to the standard error
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, true, true);  // some network folders know no locks
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!file) {
    cannot_read(path,
                "HDF5 cannot open it; the file is truncated or damaged, or a program that writes "
                "it has not closed it");
  }
  return file;
}

std::vector<std::string> names_at_root(hid_t file, const std::string& path) {
  std::vector<std::string> names;
  const auto visit = [](hid_t, const char* name, const H5L_info_t* link, void* to) noexcept {
    // A link of another kind may lead to another file.
    if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(to)->push_back(name);
    return herr_t{0};
  };
  if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit, &names) < 0) {
    cannot_read(path, "its table of contents cannot be read; the file is truncated or damaged");
  }
  return names;
}

std::optional<std::string> text_attribute(hid_t object, const char* name) {
  constexpr std::size_t longest = 256;
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return {};
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return {};
  std::string text;
  if (H5Tis_variable_str(type) > 0) {
    char* read = nullptr;
    if (H5Aread(attribute, type, &read) < 0 || read == nullptr) return {};
    text.assign(read, ::strnlen(read, longest));
    H5free_memory(read);
  } else {
    text.resize(H5Tget_size(type));
    if (text.size() > longest || H5Aread(attribute, type, text.data()) < 0) return {};
    text.resize(::strnlen(text.data(), text.size()));
  }
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

std::optional<Number> number_of(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_FLOAT && size <= 8) {
    const bool narrow = size <= 4;
    return Number{narrow ? Scalar::f32 : Scalar::f64, narrow ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE,
                  fmt::format("float{}", 8 * size)};
  }
  if (kind == H5T_ENUM && size == 1 && H5Tget_nmembers(type) == 2) {  // h5py's bool
    return Number{Scalar::u8, type, "bool"};
  }
  if (kind != H5T_INTEGER) return {};
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  const auto number = [&](Scalar with, hid_t with_type, Scalar without, hid_t without_type) {
    const Scalar scalar = is_signed ? with : without;
    return Number{scalar, is_signed ? with_type : without_type, name_of(scalar)};
  };
  if (size == 1) return number(Scalar::i8, H5T_NATIVE_INT8, Scalar::u8, H5T_NATIVE_UINT8);
  if (size == 2) return number(Scalar::i16, H5T_NATIVE_INT16, Scalar::u16, H5T_NATIVE_UINT16);
  if (size == 4) return number(Scalar::i32, H5T_NATIVE_INT32, Scalar::u32, H5T_NATIVE_UINT32);
  if (size == 8) return number(Scalar::i64, H5T_NATIVE_INT64, Scalar::u64, H5T_NATIVE_UINT64);
  return {};
}

std::string refusal_of_type(hid_t type) {
  if (number_of(type)) return "";
  const char* what = "no kind of number that is known";
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      if (H5Tget_nmembers(type) == 2) return refusal_of_class("double", true);
      what = "records";
      break;
    case H5T_STRING:
      what = "text";
      break;
    case H5T_REFERENCE:
      what = "references";
      break;
    case H5T_INTEGER:
    case H5T_FLOAT:
      return fmt::format("its numbers take {} bytes each; save them as double", H5Tget_size(type));
    default:
      break;
  }
  return fmt::format("it holds {}, not an array of numbers", what);
}

std::string refusal_of_storage(hid_t dataset) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  if (H5Pget_external_count(properties) > 0 || H5Pget_layout(properties) == H5D_VIRTUAL) {
    return "its numbers lie in another file; save a copy that holds them";
  }
  const int filters = H5Pget_nfilters(properties);
  for (int i = 0; i < filters; ++i) {
    char name[64] = {};
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof name, name, &config);
    if (filter < 0 || H5Zfilter_avail(filter) <= 0) {
      return fmt::format(
          "it is packed by the HDF5 filter {} ({}), which is not here; save it with "
          "gzip or unpacked",
          filter, in_quotes({name, ::strnlen(name, sizeof name)}));
    }
  }
  return "";
}

void require_stored(hid_t dataset, hid_t type, std::uint64_t file_size, const std::string& label) {
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const std::uint64_t number_size = H5Tget_size(type);
  std::uint64_t claimed = 0;
  if (count < 0 || number_size == 0 ||
      __builtin_mul_overflow(static_cast<std::uint64_t>(count), number_size, &claimed))
    damaged(label, "its shape is impossible");
  const bool packed = H5Pget_nfilters(properties) > 0;
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(dataset), file_size);
  if (claimed / (packed ? most_packed : 1) > stored)
    damaged(label, fmt::format("its shape needs {} bytes of numbers, the file holds {}{}", claimed,
                               stored, packed ? ", packed" : ""));
  const bool chunked = H5Pget_layout(properties) == H5D_CHUNKED;
  const std::uint64_t chunk = chunked ? chunk_bytes(properties, number_size) : 0;
  constexpr std::uint64_t free_chunk = std::uint64_t{1} << 20;
  if (chunk > free_chunk && (chunk - free_chunk) / most_packed > file_size)
    damaged(label,
            fmt::format("a piece of {} bytes does not fit in a file of {}", chunk, file_size));
  constexpr std::uint64_t widest = 8;  // of a number here; HDF5 converts in buffers of its own
  allow_memory(2 * claimed / number_size * widest + 4 * chunk);
}

}  // namespace remblai::io

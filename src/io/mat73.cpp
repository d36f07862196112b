// MATLAB's .mat, version 7.3: HDF5 by MATLAB's conventions, or as Python's h5py writes it without
// them. HDF5 reads it in a child process, which may crash.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/guard.h"
#include "io/hdf5.h"

namespace remblai::io {
namespace {

/// Memory as a Reader, for decode().
class Memory : public Reader {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  std::size_t read(void* to, std::size_t bytes) override {
    const std::size_t count = bytes_.copy(static_cast<char*>(to), bytes);
    bytes_.remove_prefix(count);
    return count;
  }
  std::uint64_t remaining() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

bool has_user_block(hid_t file) {
  const Handle properties(H5Fget_create_plist(file), H5Pclose);
  hsize_t size = 0;
  return H5Pget_userblock(properties, &size) >= 0 && size > 0;
}

/// What MATLAB calls the object; none when it does not say.
std::optional<std::string> class_of(hid_t object) {
  if (H5Aexists(object, "MATLAB_class") <= 0) return {};
  const std::string text = text_attribute(object, "MATLAB_class").value_or("");
  const bool word = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return word ? text : "other";
}

std::string refusal_of(hid_t dataset, hid_t type, const std::optional<std::string>& kind) {
  static constexpr const char* numbers[] = {"double", "single", "logical", "int8",
                                            "uint8",  "int16",  "uint16",  "int32",
                                            "uint32", "int64",  "uint64"};
  const bool number =
      !kind || std::find(std::begin(numbers), std::end(numbers), *kind) != std::end(numbers);
  if (!number) return fmt::format("it is of class {}, not an array of numbers", *kind);
  std::string refusal = refusal_of_type(type);
  return refusal.empty() ? refusal_of_storage(dataset) : refusal;
}

std::vector<Index> lengths(const std::vector<hsize_t>& dims, const std::string& label) {
  constexpr hsize_t most = std::numeric_limits<Index>::max();
  for (const hsize_t length : dims) {
    if (length > most) damaged(label, fmt::format("a length of {} is impossible", length));
  }
  return {dims.begin(), dims.end()};
}

bool is_marked_empty(hid_t dataset) {
  const Handle attribute(H5Aopen(dataset, "MATLAB_empty", H5P_DEFAULT), H5Aclose);
  if (!attribute) return false;
  const Handle space(H5Aget_space(attribute), H5Sclose);
  int marked = 0;
  return H5Sget_simple_extent_npoints(space) == 1 &&
         H5Aread(attribute, H5T_NATIVE_INT, &marked) >= 0 && marked != 0;
}

/// MATLAB has no array without numbers in HDF5: the numbers are the shape.
std::vector<Index> shape_inside(hid_t dataset, const std::string& label) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  std::vector<hsize_t> dims(H5S_MAX_RANK);
  const hssize_t rank = H5Sget_simple_extent_npoints(space);
  if (rank < 0 || rank > H5S_MAX_RANK ||
      H5Dread(dataset, H5T_NATIVE_HSIZE, H5S_ALL, H5S_ALL, H5P_DEFAULT, dims.data()) < 0) {
    damaged(label, "it is marked as empty, but does not hold its shape");
  }
  dims.resize(static_cast<std::size_t>(rank));
  if (std::find(dims.begin(), dims.end(), hsize_t{0}) == dims.end()) dims.assign(1, 0);
  return lengths(dims, label);
}

std::vector<Index> shape_of(hid_t dataset, bool reversed, const std::string& label) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return {0};
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) damaged(label, "it has no shape");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  if (reversed) std::reverse(dims.begin(), dims.end());
  return lengths(dims, label);
}

/// A dataset at the root, as MATLAB has it when `reversed`: its extents in HDF5 run backwards.
struct Dataset {
  Handle object;
  bool reversed = false;
  Entry entry;
};

/// None for what is neither a dataset nor a group. MATLAB's order is taken where there is a sign of
/// MATLAB, its class or a user block; who writes by h5py alone means the shape as it is written.
std::optional<Dataset> open_dataset(hid_t file, const std::string& path, const std::string& name) {
  const std::string label = path + ":" + name;
  Handle object(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (!object) damaged(label, "HDF5 cannot open it");
  const H5I_type_t kind = H5Iget_type(object);
  const std::optional<std::string> class_name = class_of(object);
  Entry entry{.name = name, .type = class_name.value_or("struct"), .shape = {}, .refusal = ""};
  if (kind == H5I_GROUP) {
    if (H5Aexists(object, "MATLAB_sparse") > 0) entry.type = "sparse";
    entry.refusal = refusal_of_class(entry.type == "sparse" ? "sparse" : "struct", false);
    return Dataset{std::move(object), false, std::move(entry)};
  }
  if (kind != H5I_DATASET) return {};
  const bool reversed = class_name || has_user_block(file);
  const Handle type(H5Dget_type(object), H5Tclose);
  const std::optional<Number> number = number_of(type);
  if (!class_name) entry.type = number ? number->name : "other";
  entry.refusal = refusal_of(object, type, class_name);
  const bool inside = entry.refusal.empty() && is_marked_empty(object);
  entry.shape = inside ? shape_inside(object, label) : shape_of(object, reversed, label);
  return Dataset{std::move(object), reversed, std::move(entry)};
}

Packed pack(const Entry& entry) {
  Packed packed;
  for (const std::string* text : {&entry.name, &entry.type, &entry.refusal}) packed.add(*text);
  packed.add(entry.shape);
  packed.add(std::uint64_t{entry.damaged});
  return packed;
}

Entry unpack_entry(Unpacked& packed) {
  Entry entry;
  for (std::string* text : {&entry.name, &entry.type, &entry.refusal}) *text = packed.text();
  entry.shape = packed.numbers();
  entry.damaged = packed.number() != 0;
  return entry;
}

/// The entries of the file, in the child.
std::string list_here(const std::string& path) {
  const Handle file = open_hdf5(path);
  std::string all;
  for (const std::string& name : names_at_root(file, path)) {
    if (name.starts_with('#')) continue;  // MATLAB's own: what cells and objects refer to
    bool listed = true;
    Entry entry = or_refusal([&] {
      std::optional<Dataset> dataset = open_dataset(file, path, name);
      listed = dataset.has_value();
      return dataset ? std::move(dataset->entry) : Entry();
    });
    entry.name = name;
    if (listed) all += pack(entry).take();
  }
  return all;
}

/// Entry, kind of number, order of the extents and the numbers themselves, in the child.
std::string read_here(const std::string& path, const std::string& name, const std::string& label,
                      std::uint64_t file_size, const RowRange& wanted) {
  const Handle file = open_hdf5(path);
  const std::optional<Dataset> dataset = open_dataset(file, path, name);
  if (!dataset) cannot_read(label, "it is not an array");
  const Entry& entry = dataset->entry;
  if (!entry.refusal.empty()) cannot_read(label, entry.refusal);
  const Handle type(H5Dget_type(dataset->object), H5Tclose);
  const Number number = *number_of(type);
  const auto [rows, cols] = extent(entry.shape, label);
  const std::uint64_t size = static_cast<std::uint64_t>(rows * cols) * size_of(number.scalar);
  if (size > 0) require_stored(dataset->object, type, file_size, label);
  Packed packed = pack(entry);
  packed.add(static_cast<std::uint64_t>(number.scalar));
  packed.add(std::uint64_t{dataset->reversed});
  // A damaged file may tell HDF5 another shape than us; the buffer is as large as HDF5 takes it.
  const Handle space(H5Dget_space(dataset->object), H5Sclose);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (size > 0 && static_cast<std::uint64_t>(points) != size / size_of(number.scalar))
    damaged(label, "its shape is impossible");
  std::vector<Index> shape = entry.shape;  // of what is read
  const bool all = wanted.whole() || shape.empty() || size == 0;
  if (!all) {
    shape[0] = wanted.count;
    const std::size_t rank = shape.size(), axis = dataset->reversed ? rank - 1 : 0;
    std::vector<hsize_t> start(rank, 0), count(shape.begin(), shape.end());
    if (dataset->reversed) std::reverse(count.begin(), count.end());
    start[axis] = static_cast<hsize_t>(wanted.first);
    if (wanted.count > 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr,
                                                count.data(), nullptr) < 0)
      damaged(label, "its rows cannot be read");
  }
  const auto [held_rows, held_cols] = extent(shape, label);
  const hsize_t numbers = static_cast<hsize_t>(held_rows * held_cols);
  char* bytes = packed.extend(static_cast<std::size_t>(numbers) * size_of(number.scalar));
  const Handle memory(H5Screate_simple(1, &numbers, nullptr), H5Sclose);
  if (numbers > 0 &&
      H5Dread(dataset->object, number.type, all ? H5S_ALL : static_cast<hid_t>(memory),
              all ? H5S_ALL : static_cast<hid_t>(space), H5P_DEFAULT, bytes) < 0) {
    damaged(label, "its numbers cannot be read");
  }
  return packed.take();
}

/// No more than numbers packed as tightly as HDF5 can, and what is told about them.
Limits limits_of(std::uint64_t file_size) {
  return {file_size, (std::uint64_t{1} << 24) + 8 * 4096 * file_size};
}

}  // namespace

bool is_hdf5(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  const std::uint64_t size = File(path).size();
  // At the front, or behind a user block of 512 bytes, twice as many, and so on.
  for (std::uint64_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : 2 * at) {
    File file(path);
    file.skip(at);
    char start[8] = {};
    if (file.read(start, sizeof start) == sizeof start &&
        std::string_view(start, sizeof start) == signature)
      return true;
  }
  return false;
}

std::vector<Entry> list_mat73(const std::string& path) {
  const std::uint64_t file_size = File(path).size();
  const std::string reply = in_child(path, limits_of(file_size), [&] { return list_here(path); });
  std::vector<Entry> entries;
  for (Unpacked packed(reply, path); !packed.empty();) entries.push_back(unpack_entry(packed));
  return entries;
}

Array read_mat73(const std::string& path, const std::string& name, const RowRange& rows) {
  const std::string label = path + ":" + name;
  const std::uint64_t file_size = File(path).size();
  const std::string reply = in_child(label, limits_of(file_size),
                                     [&] { return read_here(path, name, label, file_size, rows); });
  Unpacked packed(reply, label);
  Entry entry = unpack_entry(packed);
  const auto scalar = static_cast<Scalar>(packed.number());
  const bool reversed = packed.number() != 0;
  std::vector<Index> shape = entry.shape;
  if (!rows.whole() && !shape.empty() &&
      std::find(shape.begin(), shape.end(), Index{0}) == shape.end())
    shape[0] = rows.count;
  const Layout layout{.scalar = scalar, .swapped = false, .column_major = reversed, .shape = shape};
  Memory memory(packed.rest());
  Matrix values = decode(memory, layout, label, "HDF5");
  // One number, and what has no numbers at all, come whole.
  if (!rows.whole() && values.rows() != rows.count)
    values = Matrix(values.middleRows(rows.first, rows.count));
  return {.name = name,
          .type = std::move(entry.type),
          .shape = std::move(entry.shape),
          .values = std::move(values)};
}

}  // namespace remblai::io

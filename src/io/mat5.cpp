// MATLAB's .mat, versions 5 to 7: tagged elements, each plain or packed by zlib. Every size
// is checked against the file before memory is asked for.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "io/formats.h"

namespace remblai::io {
namespace {

constexpr std::uint32_t matrix_tag = 14, packed_tag = 15, int32_tag = 5, int8_tag = 1;
constexpr std::uint64_t head_size = 4096;  // what comes before the numbers is much shorter
constexpr unsigned logical_flag = 0x0200, complex_flag = 0x0800;

std::uint32_t load_u32(const char* from, bool swapped) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return swapped ? __builtin_bswap32(value) : value;
}

struct Part {
  std::uint32_t tag = 0;
  std::string_view bytes;
};

/// The parts of a matrix element in sequence; the last may reach beyond the bytes at hand.
class Parts {
 public:
  Parts(std::string_view bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  std::optional<Part> next() {
    if (bytes_.size() < 8) return {};
    const std::uint32_t first = load_u32(bytes_.data(), swapped_);
    const std::uint32_t small = first >> 16;  // up to four bytes lie inside the tag
    const std::size_t size = small != 0 ? small : load_u32(bytes_.data() + 4, swapped_);
    const std::size_t start = small != 0 ? 4 : 8;
    if (small > 4 || size > bytes_.size() - start) return {};
    const Part part{.tag = small != 0 ? first & 0xffff : first,
                    .bytes = bytes_.substr(start, size)};
    bytes_.remove_prefix(std::min(bytes_.size(), small != 0 ? 8 : 8 + (size + 7) / 8 * 8));
    return part;
  }

 private:
  std::string_view bytes_;
  bool swapped_;
};

std::optional<Scalar> scalar_of(std::uint32_t tag) {
  static constexpr std::pair<std::uint32_t, Scalar> known[] = {
      {1, Scalar::i8},  {2, Scalar::u8},  {3, Scalar::i16}, {4, Scalar::u16},  {5, Scalar::i32},
      {6, Scalar::u32}, {7, Scalar::f32}, {9, Scalar::f64}, {12, Scalar::i64}, {13, Scalar::u64}};
  for (const auto& [code, scalar] : known) {
    if (code == tag) return scalar;
  }
  return {};
}

/// What the front of a matrix element says; `parts` is left before the numbers.
Entry describe_matrix(Parts& parts, bool swapped, const std::string& path) {
  static constexpr const char* classes[] = {
      "other", "cell",  "struct", "object", "char",  "sparse", "double", "single",
      "int8",  "uint8", "int16",  "uint16", "int32", "uint32", "int64",  "uint64"};
  const auto flags = parts.next();
  const auto second = parts.next();
  if (!flags || flags->bytes.size() != 8 || !second) damaged(path, "an array has no description");
  const std::uint32_t word = load_u32(flags->bytes.data(), swapped);
  const std::uint32_t kind = word & 0xff;
  Entry entry{.name = "",
              .type = (word & logical_flag) != 0 ? "logical" : classes[kind < 16 ? kind : 0],
              .shape = {},
              .refusal = ""};
  if (second->tag == int32_tag) {
    for (std::size_t at = 0; at + 4 <= second->bytes.size(); at += 4) {
      entry.shape.push_back(
          static_cast<std::int32_t>(load_u32(second->bytes.data() + at, swapped)));
    }
  }
  const auto name = second->tag == int32_tag ? parts.next() : second;
  if (!name || name->tag != int8_tag) damaged(path, "an array has no name");
  entry.name = name->bytes.substr(0, name->bytes.find('\0'));
  entry.refusal = refusal_of_class(classes[kind < 16 ? kind : 0], (word & complex_flag) != 0);
  if ((word & complex_flag) != 0) entry.type = "complex " + entry.type;
  if (!entry.refusal.empty()) return entry;
  Entry checked = or_refusal([&] {
    extent(entry.shape, path + ":" + entry.name);
    return entry;
  });
  checked.name = entry.name;
  return checked;
}

/// Unpacks from the start of `packed` until `to` is full; the count of bytes. `finished` tells
/// whether the stream ended there with a right checksum.
std::size_t unpack(std::string_view packed, char* to, std::size_t size, bool& finished) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return 0;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(size);
  const int code = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  finished = code == Z_STREAM_END;
  return size - stream.avail_out;
}

/// The elements of a file in sequence. Each is checked to lie inside the file before it is read.
class Elements {
 public:
  explicit Elements(const std::string& path) : path_(path), file_(path) {
    char header[128];
    if (file_.read(header, sizeof header) < sizeof header) damaged(path, "it ends in its header");
    constexpr bool little = std::endian::native == std::endian::little;
    swapped_ = (header[126] == 'I') != little;
  }

  /// Steps to the next element; false at the end.
  bool next() {
    file_.skip(unread_);
    if (file_.remaining() == 0) return false;
    char tag[8];
    if (file_.read(tag, 8) < 8) damaged(path_, "it ends inside an array");
    packed_ = load_u32(tag, swapped_) == packed_tag;
    if (!packed_ && load_u32(tag, swapped_) != matrix_tag) {
      damaged(path_, fmt::format("0x{:x} is not the tag of an array", load_u32(tag, swapped_)));
    }
    unread_ = load_u32(tag + 4, swapped_);
    if (unread_ > file_.remaining()) {
      damaged(path_, fmt::format("an array promises {} bytes, the file holds {}", unread_,
                                 file_.remaining()));
    }
    bytes_.clear();
    return true;
  }

  /// The first bytes of the matrix element, unpacked.
  std::string_view head() {
    load(packed_ ? unread_ : std::min(unread_, head_size));
    if (!packed_) return bytes_;
    bool finished = false;
    unpacked_.resize(head_size);
    unpacked_.resize(unpack(bytes_, unpacked_.data(), unpacked_.size(), finished));
    return std::string_view(unpacked_).substr(std::min<std::size_t>(8, unpacked_.size()));
  }

  /// The whole matrix element, unpacked.
  std::string_view body() {
    load(unread_);
    if (!packed_) return bytes_;
    char tag[8] = {};
    bool finished = false;
    if (unpack(bytes_, tag, 8, finished) < 8 || load_u32(tag, swapped_) != matrix_tag) {
      damaged(path_, "a packed element holds no array");
    }
    const std::size_t size = std::size_t{8} + load_u32(tag + 4, swapped_);
    if (size / max_unpacking > bytes_.size() || size > UINT32_MAX) {
      damaged(path_, fmt::format("an array promises {} bytes packed into {}", size, bytes_.size()));
    }
    unpacked_.resize(size);
    if (unpack(bytes_, unpacked_.data(), size, finished) < size || !finished) {
      damaged(path_, "a packed array is shorter than it says or its checksum is wrong");
    }
    return std::string_view(unpacked_).substr(8);
  }

  bool swapped() const { return swapped_; }

 private:
  void load(std::uint64_t size) {
    const std::size_t had = bytes_.size();
    bytes_.resize(had + static_cast<std::size_t>(size));
    if (file_.read(bytes_.data() + had, bytes_.size() - had) < size) {
      damaged(path_, "it ends inside an array");
    }
    unread_ -= size;
  }

  std::string path_;
  File file_;
  bool swapped_ = false;
  bool packed_ = false;
  std::uint64_t unread_ = 0;  ///< bytes of the present element still in the file
  std::string bytes_;         ///< those that were read
  std::string unpacked_;
};

/// What an element holds. A damaged one may have lost its name, and is called by its number then.
Entry describe_element(Elements& elements, int number, const std::string& path) {
  Entry entry = or_refusal([&] {
    Parts parts(elements.head(), elements.swapped());
    return describe_matrix(parts, elements.swapped(), path);
  });
  if (entry.damaged && entry.name.empty()) entry.name = fmt::format("array {}", number);
  return entry;
}

/// The numbers of the present element, whose description was read.
Array element_numbers(Elements& elements, const std::string& path, const std::string& name) {
  const std::string label = path + ":" + name;
  Parts parts(elements.body(), elements.swapped());
  Entry entry = describe_matrix(parts, elements.swapped(), path);
  const auto numbers = parts.next();
  const auto scalar = numbers ? scalar_of(numbers->tag) : std::nullopt;
  const auto [rows, cols] = extent(entry.shape, label);
  if (!scalar) damaged(label, "it has no numbers");
  const auto promised = static_cast<std::uint64_t>(rows * cols) * size_of(*scalar);
  if (promised != numbers->bytes.size()) {
    damaged(label, fmt::format("a shape of {} needs {} bytes of numbers, there are {}",
                               shape_text(entry.shape), promised, numbers->bytes.size()));
  }
  const Layout layout{
      .scalar = *scalar, .swapped = elements.swapped(), .column_major = true, .shape = entry.shape};
  Matrix values = decode(numbers->bytes.data(), layout, label);
  return {.name = name,
          .type = std::move(entry.type),
          .shape = std::move(entry.shape),
          .values = std::move(values)};
}

}  // namespace

void visit_mat5(const std::string& path, const TakeEntry& take) {
  constexpr int most_damaged = 200;  // of a file with more of them nothing is worth the time
  int number = 0, spoilt = 0;
  for (Elements elements(path); elements.next();) {
    const Entry entry = describe_element(elements, ++number, path);
    if (entry.damaged && ++spoilt > most_damaged)
      damaged(path, fmt::format("more than {} of its arrays cannot be read", most_damaged));
    if (entry.name.empty()) continue;  // MATLAB's own have no name
    take(entry, [&] { return element_numbers(elements, path, entry.name); });
  }
}

std::vector<Entry> list_mat5(const std::string& path) {
  std::vector<Entry> entries;
  visit_mat5(path, [&](const Entry& entry, const auto&) { entries.push_back(entry); });
  return entries;
}

Array read_mat5(const std::string& path, const std::string& name) {
  int number = 0;
  for (Elements elements(path); elements.next();) {
    const Entry found = describe_element(elements, ++number, path);
    if (!found.damaged && found.name == name) return element_numbers(elements, path, name);
  }
  cannot_read(path, "there is no array " + in_quotes(name));
}

}  // namespace remblai::io

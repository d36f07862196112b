// NumPy's .npy: header versions 1 to 3, both orders of memory, both byte orders;
// The header is a Python dictionary, read by the small parser below.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr const char* format_name = "a .npy file";
constexpr std::size_t longest_header = std::size_t{1} << 20;

/// The parts of the dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
struct Header {
  std::string type;
  bool structured = false;
  bool column_major = false;
  std::vector<Index> shape;
};

/// Reads the dictionary; every member returns false, or nothing, at the first thing it cannot take.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Header> header() {
    Header header;
    int found = 0;
    if (!take('{')) return {};
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return {};
      if (*key == "descr") {
        if (!type(header)) return {};
        found |= 1;
      } else if (*key == "fortran_order") {
        if (!boolean(header.column_major)) return {};
        found |= 2;
      } else if (*key == "shape") {
        if (!shape(header.shape)) return {};
        found |= 4;
      } else {
        return {};
      }
      if (!take(',') && peek() != '}') return {};
    }
    if (found != 7 || peek() != '\0') return {};
    return header;
  }

 private:
  char peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return {};
    const auto end = text_.find(quote, 1);
    if (end == std::string_view::npos) return {};
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }

  bool boolean(bool& value) {
    peek();
    value = text_.starts_with("True");
    if (!value && !text_.starts_with("False")) return false;
    text_.remove_prefix(value ? 4 : 5);
    return true;
  }

  /// A list of fields is only stepped over: such arrays are refused.
  bool type(Header& header) {
    if (peek() != '[') {
      auto text = string();
      if (text) header.type = *std::move(text);
      return text.has_value();
    }
    header.structured = true;
    int depth = 0;
    do {
      const char next = peek();
      if (next == '\0') return false;
      if (next == '\'' || next == '"') {
        if (!string()) return false;
        continue;
      }
      depth += next == '[' ? 1 : next == ']' ? -1 : 0;
      text_.remove_prefix(1);
    } while (depth > 0);
    return true;
  }

  bool shape(std::vector<Index>& extents) {
    extents.clear();
    if (!take('(')) return false;
    while (!take(')')) {
      Index value = 0;
      peek();
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (code != std::errc{} || extents.size() == 64) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      take('L');  // Python 2 wrote long integers so
      extents.push_back(value);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
};

/// The whole header with its dictionary; throws Error.
Header read_header(Reader& reader, const std::string& label) {
  const auto need = [&](char* to, std::size_t bytes) {
    if (reader.remaining() < bytes || reader.read(to, bytes) < bytes) {
      cannot_read(label, "the file ends inside its header; it is truncated or not a .npy file");
    }
  };
  unsigned char start[12] = {};
  need(reinterpret_cast<char*>(start), 8);
  if (std::memcmp(start, magic.data(), magic.size()) != 0) {
    cannot_read(label, "it does not begin like a .npy file");
  }
  const unsigned version = start[6];
  if (version < 1 || version > 3) {
    cannot_read(label, fmt::format(".npy version {} is unknown; 1, 2 and 3 are read", version));
  }
  const std::size_t width = version == 1 ? 2 : 4;
  need(reinterpret_cast<char*>(start) + 8, width);
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | start[8 + i];
  if (length > longest_header) {
    cannot_read(label, fmt::format("a header of {} bytes is not one of a .npy file", length));
  }
  std::string text(length, '\0');
  need(text.data(), length);
  auto header = Parser(text).header();
  if (!header) cannot_read(label, "the .npy header " + in_quotes(text) + " cannot be understood");
  return *std::move(header);
}

/// What the dictionary describes; the refusal is empty when `layout` was filled.
Entry describe(const Header& header, Layout& layout) {
  Entry entry{.name = "", .type = header.type, .shape = header.shape, .refusal = ""};
  const auto refuse = [&](const char* what) {
    entry.refusal =
        fmt::format("its numbers are {} ({}); save them as float64, float32 or integers", what,
                    in_quotes(header.type));
    return entry;
  };
  if (header.structured) {
    entry.type = "structured";
    entry.refusal = "it has a structured type; save one field of it, or a plain matrix";
    return entry;
  }
  std::string_view type = header.type;
  char order = '|';
  if (!type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
    order = type[0];
    type.remove_prefix(1);
  }
  static constexpr std::pair<char, const char*> others[] = {
      {'O', "Python objects"}, {'c', "complex"}, {'S', "text"},          {'U', "text"},
      {'a', "text"},           {'M', "dates"},   {'m', "spans of time"}, {'V', "raw bytes"}};
  for (const auto& [code, what] : others) {
    if (type.starts_with(code)) return refuse(what);
  }
  static constexpr std::pair<std::string_view, Scalar> known[] = {
      {"b1", Scalar::b8},  {"i1", Scalar::i8},  {"u1", Scalar::u8},  {"i2", Scalar::i16},
      {"u2", Scalar::u16}, {"i4", Scalar::i32}, {"u4", Scalar::u32}, {"i8", Scalar::i64},
      {"u8", Scalar::u64}, {"f2", Scalar::f16}, {"f4", Scalar::f32}, {"f8", Scalar::f64}};
  for (const auto& [code, scalar] : known) {
    if (type != code) continue;
    constexpr bool little = std::endian::native == std::endian::little;
    layout = {.scalar = scalar,
              .swapped = order == (little ? '>' : '<'),
              .column_major = header.column_major,
              .shape = header.shape};
    entry.type = name_of(scalar);
    return entry;
  }
  return refuse("of an unsupported type");
}

}  // namespace

Entry list_npy(Reader& reader, const std::string& label) {
  Layout layout;
  Entry entry = describe(read_header(reader, label), layout);
  extent(entry.shape, label);
  return entry;
}

Array read_npy(Reader& reader, const std::string& label, const RowRange& rows) {
  Layout layout;
  const Entry entry = describe(read_header(reader, label), layout);
  if (!entry.refusal.empty()) cannot_read(label, entry.refusal);
  return {.name = "",
          .type = entry.type,
          .shape = entry.shape,
          .values = decode(reader, layout, label, format_name, rows)};
}

std::vector<Entry> list_npy(const std::string& path) {
  File file(path);
  return {list_npy(file, path)};
}

Array read_npy(const std::string& path, const std::string&, const RowRange& rows) {
  File file(path);
  return read_npy(file, path, rows);
}

std::string npy_header(Scalar scalar, const std::vector<Index>& shape) {
  constexpr char order = std::endian::native == std::endian::little ? '<' : '>';
  const char* code = scalar == Scalar::f64 ? "f8" : scalar == Scalar::i64 ? "i8" : "u1";
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 scalar == Scalar::u8 ? '|' : order, code, fmt::join(shape, ", "),
                                 shape.size() == 1 ? "," : "");
  constexpr std::size_t before = 10, alignment = 64;
  text.append(alignment - 1 - (before + text.size()) % alignment, ' ');
  text += '\n';
  std::string header(magic);
  header +=
      {'\x01', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

void write_npy(const std::string& path, const Matrix& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               static_cast<std::size_t>(values.size()) * sizeof(double));
  write_bytes(path, {npy_header(Scalar::f64, {values.rows(), values.cols()}), bytes});
}

void write_npy(const std::string& path, Index rows, Index columns,
               const std::function<void(const TakeRows& take)>& make) {
  write_stream(path, [&](const TakeBytes& write) {
    write(npy_header(Scalar::f64, {rows, columns}));
    make([&](const Matrix& some) {
      write({reinterpret_cast<const char*>(some.data()),
             static_cast<std::size_t>(some.size()) * sizeof(double)});
    });
  });
}

void write_npy(const std::string& path, const Labels& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               static_cast<std::size_t>(values.size()) * sizeof(std::int64_t));
  write_bytes(path, {npy_header(Scalar::i64, {values.size()}), bytes});
}

}  // namespace remblai::io

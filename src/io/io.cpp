// From a spec to points, labels or a vector: the format by suffix, the array by name or by shape.
// Whatever leaves this file is finite, and labels are whole.
#include "remblai/io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <new>
#include <set>

#include "io/formats.h"
#include "remblai/domain.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::vector<Entry> (*list)(const std::string&);
  Array (*read)(const std::string&, const std::string&, const RowRange&);  ///< none for a table
  void (*visit)(const std::string&, const TakeEntry&);  ///< of formats that have several arrays
};

constexpr Format npy{list_npy, read_npy, nullptr};
constexpr Format npz{list_npz, read_npz, visit_npz};
constexpr Format mat{list_mat, read_mat, visit_mat};
constexpr Format idx{list_idx, read_idx, nullptr};
constexpr Format csv{list_csv, nullptr, visit_csv};

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

/// By the end of the file's name; nullptr when it is not known.
const Format* find_format(const std::string& path) {
  std::string name = in_small_letters(fs::path(path).filename().string());
  if (name.ends_with(".npy")) return &npy;
  if (name.ends_with(".npz")) return &npz;
  if (name.ends_with(".mat")) return &mat;
  if (name.ends_with(".csv") || name.ends_with(".tsv")) return &csv;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".idx")) return &idx;
  const std::string_view types[] = {"ubyte", "byte", "short", "int", "float", "double"};
  for (const std::string_view type : types) {
    if (!name.ends_with(type)) continue;
    const std::string_view front = std::string_view(name).substr(0, name.size() - type.size());
    const bool digit =
        front.size() > 5 && front[front.size() - 2] >= '0' && front[front.size() - 2] <= '9';
    if (digit && front.ends_with('-') && front.substr(front.size() - 5, 3) == "idx") return &idx;
  }
  return nullptr;
}

const Format& format_of(const std::string& path) {
  if (const Format* format = find_format(path)) return *format;
  const File file(path);  // a missing file or a folder is the better thing to say
  cannot_read(path,
              "its name does not end in a known format: .npy, .npz, .csv, .tsv, .mat, .idx or "
              "idx3-ubyte, the last two also with .gz");
}

/// One row, one column or one number.
bool is_list(const Entry& entry) {
  return std::count_if(entry.shape.begin(), entry.shape.end(),
                       [](Index length) { return length != 1; }) <= 1;
}

bool is_empty(const Entry& entry) {
  return std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
}

std::string contents(const std::vector<Entry>& entries) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, entries.size()); ++i) {
    const Entry& entry = entries[i];
    text += fmt::format("{}{} ({}, {})", i == 0 ? "" : "; ", in_quotes(entry.name),
                        shape_text(entry.shape), entry.type);
  }
  if (entries.size() > most) text += fmt::format(" and {} more", entries.size() - most);
  return text;
}

/// What the format lists; throws Error when a name comes twice, for who asks by it.
std::vector<Entry> list_entries(const Format& format, const std::string& path) {
  std::vector<Entry> entries = format.list(path);
  if (format.read == nullptr) return entries;  // columns also have an index
  std::set<std::string_view> names;
  for (const Entry& entry : entries) {
    if (!names.insert(entry.name).second)
      cannot_read(path, fmt::format("two arrays are called {}", in_quotes(entry.name)));
  }
  return entries;
}

enum class Want { points, list };

/// The entry called `name`; without a name, the only one of the wanted kind.
const Entry& choose(const std::vector<Entry>& entries, const Spec& spec,
                    const std::vector<std::string>& without, Want want) {
  const bool single = entries.size() == 1 && entries[0].name.empty();
  if (!spec.name.empty()) {
    std::vector<std::string> names;
    for (const Entry& entry : entries) {
      if (entry.name == spec.name) return entry;
      names.push_back(entry.name);
    }
    cannot_read(spec.path,
                single
                    ? fmt::format("it holds one array without a name; leave out ':{}'", spec.name)
                    : fmt::format("there is no array {}; {}", in_quotes(spec.name),
                                  names.empty() ? "it has none" : among(spec.name, names)));
  }
  if (single) return entries[0];
  std::vector<const Entry*> usable, wanted;
  for (const Entry& entry : entries) {
    // It may be the one that is meant; another is taken only by its name.
    if (entry.damaged) {
      cannot_read(spec.path, fmt::format("its array {} is damaged: {}; name another, if there is "
                                         "one that is meant",
                                         in_quotes(entry.name), entry.refusal));
    }
    if (!entry.refusal.empty() || is_empty(entry)) continue;
    if (std::find(without.begin(), without.end(), entry.name) != without.end()) continue;
    usable.push_back(&entry);
    if (is_list(entry) == (want == Want::list)) wanted.push_back(&entry);
  }
  if (wanted.size() == 1) return *wanted[0];
  if (wanted.empty() && usable.size() == 1) return *usable[0];
  if (usable.empty()) {
    cannot_read(spec.path, entries.empty() ? "it holds no arrays"
                                           : "it holds no array of numbers that could be taken: " +
                                                 contents(entries));
  }
  cannot_read(spec.path, fmt::format("it holds {} arrays: {}; name one, as in {}:{}",
                                     entries.size(), contents(entries), spec.path,
                                     (wanted.empty() ? usable : wanted)[0]->name));
}

/// The names in `without` that speak of the same file.
std::vector<std::string> left_out(const Spec& spec, const std::vector<std::string>& without) {
  std::vector<std::string> names;
  for (const std::string& text : without) {
    if (text.empty()) continue;
    const Spec other = parse_spec(text);
    std::error_code code;
    const bool same = other.path == spec.path || fs::equivalent(other.path, spec.path, code);
    if (same && !other.name.empty()) names.push_back(other.name);
  }
  return names;
}

/// What `numbers` reads of an array; throws Error when that has none.
Array numbers_of(const std::string& path, const Entry& entry,
                 const std::function<Array()>& numbers) {
  const std::string label = entry.name.empty() ? path : fmt::format("{}:{}", path, entry.name);
  if (!entry.refusal.empty()) cannot_read(label, entry.refusal);
  if (is_empty(entry)) {
    cannot_read(label, fmt::format("it is empty (shape {})", shape_text(entry.shape)));
  }
  try {
    return numbers();
  } catch (const std::bad_alloc&) {
    cannot_read(label, "there is not enough memory for its numbers");
  }
}

Array read(const Spec& spec, const std::vector<std::string>& without, Want want,
           Missing missing = Missing::refused, const RowRange& rows = {}) {
  const Format& format = format_of(spec.path);
  try {
    if (format.read == nullptr) return read_csv(spec.path, spec.name, without, missing, rows);
    const std::vector<Entry> entries = list_entries(format, spec.path);
    const Entry& entry = choose(entries, spec, without, want);
    return numbers_of(spec.path, entry, [&] { return format.read(spec.path, entry.name, rows); });
  } catch (const std::bad_alloc&) {
    cannot_read(spec.path, "there is not enough memory for its numbers");
  }
}

/// `first` rows of the file stand before the values.
void require_finite(const Matrix& values, const std::string& spec, Index first = 0) {
  if ((values.array() * 0.0).sum() == 0.0) return;  // 0 x is NaN unless x is finite; vectorised
  for (Index row = 0; row < values.rows(); ++row) {
    for (Index col = 0; col < values.cols(); ++col) {
      if (std::isfinite(values(row, col))) continue;
      throw Error({.problem = fmt::format("{}: row {}, column {} (from 1) is {}", literal(spec),
                                          first + row + 1, col + 1, values(row, col)),
                   .remedy = "only finite numbers are taken"});
    }
  }
}

/// The numbers of one row or column; `what` names them in messages.
Vector read_list(const std::string& text, const char* what, Missing missing = Missing::refused) {
  const Spec spec = parse_spec(text);
  Array array = read(spec, {}, Want::list, missing);
  Matrix& values = array.values;
  if (missing != Missing::refused)
    values = values.array().isNaN().select(static_cast<double>(unknown_label), values);
  if (values.rows() != 1 && values.cols() != 1) {
    const bool table = format_of(spec.path).read == nullptr;
    throw Error({.problem = fmt::format("{}: {} must be one row or one column, this is {} x {}",
                                        literal(text), what, values.rows(), values.cols()),
                 .remedy = table ? fmt::format("name a column, as in {}:-1 for the last",
                                               literal(spec.path))
                                 : std::string()});
  }
  require_finite(values, text);
  return Eigen::Map<const Vector>(values.data(), values.size());
}

/// Numbers of a list as labels; throws Error at the first that is none.
Labels whole(const std::string& text, const Vector& values) {
  for (Index i = 0; i < values.size(); ++i) {
    // 2^53 itself may be a larger number that was rounded.
    if (values[i] == std::floor(values[i]) && std::abs(values[i]) < 0x1p53) continue;
    throw Error(
        {.problem = fmt::format("{}: label {} (from 1) is {}", literal(text), i + 1, values[i]),
         .remedy = "labels must be whole numbers below 2^53"});
  }
  return values.cast<std::int64_t>();
}

}  // namespace

bool is_tsv(const std::string& path) {
  return in_small_letters(path).ends_with(".tsv");
}

Spec parse_spec(const std::string& text) {
  std::error_code code;
  if (text.empty()) throw Error({.problem = "the name of a file is empty"});
  const auto last = text.rfind(':');
  if (last == std::string::npos || fs::exists(text, code)) return {text, ""};
  // The first file that the text begins with, one of a known format before any other.
  auto colon = std::string::npos;
  for (auto at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    const std::string front = text.substr(0, at);
    if (!fs::is_regular_file(front, code)) continue;
    if (colon == std::string::npos) colon = at;
    if (!find_format(front)) continue;
    colon = at;
    break;
  }
  if (colon == std::string::npos && find_format(text.substr(0, last)) != nullptr) colon = last;
  if (colon == std::string::npos) return {text, ""};
  if (colon + 1 == text.size()) {
    throw Error({.problem = fmt::format(
                     "'{}': the name of an array or column must follow the colon", literal(text))});
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::vector<Array> list(const std::string& path) {
  std::vector<Array> arrays;
  for (Entry& entry : list_entries(format_of(path), path)) {
    if (!entry.refusal.empty()) continue;
    arrays.push_back({.name = std::move(entry.name),
                      .type = std::move(entry.type),
                      .shape = std::move(entry.shape),
                      .values = {}});
  }
  return arrays;
}

std::vector<Refused> list_refused(const std::string& path) {
  std::vector<Refused> refused;
  for (Entry& entry : list_entries(format_of(path), path)) {
    if (entry.refusal.empty()) continue;
    refused.push_back({.name = std::move(entry.name),
                       .type = std::move(entry.type),
                       .reason = std::move(entry.refusal)});
  }
  return refused;
}

void visit(
    const std::string& path,
    const std::function<void(const Array& about, const std::function<Array()>& read)>& take) {
  const Format& format = format_of(path);
  const TakeEntry take_entry = [&](const Entry& entry, const std::function<Array()>& numbers) {
    if (!entry.refusal.empty()) return;
    take({.name = entry.name, .type = entry.type, .shape = entry.shape, .values = {}},
         [&] { return numbers_of(path, entry, numbers); });
  };
  if (format.visit != nullptr) return format.visit(path, take_entry);
  for (const Entry& entry : list_entries(format, path))
    take_entry(entry, [&] { return read({path, entry.name}, {}, Want::points, Missing::allowed); });
}

Array read_array(const std::string& text) {
  return read(parse_spec(text), {}, Want::points, Missing::allowed);
}

Index count_points(const std::string& text, bool transpose,
                   const std::vector<std::string>& without) {
  const Spec spec = parse_spec(text);
  const Format& format = format_of(spec.path);
  if (format.read == nullptr && !transpose) return count_csv(spec.path);
  if (format.read == nullptr) return read_points(text, true, without).rows();
  const std::vector<Entry> entries = list_entries(format, spec.path);
  const Extent shape =
      extent(choose(entries, spec, left_out(spec, without), Want::points).shape, spec.path);
  return transpose ? shape.cols : shape.rows;
}

std::optional<TextPart> look_at_part(const std::string& text, bool transpose, int part, int parts) {
  const Spec spec = parse_spec(text);
  if (transpose || format_of(spec.path).read != nullptr) return std::nullopt;
  return part_of_csv(spec.path, part, parts);
}

Matrix read_points(const std::string& text, bool transpose, const std::vector<std::string>& without,
                   const RowRange& rows) {
  const Spec spec = parse_spec(text);
  Array array = read(spec, left_out(spec, without), Want::points, Missing::refused,
                     transpose ? RowRange{} : rows);
  require_finite(array.values, text, transpose ? 0 : rows.first);
  if (!transpose) return std::move(array.values);
  if (rows.whole()) return array.values.transpose();
  return array.values.middleCols(rows.first, rows.count).transpose();
}

std::vector<std::string> read_names(const std::string& text,
                                    const std::vector<std::string>& without) {
  const Spec spec = parse_spec(text);
  if (format_of(spec.path).read != nullptr) return {};
  return names_csv(spec.path, spec.name, left_out(spec, without));
}

Labels read_labels(const std::string& text) {
  return whole(text, read_list(text, "labels"));
}

Labels read_target_labels(const std::string& text) {
  return whole(text, read_list(text, "labels", Missing::blank_lines_too));
}

Vector read_vector(const std::string& text) {
  return read_list(text, "a list of numbers");
}

void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, {text});
}

}  // namespace remblai::io

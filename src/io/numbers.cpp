// Numbers as binary formats lay them out, turned into a row-major matrix of doubles.
// Every size is checked against what the file can hold before memory is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/memory.h"
#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

constexpr std::int64_t exact_limit = std::int64_t{1} << 53;  // whole numbers up to it are exact

struct Half {
  std::uint16_t bits;
};

double value_of(Half half) {
  const int exponent = (half.bits >> 10) & 0x1f;
  const int fraction = half.bits & 0x3ff;
  const double sign = (half.bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(fraction + 1024, exponent - 25);
}

double value_of(bool value) {
  return value ? 1.0 : 0.0;
}

template <class T>
double value_of(T value) {
  return static_cast<double>(value);
}

template <class T>
bool inexact(T value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return value > exact_limit || value < -exact_limit;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return value > static_cast<std::uint64_t>(exact_limit);
  } else {
    return false;
  }
}

template <class T>
T load(const char* from, bool swapped) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != 0;
  } else {
    char bytes[sizeof(T)];
    std::memcpy(bytes, from, sizeof(T));
    if (swapped) std::reverse(bytes, bytes + sizeof(T));
    return std::bit_cast<T>(bytes);
  }
}

/// `count` numbers in sequence, `stride` doubles apart in `to`; the index of the first that a
/// double cannot hold, or `count`.
template <class T>
Index convert(const char* from, Index count, bool swapped, double* to, Index stride) {
  const auto loop = [&](bool swap, Index step) {
    for (Index i = 0; i < count; ++i) {
      const T value = load<T>(from + i * static_cast<Index>(sizeof(T)), swap);
      if (inexact(value)) return i;
      to[i * step] = value_of(value);
    }
    return count;
  };
  return stride == 1 && (!swapped || sizeof(T) == 1) ? loop(false, 1) : loop(swapped, stride);
}

using Convert = Index (*)(const char*, Index, bool, double*, Index);

struct Kind {
  const char* name;
  std::size_t size;
  Convert convert;
};

const Kind& kind_of(Scalar scalar) {
  static constexpr Kind kinds[] = {{"bool", 1, convert<bool>},
                                   {"int8", 1, convert<std::int8_t>},
                                   {"uint8", 1, convert<std::uint8_t>},
                                   {"int16", 2, convert<std::int16_t>},
                                   {"uint16", 2, convert<std::uint16_t>},
                                   {"int32", 4, convert<std::int32_t>},
                                   {"uint32", 4, convert<std::uint32_t>},
                                   {"int64", 8, convert<std::int64_t>},
                                   {"uint64", 8, convert<std::uint64_t>},
                                   {"float16", 2, convert<Half>},
                                   {"float32", 4, convert<float>},
                                   {"float64", 8, convert<double>}};
  return kinds[static_cast<std::size_t>(scalar)];
}

[[noreturn]] void refuse_inexact(const std::string& label, Index row, Index col) {
  cannot_read(label,
              fmt::format("the number in row {}, column {} (from 1) is beyond 2^53 and cannot "
                          "be held exactly; use smaller whole numbers",
                          row + 1, col + 1));
}

[[noreturn]] void refuse_size(const std::string& label, std::uint64_t promised, std::uint64_t held,
                              const char* format) {
  cannot_read(label,
              fmt::format("the header promises {} bytes of numbers, the file holds {}{}; the "
                          "file is {} or not {}",
                          promised, held > promised ? "at least " : "", held,
                          held > promised ? "damaged" : "truncated", format));
}

/// Where column `col` of the values starts in column-major memory: its digits, last extent fastest,
/// are the other indices.
Index column_start(const std::vector<Index>& shape, Index col) {
  Index start = 0;
  Index place = 1;
  for (const Index length : shape) place *= length;
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    place /= shape[axis];
    start += (col % shape[axis]) * place;
    col /= shape[axis];
  }
  return start;
}

void from_column_major(const char* bytes, const Layout& layout, const std::string& label,
                       Matrix& values) {
  constexpr Index block = 64;  // rows; keeps the part being written in cache
  const Kind& kind = kind_of(layout.scalar);
  const Index rows = values.rows(), cols = values.cols();
  std::vector<Index> starts(static_cast<std::size_t>(cols));
  for (Index col = 0; col < cols; ++col) starts[col] = column_start(layout.shape, col);
  for (Index row = 0; row < rows; row += block) {
    const Index count = std::min(block, rows - row);
    for (Index col = 0; col < cols; ++col) {
      const char* from = bytes + (starts[col] + row) * static_cast<Index>(kind.size);
      const Index done = kind.convert(from, count, layout.swapped, &values(row, col), cols);
      if (done < count) refuse_inexact(label, row + done, col);
    }
  }
}

/// Throws Error when so many numbers are more than this process can take.
Matrix room_for(Index rows, Index cols, const std::string& label) {
  constexpr double small = 1 << 26;  // not worth asking the system
  const double bytes = sizeof(double) * static_cast<double>(rows) * static_cast<double>(cols);
  if (bytes > small && bytes > available_memory()) {
    cannot_read(label, fmt::format("its {} x {} numbers take {:.1f} GiB, more memory than there is",
                                   rows, cols, bytes / 0x1p30));
  }
  return Matrix(rows, cols);
}

/// `before` rows of the array stand before those of `values`.
void from_row_major(const char* bytes, const Layout& layout, const std::string& label, Index first,
                    Index count, Index before, Matrix& values) {
  const Index done =
      kind_of(layout.scalar).convert(bytes, count, layout.swapped, values.data() + first, 1);
  if (done < count) {
    refuse_inexact(label, before + (first + done) / values.cols(), (first + done) % values.cols());
  }
}

/// Some rows of a matrix that is stored by columns: a part of each.
Matrix column_major_rows(Reader& reader, const Layout& layout, const std::string& label,
                         const char* format, const RowRange& range) {
  const Kind& kind = kind_of(layout.scalar);
  const Index rows = layout.shape[0], cols = layout.shape[1];
  const auto bytes_of = [&](Index count) { return static_cast<std::uint64_t>(count) * kind.size; };
  std::vector<char> bytes(static_cast<std::size_t>(bytes_of(range.count)));
  Matrix values = room_for(range.count, cols, label);
  const std::uint64_t promised = bytes_of(rows * cols);
  std::uint64_t held = reader.skip(bytes_of(range.first));
  for (Index col = 0; col < cols; ++col) {
    const std::size_t got = reader.read(bytes.data(), bytes.size());
    held += got;
    if (got < bytes.size()) break;
    const Index done = range.count == 0 ? 0
                                        : kind.convert(bytes.data(), range.count, layout.swapped,
                                                       &values(0, col), cols);
    if (done < range.count) refuse_inexact(label, range.first + done, col);
    held += reader.skip(
        bytes_of(col + 1 < cols ? rows - range.count : rows - range.first - range.count));
  }
  if (held < promised) refuse_size(label, promised, held, format);
  char extra = 0;
  if (reader.read(&extra, 1) > 0) refuse_size(label, promised, promised + 1, format);
  return values;
}

}  // namespace

std::size_t size_of(Scalar scalar) {
  return kind_of(scalar).size;
}
const char* name_of(Scalar scalar) {
  return kind_of(scalar).name;
}

Extent extent(const std::vector<Index>& shape, const std::string& label) {
  constexpr Index most = std::numeric_limits<Index>::max() / 8;
  Extent result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    Index& target = axis == 0 ? result.rows : result.cols;
    if (shape[axis] < 0 || __builtin_mul_overflow(target, shape[axis], &target)) {
      cannot_read(label, fmt::format("a shape of {} is impossible", shape_text(shape)));
    }
  }
  if (result.cols > 0 && result.rows > most / result.cols) {
    cannot_read(label, fmt::format("a shape of {} is impossible", shape_text(shape)));
  }
  return result;
}

Matrix decode(Reader& reader, const Layout& layout, const std::string& label, const char* format,
              const RowRange& range) {
  constexpr Index chunk = Index{1} << 17;
  const auto [rows, cols] = extent(layout.shape, label);
  const std::size_t size = size_of(layout.scalar);
  const std::uint64_t promised = static_cast<std::uint64_t>(rows * cols) * size;
  if (reader.remaining() < promised) refuse_size(label, promised, reader.remaining(), format);
  if (layout.column_major && !range.whole()) {
    if (layout.shape.size() == 2) return column_major_rows(reader, layout, label, format, range);
    return decode(reader, layout, label, format).middleRows(range.first, range.count);
  }

  const Index count_of_rows = range.whole() ? rows : range.count;
  const Index total = count_of_rows * cols;
  const std::uint64_t before = static_cast<std::uint64_t>(range.first * cols) * size;
  const std::uint64_t wanted = static_cast<std::uint64_t>(total) * size;
  Matrix values = room_for(count_of_rows, cols, label);
  if (reader.skip(before) < before) refuse_size(label, promised, reader.remaining(), format);
  std::uint64_t held = 0;
  if (layout.column_major && total > 0) {
    std::vector<char> bytes(static_cast<std::size_t>(promised));
    held = reader.read(bytes.data(), bytes.size());
    if (held == promised) from_column_major(bytes.data(), layout, label, values);
  } else if (layout.scalar == Scalar::f64 && !layout.swapped) {
    held = reader.read(values.data(), static_cast<std::size_t>(wanted));
  } else {
    std::vector<char> bytes(static_cast<std::size_t>(std::min(total, chunk)) * size);
    for (Index first = 0; first < total && held == static_cast<std::uint64_t>(first) * size;
         first += chunk) {
      const Index count = std::min(chunk, total - first);
      const std::size_t got = reader.read(bytes.data(), static_cast<std::size_t>(count) * size);
      held += got;
      if (got == static_cast<std::size_t>(count) * size) {
        from_row_major(bytes.data(), layout, label, first, count, range.first, values);
      }
    }
  }
  held += before;
  if (held == before + wanted) held += reader.skip(promised - held);
  if (held < promised) refuse_size(label, promised, held, format);
  char extra = 0;
  if (reader.read(&extra, 1) > 0) refuse_size(label, promised, promised + 1, format);
  return values;
}

Matrix decode(const void* bytes, const Layout& layout, const std::string& label) {
  const auto [rows, cols] = extent(layout.shape, label);
  Matrix values = room_for(rows, cols, label);
  if (rows * cols > 0) from_column_major(static_cast<const char*>(bytes), layout, label, values);
  return values;
}

}  // namespace remblai::io

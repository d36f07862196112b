// What io.cpp and the formats share: bytes in sequence, numbers as formats lay them out, refusals.
// A format describes what a file holds (list) and reads one array of it; io.cpp does the choosing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "remblai/io.h"

namespace remblai::io {

/// By the end of the name, in any case: fields have tabs between them.
bool is_tsv(const std::string& path);

/// One array a file holds. `refusal` says why its numbers cannot be taken; empty when they can.
struct Entry {
  std::string name;
  std::string type;
  std::vector<Index> shape;
  std::string refusal;
  bool damaged = false;  ///< so that nobody knows what it was
};

/// What `describe` returns, or an entry that is refused for the reason it throws: one damaged array
/// does not keep the others from being read.
Entry or_refusal(const std::function<Entry()>& describe);

std::vector<Entry> list_npy(const std::string& path);
std::vector<Entry> list_npz(const std::string& path);
std::vector<Entry> list_mat(const std::string& path);
std::vector<Entry> list_idx(const std::string& path);
std::vector<Entry> list_csv(const std::string& path);  ///< one entry a column

/// Calls `take` with every array that is listed, in that order, and with a function that reads it.
/// The file is gone through once, but for HDF5, which opens it for each array that is read.
using TakeEntry = std::function<void(const Entry& entry, const std::function<Array()>& read)>;
void visit_npz(const std::string& path, const TakeEntry& take);
void visit_mat(const std::string& path, const TakeEntry& take);
void visit_csv(const std::string& path, const TakeEntry& take);  ///< reads each column anew

/// `name` is one of the listed ones, and not refused. The shape is that of the whole array.
Array read_npy(const std::string& path, const std::string& name, const RowRange& rows);
Array read_npz(const std::string& path, const std::string& name, const RowRange& rows);
Array read_mat(const std::string& path, const std::string& name, const RowRange& rows);
Array read_idx(const std::string& path, const std::string& name, const RowRange& rows);

/// The two kinds of .mat: versions 5 to 7, and 7.3. The caller has looked at the version.
void visit_mat5(const std::string& path, const TakeEntry& take);
std::vector<Entry> list_mat5(const std::string& path);
Array read_mat5(const std::string& path, const std::string& name);
std::vector<Entry> list_mat73(const std::string& path);
Array read_mat73(const std::string& path, const std::string& name, const RowRange& rows);
bool is_hdf5(const std::string& path);  ///< with or without something before it, as MATLAB has

/// Why an array of this MATLAB class is not taken; empty when it is.
std::string refusal_of_class(const std::string& name, bool is_complex);

/// Whether a number may be missing: NaN, or an empty field of a .csv, which then is NaN; for labels
/// also a blank line of a .csv of one column.
enum class Missing { refused, allowed, blank_lines_too };

/// The column `only`, or when that is empty all of them but `without`; each by name or index.
Array read_csv(const std::string& path, const std::string& only,
               const std::vector<std::string>& without, Missing missing, const RowRange& rows);

/// The number of records, whatever they hold.
Index count_csv(const std::string& path);

/// As `look_at_part`.
TextPart part_of_csv(const std::string& path, int part, int parts);

/// The names of the same columns; empty without a header.
std::vector<std::string> names_csv(const std::string& path, const std::string& only,
                                   const std::vector<std::string>& without);

/// Bytes in sequence, from a file or unpacked from one.
class Reader {
 public:
  virtual ~Reader() = default;

  /// The count read, less than `bytes` only at the end; throws Error when reading fails.
  virtual std::size_t read(void* to, std::size_t bytes) = 0;

  /// No more than this many bytes can come after those already read.
  virtual std::uint64_t remaining() const = 0;

  /// Steps over bytes. The count that there was, less only at the end.
  virtual std::uint64_t skip(std::uint64_t bytes);
};

/// A regular file; throws Error for anything else.
class File : public Reader {
 public:
  explicit File(const std::string& path);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::size_t read(void* to, std::size_t bytes) override;
  std::uint64_t remaining() const override { return size_ - position_; }
  std::uint64_t skip(std::uint64_t bytes) override;
  std::uint64_t size() const { return size_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

/// Deflate cannot make a byte longer than this; bounds what a packed file may promise.
constexpr std::uint64_t max_unpacking = 1032;

enum class Scalar { b8, i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };
std::size_t size_of(Scalar scalar);
const char* name_of(Scalar scalar);

struct Layout {
  Scalar scalar = Scalar::f64;
  bool swapped = false;       ///< the byte order is not this machine's
  bool column_major = false;  ///< the first index runs fastest, whatever the number of dimensions
  std::vector<Index> shape;
};

/// Rows and columns of Array::values for a shape; throws Error when they do not fit an Index.
struct Extent {
  Index rows = 1;
  Index cols = 1;
};
Extent extent(const std::vector<Index>& shape, const std::string& label);

/// One array in .npy form, wherever its bytes come from; `list` stops after the header.
Entry list_npy(Reader& reader, const std::string& label);
Array read_npy(Reader& reader, const std::string& label, const RowRange& rows = {});

/// The .npy bytes that come before the numbers of a row-major array.
std::string npy_header(Scalar scalar, const std::vector<Index>& shape);

/// All that is left of `reader` as numbers; throws Error unless it holds exactly what the layout
/// promises. `format` ends the sentence "the file is truncated or not ...". Nothing larger than the
/// file can hold is allocated. Of `rows`, which exist, no others are held in memory.
Matrix decode(Reader& reader, const Layout& layout, const std::string& label, const char* format,
              const RowRange& rows = {});

/// The same from column-major memory that is known to be large enough.
Matrix decode(const void* bytes, const Layout& layout, const std::string& label);

/// Throws Error "cannot read 'label': message". `code` is errno, where the system refused the file.
[[noreturn]] void cannot_read(const std::string& label, const std::string& message, int code = 0);

/// The same; the message ends with "; the file is truncated or damaged".
[[noreturn]] void damaged(const std::string& label, const std::string& why);

/// Throws Error "cannot write 'path': message".
[[noreturn]] void cannot_write(const std::string& path, const std::string& message, int code = 0);

/// Text fit for a message: in quotes, control and non-UTF-8 bytes escaped, long text cut.
std::string in_quotes(std::string_view text);

std::string shape_text(const std::vector<Index>& shape);  ///< "3 x 4", "5", "one number"

/// "it has 'a', 'b'; the nearest is 'b'": what to say when `name` is not among `names`.
std::string among(const std::string& name, const std::vector<std::string>& names);

/// Calls `write` with the path of an empty temporary file in the folder of `path`, brings what it
/// wrote there to the disk and renames it to `path`; on failure removes it and throws Error, and
/// what stood there is as it was. A symbolic link stays, and what it leads to is replaced; a
/// replaced file keeps its permissions; a device is written into. Anything else is refused: a file
/// that may not be written to or has several names, a pipe, a folder.
void write_atomically(const std::string& path,
                      const std::function<void(const std::string&)>& write);

/// Writes what `make` hands over piece by piece, like write_bytes.
using TakeBytes = std::function<void(std::string_view bytes)>;
void write_stream(const std::string& path, const std::function<void(const TakeBytes&)>& make);

/// write_atomically with these pieces, one after the other.
void write_bytes(const std::string& path, const std::vector<std::string_view>& pieces);

}  // namespace remblai::io

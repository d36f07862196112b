// Arrays from files and to files: .npy, .npz, .csv, .tsv, .mat (v5 and v7.3), IDX and IDX.gz.
// A reader throws Error on anything it cannot take. A writer leaves either the whole file or
// nothing. All functions may be called by several threads at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "remblai/api.h"
#include "remblai/types.h"

namespace remblai::io {

/// Numbers as a file holds them. Whatever the shape, `values` has shape[0] rows and the product of
/// the other extents as columns, and the last index runs fastest. A list of n numbers is n x 1, a
/// pile of images has one image in each row, and a single number is 1 x 1. Whole numbers beyond
/// 2^53 are refused.
///
/// A .mat of version 7.3 is HDF5, and so may be what other programs call .mat. Its extents in HDF5
/// run backwards to those of MATLAB. They are turned where MATLAB's class or a user block is there,
/// and taken as they are otherwise, so that a shape is what MATLAB or h5py shows.
struct Array {
  std::string name;  ///< inside a .npz or .mat, or a column of a .csv; empty otherwise
  std::string type;  ///< as the format calls it: "float32", "uint8", "logical", "text"
  std::vector<Index> shape;
  Matrix values;  ///< empty when only the description was asked for
};

/// "path" or "path:name". The name is that of one array of a .npz or .mat, or one column of a .csv
/// by name or by index from 0 (-1 is the last). A file whose whole name contains the colon is taken
/// as it is.
struct Spec {
  std::string path;
  std::string name;
};
REMBLAI_API Spec parse_spec(const std::string& text);

/// What a file holds, without its numbers: every array that could be read, or every column of a
/// .csv, whose type is "number" or "text". What cannot be read is not listed: damaged arrays, and
/// cells, text, sparse and complex arrays of a .mat.
REMBLAI_API std::vector<Array> list(const std::string& path);

/// An array that `list` leaves out, and why its numbers cannot be taken.
struct Refused {
  std::string name;
  std::string type;
  std::string reason;
};
REMBLAI_API std::vector<Refused> list_refused(const std::string& path);

/// Some of the rows of an array: `count` from `first` on; without a count all of them. A text file
/// may be read from `byte` on, where a line begins, if so many points and lines stand before it.
struct RowRange {
  Index first = 0;
  Index count = -1;
  Index byte = 0;           ///< where to begin to read
  Index points_before = 0;  ///< in the file before that
  Index lines_before = 0;

  bool whole() const { return count < 0; }
};

/// What begins in one of several parts of a .csv or .tsv, which are about as long as each other.
struct TextPart {
  Index byte = 0;  ///< where its first line begins
  Index points = 0;
  Index lines = 0;
  bool quotes = false;  ///< a line break within quotes would be taken for the end of a line
};

/// Looks at that part alone. Nothing where points are not lines of a text, as with `transpose`.
REMBLAI_API std::optional<TextPart> look_at_part(const std::string& spec, bool transpose, int part,
                                                 int parts);

/// The number of points that read_points finds.
REMBLAI_API Index count_points(const std::string& spec, bool transpose = false,
                               const std::vector<std::string>& without = {});

/// Reads points, one in each row, or in each column with `transpose`. Of a .npz or .mat with
/// several arrays the only one that is not a list is taken. What `without` names is left out:
/// columns or arrays of the same file ("path:name"). An entry that is empty, of another file or
/// without a name is ignored. NaN and infinities are refused, with row and column.
///
/// The first line of a .csv is a header when it is not all numbers and either none of its fields is
/// a number or those that are count 0, 1, ..., as data frames number columns without a name
/// ("0,1,2,label", ",0,1"); one 0 beside text is a number. NA, ?, null and the like are no names
/// where nothing else is in the line, and neither are digits with blanks, points and commas. Any
/// other text in it is refused like text in any other line, since a
/// mistyped number would otherwise cost a point.
///
/// `rows` are the points to read, which exist. Of .npy, .npz, IDX and HDF5 no others are held in
/// memory, and those that are not packed are not read either. Of text no more is in memory at a
/// time than a few lines, and nothing is read behind the last of these rows.
REMBLAI_API Matrix read_points(const std::string& spec, bool transpose = false,
                               const std::vector<std::string>& without = {},
                               const RowRange& rows = {});

/// The names of the columns that read_points takes from a .csv or .tsv with a header; empty for
/// other files.
REMBLAI_API std::vector<std::string> read_names(const std::string& spec,
                                                const std::vector<std::string>& without = {});

/// Reads whole numbers from a row or a column. Of a .npz or .mat the only list is taken.
REMBLAI_API Labels read_labels(const std::string& spec);

/// Reads labels to score with. NaN, and an empty field of a .csv, become unknown_label (-1). So
/// does a blank line of a .csv of one column that others follow; elsewhere blank lines are left
/// out.
REMBLAI_API Labels read_target_labels(const std::string& spec);

/// Reads finite numbers from a row or a column.
REMBLAI_API Vector read_vector(const std::string& spec);

REMBLAI_API void write_npy(const std::string& path, const Matrix& values);  ///< 2-D float64
REMBLAI_API void write_npy(const std::string& path, const Labels& values);  ///< 1-D int64

/// The same for a matrix of this size that need not be there as a whole: `make` is called with a
/// function that takes some rows at a time, in order.
using TakeRows = std::function<void(const Matrix& rows)>;
REMBLAI_API void write_npy(const std::string& path, Index rows, Index columns,
                           const std::function<void(const TakeRows& take)>& make);

/// One array of a .npz. Text is stored as a 1-D uint8 array. What a pointer leads to is not
/// copied, and must be there until it is written.
using Value =
    std::variant<Matrix, Vector, Labels, std::string, const Matrix*, const Vector*, const Labels*>;
REMBLAI_API void write_npz(const std::string& path, const std::map<std::string, Value>& arrays);

/// Reads an array as it is, NaN and infinities included; of a .csv without infinities, and an empty
/// field is NaN.
REMBLAI_API Array read_array(const std::string& spec);

/// Calls `take` with every array that `list` has, in that order, and with a function that reads it
/// as read_array does. A .npz or .mat is gone through once, however many arrays it has.
REMBLAI_API void visit(
    const std::string& path,
    const std::function<void(const Array& about, const std::function<Array()>& read)>& take);

/// Reads every array of a .npz, or those whose names are `wanted`, NaN and infinities included.
/// Throws Error when one holds no numbers.
REMBLAI_API std::map<std::string, Array> read_npz(
    const std::string& path, const std::function<bool(std::string_view name)>& wanted = {});

/// The one of `names` that someone who wrote `name` may have meant, or nothing when none is near.
REMBLAI_API std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

/// Writes a text file under a temporary name and then renames it, so that it is never half there.
REMBLAI_API void write_text(const std::string& path, const std::string& text);

/// Throws Error where a file could not be written to `path` now, before work is done for it. Leaves
/// nothing behind.
REMBLAI_API void require_writable(const std::string& path);

}  // namespace remblai::io

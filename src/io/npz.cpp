// NumPy's .npz: a zip archive of .npy files, by libzip, the only file that includes it.
// Written archives are stored, not packed, and carry a fixed date: equal arrays give equal bytes.
#include <fmt/format.h>
#include <zip.h>

#include <memory>

#include "io/formats.h"
#include "remblai/error.h"

namespace remblai::io {
namespace {

constexpr std::string_view suffix = ".npy";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Discard>;

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

struct Opened {
  Archive archive;
  std::uint64_t file_size = 0;
};

/// Throws Error when members lie upon each other: a small file could promise any number of large
/// arrays then. A member that is larger than the file is refused by itself.
void require_own_bytes(zip_t* archive, const std::string& path, std::uint64_t file_size) {
  std::uint64_t sum = 0;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t about;
    zip_stat_init(&about);
    if (zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &about) == 0 &&
        (about.valid & ZIP_STAT_COMP_SIZE) != 0 && about.comp_size <= file_size)
      sum += about.comp_size;
    if (sum > file_size) cannot_read(path, "its members share their bytes; the file is damaged");
  }
}

Opened open_archive(const std::string& path) {
  const File file(path);
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    cannot_read(path, text_of(code) + "; the file is damaged, truncated or not a .npz file");
  }
  require_own_bytes(archive.get(), path, file.size());
  return {std::move(archive), file.size()};
}

/// One member, unpacked as it is read. libzip checks its checksum at the end.
class MemberReader : public Reader {
 public:
  MemberReader(const Opened& opened, zip_uint64_t index, const std::string& label) : label_(label) {
    zip_stat_t about;
    zip_stat_init(&about);
    constexpr zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(opened.archive.get(), index, 0, &about) != 0 ||
        (about.valid & wanted) != wanted) {
      damaged(zip_strerror(opened.archive.get()));
    }
    const std::uint64_t growth = about.comp_method == ZIP_CM_STORE ? 1 : max_unpacking;
    if (about.comp_size > opened.file_size || about.size / growth > about.comp_size) {
      damaged(fmt::format("the archive promises {} bytes packed into {}, the file holds {}",
                          about.size, about.comp_size, opened.file_size));
    }
    remaining_ = about.size;
    file_.reset(zip_fopen_index(opened.archive.get(), index, 0));
    if (!file_) damaged(zip_strerror(opened.archive.get()));
  }

  std::size_t read(void* to, std::size_t bytes) override {
    const zip_int64_t got = zip_fread(file_.get(), to, bytes);
    if (got < 0) damaged(zip_file_strerror(file_.get()));
    remaining_ -= std::min(remaining_, static_cast<std::uint64_t>(got));
    return static_cast<std::size_t>(got);
  }

  std::uint64_t remaining() const override { return remaining_; }

 private:
  [[noreturn]] void damaged(const std::string& why) const {
    cannot_read(label_, why + "; the file is damaged");
  }

  std::string label_;
  std::uint64_t remaining_ = 0;
  Member file_;
};

/// Index and name of every member that ends in .npy.
std::vector<std::pair<zip_uint64_t, std::string>> members(const Opened& opened) {
  std::vector<std::pair<zip_uint64_t, std::string>> result;
  const zip_int64_t count = zip_get_num_entries(opened.archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(opened.archive.get(), static_cast<zip_uint64_t>(i), 0);
    if (name == nullptr || !std::string_view(name).ends_with(suffix)) continue;
    result.emplace_back(i, std::string(name, std::string_view(name).size() - suffix.size()));
  }
  return result;
}

/// The .npy file that holds one value: its beginning, and its numbers where they are.
struct Image {
  std::string header;
  const void* data = nullptr;
  std::size_t bytes = 0;
};

/// A value of this type, or what a pointer to one leads to; null for others.
template <class T>
const T* held(const Value& value) {
  if (const auto* one = std::get_if<T>(&value)) return one;
  const auto* pointer = std::get_if<const T*>(&value);
  return pointer ? *pointer : nullptr;
}

Image image_of(const Value& value) {
  const auto image = [](Scalar scalar, const std::vector<Index>& shape, const void* data) {
    std::size_t bytes = size_of(scalar);
    for (const Index length : shape) bytes *= static_cast<std::size_t>(length);
    return Image{npy_header(scalar, shape), data, bytes};
  };
  if (const auto* matrix = held<Matrix>(value)) {
    return image(Scalar::f64, {matrix->rows(), matrix->cols()}, matrix->data());
  }
  if (const auto* vector = held<Vector>(value)) {
    return image(Scalar::f64, {vector->size()}, vector->data());
  }
  if (const auto* labels = held<Labels>(value)) {
    return image(Scalar::i64, {labels->size()}, labels->data());
  }
  const auto& text = std::get<std::string>(value);
  return image(Scalar::u8, {static_cast<Index>(text.size())}, text.data());
}

zip_source_t* source_of(zip_t* archive, const Image& image) {
  const auto part = [](const void* data, std::size_t bytes) {
    return zip_buffer_fragment_t{const_cast<zip_uint8_t*>(static_cast<const zip_uint8_t*>(data)),
                                 bytes};
  };
  const zip_buffer_fragment_t parts[] = {part(image.header.data(), image.header.size()),
                                         part(image.data, image.bytes)};
  return zip_source_buffer_fragment(archive, parts, image.bytes > 0 ? 2 : 1, 0);
}

}  // namespace

void visit_npz(const std::string& path, const TakeEntry& take) {
  const Opened opened = open_archive(path);
  for (const auto& [index, name] : members(opened)) {
    const std::string label = path + ":" + name;
    Entry entry = or_refusal([&, number = index] {
      MemberReader reader(opened, number, label);
      return list_npy(reader, label);
    });
    entry.name = name;
    take(entry, [&, number = index] {
      MemberReader reader(opened, number, label);
      Array array = read_npy(reader, label);
      array.name = entry.name;
      return array;
    });
  }
}

std::vector<Entry> list_npz(const std::string& path) {
  std::vector<Entry> entries;
  visit_npz(path, [&](const Entry& entry, const auto&) { entries.push_back(entry); });
  return entries;
}

Array read_npz(const std::string& path, const std::string& wanted, const RowRange& rows) {
  const Opened opened = open_archive(path);
  for (const auto& [index, name] : members(opened)) {
    if (name != wanted) continue;
    MemberReader reader(opened, index, path + ":" + name);
    Array array = read_npy(reader, path + ":" + name, rows);
    array.name = name;
    return array;
  }
  cannot_read(path, "there is no array " + in_quotes(wanted));
}

std::map<std::string, Array> read_npz(const std::string& path,
                                      const std::function<bool(std::string_view)>& wanted) {
  const Opened opened = open_archive(path);
  std::map<std::string, Array> arrays;
  for (const auto& [index, name] : members(opened)) {
    if (wanted && !wanted(name)) continue;
    MemberReader reader(opened, index, path + ":" + name);
    Array array = read_npy(reader, path + ":" + name);
    array.name = name;
    if (!arrays.emplace(name, std::move(array)).second)
      cannot_read(path, fmt::format("two arrays are called {}", in_quotes(name)));
  }
  return arrays;
}

void write_npz(const std::string& path, const std::map<std::string, Value>& arrays) {
  constexpr zip_uint16_t midnight = 0, first_day = 1 << 5 | 1;  // 1980-01-01, the first there is
  if (arrays.empty()) cannot_write(path, "there is no array");
  std::vector<Image> images;  // libzip reads them when the archive is closed
  images.reserve(arrays.size());
  for (const auto& [name, value] : arrays) images.push_back(image_of(value));
  write_atomically(path, [&](const std::string& temporary) {
    const auto refuse = [&](const std::string& why) { cannot_write(path, why); };
    int code = 0;
    Archive archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
    if (!archive) refuse(text_of(code));
    std::size_t next = 0;
    for (const auto& [name, value] : arrays) {
      zip_source_t* source = source_of(archive.get(), images[next++]);
      const zip_int64_t index =
          source == nullptr ? -1
                            : zip_file_add(archive.get(), (name + std::string(suffix)).c_str(),
                                           source, ZIP_FL_ENC_UTF_8);
      if (index < 0) {
        zip_source_free(source);
        refuse(zip_strerror(archive.get()));
      }
      const auto at = static_cast<zip_uint64_t>(index);
      if (zip_set_file_compression(archive.get(), at, ZIP_CM_STORE, 0) != 0 ||
          zip_file_set_dostime(archive.get(), at, midnight, first_day, 0) != 0) {
        refuse(zip_strerror(archive.get()));
      }
    }
    if (zip_close(archive.get()) != 0) refuse(zip_strerror(archive.get()));
    archive.release();
  });
}

}  // namespace remblai::io

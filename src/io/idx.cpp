// IDX, the format of MNIST: big-endian numbers after a short header; plain or packed by gzip.
// Packed files are known by their first bytes, so a wrong or missing .gz does no harm.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "io/formats.h"

namespace remblai::io {
namespace {

constexpr const char* idx_format = "an IDX file";

struct CloseGz {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

class GzReader : public Reader {
 public:
  GzReader(const std::string& path, std::uint64_t packed_size)
      : path_(path), file_(gzopen(path.c_str(), "rb")), remaining_(packed_size * max_unpacking) {
    if (!file_) cannot_read(path, "zlib cannot open it");
    gzbuffer(file_.get(), 1 << 17);
  }

  std::size_t read(void* to, std::size_t bytes) override {
    constexpr std::size_t most = std::size_t{1} << 30;
    std::size_t done = 0;
    while (done < bytes) {
      const auto wanted = static_cast<unsigned>(std::min(most, bytes - done));
      const int got = gzread(file_.get(), static_cast<char*>(to) + done, wanted);
      if (got < 0) damaged();
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done < bytes) {
      int code = Z_OK;
      gzerror(file_.get(), &code);
      if (code != Z_OK && code != Z_STREAM_END) damaged();
    }
    remaining_ -= std::min<std::uint64_t>(remaining_, done);
    return done;
  }

  std::uint64_t remaining() const override { return remaining_; }

 private:
  [[noreturn]] void damaged() const {
    int code = Z_OK;
    const char* why = gzerror(file_.get(), &code);
    cannot_read(path_, fmt::format("gzip: {}; the file is truncated or damaged",
                                   code == Z_BUF_ERROR ? "unexpected end of file" : why));
  }

  std::string path_;
  std::unique_ptr<gzFile_s, CloseGz> file_;
  std::uint64_t remaining_;
};

std::unique_ptr<Reader> open_idx(const std::string& path) {
  auto file = std::make_unique<File>(path);
  unsigned char start[2] = {};
  const std::size_t got = file->read(start, 2);
  if (got == 2 && start[0] == 0x1f && start[1] == 0x8b) {
    return std::make_unique<GzReader>(path, file->size());
  }
  return std::make_unique<File>(path);
}

Layout read_idx_header(Reader& reader, const std::string& path) {
  unsigned char start[4] = {};
  if (reader.read(start, 4) < 4 || start[0] != 0 || start[1] != 0) {
    cannot_read(path, "it does not begin like an IDX file");
  }
  constexpr bool little = std::endian::native == std::endian::little;
  Layout layout{.scalar = Scalar::u8, .swapped = little, .column_major = false, .shape = {}};
  switch (start[2]) {
    case 0x08:
      layout.scalar = Scalar::u8;
      break;
    case 0x09:
      layout.scalar = Scalar::i8;
      break;
    case 0x0b:
      layout.scalar = Scalar::i16;
      break;
    case 0x0c:
      layout.scalar = Scalar::i32;
      break;
    case 0x0d:
      layout.scalar = Scalar::f32;
      break;
    case 0x0e:
      layout.scalar = Scalar::f64;
      break;
    default:
      cannot_read(path, fmt::format("0x{:02x} is not a number type of an IDX file", start[2]));
  }
  for (unsigned axis = 0; axis < start[3]; ++axis) {
    unsigned char length[4] = {};
    if (reader.read(length, 4) < 4) {
      cannot_read(path, "the file ends inside its header; it is truncated or not an IDX file");
    }
    layout.shape.push_back(Index{length[0]} << 24 | Index{length[1]} << 16 | Index{length[2]} << 8 |
                           Index{length[3]});
  }
  extent(layout.shape, path);
  return layout;
}

}  // namespace

std::vector<Entry> list_idx(const std::string& path) {
  const auto reader = open_idx(path);
  const Layout layout = read_idx_header(*reader, path);
  return {{.name = "", .type = name_of(layout.scalar), .shape = layout.shape, .refusal = ""}};
}

Array read_idx(const std::string& path, const std::string&, const RowRange& rows) {
  const auto reader = open_idx(path);
  const Layout layout = read_idx_header(*reader, path);
  return {.name = "",
          .type = name_of(layout.scalar),
          .shape = layout.shape,
          .values = decode(*reader, layout, path, idx_format, rows)};
}

}  // namespace remblai::io

// The embedded MNIST sample, unpacked on demand.
// The files are our own and of fixed extents: their headers are skipped. io_idx.cpp is the parser.
#include "remblai/sample.h"

#include <zlib.h>

#include <cassert>
#include <cstddef>
#include <vector>

#include "io/sample_files.h"

namespace remblai {
namespace {

constexpr Index sample_count = 500;
constexpr Index pixels = Index{28} * 28;

using Bytes = Eigen::Matrix<unsigned char, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The rows x cols bytes that follow the header of an IDX file of `dimensions` extents.
Bytes unpack(std::string_view packed, Index rows, Index cols, int dimensions) {
  const std::size_t header = 4 * (static_cast<std::size_t>(dimensions) + 1);
  std::vector<unsigned char> bytes(header + static_cast<std::size_t>(rows * cols));
  z_stream stream{};
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<unsigned>(packed.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<unsigned>(bytes.size());
  constexpr int gzip_window = 16 + MAX_WBITS;
  inflateInit2(&stream, gzip_window);
  [[maybe_unused]] const int code = inflate(&stream, Z_FINISH);
  assert(code == Z_STREAM_END && stream.avail_out == 0);
  inflateEnd(&stream);
  return Eigen::Map<const Bytes>(bytes.data() + header, rows, cols);
}

Domain unpack_domain(std::string_view images, std::string_view labels) {
  Domain domain;
  domain.points = unpack(images, sample_count, pixels, 3).cast<double>() / 255.0;
  domain.labels = unpack(labels, sample_count, 1, 1).cast<std::int64_t>();
  return domain;
}

}  // namespace

Sample mnist_sample() {
  const auto& files = sample_files();
  return {.source = unpack_domain(files[0], files[1]),
          .target = unpack_domain(files[2], files[3]),
          .test = unpack_domain(files[4], files[5])};
}

Sample turned_mnist_sample() {
  const auto& files = sample_files();
  return {.source = unpack_domain(files[0], files[1]),
          .target = unpack_domain(files[6], files[7]),
          .test = unpack_domain(files[8], files[9])};
}

}  // namespace remblai

// Reading MNIST and drawing tasks with a given label shift from it.
#include "mnist.h"

#include <fmt/format.h>

#include <filesystem>

#include "draw.h"
#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::experiments {
namespace {

constexpr Index source_per_digit = 50;
constexpr Index target_size = 500;
constexpr int digits = 10;

std::string file(const std::string& folder, const std::string& name) {
  const std::string plain = folder + "/" + name;
  for (const std::string& path : {plain + ".gz", plain})
    if (std::filesystem::exists(path)) return path;
  throw Error({.field = "--data",
               .value = plain + ".gz",
               .problem = "is missing",
               .remedy = "put the four MNIST files there"});
}

Domain read(const std::string& folder, const std::string& part, std::vector<std::string>& files) {
  const std::string images = file(folder, part + "-images-idx3-ubyte");
  const std::string labels = file(folder, part + "-labels-idx1-ubyte");
  Domain domain;
  domain.points = io::read_points(images) / 255;
  domain.labels = io::read_labels(labels);
  domain.validate("MNIST " + part);
  files.insert(files.end(), {images, labels});
  return domain;
}

// How many of each digit a target of 500 has.
std::vector<Index> target_counts(int skew, int digit) {
  const Index skewed = target_size * skew / 100;
  const Index rest = target_size - skewed;
  std::vector<Index> counts(digits, rest / (digits - 1));
  counts[static_cast<std::size_t>(digit)] = skewed;
  Index left = rest % (digits - 1);
  for (int other = 0; left > 0; ++other)
    if (other != digit) ++counts[static_cast<std::size_t>(other)], --left;
  return counts;
}

// 50 source points of each digit, and so many target points of each, twice.
Split draw_counts(const Mnist& data, const std::vector<Index>& counts, Draw& draw) {
  std::map<std::int64_t, std::vector<Index>> source = rows_by_class(data.source);
  std::map<std::int64_t, std::vector<Index>> target = rows_by_class(data.target);
  std::vector<Index> chosen, train, test;
  for (int c = 0; c < digits; ++c) {
    for (const Index row : draw.choose(source[c], source_per_digit, "source digits"))
      chosen.push_back(row);
    const Index count = counts[static_cast<std::size_t>(c)];
    const std::vector<Index> both = draw.choose(target[c], 2 * count, "target digits");
    train.insert(train.end(), both.begin(), both.begin() + count);
    test.insert(test.end(), both.begin() + count, both.end());
  }
  return {rows_of(data.source, chosen), rows_of(data.target, train), rows_of(data.target, test)};
}

}  // namespace

Mnist read_mnist(const std::string& folder) {
  Mnist data;
  data.source = read(folder, "t10k", data.files);
  data.target = read(folder, "train", data.files);
  return data;
}

Split draw_mnist(const Mnist& data, int skew, int digit, int seed) {
  Draw draw({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(skew),
             static_cast<std::uint32_t>(digit)});
  return draw_counts(data, target_counts(skew, digit), draw);
}

Split draw_mnist_without(const Mnist& data, int absent, int number, int seed) {
  constexpr std::uint32_t apart = 1000;  // from every skew
  Draw draw({static_cast<std::uint32_t>(seed), apart + static_cast<std::uint32_t>(absent),
             static_cast<std::uint32_t>(number)});
  std::vector<Index> all(digits);
  std::iota(all.begin(), all.end(), 0);
  const Index left = digits - absent;
  std::vector<Index> present = draw.choose(all, left, "digits");
  std::sort(present.begin(), present.end());
  std::vector<Index> counts(digits, 0);
  for (Index k = 0; k < left; ++k)
    counts[static_cast<std::size_t>(present[static_cast<std::size_t>(k)])] =
        target_size / left + (k < target_size % left ? 1 : 0);
  return draw_counts(data, counts, draw);
}

}  // namespace remblai::experiments

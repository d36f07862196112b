// A folder with files like MNIST's: ten classes of small images, enough of each for every skew.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace remblai::test {

/// Writes FOLDER/mnist with 6 x 6 pixels an image, the images in a random order. A class is a
/// bright row or column of pixels in noise, so that not every label can be right; the two parts
/// differ in brightness.
inline void write_digits(const std::string& folder) {
  constexpr int side = 6, classes = 10;
  std::filesystem::create_directories(folder + "/mnist");
  std::mt19937 engine(5);
  for (const auto& [part, each, level] :
       {std::tuple{"t10k", 60, 60u}, std::tuple{"train", 510, 90u}}) {
    const auto count = static_cast<unsigned>(each * classes);
    const std::string start = folder + "/mnist/" + part;
    std::ofstream images(start + "-images-idx3-ubyte", std::ios::binary);
    std::ofstream labels(start + "-labels-idx1-ubyte", std::ios::binary);
    const auto put = [](std::ofstream& file, unsigned value) {
      for (int shift = 24; shift >= 0; shift -= 8)
        file.put(static_cast<char>(value >> shift & 255));
    };
    put(images, 0x803), put(images, count), put(images, side), put(images, side);
    put(labels, 0x801), put(labels, count);
    for (unsigned i = 0; i < count; ++i) {
      const int label = static_cast<int>(i * 7 % classes);
      labels.put(static_cast<char>(label));
      for (int pixel = 0; pixel < side * side; ++pixel) {
        const bool bright = label < 5 ? pixel / side == label : pixel % side == label - 5;
        images.put(static_cast<char>((bright ? level : 0) + engine() % 160));
      }
    }
  }
}

}  // namespace remblai::test

// Model files taken apart, changed and put together again.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "io/io_test_tools.h"
#include "remblai/io.h"
#include "remblai/model_io.h"
#include "support.h"

namespace remblai::test {

class ModelFileTest : public io::test::IoTest {
 protected:
  /// The arrays of a saved model, to be changed.
  std::map<std::string, io::Value> arrays_of(const Model& model) const {
    save(model, path("whole.npz"));
    std::map<std::string, io::Value> values;
    for (const auto& [name, array] : io::read_npz(path("whole.npz"))) {
      if (array.type == "uint8") {
        std::string text;
        for (const double byte : array.values.reshaped()) text += static_cast<char>(byte);
        values[name] = text;
      } else if (array.shape.size() == 1) {
        values[name] = Vector(array.values.reshaped());
      } else {
        values[name] = array.values;
      }
    }
    return values;
  }

  /// What `load` says of a file with these arrays; empty when it takes them.
  std::string complaint(const std::map<std::string, io::Value>& arrays) const {
    std::filesystem::remove(path("changed.npz"));
    io::write_npz(path("changed.npz"), arrays);
    return message_of([&] { load(path("changed.npz")); });
  }
};

}  // namespace remblai::test

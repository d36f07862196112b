// Runs the targets on every file of the regression corpus: folder TARGET has what it takes.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "targets.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace remblai::fuzz;
  const std::map<std::string, void (*)(std::string_view)> targets{
      {"npy", npy},     {"npz", npz},     {"csv", csv},         {"idx", idx},        {"mat5", mat5},
      {"mat73", mat73}, {"model", model}, {"options", options}, {"journal", journal}};
  if (argc != 2) {
    fmt::print(stderr, "usage: remblai_replay CORPUS\n");
    return 2;
  }
  for (const auto& [name, run] : targets) {
    int files = 0;
    for (const char* kind : {"seeds", "regressions"}) {
      const fs::path folder = fs::path(argv[1]) / kind / name;
      if (!fs::is_directory(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        run(std::string(std::istreambuf_iterator<char>(file), {}));
        ++files;
      }
    }
    fmt::print("{}: {} inputs\n", name, files);
    if (files == 0) return 1;
  }
  return 0;
}

// Reading the domains that are there and drawing tasks between them.
#include "office_caltech.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <numeric>
#include <set>

#include "draw.h"
#include "remblai/error.h"
#include "remblai/io.h"

namespace remblai::experiments {
namespace {

namespace fs = std::filesystem;

char letter(std::string_view domain) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(domain[0])));
}

std::string folders_in(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names.empty() ? "there are none" : fmt::format("there are {}", fmt::join(names, ", "));
}

Domain read(const std::string& path) {
  const std::vector<io::Array> arrays = io::list(path);
  const auto is_list = [](const io::Array& array) {
    return array.shape.size() == 1 || (array.shape.size() == 2 && array.shape[1] == 1);
  };
  if (std::none_of(arrays.begin(), arrays.end(), is_list))
    throw Error({.value = path + ":",
                 .problem = "there are no labels in it",
                 .remedy = "put one whole number a point beside the features, as an array of its "
                           "own"});
  Domain domain;
  domain.points = io::read_points(path);
  domain.labels = io::read_labels(path);
  domain.validate(path);
  return domain;
}

}  // namespace

OfficeCaltech read_office_caltech(const std::string& folder) {
  const fs::path path(folder);
  if (!fs::is_directory(path))
    throw Error({.field = "--features",
                 .value = folder,
                 .problem = "is not a folder",
                 .remedy = literal(fmt::format("in {} {}", path.parent_path().string(),
                                               folders_in(path.parent_path())))});
  OfficeCaltech data;
  for (const std::string_view name : office_domains) {
    const std::string mat = (path / name).string() + ".mat";
    const std::string npz = (path / name).string() + ".npz";
    const bool has_mat = fs::exists(mat), has_npz = fs::exists(npz);
    if (has_mat && has_npz)
      throw Error({.value = mat + ":",
                   .problem = fmt::format("and {}.npz is there too", name),
                   .remedy = "remove one of them"});
    if (!has_mat && !has_npz) {
      data.missing[letter(name)] = mat + " (or .npz)";
      continue;
    }
    data.files.push_back(has_mat ? mat : npz);
    data.domains[letter(name)] = read(data.files.back());
  }
  const auto classes = [](const Domain& domain) {
    return std::set<std::int64_t>(domain.labels.begin(), domain.labels.end());
  };
  for (const auto& [name, domain] : data.domains) {
    const Domain& first = data.domains.begin()->second;
    if (classes(domain) != classes(first))
      throw Error(
          {.value = folder + ":",
           .problem = fmt::format("domain {} has the classes {}, domain {} has {}", name,
                                  fmt::join(classes(domain), " "), data.domains.begin()->first,
                                  fmt::join(classes(first), " ")),
           .remedy = "all need the same"});
    if (domain.dimension() != first.dimension())
      throw Error({.value = folder + ":",
                   .problem = fmt::format("domain {} has {} features, domain {} has {}", name,
                                          domain.dimension(), data.domains.begin()->first,
                                          first.dimension()),
                   .remedy = "all need the same"});
  }
  return data;
}

std::vector<std::string> office_tasks() {
  std::vector<std::string> tasks;
  for (const char* source : {"A", "C", "D", "W"})
    for (const char* target : {"A", "C", "D", "W"})
      if (*source != *target) tasks.push_back(fmt::format("{}-{}", source, target));
  return tasks;
}

Split draw_office_caltech(const OfficeCaltech& data, const std::string& task, int seed) {
  const Domain& source = data.domains.at(task.front());
  const Domain& target = data.domains.at(task.back());
  Draw draw({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(task.front()),
             static_cast<std::uint32_t>(task.back())});
  const Index per_class = task.front() == 'D' ? 8 : 10;
  std::vector<Index> chosen;
  for (const auto& [label, rows] : rows_by_class(source))
    for (const Index row :
         draw.choose(rows, per_class, fmt::format("{}: points of class {}", task, label)))
      chosen.push_back(row);
  std::vector<Index> all(static_cast<std::size_t>(target.size()));
  std::iota(all.begin(), all.end(), Index{0});
  const std::vector<Index> mixed = draw.choose(all, target.size(), task);
  const auto half = mixed.begin() + target.size() / 2;
  return {rows_of(source, chosen), rows_of(target, {mixed.begin(), half}),
          rows_of(target, {half, mixed.end()})};
}

}  // namespace remblai::experiments

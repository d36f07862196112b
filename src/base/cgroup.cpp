// Finds the folders of this process's control groups and reads the limits there and above.
#include "base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace remblai {
namespace {

using Path = std::filesystem::path;
constexpr double unlimited = std::numeric_limits<double>::infinity();

// "max" is infinity; none for anything else that is not a whole, finite, non-negative number (with
// -1 version 1 says that there is no quota).
std::optional<double> number(std::string_view word) {
  if (word == "max") return unlimited;
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

// The first words of a file, as numbers.
std::vector<std::optional<double>> numbers(const Path& path, int most) {
  std::ifstream file(path);
  std::vector<std::optional<double>> found;
  for (std::string word; most > 0 && file >> word; --most) found.push_back(number(word));
  return found;
}

std::optional<double> number_in(const Path& path) {
  const auto found = numbers(path, 1);
  return found.empty() ? std::nullopt : found[0];
}

// The value behind `key` in a file of lines "key value".
std::optional<double> number_in(const Path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, value;
    if (words >> name >> value && name == key) return number(value);
  }
  return {};
}

// Calls visit(folder) for the groups of this process that `controller` may limit, each before the
// one above it. In a container the folder that is mounted may be the group itself, whatever path
// the kernel gives: then the folders below it are not there, and the mounted one is visited last.
void visit_groups(const Path& root, const std::string& controller,
                  const std::function<void(const Path&)>& visit) {
  const Path mounts = root / "sys/fs/cgroup";
  std::set<Path> within = {Path()};
  std::set<Path> hierarchies = {mounts, mounts / "unified", mounts / controller};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool ours = ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
    if (!controllers.empty() && !ours) continue;
    if (ours && controllers.find('/') == std::string::npos)
      hierarchies.insert(mounts / controllers);
    within.insert((Path("/") / line.substr(second + 1)).lexically_normal().relative_path());
  }
  for (const Path& hierarchy : hierarchies)
    for (Path group : within) {
      for (; !group.empty(); group = group.parent_path()) visit(hierarchy / group);
      visit(hierarchy);
    }
}

double cpus(std::optional<double> quota, std::optional<double> period) {
  const bool usable = quota && period && *quota > 0 && *period > 0;
  return usable ? *quota / *period : unlimited;
}

double memory_left(std::optional<double> limit, std::optional<double> used,
                   std::optional<double> droppable) {
  if (!limit) return unlimited;
  const double kept = std::max(0.0, used.value_or(0) - droppable.value_or(0));
  return *limit == unlimited ? unlimited : std::max(0.0, *limit - kept);
}

}  // namespace

double cgroup_cpus(const Path& root) {
  double least = unlimited;
  visit_groups(root, "cpu", [&](const Path& group) {
    auto limit = numbers(group / "cpu.max", 2);
    if (limit.size() == 1) limit.push_back(100000);  // the kernel's default period
    if (limit.size() == 2) least = std::min(least, cpus(limit[0], limit[1]));
    least = std::min(
        least, cpus(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us")));
  });
  return least;
}

double cgroup_memory(const Path& root) {
  double least = unlimited;
  visit_groups(root, "memory", [&](const Path& group) {
    const Path stat = group / "memory.stat";
    least =
        std::min({least,
                  memory_left(number_in(group / "memory.max"), number_in(group / "memory.current"),
                              number_in(stat, "inactive_file")),
                  memory_left(number_in(group / "memory.limit_in_bytes"),
                              number_in(group / "memory.usage_in_bytes"),
                              number_in(stat, "total_inactive_file"))});
  });
  return least;
}

}  // namespace remblai

// What the tests of the page share: a page's data as a browser would read them.
#pragma once

#include <string>

#include "remblai/fit.h"
#include "remblai/page.h"
#include "report/json.h"
#include "support.h"

namespace remblai {

using test::contains;
using test::message_of;
using test::small_problem;

inline Model small_model(Options options = {}) {
  Problem problem = small_problem();
  problem.target.labels = {};
  return fit(problem, options);
}

/// What stands between the tags of the data, as a browser would read it.
inline std::string raw_data(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

inline Json data_of(const Model& model, const PageOptions& options = {},
                    const Report& report = {}) {
  return Json::parse(raw_data(to_html(model, report, options)));
}

/// As the command line spells options.
inline Report with_flags() {
  return {.spelling = [](std::string_view name) { return "--" + std::string(name); }};
}

/// The first block of a kind; null when there is none.
inline Json block(const Json& data, const std::string& kind) {
  for (const Json& section : data["sections"])
    for (const Json& one : section["blocks"])
      if (one["kind"] == kind) return one;
  return nullptr;
}

inline std::string warnings(const Json& data) {
  return data["warnings"].dump();
}

}  // namespace remblai

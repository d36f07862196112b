// Puts style, scripts and data into page.html. The data are JSON inside a script element of another
// type: a browser does not run it, and with <, > and & escaped nothing in it is markup.
#include "report/page_shell.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "remblai/version.h"
#include "report/page_files.h"

namespace remblai {
namespace {

std::string utf8(std::string_view text) {
  const std::string quoted =
      Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

/// True at a control of writing direction, which could turn around what is written after it:
/// U+202A to U+202E, U+2066 to U+2069.
bool turns_direction(std::string_view text) {
  const std::string_view lead = text.substr(0, 2);
  const unsigned char last = text.size() > 2 ? static_cast<unsigned char>(text[2]) : 0;
  return (lead == "\xe2\x80" && last >= 0xaa && last <= 0xae) ||
         (lead == "\xe2\x81" && last >= 0xa6 && last <= 0xa9);
}

/// Also U+2028 and U+2029, which ended lines in older scripts.
std::string script_safe(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view here = std::string_view(text).substr(i, 3);
    if (text[i] == '<') {
      safe += "\\u003c";
    } else if (text[i] == '>') {
      safe += "\\u003e";
    } else if (text[i] == '&') {
      safe += "\\u0026";
    } else if (here == "\xe2\x80\xa8" || here == "\xe2\x80\xa9") {
      safe += here[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (turns_direction(here)) {
      safe += "\\ufffd";
      i += 2;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

}  // namespace

std::string escaped(std::string_view text) {
  const std::string clean = utf8(text);
  std::string safe;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    switch (clean[i]) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        if (turns_direction(std::string_view(clean).substr(i))) {
          safe += "\xef\xbf\xbd";
          i += 2;
        } else {
          safe += clean[i];
        }
    }
  }
  return safe;
}

std::string assemble_page(Json data) {
  data["foot"] = fmt::format(
      "Made by remblai {}. This page holds all that it shows and fetches nothing.", version());
  const auto& [html, css, charts, pictures, script, chart_js] = page_files();
  const std::string title = escaped(data.at("title").get<std::string>());
  const std::string verdict = escaped(data.at("verdict").get<std::string>());
  const std::string json = script_safe(data);
  const std::pair<std::string_view, std::string_view> parts[] = {
      {"{{title}}", title},       {"{{verdict}}", verdict}, {"{{style}}", css},
      {"{{chart.js}}", chart_js}, {"{{charts}}", charts},   {"{{pictures}}", pictures},
      {"{{script}}", script},     {"{{data}}", json}};
  std::string page;
  page.reserve(json.size() + chart_js.size() + 65536);
  for (std::size_t at = 0; at < html.size();) {
    const std::size_t open = std::min(html.find("{{", at), html.size());
    page += html.substr(at, open - at);
    at = open;
    for (const auto& [mark, text] : parts) {
      if (!html.substr(open).starts_with(mark)) continue;
      page += text;
      at += mark.size();
    }
    if (at == open && at < html.size()) page += html[at++];
  }
  return page;
}

Json brief(double value, int digits) {
  if (!std::isfinite(value)) return nullptr;
  const std::string text = fmt::format("{:.{}g}", value, digits);
  double rounded = value;  // strtod would follow the locale of the host
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

Json brief(const std::vector<double>& values, int digits) {
  Json list = Json::array();
  for (const double value : values) list.push_back(brief(value, digits));
  return list;
}

std::string counted(Index count, const char* what, const char* plural) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : plural);
}

Json text_block(const std::string& text) {
  return {{"kind", "text"}, {"text", text}};
}

Json table_block(const std::string& caption, const std::vector<std::string>& columns,
                 const std::vector<std::vector<std::string>>& rows, int strong_row) {
  return {{"kind", "table"},
          {"caption", caption},
          {"columns", columns},
          {"rows", rows},
          {"strong", strong_row}};
}

Json section(const std::string& heading, std::vector<Json> blocks) {
  return {{"heading", heading}, {"blocks", std::move(blocks)}};
}

}  // namespace remblai

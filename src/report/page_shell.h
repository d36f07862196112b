// The empty page, and how data get into it.
// A page is a heading, warnings and sections of blocks; assets/page.js draws each kind of block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "remblai/domain.h"
#include "report/json.h"

namespace remblai {

/// Text for HTML, in UTF-8 whatever the bytes were; controls of writing direction are taken out.
std::string escaped(std::string_view text);

/// The page that shows `data`: title, asked, verdict, warnings, sections. Nothing in `data` can end
/// the element that it stands in or turn around what follows it.
std::string assemble_page(Json data);

/// To so many digits, no more than a screen shows; null when it is not finite.
Json brief(double value, int digits = 5);
Json brief(const std::vector<double>& values, int digits = 5);

/// "1 point", "2 points", with the ending of the plural.
std::string counted(Index count, const char* what, const char* plural = "s");

Json text_block(const std::string& text);
/// `columns` are headings; those of `rows` that start with a number are aligned as numbers.
Json table_block(const std::string& caption, const std::vector<std::string>& columns,
                 const std::vector<std::vector<std::string>>& rows, int strong_row = -1);
Json section(const std::string& heading, std::vector<Json> blocks);

}  // namespace remblai

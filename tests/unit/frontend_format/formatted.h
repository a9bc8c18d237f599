#pragma once
// What the tests of the formatter ask.

#include <catch2/catch.hpp>
#include <string>

#include "frontend/format/format.h"

namespace tessera::formatter {

/// The formatted text, which must stay as it is when formatted again.
inline std::string formatted(const std::string& text) {
  FormatResult once = format(text);
  INFO(text);
  INFO(once.problem);
  INFO((once.messages ? render_all(once.messages->diagnostics, {}) : ""));
  REQUIRE(once.outcome == Outcome::Formatted);
  FormatResult twice = format(once.text);
  INFO(once.text);
  REQUIRE(twice.outcome == Outcome::Formatted);
  CHECK(twice.text == once.text);
  return once.text;
}

/// The text with the edits made.
inline std::string edited(const std::string& text, const std::vector<LineEdit>& edits) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  std::string out;
  size_t at = 0;
  for (const LineEdit& edit : edits) {
    for (; at < edit.first; ++at) out += lines.at(at);
    at += edit.count;
    out += edit.text;
  }
  for (; at < lines.size(); ++at) out += lines[at];
  return out;
}

}  // namespace tessera::formatter

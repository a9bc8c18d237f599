#include "lsp/protocol/text_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::lsp {

std::optional<std::vector<TextEdit>> read_edits(const Json& changes) {
  std::vector<TextEdit> edits;
  if (!changes.is_array()) return std::nullopt;
  for (const Json& change : changes) {
    if (!member(change, "text").is_string()) return std::nullopt;
    TextEdit& edit = edits.emplace_back();
    const Json& range = member(change, "range");
    if (range.is_object()) edit.range = {read_position(member(range, "start")), read_position(member(range, "end"))};
    edit.text = text_at(change, "text");
  }
  return edits;
}

bool replace_all(const std::vector<TextEdit>& edits) {
  return std::any_of(edits.begin(), edits.end(), [](const TextEdit& edit) { return !edit.range; });
}

void apply(std::string& text, const std::vector<TextEdit>& edits, Encoding encoding) {
  // Editors send the edits of many cursors from the end of the text to its start: lines above the last edit are where
  // they were, and the text is not gone over for each.
  std::optional<LineIndex> lines;
  uint32_t unchanged = 0;  // lines from the start of which `lines` is still right
  for (const TextEdit& edit : edits) {
    if (!edit.range) {
      text = edit.text;
      unchanged = 0;
      continue;
    }
    auto [from, to] = *edit.range;
    if (std::max(from.line, to.line) >= unchanged) {
      lines.emplace(text);
      unchanged = UINT32_MAX;
    }
    uint32_t begin = lines->offset(text, from, encoding), end = lines->offset(text, to, encoding);
    if (end < begin) std::swap(begin, end);
    unchanged = std::min(unchanged, lines->line_of(begin));
    text.replace(begin, end - begin, edit.text);
  }
}

}  // namespace tessera::lsp

#pragma once
// Edits of a text, as a client sends them.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsp/protocol/json.h"
#include "lsp/protocol/positions.h"

namespace tessera::lsp {

/// One change of a text; without a range it is the whole text.
struct TextEdit {
  std::optional<std::pair<Position, Position>> range;
  std::string text;
};

/// Those of `contentChanges`; nothing where one of them is none: what the text is after it nobody knows.
std::optional<std::vector<TextEdit>> read_edits(const Json& changes);
/// Whether the text before them does not matter.
bool replace_all(const std::vector<TextEdit>& edits);
/// Each is about the text that the one before it left.
void apply(std::string& text, const std::vector<TextEdit>& edits, Encoding encoding);

}  // namespace tessera::lsp

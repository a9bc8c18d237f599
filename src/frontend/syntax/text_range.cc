#include "frontend/syntax/text_range.h"

#include <algorithm>

namespace tessera {

TextRange place_in(const SourceManager& sources, Loc loc) {
  if (!loc.known()) return {0, 0};
  std::string_view text = sources.file(loc.file).text();
  std::string_view line = sources.file(loc.file).line(loc.line);
  uint32_t start = line.data() ? uint32_t(line.data() - text.data()) : uint32_t(text.size());
  uint32_t begin = std::min(start + (loc.column == 0 ? 0 : loc.column - 1), uint32_t(text.size()));
  return {begin, std::min(begin + loc.length, uint32_t(text.size()))};
}

}  // namespace tessera

#include "frontend/index/semantic_index.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tessera::frontend {

namespace {

std::tuple<FileId, uint32_t, uint32_t> begin_of(Loc loc) { return {loc.file, loc.line, loc.column}; }

/// The last of a sorted list that begins at a place, which lies in all others that do; null when none
/// does.
template <typename Facts>
const Facts* beginning_at(const std::vector<Facts>& list, Loc place) {
  auto after = std::upper_bound(list.begin(), list.end(), begin_of(place),
                                [](const auto& at, const Facts& each) { return at < begin_of(each.loc); });
  bool found = after != list.begin() && begin_of((after - 1)->loc) == begin_of(place);
  return found ? &*(after - 1) : nullptr;
}

}  // namespace

std::string_view to_string(ValueKind kind) {
  static constexpr std::array<std::string_view, 14> names = {
      "tensor",   "tile",     "scalar", "number",    "size",  "dtype", "sequence",
      "schedule", "function", "instance", "module", "namespace", "state", "other"};
  return names[size_t(kind)];
}

Extent extent_of(const SourceManager& sources, Loc loc) {
  if (!loc.known()) return {};
  Extent extent{loc.file, loc.line, loc.column, loc.line, loc.column + loc.length};
  const SourceFile& file = sources.file(loc.file);
  std::string_view first = file.line(loc.line);
  if (first.data() == nullptr || loc.column > first.size() + 1) return extent;
  size_t start = size_t(first.data() - file.text().data()) + loc.column - 1;
  std::string_view text = file.text().substr(start, loc.length);
  // A block ends with its last line's newline, or where the next line begins.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  Loc end = file.locate(loc.file, uint32_t(start + text.size()), 0);
  extent.end_line = end.line;
  extent.end_column = end.column;
  return extent;
}

const PlaceFacts* SemanticIndex::at(Loc name) const {
  const PlaceFacts* binding = beginning_at(bindings, name);
  return binding ? binding : beginning_at(expressions, name);
}

const FunctionFacts* SemanticIndex::function_at(Loc name) const { return beginning_at(functions, name); }

}  // namespace tessera::frontend

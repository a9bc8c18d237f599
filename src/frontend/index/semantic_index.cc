#include "frontend/index/semantic_index.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tessera::frontend {

namespace {

using Position = std::tuple<FileId, uint32_t, uint32_t>;

Position begin_of(Loc loc) { return {loc.file, loc.line, loc.column}; }
Position begin_of(const Extent& extent) { return {extent.file, extent.line, extent.column}; }

/// A name, which lies on one line; a file as a whole has no name in it.
bool touches(Loc name, Loc place) {
  return name.length > 0 && name.file == place.file && name.line == place.line &&
         name.column <= place.column && place.column <= name.column + name.length;
}

/// The first of a sorted list that begins behind a place.
template <typename List, typename Begin>
auto after(const List& list, Loc place, Begin begin) {
  return std::upper_bound(list.begin(), list.end(), begin_of(place),
                          [&](const Position& at, const auto& each) { return at < begin(each); });
}

/// The innermost of extents of which two are apart or one is in the other.
const PlaceFacts* innermost(const std::vector<PlaceFacts>& facts, Loc place) {
  auto it = after(facts, place, [](const PlaceFacts& each) { return begin_of(each.extent); });
  while (it != facts.begin()) {
    --it;
    if (it->extent.touches(place)) return &*it;
  }
  return nullptr;
}

bool is_inside(const Extent& a, const Extent& b) {
  return begin_of(a) >= begin_of(b);
}

bool opens_scope(SymbolKind kind) {
  return kind == SymbolKind::Function || kind == SymbolKind::Kernel ||
         kind == SymbolKind::Method || kind == SymbolKind::Module;
}

}  // namespace

std::string_view to_string(SymbolKind kind) {
  static constexpr std::array<std::string_view, 20> names = {
      "file",      "function",          "kernel",           "module",
      "method",    "field",             "param",            "constant",
      "variable",  "parameter",         "dimension",        "dtype parameter",
      "built-in function", "dtype",     "type",             "policy",
      "privilege", "decorator",         "built-in namespace", "built-in value"};
  return names[size_t(kind)];
}

std::string_view to_string(ValueKind kind) {
  static constexpr std::array<std::string_view, 14> names = {
      "tensor",   "tile",     "scalar", "number",    "size",  "dtype", "sequence",
      "schedule", "function", "instance", "module", "namespace", "state", "other"};
  return names[size_t(kind)];
}

bool Extent::touches(Loc place) const {
  if (!known() || place.file != file) return false;
  auto at = std::tie(place.line, place.column);
  return std::tie(line, column) <= at && at <= std::tie(end_line, end_column);
}

Extent extent_of(const SourceManager& sources, Loc loc) {
  if (!loc.known()) return {};
  Extent extent{loc.file, loc.line, loc.column, loc.line, loc.column + loc.length};
  const SourceFile& file = sources.file(loc.file);
  std::string_view first = file.line(loc.line);
  if (first.data() == nullptr || loc.column > first.size() + 1) return extent;
  size_t start = size_t(first.data() - file.text().data()) + loc.column - 1;
  std::string_view text = file.text().substr(start, loc.length);
  // A suite ends with its last line's newline, or where the next line begins.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  Loc end = file.locate(loc.file, uint32_t(start + text.size()), 0);
  extent.end_line = end.line;
  extent.end_column = end.column;
  return extent;
}

std::optional<SymbolId> SemanticIndex::symbol_at(Loc place) const {
  auto use = after(references, place, [](const Reference& each) { return begin_of(each.loc); });
  // A name that ends where another begins is there, too: the one that begins has it.
  for (int i = 0; i < 2 && use != references.begin(); ++i) {
    --use;
    if (touches(use->loc, place)) return use->symbol;
  }
  auto symbol = after(symbols, place, [](const Symbol& each) { return begin_of(each.loc); });
  for (int i = 0; i < 2 && symbol != symbols.begin(); ++i) {
    --symbol;
    if (touches(symbol->loc, place)) return SymbolId(symbol - symbols.begin());
  }
  return std::nullopt;
}

std::optional<Loc> SemanticIndex::name_at(Loc place) const {
  std::optional<SymbolId> symbol = symbol_at(place);
  if (!symbol) return std::nullopt;
  for (Loc use : uses_of(*symbol, true)) {
    if (touches(use, place)) return use;
  }
  return std::nullopt;
}

SymbolId SemanticIndex::resolved(SymbolId symbol) const {
  // Files that import from each other in a circle are reported and not followed for ever.
  for (size_t steps = 0; symbols[symbol].target && steps < symbols.size(); ++steps) {
    symbol = *symbols[symbol].target;
  }
  return symbol;
}

std::vector<Loc> SemanticIndex::uses_of(SymbolId symbol, bool definition) const {
  std::vector<Loc> uses;
  if (definition && symbols[symbol].loc.known()) uses.push_back(symbols[symbol].loc);
  for (const Reference& reference : references) {
    if (reference.symbol == symbol) uses.push_back(reference.loc);
  }
  std::sort(uses.begin(), uses.end(), [](Loc a, Loc b) { return begin_of(a) < begin_of(b); });
  return uses;
}

const PlaceFacts* SemanticIndex::binding_at(Loc name) const {
  auto it = after(bindings, name, [](const PlaceFacts& each) { return begin_of(each.extent); });
  if (it == bindings.begin()) return nullptr;
  --it;
  return begin_of(it->extent) == begin_of(name) ? &*it : nullptr;
}

const PlaceFacts* SemanticIndex::facts_at(Loc place) const {
  const PlaceFacts* name = innermost(bindings, place);
  return name ? name : innermost(expressions, place);
}

std::vector<SymbolId> SemanticIndex::visible_at(Loc place) const {
  std::vector<SymbolId> visible;
  for (std::optional<SymbolId> around = enclosing(place); around;
       around = symbols[*around].container) {
    bool is_module = symbols[*around].kind == SymbolKind::Module;
    for (SymbolId member : members_of(*around)) {
      // Fields and methods are named by `self`.
      SymbolKind kind = symbols[member].kind;
      bool by_self = is_module && (kind == SymbolKind::Field || kind == SymbolKind::Method);
      if (!by_self) visible.push_back(member);
    }
  }
  for (SymbolId id = 0; id < symbols.size(); ++id) {
    const Symbol& symbol = symbols[id];
    bool is_name = symbol.loc.length > 0 && !symbol.container;
    if (is_name && symbol.loc.file == place.file) visible.push_back(id);
  }
  for (const auto& [file, symbol] : imported) {
    if (file == place.file) visible.push_back(symbol);
  }
  return visible;
}

std::optional<SymbolId> SemanticIndex::enclosing(Loc place) const {
  std::optional<SymbolId> found;
  for (SymbolId id = 0; id < symbols.size(); ++id) {
    const Symbol& symbol = symbols[id];
    if (!opens_scope(symbol.kind) || !symbol.extent.touches(place)) continue;
    if (!found || is_inside(symbol.extent, symbols[*found].extent)) found = id;
  }
  return found;
}

std::vector<SymbolId> SemanticIndex::members_of(SymbolId symbol) const {
  std::vector<SymbolId> members;
  for (SymbolId id = 0; id < symbols.size(); ++id) {
    if (symbols[id].container == symbol) members.push_back(id);
  }
  return members;
}

}  // namespace tessera::frontend

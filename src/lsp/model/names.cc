#include "lsp/model/names.h"

#include <algorithm>

#include "lsp/model/binder.h"
#include "lsp/model/declared.h"

namespace tessera::lsp {

const Occurrence* PieceNames::at(uint32_t offset) const {
  auto after = std::upper_bound(occurrences.begin(), occurrences.end(), offset,
                                [](uint32_t at, const Occurrence& o) { return at < o.range.begin; });
  if (after == occurrences.begin()) return nullptr;
  const Occurrence& found = *(after - 1);
  return found.range.touches(offset) ? &found : nullptr;
}

const Occurrence* PieceNames::beginning_at(uint32_t offset) const {
  const Occurrence* found = at(offset);
  return found && found->range.begin == offset ? found : nullptr;
}

int32_t PieceNames::visible(std::string_view name, uint32_t offset) const {
  int32_t best = -1;
  for (size_t i = 0; i < locals.size(); ++i) {
    if (locals[i].name != name || !locals[i].scope.touches(offset)) continue;
    bool inner = best < 0 || locals[i].scope.begin >= locals[size_t(best)].scope.begin;
    if (inner) best = int32_t(i);
  }
  return best;
}

PieceNames bind_names(const Piece& piece) {
  PieceNames names = Binder(piece).run();
  names.declared = list_declared(piece);
  return names;
}

}  // namespace tessera::lsp

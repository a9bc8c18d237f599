#include <algorithm>
#include <set>

#include "lsp/analysis.h"

namespace tessera::lsp {

namespace {

/// The number that places of a piece have in a result; 0, which no place has, where it is about other pieces.
FileId number_of(const AnalysisResult& result, const Piece& piece) {
  return result.sources == piece.sources ? piece.file : 0;
}

/// A place of a piece as the result has it.
Loc place_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  Loc loc = piece.sources->file(piece.file).locate(piece.file, offset, 0);
  loc.file = number_of(result, piece);
  return loc;
}

}  // namespace

std::vector<const frontend::PlaceFacts*> bindings_of(const AnalysisResult& result, const Piece& piece) {
  FileId number = number_of(result, piece);
  std::vector<const frontend::PlaceFacts*> found;
  std::set<std::pair<uint32_t, uint32_t>> known;
  for (const auto& declaration : result.declarations) {
    const auto& bindings = declaration->index.bindings;
    auto at = std::lower_bound(bindings.begin(), bindings.end(), number,
                               [](const frontend::PlaceFacts& facts, FileId file) { return facts.loc.file < file; });
    for (; at != bindings.end() && at->loc.file == number; ++at) {
      if (known.insert({at->loc.line, at->loc.column}).second) found.push_back(&*at);
    }
  }
  return found;
}

const frontend::PlaceFacts* facts_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  Loc place = place_at(result, piece, offset);
  for (const auto& declaration : result.declarations) {
    if (const frontend::PlaceFacts* facts = declaration->index.at(place)) return facts;
  }
  return nullptr;
}

std::vector<const EntryShapes*> entries_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  Loc place = place_at(result, piece, offset);
  std::vector<const EntryShapes*> found;
  for (const auto& declaration : result.declarations) {
    for (const EntryShapes& entry : declaration->entries) {
      if (entry.loc.before() == place.before()) found.push_back(&entry);
    }
  }
  return found;
}

const frontend::FunctionFacts* function_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  Loc place = place_at(result, piece, offset);
  for (const auto& declaration : result.declarations) {
    if (const frontend::FunctionFacts* function = declaration->index.function_at(place)) return function;
  }
  return nullptr;
}

}  // namespace tessera::lsp

#include <algorithm>
#include <set>

#include "lsp/analysis.h"
#include "lsp/place.h"

namespace tessera::lsp {

namespace {

/// The number that places of a piece have in a result.
FileId number_of(const AnalysisResult& result, const Piece& piece) { return result.is_whole ? 1 : piece.file; }

/// Whether a place of the result begins at the offset of the piece.
bool begins_at(const Piece& piece, Loc loc, uint32_t offset) {
  loc.file = piece.file;
  return piece.range(loc).begin == offset;
}

}  // namespace

std::vector<const PlaceFacts*> facts_of(const AnalysisResult& result, const Piece& piece) {
  std::vector<const PlaceFacts*> found;
  std::set<std::pair<uint32_t, uint32_t>> known;
  for (const auto& declaration : result.declarations) {
    auto here = declaration->facts.find(number_of(result, piece));
    if (here == declaration->facts.end()) continue;
    for (const PlaceFacts& facts : here->second) {
      if (known.insert({facts.loc.line, facts.loc.column}).second) found.push_back(&facts);
    }
  }
  return found;
}

const PlaceFacts* facts_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  for (const auto& declaration : result.declarations) {
    auto here = declaration->facts.find(number_of(result, piece));
    if (here == declaration->facts.end()) continue;
    for (const PlaceFacts& facts : here->second) {
      if (begins_at(piece, facts.loc, offset)) return &facts;
    }
  }
  return nullptr;
}

const FunctionFacts* function_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  for (const auto& declaration : result.declarations) {
    for (const FunctionFacts& function : declaration->functions) {
      if (function.loc.file == number_of(result, piece) && begins_at(piece, function.loc, offset)) return &function;
    }
  }
  return nullptr;
}

}  // namespace tessera::lsp

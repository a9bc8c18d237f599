#include <algorithm>
#include <map>
#include <set>

#include "lsp/workspace/analysis.h"

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

/// The same of a file that was read as a whole: one of the library, or one that a whole file read.
Loc place_at(const AnalysisResult& result, const FileModel& file, uint32_t offset) {
  Position at = file.lines().position(file.text(), offset, Encoding::Utf8);
  FileId number = result.sources ? result.sources->find(file.path()) : 0;
  return {number, at.line + 1, at.character + 1, 0};
}

/// The values in a function for the declarations that call it, each different value once.
void add_values(std::vector<frontend::ValueFacts>& known, const std::vector<frontend::ValueFacts>& values) {
  for (const frontend::ValueFacts& value : values) {
    if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(value);
  }
}

}  // namespace

std::vector<frontend::PlaceFacts> bindings_of(const AnalysisResult& result, const Piece& piece) {
  FileId number = number_of(result, piece);
  std::vector<frontend::PlaceFacts> found;
  std::map<std::pair<uint32_t, uint32_t>, size_t> known;
  for (const auto& declaration : result.declarations) {
    const auto& bindings = declaration->index.bindings;
    auto at = std::lower_bound(bindings.begin(), bindings.end(), number,
                               [](const frontend::PlaceFacts& facts, FileId file) { return facts.loc.file < file; });
    for (; at != bindings.end() && at->loc.file == number; ++at) {
      auto [place, fresh] = known.try_emplace({at->loc.line, at->loc.column}, found.size());
      if (fresh) {
        found.push_back(*at);
      } else {
        add_values(found[place->second].values, at->values);
      }
    }
  }
  return found;
}

std::vector<frontend::ValueFacts> values_at(const AnalysisResult& result, const Piece& piece, uint32_t offset) {
  Loc place = place_at(result, piece, offset);
  std::vector<frontend::ValueFacts> found;
  for (const auto& declaration : result.declarations) {
    if (const frontend::PlaceFacts* facts = declaration->index.at(place)) add_values(found, facts->values);
  }
  return found;
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

std::optional<frontend::FunctionFacts> function_at(const AnalysisResult& result, const FileModel& file,
                                                   const Piece& piece, uint32_t offset) {
  Loc place = place_at(result, piece, offset), place_in_whole = place_at(result, file, piece.begin + offset);
  std::optional<frontend::FunctionFacts> found;
  for (const auto& declaration : result.declarations) {
    const frontend::FunctionFacts* function = declaration->index.function_at(place);
    if (!function) function = declaration->index.function_at(place_in_whole);
    if (!function) continue;
    if (!found) found = frontend::FunctionFacts{function->loc, {}, {}};
    add_values(found->results, function->results);
    std::set<std::string> effects(found->effects.begin(), found->effects.end());
    effects.insert(function->effects.begin(), function->effects.end());
    found->effects.assign(effects.begin(), effects.end());
  }
  return found;
}

}  // namespace tessera::lsp

#include "lsp/workspace/piece_places.h"

#include <algorithm>
#include <tuple>

namespace tessera::lsp {

namespace {

class Mover {
 public:
  Mover(const SourceFile& file, FileId number, const FileModel& model)
      : file_(file), number_(number), model_(model) {}

  /// False where the place is in another file.
  bool move(Loc& loc) const {
    bool is_here = loc.file == number_ && loc.known() && loc.line <= file_.line_count();
    if (!is_here) return false;
    uint32_t offset = file_.line_start(loc.line) + (loc.column == 0 ? 0 : loc.column - 1);
    const Piece* piece = model_.piece_at(offset);
    if (!piece || offset < piece->begin) return false;
    loc = piece->sources->file(piece->file).locate(piece->file, offset - piece->begin, loc.length);
    return true;
  }

  /// Pieces are numbered in the order in which they were typed: the list is put into that order, and stays in its
  /// own where several things begin at one place.
  template <typename Facts>
  void move(std::vector<Facts>& list) const {
    std::erase_if(list, [&](Facts& facts) { return !move(facts.loc); });
    sort(list);
  }

  template <typename Facts>
  static void sort(std::vector<Facts>& list) {
    std::stable_sort(list.begin(), list.end(), [](const Facts& a, const Facts& b) {
      auto begin = [](Loc loc) { return std::tuple(loc.file, loc.line, loc.column); };
      return begin(a.loc) < begin(b.loc);
    });
  }

 private:
  const SourceFile& file_;
  FileId number_;
  const FileModel& model_;
};

}  // namespace

void move_to_pieces(DeclarationResult& result, const SourceManager& sources, FileId number, const FileModel& model) {
  if (model.pieces().empty()) return;
  Mover mover(sources.file(number), number, model);
  mover.move(result.index.bindings);
  mover.move(result.index.expressions);
  SourceManager& target = *model.pieces()[0]->sources;
  for (frontend::FunctionFacts& function : result.index.functions) {
    if (!mover.move(function.loc)) function.loc.file = target.intern_name(sources.file(function.loc.file).name());
  }
  Mover::sort(result.index.functions);
  mover.move(result.entries);
  result.index.calls.clear();  // nobody asks a piece for them
}

}  // namespace tessera::lsp

#include "lsp/piece_places.h"

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

void move_to_pieces(DeclarationResult& result, const SourceFile& file, FileId number, const FileModel& model) {
  Mover mover(file, number, model);
  mover.move(result.index.bindings);
  mover.move(result.index.expressions);
  mover.move(result.index.functions);
  mover.move(result.entries);
  result.index.calls.clear();  // nobody asks a piece for them
}

}  // namespace tessera::lsp

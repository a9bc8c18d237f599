#pragma once
// The branches of %if that are not taken, so that a name is renamed in them, too. Their piece is
// read often enough for each branch to be read once (frontend/format/branches.h). Text outside of
// branches, or in those that are taken, is in the piece itself.

#include <memory>
#include <vector>

#include "lsp/model/piece.h"

namespace tessera::lsp {

/// A name in a branch that is not taken.
struct InactiveName {
  const Piece* reading;
  const Occurrence* occurrence;
};

struct Readings {
  std::vector<std::shared_ptr<Piece>> pieces;
  std::vector<InactiveName> names;  ///< by place
};

/// Of a piece, read when they are first asked for; nothing where its branches are not whole.
const Readings& readings_of(const Piece& piece);
/// Whether a branch that is not taken has the word.
bool has_inactive(const Piece& piece, std::string_view word);

}  // namespace tessera::lsp

#pragma once
// The declarations of a piece, as lists of symbols show them.

#include <vector>

#include "lsp/model/names.h"

namespace tessera::lsp {

/// The declarations of the piece. Of a declaration that could not be parsed the name is read from
/// its tokens.
std::vector<Declared> list_declared(const Piece& piece);

}  // namespace tessera::lsp

#pragma once
// The names of a piece: those that its trees have (frontend/binding/names.h), and those that are in no
// tree, of statements that do not parse and of macros. These are looked up in the scopes around them.
// Free names are resolved in the file and its imports (resolve.h), so that another piece can change
// without this one.

#include "frontend/binding/names.h"

namespace tessera::lsp {

using names::Declared;
using names::Local;
using names::Occurrence;
using names::OccurrenceKind;
using names::SymbolKind;
using PieceNames = names::FileNames;

struct Piece;

PieceNames bind_names(const Piece& piece);

}  // namespace tessera::lsp

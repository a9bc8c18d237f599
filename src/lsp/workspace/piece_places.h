#pragma once
// From places in the whole text of a file to the same places in its pieces.

#include "lsp/model/file_model.h"
#include "lsp/workspace/analysis.h"

namespace tessera::lsp {

/// Moves what a result says of a file of `sources` to the pieces of that file, which `model` has with the same text.
/// Results about other files are left out except for functions, which are in the whole files that
/// the sources of the pieces call the same; and so is what it says of calls.
void move_to_pieces(DeclarationResult& result, const SourceManager& sources, FileId number, const FileModel& model);

}  // namespace tessera::lsp

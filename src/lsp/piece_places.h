#pragma once
// From places in the whole text of a file to the same places in its pieces.

#include "lsp/analysis.h"
#include "lsp/file_model.h"

namespace tessera::lsp {

/// Moves what a result says of a file to the pieces of that file, which `model` has with the same text; what it says
/// of other files, and of calls, is left out. The file has that number in the result.
void move_to_pieces(DeclarationResult& result, const SourceFile& file, FileId number, const FileModel& model);

}  // namespace tessera::lsp

#pragma once
// What the compiler says about a file: its front end is run on the texts as they are typed.

#include <functional>
#include <string>
#include <vector>

#include "lsp/workspace.h"
#include "support/diagnostic.h"

namespace tessera::lsp {

/// A note with its place, if it has one, in the text of a file.
struct PlacedNote {
  std::string path;  ///< empty: no place
  Range range;
  std::string message;
};

/// A diagnostic with its place in the text of a file.
struct PlacedDiagnostic {
  std::string path;
  Range range;
  Severity severity = Severity::Error;
  DiagId id{};
  std::string message;
  std::vector<PlacedNote> notes;
  std::vector<std::string> helps;
};

struct AnalysisResult {
  std::vector<PlacedDiagnostic> diagnostics;
  std::vector<std::string> files;  ///< whose text took part, or would have, had it been there
  bool finished = true;            ///< false: given up for a newer edit
};

/// Compiles the file for diagnostics, kernels that stand for themselves included.
AnalysisResult analyse(Workspace& workspace, const FileModel& file, const std::function<bool()>& is_cancelled);

}  // namespace tessera::lsp

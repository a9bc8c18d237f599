#pragma once
// The compiler's results for a file, on the texts as they are typed.
//
// The front end runs on the declarations that have changed, or that use, directly or indirectly,
// one that has; for the others the earlier results are kept. That is possible because a place is a
// piece's own file, its line and its column: it means the same wherever the piece stands. A file
// that includes others, or imports such a file, is compiled as a whole, and the results at its
// places are moved to its pieces.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/validate_shapes.h"
#include "frontend/index/semantic_index.h"
#include "frontend/syntax/ast.h"
#include "lsp/workspace/workspace.h"
#include "support/diagnostic.h"

namespace tessera::lsp {

/// A note with its place, if it has one, in the text of a file.
struct PlacedNote {
  std::string path;  ///< empty: no place
  Range range;
  std::string message;
  friend auto operator<=>(const PlacedNote&, const PlacedNote&) = default;
};

/// Text that takes the place of a range of a file.
struct PlacedEdit {
  std::string path;
  Range range;
  std::string text;
};

/// A fix of an error.
struct PlacedFix {
  std::string message;
  std::vector<PlacedEdit> edits;
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
  std::vector<PlacedFix> fixes;
};

/// The sizes and guards of an entry.
struct EntryShapes {
  Loc loc;  ///< of its name
  api::ShapeReport report;
};

/// The results of one declaration; places are those of the analysis' source manager.
struct DeclarationResult {
  std::vector<Diagnostic> diagnostics;
  uint64_t names = 0;             ///< of what the file declares and imports, which diagnostics and fixes name
  frontend::SemanticIndex index;  ///< of expressions it has names and members, these at their name
  std::vector<EntryShapes> entries;
};

/// As many of a document are kept as a reader looks at.
inline constexpr size_t max_diagnostics = 1000;

struct AnalysisResult {
  std::vector<PlacedDiagnostic> diagnostics;
  std::vector<std::string> files;  ///< whose text took part, or would have, had it been there
  std::vector<std::shared_ptr<const DeclarationResult>> declarations;
  std::shared_ptr<const SourceManager> sources;  ///< that `declarations` are about
  uint64_t stamp = 0;    ///< of the text that was analysed
  bool finished = true;  ///< false: given up for a newer edit
  size_t evaluated = 0;  ///< declarations that were not known from before
  bool is_cut = false;   ///< more than max_diagnostics were found
};

/// The state that is kept from one analysis of a document to the next.
struct AnalysisCache {
  std::shared_ptr<SourceManager> sources;  ///< all of it is about these
  std::map<uint64_t, std::shared_ptr<const DeclarationResult>> results;
};

/// Trees of the library's files, for all documents.
struct LibraryTrees {
  std::shared_ptr<SourceManager> sources;
  std::map<FileId, ast::SourceUnit> units;
};

/// Checks a file, kernels included.
AnalysisResult analyse(Workspace& workspace, const FileModel& file, AnalysisCache& cache, LibraryTrees& library,
                       const std::function<bool()>& is_cancelled);

/// The values of the name that begins at `offset` of a piece; none where they are not known.
std::vector<frontend::ValueFacts> values_at(const AnalysisResult& result, const Piece& piece, uint32_t offset);
/// The names of a piece that are given values, once for each place.
std::vector<frontend::PlaceFacts> bindings_of(const AnalysisResult& result, const Piece& piece);
/// The entries whose function has the name that begins at `offset` of a piece: of a method one for each instance.
std::vector<const EntryShapes*> entries_at(const AnalysisResult& result, const Piece& piece, uint32_t offset);
/// The function whose name begins at `offset` of a piece of a file; nothing when it was never run.
std::optional<frontend::FunctionFacts> function_at(const AnalysisResult& result, const FileModel& file,
                                                   const Piece& piece, uint32_t offset);

}  // namespace tessera::lsp

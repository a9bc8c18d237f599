#pragma once
// The state that every feature works with.

#include <functional>
#include <optional>
#include <string>

#include "lsp/protocol/json.h"
#include "lsp/protocol/positions.h"
#include "lsp/workspace/analysis.h"
#include "lsp/workspace/resolve.h"
#include "lsp/workspace/workspace.h"

namespace tessera::lsp {

/// The abilities of the client.
struct ClientAbilities {
  bool markdown_hover = false;
  bool markdown_completion = false;
  bool snippets = false;
  bool hierarchical_symbols = false;
  bool link_support = false;
  bool label_offsets = false;      ///< of parameters in signatures
  bool document_changes = false;   ///< of edits of a workspace
  bool code_action_literals = false;
  bool related_information = false;
  bool unnecessary_tag = false;  ///< of diagnostics
  bool refresh_inlay_hints = false;
  bool line_folding_only = false;
  bool watched_files = false;
  bool show_document = false;
  bool own_commands = false;  ///< for code lenses
};

struct Context {
  Workspace& workspace;
  ClientAbilities client;
  /// Asked in long work: nobody waits for the answer any more.
  std::function<bool()> is_cancelled = [] { return false; };
  /// The results of the last analysis of an open file; null before the first. Pieces that have
  /// changed since then are unknown to it.
  std::function<const AnalysisResult*(const FileModel&)> analysis = [](const FileModel&) { return nullptr; };
  /// The diagnostics of a file, as the client shows them; none where they are of an older text.
  std::function<std::vector<const PlacedDiagnostic*>(const FileModel&)> diagnostics = [](const FileModel&) {
    return std::vector<const PlacedDiagnostic*>();
  };
  /// The cost of a kernel or an entry, in Markdown, by the last compilation of the file; empty
  /// where nothing is known.
  std::function<std::string(const FileModel& file, const Symbol& symbol)> report = [](const auto&, const auto&) {
    return "";
  };

  Encoding encoding() const { return workspace.options.encoding; }
};

/// The file that `textDocument` names: an open one, or one that can be read; null for any other.
FileModel* file_of(Context& context, const Json& params);
/// The offset that `position` names.
uint32_t offset_of(Context& context, const FileModel& file, const Json& params);
/// The offsets of a range of the client's.
Range range_of(Context& context, const FileModel& file, const Json& range);

Json range_json(const Context& context, const FileModel& file, Range range);
Json location_json(const Context& context, const FileModel& file, Range range);
/// {"kind": "markdown" or "plaintext", "value": text}.
Json markup(bool markdown, const std::string& text);
/// The range as in a text that is not open: of a piece's place in its file.
Range document_range(const Piece& piece, Loc loc);

}  // namespace tessera::lsp

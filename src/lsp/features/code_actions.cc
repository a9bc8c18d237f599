// Quick fixes: the fixes of the compiler's diagnostics.

#include <nlohmann/json.hpp>

#include "lsp/features/diagnostics.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// The edits of a fix as the client takes them; null where one of its files is not there.
Json workspace_edit(Context& context, const PlacedFix& fix) {
  Json changes = Json::object();
  for (const PlacedEdit& edit : fix.edits) {
    FileModel* file = context.workspace.model(edit.path);
    if (!file || file->is_library()) return nullptr;
    Json& list = changes[context.workspace.uri(*file)];
    list.push_back({{"range", range_json(context, *file, edit.range)}, {"newText", edit.text}});
  }
  return {{"changes", std::move(changes)}};
}

bool wants_quick_fixes(const Json& params) {
  const Json& only = member(member(params, "context"), "only");
  return !only.is_array() || has_text(only, "quickfix");
}

}  // namespace

Json code_actions(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  Json actions = Json::array();
  if (!file || !context.client.code_action_literals || !wants_quick_fixes(params)) return actions;
  Range asked = range_of(context, *file, member(params, "range"));
  for (const PlacedDiagnostic* found : context.diagnostics(*file)) {
    const PlacedDiagnostic& diagnostic = *found;
    bool here = diagnostic.range.begin <= asked.end && asked.begin <= diagnostic.range.end;
    if (!here) continue;
    for (const PlacedFix& fix : diagnostic.fixes) {
      Json edit = workspace_edit(context, fix);
      if (edit.is_null()) continue;
      actions.push_back({{"title", fix.message},
                         {"kind", "quickfix"},
                         {"diagnostics", Json::array({diagnostic_json(context, *file, diagnostic)})},
                         {"isPreferred", diagnostic.fixes.size() == 1},
                         {"edit", std::move(edit)}});
    }
  }
  return actions;
}

}  // namespace tessera::lsp

// "Graph | Schedule | Tile | Target | Code" above each entry and kernel. The commands are the
// client's own where it has them (editors/vscode); a client that has none asks the server
// (lower.cc).

#include <nlohmann/json.hpp>

#include "lsp/features/features.h"
#include "lsp/features/stages.h"

namespace tessera::lsp {

namespace {

bool is_compiled(const Declared& declared) {
  if (declared.kind == SymbolKind::Entry || declared.kind == SymbolKind::Kernel) return true;
  const auto* def = declared.kind == SymbolKind::Method ? ast::as<ast::Def>(declared.stmt) : nullptr;
  if (!def) return false;
  for (const ast::Decorator& decorator : def->decorators) {
    if (ast::dotted(decorator.path) == "jit" || ast::dotted(decorator.path) == "tessera.jit") return true;
  }
  return false;
}

void add_lenses(Context& context, const FileModel& file, const Piece& piece, const Declared& declared, Json& out) {
  if (is_compiled(declared)) {
    Range name = piece.in_document(declared.name_range);
    Json place = {{"uri", context.workspace.uri(file)}, {"position", range_json(context, file, name)["start"]}};
    // A lens stands above its line, which is to be the first of the decorators.
    uint32_t begin = piece.in_document(declared.range).begin;
    Json range = range_json(context, file, {begin, begin});
    for (const Stage& stage : stages) {
      Json command = {{"title", std::string(stage.title)},
                      {"command", std::string(stage.command)},
                      {"arguments", Json::array({place})}};
      out.push_back({{"range", range}, {"command", std::move(command)}});
    }
  }
  for (const Declared& member : declared.members) add_lenses(context, file, piece, member, out);
}

}  // namespace

Json code_lenses(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  Json out = Json::array();
  if (!file || file->is_library()) return out;
  for (const std::shared_ptr<Piece>& piece : file->pieces()) {
    for (const Declared& declared : piece->names.declared) add_lenses(context, *file, *piece, declared, out);
  }
  return out;
}

}  // namespace tessera::lsp

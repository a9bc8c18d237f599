// From a name to where it is declared, and to where else it is used.

#include <nlohmann/json.hpp>

#include "lsp/features/features.h"
#include "lsp/features/usages.h"
#include "lsp/protocol/numbers.h"

namespace tessera::lsp {

namespace {

struct Asked {
  FileModel* file = nullptr;
  NamePlace place;
  Symbol symbol;
};

std::optional<Asked> asked(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return std::nullopt;
  Resolver resolver(context.workspace);
  auto place = resolver.name_at(*file, offset_of(context, *file, params));
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  if (!symbol) return std::nullopt;
  return Asked{file, *place, std::move(*symbol)};
}

/// The file that %include or a string on the line names.
std::optional<Json> included_file(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return std::nullopt;
  uint32_t offset = offset_of(context, *file, params);
  const Piece* piece = file->piece_at(offset);
  if (!piece) return std::nullopt;
  for (const RawToken& token : piece->tokens) {
    Range range = piece->in_document({token.offset, token.offset + token.length});
    bool is_name = token.role == TokenRole::Directive && token.kind == TokenKind::String && range.touches(offset);
    if (!is_name || token.length < 2) continue;
    std::string_view name = piece->text(token).substr(1, token.length - 2);
    for (const std::string& path : file->included()) {
      FileModel* target = path.ends_with(name) ? context.workspace.model(path) : nullptr;
      if (target) return location_json(context, *target, {0, 0});
    }
  }
  return std::nullopt;
}

}  // namespace

Json definition(Context& context, const Json& params) {
  auto found = asked(context, params);
  if (!found) return included_file(context, params).value_or(Json());
  const Symbol& symbol = found->symbol;
  if (!symbol.has_place()) return nullptr;
  if (!context.client.link_support) return location_json(context, *symbol.file, symbol.range);
  Json link = {{"originSelectionRange", range_json(context, *found->file, found->place.range())},
               {"targetUri", context.workspace.uri(*symbol.file)},
               {"targetRange", range_json(context, *symbol.file, symbol.full_range)},
               {"targetSelectionRange", range_json(context, *symbol.file, symbol.range)}};
  return Json::array({std::move(link)});
}

Json references(Context& context, const Json& params) {
  auto found = asked(context, params);
  if (!found) return nullptr;
  bool with_declaration = is_set(member(params, "context"), "includeDeclaration");
  Json out = Json::array();
  for (const Usage& usage : all_usages(context, found->symbol, *found->file)) {
    bool is_declaration = &usage.file() == found->symbol.file && usage.range() == found->symbol.range;
    if (is_declaration && !with_declaration) continue;
    out.push_back(location_json(context, usage.file(), usage.range()));
  }
  return out;
}

Json document_highlights(Context& context, const Json& params) {
  auto found = asked(context, params);
  if (!found) return nullptr;
  Json out = Json::array();
  for (const Usage& usage : usages_in(context, *found->file, found->symbol)) {
    int kind = usage.writes ? number::Highlight::write : number::Highlight::read;
    out.push_back({{"range", range_json(context, *found->file, usage.range())}, {"kind", kind}});
  }
  return out;
}

}  // namespace tessera::lsp

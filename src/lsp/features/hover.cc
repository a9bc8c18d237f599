#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lsp/features/describe_symbol.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

/// The token at an offset, where a keyword or directive may stand.
const RawToken* token_at(const Piece& piece, uint32_t offset) {
  for (const RawToken& token : piece.tokens) {
    if (token.offset <= offset && offset < token.offset + token.length) return &token;
  }
  return nullptr;
}

Json keyword_hover(Context& context, const FileModel& file, const Piece& piece, uint32_t offset) {
  const RawToken* token = token_at(piece, offset);
  if (!token || is_trivia(token->kind) || token->role == TokenRole::Inactive) return nullptr;
  bool directive = token->role == TokenRole::Directive;
  const Word* word = find_word(piece.text(*token), directive ? WordKind::Directive : WordKind::Keyword);
  if (!word) return nullptr;
  return {{"contents", markup(context.client.markdown_hover, word->meaning)},
          {"range", range_json(context, file, piece.in_document({token->offset, token->offset + token->length}))}};
}

std::string listed(const std::vector<frontend::ValueFacts>& values) {
  std::string text;
  for (const frontend::ValueFacts& value : values) {
    text += fmt::format("{}`{}`", text.empty() ? "" : ", ", value.text);
    bool rounds_later = !value.computed.empty() && value.computed != value.dtype;
    if (rounds_later) text += fmt::format(" (computed in {})", value.computed);
    if (!value.device.empty()) text += fmt::format(" on {}", value.device);
  }
  return text;
}

/// What the evaluation found at a name, and of a function what its calls gave.
std::string describe_facts(Context& context, FileModel& file, const NamePlace& place, const Symbol& symbol) {
  const AnalysisResult* result = context.analysis(file);
  if (!result) return "";
  std::string text;
  const PlaceFacts* facts = facts_at(*result, *place.piece, place.occurrence->range.begin);
  bool is_value = facts && !facts->values.empty() && facts->values[0].kind != frontend::ValueKind::Function;
  if (is_value) text += "\n\nhere: " + listed(facts->values);
  bool own = symbol.declared && symbol.file == &file;
  uint32_t begin = own ? symbol.range.begin - symbol.piece->begin : 0;
  const FunctionFacts* function = own ? function_at(*result, *symbol.piece, begin) : nullptr;
  if (!function) return text;
  if (!function->results.empty()) text += "\n\ngives: " + listed(function->results);
  std::string effects = fmt::format("{}", fmt::join(function->effects, ", "));
  text += fmt::format("\n\neffects: {}", effects.empty() ? "none" : effects);
  return text;
}

}  // namespace

Json hover(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  uint32_t offset = offset_of(context, *file, params);
  const Piece* piece = file->piece_at(offset);
  if (!piece) return nullptr;
  Resolver resolver(context.workspace);
  auto place = resolver.name_at(*file, offset);
  auto symbol = place ? resolver.resolve(*place) : std::nullopt;
  if (!symbol) return keyword_hover(context, *file, *piece, offset - piece->begin);
  std::string text = describe(*symbol) + describe_facts(context, *file, *place, *symbol);
  return {{"contents", markup(context.client.markdown_hover, text)},
          {"range", range_json(context, *file, place->range())}};
}

}  // namespace tessera::lsp

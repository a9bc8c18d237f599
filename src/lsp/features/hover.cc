#include <nlohmann/json.hpp>

#include "lsp/features/describe_symbol.h"
#include "lsp/features/describe_values.h"
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
  std::string_view text = piece.text(*token);
  const Word* word = find_word(text, directive ? WordKind::Directive : WordKind::Keyword);
  if (!word && !directive) word = find_word(text, WordKind::Type);  // `Region`
  if (!word) return nullptr;
  return {{"contents", markup(context.client.markdown_hover, word->meaning)},
          {"range", range_json(context, file, piece.in_document({token->offset, token->offset + token->length}))}};
}

/// The argument of a function of the language; empty for any other name.
std::string argument_at(Resolver& resolver, const NamePlace& place) {
  auto callee = resolver.called_with(place);
  if (!callee || !callee->builtin) return "";
  return describe_argument(*callee, place.piece->text(place.occurrence->range));
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
  std::string facts = place ? describe_values(context, *file, *place, symbol) : "";
  std::string text;
  if (symbol) {
    text = describe(*symbol) + facts + context.report(*file, *symbol);
  } else if (!facts.empty()) {
    // A member that the text alone does not show, such as an axis of a kernel, has a known value.
    text = facts.substr(2);
  } else if (place) {
    text = argument_at(resolver, *place);
  }
  if (text.empty()) return keyword_hover(context, *file, *piece, offset - piece->begin);
  return {{"contents", markup(context.client.markdown_hover, text)},
          {"range", range_json(context, *file, place->range())}};
}

}  // namespace tessera::lsp

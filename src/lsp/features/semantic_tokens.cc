// Colours from meaning, where a grammar of regular expressions can only guess. Tokens over several
// lines are cut at line ends, as the protocol asks.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

enum TokenType : uint32_t {
  Namespace,
  Type,
  Class,
  TypeParameter,
  Parameter,
  Variable,
  Property,
  Function,
  Method,
  Macro,
  Keyword,
  Comment,
  String,
  Number,
  Operator,
  Decorator,
  NoType,
};
constexpr const char* type_names[] = {"namespace", "type",   "class",   "typeParameter", "parameter", "variable",
                                      "property",  "function", "method", "macro",         "keyword",   "comment",
                                      "string",    "number", "operator", "decorator"};

enum Modifier : uint32_t { Declaration = 1, Readonly = 2, DefaultLibrary = 4 };
constexpr const char* modifier_names[] = {"declaration", "readonly", "defaultLibrary"};

struct Coloured {
  TokenType type = NoType;
  uint32_t modifiers = 0;
};

Coloured word_colour(const Word& word) {
  switch (word.kind) {
    case WordKind::Type:
    case WordKind::DType:
    case WordKind::Layout: return {Type, DefaultLibrary};
    case WordKind::Namespace: return {Namespace, DefaultLibrary};
    case WordKind::Decorator: return {Decorator, DefaultLibrary};
    case WordKind::Constant:
    case WordKind::Device: return {Variable, DefaultLibrary | Readonly};
    case WordKind::TensorMember:
    case WordKind::CacheMember:
    case WordKind::OptimizerMember:
    case WordKind::StateMember:
    case WordKind::ScheduleMember:
    case WordKind::KernelMember: return {Property, DefaultLibrary};
    case WordKind::Policy:
    case WordKind::Privilege:
    case WordKind::Effect: return {Decorator, DefaultLibrary};
    case WordKind::Keyword:
    case WordKind::Reserved:
    case WordKind::Directive: return {Keyword, 0};
  }
  return {};
}

Coloured symbol_colour(const Symbol& symbol) {
  uint32_t library = symbol.file && symbol.file->is_library() ? uint32_t(DefaultLibrary) : 0;
  switch (symbol.kind) {
    case SymbolKind::Parameter: return {Parameter, Readonly};
    case SymbolKind::Self: return {Parameter, Readonly};
    case SymbolKind::Variable: return {Variable, 0};
    case SymbolKind::Size:
    case SymbolKind::Dim: return {TypeParameter, 0};
    case SymbolKind::Function:
    case SymbolKind::Entry:
    case SymbolKind::Kernel: return {Function, library};
    case SymbolKind::Module: return {Class, library};
    case SymbolKind::Constant: return {Variable, Readonly | library};
    case SymbolKind::Param: return {Variable, library};
    case SymbolKind::Field: return {Property, 0};
    case SymbolKind::Method: return {Method, library};
    case SymbolKind::File:
    case SymbolKind::Namespace: return {Namespace, library};
    case SymbolKind::Import: return {Variable, 0};
    case SymbolKind::Builtin: return {Function, DefaultLibrary};
    case SymbolKind::Word: return word_colour(*symbol.word);
  }
  return {};
}

Coloured token_colour(const RawToken& token) {
  if (token.role == TokenRole::Inactive) return {Comment, 0};
  switch (token.kind) {
    case TokenKind::Comment: return {Comment, 0};
    case TokenKind::String:
    case TokenKind::UnterminatedString: return {String, 0};
    case TokenKind::Integer:
    case TokenKind::Float:
    case TokenKind::BadNumber: return {Number, 0};
    case TokenKind::Const:
    case TokenKind::Dim:
    case TokenKind::Module:
    case TokenKind::On:
    case TokenKind::Param:
    case TokenKind::Region:
    case TokenKind::Where: return {Keyword, 0};
    default: return is_keyword(token.kind) ? Coloured{Keyword, 0} : Coloured{};
  }
}

class Colourer {
 public:
  Colourer(Context& context, FileModel& file) : context_(context), file_(file), resolver_(context.workspace) {}

  Json run(Range range) {
    for (const std::shared_ptr<Piece>& piece : file_.pieces()) {
      uint32_t end = piece->begin + uint32_t(piece->text().size());
      if (end <= range.begin || piece->begin >= range.end) continue;
      if (context_.is_cancelled()) break;
      colour(*piece, range);
    }
    return {{"data", std::move(data_)}};
  }

 private:
  void colour(const Piece& piece, Range range);
  Coloured name_colour(const Piece& piece, const Occurrence& occurrence);
  void add(Range range, Coloured colour);
  void add_line(Range range, Coloured colour);

  Context& context_;
  FileModel& file_;
  Resolver resolver_;
  Json data_ = Json::array();
  Position last_;
};

Coloured Colourer::name_colour(const Piece& piece, const Occurrence& occurrence) {
  auto symbol = resolver_.resolve({&file_, &piece, &occurrence});
  if (!symbol) {
    if (occurrence.kind == OccurrenceKind::Argument) return {Parameter, 0};
    if (occurrence.kind == OccurrenceKind::Member) return {Property, 0};
    return {};
  }
  Coloured colour = symbol_colour(*symbol);
  bool is_place = symbol->file == &file_ && symbol->piece == &piece &&
                  symbol->range == piece.in_document(occurrence.range);
  if (is_place) colour.modifiers |= Declaration;
  return colour;
}

void Colourer::colour(const Piece& piece, Range range) {
  // A piece can be a whole file, or one line of five megabytes.
  constexpr size_t between_looks = 1000;
  auto next = piece.names.occurrences.begin();
  TokenKind before = TokenKind::Newline;
  size_t seen = 0;
  for (const RawToken& token : piece.tokens) {
    if (++seen % between_looks == 0 && context_.is_cancelled()) return;
    bool names_directive = std::exchange(before, token.kind) == TokenKind::Percent;
    Range place = piece.in_document({token.offset, token.offset + token.length});
    if (place.end <= range.begin || place.begin >= range.end) continue;
    while (next != piece.names.occurrences.end() && next->range.begin < token.offset) ++next;
    bool is_name = token.kind == TokenKind::Name && token.role == TokenRole::Code;
    if (is_name && next != piece.names.occurrences.end() && next->range.begin == token.offset) {
      add(place, name_colour(piece, *next));
    } else if (token.role == TokenRole::Directive && token.kind != TokenKind::String && !is_trivia(token.kind)) {
      add(place, {token.kind == TokenKind::Name && !names_directive ? Macro : Keyword, 0});
    } else {
      add(place, token_colour(token));
    }
  }
}

void Colourer::add(Range range, Coloured colour) {
  if (colour.type == NoType || range.end <= range.begin) return;
  const LineIndex& lines = file_.lines();
  while (true) {
    uint32_t line = lines.line_of(range.begin);
    uint32_t line_end = line + 1 < lines.line_count() ? lines.line_start(line + 1) : uint32_t(file_.text().size());
    add_line({range.begin, std::min(range.end, line_end)}, colour);
    if (range.end <= line_end) return;
    range.begin = line_end;
  }
}

void Colourer::add_line(Range range, Coloured colour) {
  auto ends_line = [&](uint32_t at) { return file_.text()[at] == '\n' || file_.text()[at] == '\r'; };
  while (range.end > range.begin && ends_line(range.end - 1)) --range.end;
  if (range.end <= range.begin) return;
  Position from = file_.lines().position(file_.text(), range.begin, context_.encoding());
  Position to = file_.lines().position(file_.text(), range.end, context_.encoding());
  data_.push_back(from.line - last_.line);
  data_.push_back(from.line == last_.line ? from.character - last_.character : from.character);
  data_.push_back(to.character - from.character);
  data_.push_back(uint32_t(colour.type));
  data_.push_back(colour.modifiers);
  last_ = from;
}

}  // namespace

Json semantic_token_legend() { return {{"tokenTypes", type_names}, {"tokenModifiers", modifier_names}}; }

Json semantic_tokens(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  return Colourer(context, *file).run({0, uint32_t(file->text().size())});
}

Json semantic_tokens_in_range(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return nullptr;
  return Colourer(context, *file).run(range_of(context, *file, member(params, "range")));
}

}  // namespace tessera::lsp

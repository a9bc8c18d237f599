#include "lsp/model/piece.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "frontend/syntax/lines.h"
#include "frontend/syntax/parse_part.h"
#include "frontend/syntax/preprocessor.h"
#include "frontend/syntax/text_range.h"

namespace tessera::lsp {

namespace {

/// As many as a reader looks at; more are counted and dropped.
constexpr size_t syntax_error_limit = 200;

/// The raw tokens, once the names that act as keywords are known.
std::vector<RawToken> own_tokens(FileId file, Preprocessed& text) {
  promote_keywords(text.buffer);
  std::map<uint32_t, TokenKind> promoted;
  for (const Token& token : text.buffer.tokens) {
    bool is_own = token.file == file && token.expansion == 0 && token.length != 0;
    if (is_own) promoted[token.offset] = token.kind;
  }
  for (LexedFile& lexed : text.files) {
    if (lexed.file != file) continue;
    for (RawToken& token : lexed.tokens) {
      auto found = promoted.find(token.offset);
      bool acts = token.kind == TokenKind::Name && found != promoted.end() && found->second != TokenKind::Error;
      if (acts) token.kind = found->second;
    }
    return std::move(lexed.tokens);
  }
  return {};
}

/// Those after each `%define`, in whatever branch it stands.
std::vector<std::string> defined_macros(const Piece& piece) {
  std::vector<std::string> names;
  const RawToken* last = nullptr;
  for (const RawToken& token : piece.tokens) {
    if (token.role != TokenRole::Directive || is_trivia(token.kind)) continue;
    bool defines = last && piece.text(*last) == "define" && last->offset > 0 &&
                   piece.text()[last->offset - 1] == '%';
    if (defines) names.emplace_back(piece.text(token));
    last = &token;
  }
  return names;
}

/// Dims may be named in strings.
std::vector<std::string> read_words(const Piece& piece, const TokenBuffer& buffer) {
  std::set<std::string> words;
  for (const Token& token : buffer.tokens) {
    if (token.kind == TokenKind::Name) words.emplace(buffer.text(token));
  }
  for (const RawToken& token : piece.tokens) {
    if (token.kind == TokenKind::Name) words.emplace(piece.text(token));
    if (token.kind != TokenKind::String) continue;
    std::string word;
    for (char c : piece.text(token)) {
      bool part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (part) word += c;
      if (!part && !word.empty()) words.insert(std::exchange(word, {}));
    }
  }
  return {words.begin(), words.end()};
}

}  // namespace

Range Piece::range(Loc loc) const {
  return place_in(*sources, loc);
}

std::shared_ptr<Piece> parse_piece(std::shared_ptr<SourceManager> sources, std::string name, std::string text,
                                   const ParseOptions& options, std::span<const FileId> before) {
  auto piece = std::make_shared<Piece>();
  piece->sources = std::move(sources);
  piece->file = piece->sources->add(std::move(name), std::move(text));
  DiagnosticEngine diagnostics(*piece->sources);
  diagnostics.set_error_limit(syntax_error_limit);
  ast::SourceUnit unit = parse_part(piece->file, before, *piece->sources, options, diagnostics);
  piece->declarations = std::move(unit.declarations);
  piece->files = std::move(unit.files);
  piece->diagnostics = diagnostics.all();
  // Errors of the pieces above are reported there.
  std::erase_if(piece->diagnostics, [&](const Diagnostic& diagnostic) {
    return std::find(before.begin(), before.end(), diagnostic.loc.file) != before.end();
  });
  DiagnosticEngine ignored(*piece->sources);
  Preprocessed preprocessed = preprocess(piece->file, before, *piece->sources, options, ignored);
  piece->tokens = own_tokens(piece->file, preprocessed);
  piece->names = bind_names(*piece);
  piece->words = read_words(*piece, preprocessed.buffer);
  piece->macros = defined_macros(*piece);
  return piece;
}

}  // namespace tessera::lsp

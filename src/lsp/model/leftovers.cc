// Names that are in no tree: those of statements that do not parse, and of macros.

#include <algorithm>
#include <unordered_map>

#include "frontend/syntax/brackets.h"
#include "lsp/model/names.h"
#include "lsp/model/piece.h"

namespace tessera::lsp {

namespace {

class Leftovers {
 public:
  Leftovers(const Piece& piece, PieceNames& names) : piece_(piece), names_(names) {
    for (size_t i = 0; i < names.occurrences.size(); ++i) {
      by_offset_[names.occurrences[i].range.begin] = int32_t(i);
    }
  }

  void add() {
    tokens();
    macros();
    names_.sort();
    declarations();
  }

 private:
  void tokens();
  void leftover(size_t at, const std::vector<size_t>& code, int32_t callee);
  void macros();
  void declarations();
  void from_tokens(Range range);
  void trim(std::vector<Declared>& list) const;
  uint32_t end_of_code(uint32_t offset) const;

  const Piece& piece_;
  PieceNames& names_;
  std::unordered_map<uint32_t, int32_t> by_offset_;
};

/// A name in the arguments of `callee`, -1 where it is in none.
void Leftovers::leftover(size_t at, const std::vector<size_t>& code, int32_t callee) {
  auto kind = [&](size_t i) { return i < code.size() ? piece_.tokens[code[i]].kind : TokenKind::EndOfFile; };
  const RawToken& token = piece_.tokens[code[at]];
  Range range{token.offset, token.offset + token.length};
  Occurrence made{range};
  auto named = [&](size_t i) {
    auto found = by_offset_.find(piece_.tokens[code[i]].offset);
    return found == by_offset_.end() ? -1 : found->second;
  };
  if (at > 0 && kind(at - 1) == TokenKind::Dot) {
    made.kind = OccurrenceKind::Member;
    made.parent = at > 1 ? named(at - 2) : -1;
  } else if (callee >= 0 && kind(at + 1) == TokenKind::Assign) {
    made.kind = OccurrenceKind::Argument;
    made.parent = callee;
  } else {
    made.local = names_.visible(piece_.text(token), token.offset);
    made.is_certain = false;
    made.kind = made.local < 0 ? OccurrenceKind::Free : OccurrenceKind::Local;
  }
  by_offset_[token.offset] = int32_t(names_.occurrences.size());
  names_.occurrences.push_back(std::move(made));
}

void Leftovers::tokens() {
  std::vector<size_t> code;
  for (size_t i = 0; i < piece_.tokens.size(); ++i) {
    if (piece_.tokens[i].role == TokenRole::Code) code.push_back(i);
  }
  OpenBrackets<int32_t> callees;  // the name before each, or -1
  for (size_t at = 0; at < code.size(); ++at) {
    const RawToken& token = piece_.tokens[code[at]];
    if (callees.take(token.kind) == BracketStep::Opens) {
      auto before = at > 0 ? by_offset_.find(piece_.tokens[code[at - 1]].offset) : by_offset_.end();
      bool is_call = token.kind == TokenKind::Lparen && before != by_offset_.end();
      callees.innermost() = is_call ? before->second : -1;
    } else if (token.kind == TokenKind::Name && by_offset_.count(token.offset) == 0) {
      leftover(at, code, callees.is_inside() ? callees.innermost() : -1);
    }
  }
}

/// The names in what %define puts in the place of another are looked up where they are used, which the
/// tree has with that place: here they are the file's.
void Leftovers::macros() {
  std::string_view word;
  size_t count = 0;
  TokenKind last = TokenKind::EndOfFile;
  for (const RawToken& token : piece_.tokens) {
    if (token.kind == TokenKind::Newline) count = 0;
    if (token.role != TokenRole::Directive || is_trivia(token.kind)) continue;
    ++count;
    if (count == 2) word = piece_.text(token);
    bool in_body = count > 3 && word == "define" && token.kind == TokenKind::Name && last != TokenKind::Dot;
    if (in_body) names_.occurrences.push_back({{token.offset, token.offset + token.length}});
    last = token.kind;
  }
}

/// `def name`, `module name`, `const name`: enough to show and find a half-typed declaration.
void Leftovers::from_tokens(Range range) {
  SymbolKind kind = SymbolKind::Function;
  bool announced = false;
  for (const RawToken& token : piece_.tokens) {
    if (token.role != TokenRole::Code || token.offset < range.begin) continue;
    std::string_view text = piece_.text(token);
    if (announced && token.kind == TokenKind::Name) {
      Declared& made = names_.declared.emplace_back();
      made.name = text;
      made.kind = kind;
      made.name_range = {token.offset, token.offset + token.length};
      made.range = {std::min(range.begin, token.offset), std::max(range.end, made.name_range.end)};
      return;
    }
    announced = true;
    if (token.kind == TokenKind::Def) {
      // What its decorators said stays.
    } else if (text == "module") {
      kind = SymbolKind::Module;
    } else if (text == "const") {
      kind = SymbolKind::Constant;
    } else {
      announced = false;
      if (text == "jit") kind = SymbolKind::Entry;
      if (text == "kernel") kind = SymbolKind::Kernel;
    }
  }
}

/// The end of the last token of code before an offset: a block's tree goes on to what follows it.
uint32_t Leftovers::end_of_code(uint32_t offset) const {
  auto at = std::partition_point(piece_.tokens.begin(), piece_.tokens.end(),
                                 [&](const RawToken& token) { return token.offset < offset; });
  while (at != piece_.tokens.begin()) {
    const RawToken& token = *--at;
    bool is_code = token.role == TokenRole::Code && !is_trivia(token.kind) && token.length > 0;
    if (is_code) return std::min(token.offset + token.length, offset);
  }
  return offset;
}

/// Ends declarations with their last token of code.
void Leftovers::trim(std::vector<Declared>& list) const {
  for (Declared& declared : list) {
    if (declared.stmt) declared.range.end = std::max(end_of_code(declared.range.end), declared.name_range.end);
    trim(declared.members);
  }
}

void Leftovers::declarations() {
  trim(names_.declared);
  size_t known = names_.declared.size();
  for (const ast::Declaration& declaration : piece_.declarations) {
    auto is_it = [&](const Declared& declared) { return declared.stmt == declaration.stmt; };
    bool has_name = std::any_of(names_.declared.begin(), names_.declared.begin() + ptrdiff_t(known), is_it);
    if (declaration.has_error && !has_name) from_tokens(piece_.range(declaration.stmt->loc));
  }
  std::stable_sort(names_.declared.begin(), names_.declared.end(), [](const Declared& a, const Declared& b) {
    return a.name_range.begin < b.name_range.begin;
  });
}

}  // namespace

PieceNames bind_names(const Piece& piece) {
  PieceNames names = names::bind_names(*piece.sources, piece.file, piece.declarations);
  Leftovers(piece, names).add();
  return names;
}

}  // namespace tessera::lsp

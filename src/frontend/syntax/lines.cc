#include "frontend/syntax/lines.h"
#include "frontend/syntax/brackets.h"
#include "support/diagnostic_rows.h"

#include <algorithm>
#include <map>

namespace tessera {

namespace {

TokenKind soft_keyword(std::string_view text) {
  if (text == "const") return TokenKind::Const;
  if (text == "dim") return TokenKind::Dim;
  if (text == "module") return TokenKind::Module;
  if (text == "on") return TokenKind::On;
  if (text == "param") return TokenKind::Param;
  return TokenKind::Name;
}

/// A keyword that cannot follow an operand: after `const` it stands where a name belongs.
bool is_taken_for_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::And:
    case TokenKind::As:
    case TokenKind::For:
    case TokenKind::If:
    case TokenKind::In:
    case TokenKind::Is:
    case TokenKind::Not:
    case TokenKind::Or: return false;
    default: return is_keyword(kind);
  }
}

/// Promotes names while running over the tokens once.
class Promoter {
 public:
  Promoter(TokenBuffer& buffer, DiagnosticEngine* diagnostics)
      : buffer_(buffer), tokens_(buffer.tokens), diagnostics_(diagnostics) {}

  void run() {
    for (size_t i = 0; i < tokens_.size(); ++i) step(i);
  }

 private:
  TokenKind kind(size_t i) const {
    return i < tokens_.size() ? tokens_[i].kind : TokenKind::EndOfFile;
  }
  void step(size_t i);
  void statement_start(size_t i);
  bool has_base(size_t bracket) const;
  bool holds_values(size_t i) const;
  bool refuse_try(size_t i);
  void foreign_start(size_t i);
  void mend_keyword(size_t i);
  void region(size_t open, size_t i);

  TokenBuffer& buffer_;
  std::vector<Token>& tokens_;
  DiagnosticEngine* diagnostics_;
  OpenBrackets<size_t> brackets_;  ///< with their indices
  bool at_start_ = true;
  bool header_ = false;  ///< a def or module line
  bool tries_ = false;
};

/// Whether what stands in brackets is a name in a package, `nn.Module`.
bool Promoter::has_base(size_t bracket) const {
  return kind(bracket + 1) == TokenKind::Name && kind(bracket + 2) == TokenKind::Dot &&
         kind(bracket + 3) == TokenKind::Name;
}

/// Whether a class is one of values, by its decorator or its base: `@dataclass`, `(NamedTuple)`.
bool Promoter::holds_values(size_t i) const {
  constexpr std::string_view words[] = {"dataclass", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum",
                                        "BaseModel"};
  auto is_one = [&](size_t at) {
    return kind(at) == TokenKind::Name && std::ranges::find(words, buffer_.text(tokens_[at])) != std::end(words);
  };
  if (kind(i + 2) == TokenKind::Lparen && is_one(i + 3)) return true;
  // The decorators stand on lines of their own before it.
  for (size_t end = i; end > 0 && kind(end - 1) == TokenKind::Newline;) {
    size_t begin = end - 1;
    while (begin > 0 && kind(begin - 1) != TokenKind::Newline) --begin;
    if (kind(begin) != TokenKind::At) return false;
    bool is_dotted = kind(begin + 2) == TokenKind::Dot;
    if (is_one(begin + 1) || (is_dotted && is_one(begin + 3))) return true;
    end = begin;
  }
  return false;
}

/// `try:` and what belongs to it; the first one is reported.
bool Promoter::refuse_try(size_t i) {
  std::string_view word = buffer_.text(tokens_[i]);
  bool is_try = word == "try" || word == "except" || word == "finally";
  bool is_block = kind(i) == TokenKind::Name && is_try && (kind(i + 1) == TokenKind::Colon || word == "except");
  if (!diagnostics_ || !is_block) return false;
  if (word == "try" || !tries_) {
    diagnostics_->report(diag::unexpected_at_start, buffer_.loc(tokens_[i]), buffer_.describe(tokens_[i]))
        .help("nothing fails in the middle of a program; write conditions in a 'where' clause");
  }
  tries_ = true;
  tokens_[i].kind = TokenKind::If;  // a block follows
  tokens_[i + 1].kind = TokenKind::Error;
  return true;
}

/// A definition or declaration as other languages begin it.
void Promoter::foreign_start(size_t i) {
  if (refuse_try(i)) return;
  bool is_async = diagnostics_ && kind(i) == TokenKind::Name && kind(i + 1) == TokenKind::Def &&
                  buffer_.text(tokens_[i]) == "async";
  if (is_async) {
    Loc word = buffer_.loc(tokens_[i]), def = buffer_.loc(tokens_[i + 1]);
    Loc gone = word;
    if (def.line == word.line) gone.length = def.column - word.column;
    diagnostics_->report(diag::unexpected_at_start, word, buffer_.describe(tokens_[i]))
        .fix("calls wait for what they need: leave it out", gone, "");
    tokens_[i].kind = TokenKind::Def;  // which begins the line, for its indentation
    tokens_.erase(tokens_.begin() + ptrdiff_t(i) + 1);
    return;
  }
  if (!diagnostics_ || kind(i) != TokenKind::Name || kind(i + 1) != TokenKind::Name) return;
  TokenKind third = kind(i + 2);
  std::string_view word = buffer_.text(tokens_[i]), ours = keyword_for(word);
  Loc loc = buffer_.loc(tokens_[i]);
  bool is_module = ours == "module";
  if (is_module && third == TokenKind::Lparen && has_base(i + 2)) {
    diagnostics_->report(diag::unexpected_at_start, loc, buffer_.describe(tokens_[i]))
        .help("a module has no base; in brackets are its parameters: module Linear(I: dim, O: dim):");
    tokens_[i].kind = TokenKind::Module;
    tokens_[i + 2].kind = TokenKind::Error;
    return;
  }
  if (is_module && holds_values(i)) {
    diagnostics_->report(diag::unexpected_at_start, loc, buffer_.describe(tokens_[i]))
        .help("values that belong together are constants of the file, const WIDTH = 64, a dict, "
              "config = {\"width\": 64}, or the parameters of a module: module Model(width: dim)");
    tokens_[i].kind = TokenKind::Module;
    if (third == TokenKind::Lparen) tokens_[i + 2].kind = TokenKind::Error;
    return;
  }
  if (!ours.empty() && (third == TokenKind::Lparen || (is_module && third == TokenKind::Colon))) {
    diagnostics_->report(diag::unexpected_at_start, loc, buffer_.describe(tokens_[i]))
        .fix(fmt::format("write '{}'{}", ours, is_module ? " for parameters with methods" : ""), loc,
             std::string(ours));
    tokens_[i].kind = is_module ? TokenKind::Module : TokenKind::Def;
  } else if ((word == "let" || word == "var") && (third == TokenKind::Assign || third == TokenKind::Colon)) {
    Loc next = buffer_.loc(tokens_[i + 1]);
    Loc gone = loc;
    if (next.line == loc.line && next.column > loc.column) gone.length = next.column - loc.column;
    diagnostics_->report(diag::unexpected_at_start, loc, buffer_.describe(tokens_[i]))
        .fix("a name is declared by assigning to it", gone, "");
    tokens_[i].kind = TokenKind::Const;
  }
}

/// `retrun x`: two operands beside each other begin no line, so that the first is a misspelt keyword where one is near.
void Promoter::mend_keyword(size_t i) {
  if (!diagnostics_ || kind(i) != TokenKind::Name || tokens_[i].expansion != 0) return;
  if (!help_for_statement(buffer_.text(tokens_[i])).empty()) return;
  static const std::map<std::string, TokenKind> keywords = {
      {"const", TokenKind::Const},   {"dim", TokenKind::Dim},       {"param", TokenKind::Param},
      {"module", TokenKind::Module}, {"def", TokenKind::Def},       {"import", TokenKind::Import},
      {"from", TokenKind::From},     {"return", TokenKind::Return}, {"for", TokenKind::For},
      {"while", TokenKind::While},   {"with", TokenKind::With},     {"if", TokenKind::If},
      {"elif", TokenKind::Elif},     {"else", TokenKind::Else}};
  bool has_import = false, has_in = false;
  for (size_t at = i; kind(at) != TokenKind::Newline && kind(at) != TokenKind::EndOfFile; ++at) {
    has_import |= kind(at) == TokenKind::Import;
    has_in |= kind(at) == TokenKind::In;
  }
  std::vector<std::string> words;
  TokenKind next = kind(i + 1);
  if (next == TokenKind::Colon && kind(i + 2) == TokenKind::Newline) {
    words = {"else"};
  } else if (starts_operand(next) && !is_opening(next)) {
    for (const auto& [word, kind] : keywords) {
      bool fits = word == "from" ? has_import : word == "for" ? has_in : word != "else";
      if (fits) words.push_back(word);
    }
  }
  std::string meant = nearest_name(buffer_.text(tokens_[i]), words);
  if (meant.empty()) return;
  Loc second = buffer_.loc(tokens_[i + 1]);
  diagnostics_->report(diag::unexpected_token, second, buffer_.describe(tokens_[i + 1]), buffer_.describe(tokens_[i]))
      .suggest(buffer_.sources(), buffer_.loc(tokens_[i]), buffer_.text(tokens_[i]), words);
  tokens_[i].kind = keywords.at(meant);
}

void Promoter::statement_start(size_t i) {
  foreign_start(i);
  if (kind(i) == TokenKind::Name) {
    TokenKind keyword = soft_keyword(buffer_.text(tokens_[i]));
    TokenKind next = kind(i + 1);
    bool applies = next == TokenKind::Name || (keyword == TokenKind::On && next == TokenKind::String) ||
                   (keyword != TokenKind::On && is_taken_for_name(next));
    if (applies) tokens_[i].kind = keyword;
  }
  mend_keyword(i);
  header_ = kind(i) == TokenKind::Def || kind(i) == TokenKind::Module;
}

/// `Region[…] Tensor`: the brackets from `open` to `i` may be those of privileges.
void Promoter::region(size_t open, size_t i) {
  bool may_be = tokens_[i].kind == TokenKind::Rbracket && open > 0 && kind(open - 1) == TokenKind::Name &&
                kind(i + 1) == TokenKind::Name;
  if (!may_be) return;
  Token& name = tokens_[open - 1];
  std::string_view text = buffer_.text(name);
  bool is_region = text == "Region";
  if (!is_region && diagnostics_ && header_ && buffer_.text(tokens_[i + 1]) == "Tensor") {
    // Two names that nothing connects: the first can be no other word.
    is_region = !nearest_name(text, {"Region"}).empty();
    if (is_region) {
      Loc loc = buffer_.loc(name);
      diagnostics_->report(diag::not_a_type, loc, fmt::format("'{}'", text))
          .fix("did you mean 'Region'?", loc, "Region");
    }
  }
  if (is_region) name.kind = TokenKind::Region;
}

void Promoter::step(size_t i) {
  if (at_start_) statement_start(i);
  at_start_ = false;
  TokenKind now = tokens_[i].kind;
  BracketStep step = brackets_.take(now);
  if (step == BracketStep::Opens) {
    brackets_.innermost() = i;
  } else if (step == BracketStep::Closes) {
    region(brackets_.closed(), i);
  } else if (now == TokenKind::Newline) {
    brackets_.clear();
    at_start_ = true;
  } else if (now == TokenKind::Semicolon && !brackets_.is_inside()) {
    at_start_ = true;
  } else if (now == TokenKind::Name && header_ && !brackets_.is_inside() && i > 0 &&
             ends_operand(tokens_[i - 1].kind) && buffer_.text(tokens_[i]) == "where") {
    tokens_[i].kind = TokenKind::Where;
    header_ = false;
  }
}

/// Counts the links of the chains that are open at a place of a line.
class ChainCounter {
 public:
  /// Takes the next token; the name of the form whose chain is too long, or null.
  const char* step(TokenKind kind);

 private:
  /// The chains of one bracket level.
  struct Level {
    size_t prefix = 0;       ///< prefix operators and `**`
    size_t postfix = 0;      ///< calls, subscripts, attributes
    size_t conditional = 0;  ///< `else` of conditional expressions
    size_t lambda = 0;
    size_t lambda_heads = 0;  ///< lambdas whose colon is still to come
    size_t outer = 0;         ///< all links outside this bracket

    size_t total() const { return outer + prefix + postfix + conditional + lambda; }
  };
  const char* link(size_t Level::*counter, const char* name) {
    ++(level_.*counter);
    return level_.total() > max_chain ? name : nullptr;
  }
  const char* open(bool after_operand);
  void separator(TokenKind kind);

  Level level_;
  OpenBrackets<Level> outer_;
  TokenKind before_ = TokenKind::Newline;
};

/// A bracket opens, and with it a level.
const char* ChainCounter::open(bool after_operand) {
  const char* found =
      after_operand ? link(&Level::postfix, "calls, subscripts and attributes") : nullptr;
  outer_.innermost() = level_;
  level_ = Level{.outer = level_.total()};
  return found;
}

void ChainCounter::separator(TokenKind kind) {
  level_.prefix = 0;
  level_.postfix = 0;
  bool in_head = level_.lambda_heads != 0;
  if (kind == TokenKind::Colon && in_head) {
    --level_.lambda_heads;
    return;
  }
  if (in_head) return;
  level_.conditional = 0;
  level_.lambda = 0;
}

const char* ChainCounter::step(TokenKind kind) {
  bool after_operand = ends_operand(before_);
  before_ = kind;
  switch (kind) {
    case TokenKind::Newline:
      level_ = Level{};
      outer_.clear();
      return nullptr;
    case TokenKind::Comma:
    case TokenKind::Colon:
    case TokenKind::Semicolon:
    case TokenKind::Assign: separator(kind); return nullptr;
    case TokenKind::Power: level_.postfix = 0; return link(&Level::prefix, "'**'");
    case TokenKind::Dot: return link(&Level::postfix, "calls, subscripts and attributes");
    case TokenKind::Lambda: ++level_.lambda_heads; return link(&Level::lambda, "lambdas");
    case TokenKind::Else:
      level_.prefix = level_.postfix = 0;
      return after_operand ? link(&Level::conditional, "conditional expressions") : nullptr;
    case TokenKind::Plus:
    case TokenKind::Minus:
    case TokenKind::Tilde:
    case TokenKind::Not:
      if (!after_operand) return link(&Level::prefix, "prefix operators");
      break;
    default: break;
  }
  BracketStep step = outer_.take(kind);
  if (step == BracketStep::Opens) return open(after_operand);
  if (step == BracketStep::Closes) level_ = outer_.closed();
  if (!ends_operand(kind)) level_.prefix = level_.postfix = 0;
  return nullptr;
}

}  // namespace

std::string_view keyword_for(std::string_view foreign) {
  if (foreign == "class" || foreign == "struct") return "module";
  if (foreign == "func" || foreign == "function" || foreign == "fn") return "def";
  return {};
}

std::string_view help_for_statement(std::string_view word) {
  constexpr std::string_view loops =
      "a loop ends with its range or its condition; where(condition, a, b) keeps a value as it is";
  constexpr std::string_view whole = "nothing fails in the middle of a program; conditions on sizes are stated in the "
                                     "signature: where S % 64 == 0";
  constexpr std::string_view waits = "calls wait for what they need: leave it out";
  constexpr std::string_view once = "a function returns all of its values at once: return (a, b)";
  constexpr std::pair<std::string_view, std::string_view> absent[] = {
      {"assert", "conditions on sizes are stated in the signature: where S % 64 == 0; for those on values, "
                 "where(condition, x, 0.0) chooses elements"},
      {"raise", whole}, {"except", whole}, {"try", whole}, {"yield", once}, {"await", waits}, {"async", waits},
      {"del", "values need no end: leave it out"},
      {"global", "a function reads the names of its file, which keep their values: take what changes as a parameter, "
                 "and return the new value"},
      {"state", "state is a parameter of an entry: cache: KVCache[…], state: OptimizerState[w]; other values that "
                "change are parameters and results"},
      {"nonlocal", "a function reads the names around it without a declaration: leave it out"},
      {"break", loops},
      {"continue", "put the rest of the iteration into an 'if', or keep a value with where(condition, a, b)"},
      {"match", "compile-time values are compared by 'if'; where(condition, a, b) chooses elements"}};
  for (const auto& [name, help] : absent) {
    if (name == word) return help;
  }
  return {};
}

void promote_keywords(TokenBuffer& buffer, DiagnosticEngine* diagnostics) {
  Promoter(buffer, diagnostics).run();
}

void limit_chains(TokenBuffer& buffer, DiagnosticEngine& diagnostics) {
  ChainCounter counter;
  std::vector<Token>& tokens = buffer.tokens;
  size_t kept = 0;
  bool spoilt = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token token = tokens[i];
    const char* chain = counter.step(token.kind);
    if (token.kind == TokenKind::Newline) spoilt = false;
    if (spoilt) continue;
    if (chain != nullptr) {
      diagnostics.report(diag::unsupported_chain, buffer.loc(token), max_chain, chain);
      token.kind = TokenKind::Error;
      spoilt = true;
    }
    tokens[kept++] = token;
  }
  tokens.resize(kept);
}

}  // namespace tessera

#include "frontend/syntax/condition.h"

#include <charconv>
#include <optional>
#include <tuple>
#include <variant>

#include "frontend/syntax/literal.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using Value = std::variant<int64_t, std::string>;

class Condition {
 public:
  Condition(std::span<const RawToken> tokens, FileId file, Loc end, const SourceManager& sources,
            const ParseOptions& options, DiagnosticEngine& diagnostics)
      : tokens_(tokens),
        file_(file),
        end_(end),
        source_(sources.file(file)),
        options_(options),
        diagnostics_(diagnostics) {}

  bool run() {
    bool value = truth(disjunction(true));
    if (!failed_ && at_ < tokens_.size()) expected("the end of the line");
    return value && !failed_;
  }

 private:
  TokenKind kind() const { return at_ < tokens_.size() ? tokens_[at_].kind : TokenKind::EndOfFile; }
  std::string_view text() const {
    return source_.text().substr(tokens_[at_].offset, tokens_[at_].length);
  }
  Loc loc() const {
    if (at_ >= tokens_.size()) return end_;
    return source_.locate(file_, tokens_[at_].offset, tokens_[at_].length);
  }
  bool accept(TokenKind wanted) {
    if (kind() != wanted) return false;
    ++at_;
    return true;
  }
  void expected(std::string_view what) {
    if (!failed_) help_sign(diagnostics_.report(diag::bad_condition, loc(), what));
    failed_ = true;
    at_ = tokens_.size();
  }
  bool truth(const Value& value) {
    if (const int64_t* number = std::get_if<int64_t>(&value)) return *number != 0;
    if (!failed_) diagnostics_.report(diag::condition_is_string, loc());
    failed_ = true;
    return false;
  }

  void help_sign(DiagnosticEngine::Builder message) const;
  Value disjunction(bool evaluate);
  Value conjunction(bool evaluate);
  Value negation(bool evaluate);
  Value comparison(bool evaluate);
  Value primary(bool evaluate);
  Value name(bool evaluate);
  Value defined();
  Value integer();
  int64_t compare(const Value& left, TokenKind op, const Value& right, Loc op_loc);

  std::span<const RawToken> tokens_;
  FileId file_;
  Loc end_;
  const SourceFile& source_;
  const ParseOptions& options_;
  DiagnosticEngine& diagnostics_;
  size_t at_ = 0;
  bool failed_ = false;
};

/// The word for a sign of C.
void Condition::help_sign(DiagnosticEngine::Builder message) const {
  constexpr std::tuple<TokenKind, std::string_view, std::string_view> words[] = {
      {TokenKind::Amp, "&&", "and"}, {TokenKind::Bar, "||", "or"}, {TokenKind::Bang, "!", "not "}};
  for (const auto& [first, sign, word] : words) {
    bool is_sign = kind() == first && source_.text().substr(tokens_[at_].offset).starts_with(sign);
    if (!is_sign) continue;
    Loc place = source_.locate(file_, tokens_[at_].offset, uint32_t(sign.size()));
    message.fix(fmt::format("write '{}'", word.substr(0, word.find(' '))), place, std::string(word));
  }
}

Value Condition::disjunction(bool evaluate) {
  Value left = conjunction(evaluate);
  while (accept(TokenKind::Or)) {
    bool known = evaluate && truth(left);
    Value right = conjunction(evaluate && !known);
    if (evaluate) left = int64_t(known || truth(right));
  }
  return left;
}

Value Condition::conjunction(bool evaluate) {
  Value left = negation(evaluate);
  while (accept(TokenKind::And)) {
    bool open = evaluate && truth(left);
    Value right = negation(open);
    if (evaluate) left = int64_t(open && truth(right));
  }
  return left;
}

Value Condition::negation(bool evaluate) {
  bool any = false;
  bool negative = false;
  while (accept(TokenKind::Not)) {
    any = true;
    negative = !negative;
  }
  Value value = comparison(evaluate);
  if (any && evaluate) return int64_t(truth(value) != negative);
  return value;
}

bool is_comparison(TokenKind kind) {
  return kind == TokenKind::Equal || kind == TokenKind::NotEqual || kind == TokenKind::Less ||
         kind == TokenKind::LessEqual || kind == TokenKind::Greater ||
         kind == TokenKind::GreaterEqual;
}

int64_t Condition::compare(const Value& left, TokenKind op, const Value& right, Loc op_loc) {
  bool ordered = op != TokenKind::Equal && op != TokenKind::NotEqual;
  bool strings = std::holds_alternative<std::string>(left);
  if (left.index() != right.index() || (strings && ordered)) {
    if (!failed_) {
      if (left.index() != right.index()) {
        diagnostics_.report(diag::condition_types_differ, op_loc);
      } else {
        diagnostics_.report(diag::condition_orders_strings, op_loc);
      }
    }
    failed_ = true;
    return 0;
  }
  switch (op) {
    case TokenKind::Equal: return left == right;
    case TokenKind::NotEqual: return left != right;
    case TokenKind::Less: return left < right;
    case TokenKind::LessEqual: return left <= right;
    case TokenKind::Greater: return left > right;
    default: return left >= right;
  }
}

Value Condition::comparison(bool evaluate) {
  Value left = primary(evaluate);
  if (!is_comparison(kind())) return left;
  TokenKind op = kind();
  Loc op_loc = loc();
  ++at_;
  Value right = primary(evaluate);
  if (!evaluate || failed_) return int64_t(0);
  return compare(left, op, right, op_loc);
}

Value Condition::defined() {
  ++at_;
  if (!accept(TokenKind::Lparen)) return expected("'(' after 'defined'"), Value();
  if (kind() != TokenKind::Name) return expected("a name"), Value();
  bool known = options_.defines.find(text()) != options_.defines.end();
  ++at_;
  if (!accept(TokenKind::Rparen)) return expected("')'"), Value();
  return int64_t(known);
}

/// A -D value that reads as a decimal integer is a number, any other a string.
Value parse_definition(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return number;
  return text;
}

Value Condition::name(bool evaluate) {
  if (text() == "defined") return defined();
  auto found = options_.defines.find(text());
  if (found == options_.defines.end()) {
    if (evaluate && !failed_) {
      diagnostics_.report(diag::undefined_condition_name, loc(), text())
          .help(fmt::format("define it with -D {0}=…, or test it with 'defined({0})'; conditions do not see '%define'",
                            text()));
      failed_ = true;
    }
    ++at_;
    return int64_t(0);
  }
  ++at_;
  return parse_definition(found->second);
}

Value Condition::integer() {
  std::optional<uint64_t> number = parse_integer(text());
  if (!number || *number > uint64_t(INT64_MAX)) {
    if (!failed_) diagnostics_.report(diag::integer_too_large, loc(), text(), 63);
    failed_ = true;
    number = 0;
  }
  ++at_;
  return int64_t(*number);
}

Value Condition::primary(bool evaluate) {
  switch (kind()) {
    case TokenKind::Integer: return integer();
    case TokenKind::Name: return name(evaluate);
    case TokenKind::String: {
      std::string value;
      decode_string(text(), loc(), value, &diagnostics_);
      ++at_;
      return value;
    }
    case TokenKind::True: ++at_; return int64_t(1);
    case TokenKind::False: ++at_; return int64_t(0);
    case TokenKind::Lparen: {
      ++at_;
      Value value = disjunction(evaluate);
      if (!failed_ && !accept(TokenKind::Rparen)) expected("')'");
      return value;
    }
    default: expected("a value"); return int64_t(0);
  }
}

}  // namespace

bool evaluate_condition(std::span<const RawToken> tokens, FileId file, Loc end,
                        const SourceManager& sources, const ParseOptions& options,
                        DiagnosticEngine& diagnostics) {
  return Condition(tokens, file, end, sources, options, diagnostics).run();
}

}  // namespace tessera

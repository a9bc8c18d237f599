// The text form of dimension expressions: a printer over postfix code and a precedence parser.
// The parser's recursion is bounded, since its input may be hostile.

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/files/text.h"
#include "runtime/format/expr.h"

namespace tessera::format {

namespace {

struct OpText {
  std::string_view symbol;
  int level;  ///< binding strength: 1 or, 2 and, 3 not, 4 comparison, 5 sum, 6 product, 7 primary
};

OpText op_text(ExprOp op) {
  switch (op) {
    case ExprOp::Or:
      return {"or", 1};
    case ExprOp::And:
      return {"and", 2};
    case ExprOp::Not:
      return {"not", 3};
    case ExprOp::Eq:
      return {"==", 4};
    case ExprOp::Ne:
      return {"!=", 4};
    case ExprOp::Lt:
      return {"<", 4};
    case ExprOp::Le:
      return {"<=", 4};
    case ExprOp::Gt:
      return {">", 4};
    case ExprOp::Ge:
      return {">=", 4};
    case ExprOp::Add:
      return {"+", 5};
    case ExprOp::Sub:
      return {"-", 5};
    case ExprOp::Mul:
      return {"*", 6};
    case ExprOp::FloorDiv:
      return {"//", 6};
    case ExprOp::Mod:
      return {"%", 6};
    case ExprOp::Min:
      return {"min", 7};
    case ExprOp::Max:
      return {"max", 7};
    case ExprOp::Const:
    case ExprOp::Dim:
      return {"", 7};
  }
  return {"", 7};
}

/// Prints checked code from its last operation down, so that each byte is written once.
class ExprPrinter {
 public:
  ExprPrinter(std::span<const ExprInstr> code, std::span<const std::string> dims)
      : code_(code), dims_(dims), operands_(code.size()) {
    std::vector<size_t> stack;
    for (size_t i = 0; i < code.size(); ++i) {
      bool is_leaf = code[i].op == ExprOp::Const || code[i].op == ExprOp::Dim;
      for (size_t n = is_leaf ? 0 : code[i].op == ExprOp::Not ? 1 : 2; n > 0; --n) {
        operands_[i][n - 1] = stack.back();
        stack.pop_back();
      }
      stack.push_back(i);
    }
  }

  std::string print() {
    if (!code_.empty()) print(code_.size() - 1, 1);
    return std::move(out_);
  }

 private:
  int level_of(const ExprInstr& instr) const {
    return instr.op == ExprOp::Const && instr.value < 0 ? 5 : op_text(instr.op).level;
  }

  /// In parentheses where it binds less than `least`.
  void print(size_t at, int least) {
    bool is_enclosed = level_of(code_[at]) < least;
    if (is_enclosed) out_ += '(';
    print_bare(at);
    if (is_enclosed) out_ += ')';
  }

  void print_bare(size_t at) {
    const ExprInstr& instr = code_[at];
    auto [a, b] = operands_[at];
    OpText info = op_text(instr.op);
    switch (instr.op) {
      case ExprOp::Const:
        return append_piece(out_, instr.value);
      case ExprOp::Dim:
        return append_piece(out_, dims_[size_t(instr.value)]);
      case ExprOp::Not:
        out_ += "not ";
        return print(a, 3);
      case ExprOp::Min:
      case ExprOp::Max:
        out_ += info.symbol;
        out_ += '(';
        print(a, 1);
        out_ += ", ";
        print(b, 1);
        out_ += ')';
        return;
      default:
        break;
    }
    // Comparisons do not chain, so both sides need a tighter form; the rest associate to the left.
    print(a, info.level == 4 ? 5 : info.level);
    std::string_view gap = instr.op == ExprOp::Mul ? "" : " ";
    for (std::string_view piece : {gap, info.symbol, gap}) out_ += piece;
    print(b, info.level + 1);
  }

  std::span<const ExprInstr> code_;
  std::span<const std::string> dims_;
  std::vector<std::array<size_t, 2>> operands_;  ///< of each operation: where they end
  std::string out_;
};

constexpr int max_nesting = 100;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || (unsigned char)(c) >= 0x80;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class ExprParser {
 public:
  ExprParser(std::string_view text, const DimNumbers& dims) : text_(text), dims_(dims) {}

  Result<Expr> parse() {
    parse_level(1);
    skip_spaces();
    if (error_.empty() && at_ != text_.size()) refuse("more text follows the expression");
    if (!error_.empty()) return error("expression ", in_quotes(text_), ": ", error_);
    if (Outcome checked = check_expr(code_, dims_.names().size()); !checked) {
      return error("expression ", in_quotes(text_), ": ", checked.error().text);
    }
    return std::move(code_);
  }

 private:
  void refuse(std::string_view why) {
    if (error_.empty()) error_ = cat(why, " at byte ", at_);
    at_ = text_.size();
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view peek_word() {
    skip_spaces();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  bool take(std::string_view symbol) {
    skip_spaces();
    bool word = is_word(symbol[0]);
    if (word ? peek_word() != symbol : !text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }

  /// The operation of that level at this place, or Const when there is none.
  ExprOp take_operator(int level) {
    static constexpr ExprOp all[] = {
        ExprOp::Or, ExprOp::And, ExprOp::Eq,  ExprOp::Ne,       ExprOp::Le,  ExprOp::Lt, ExprOp::Ge,
        ExprOp::Gt, ExprOp::Add, ExprOp::Sub, ExprOp::FloorDiv, ExprOp::Mod, ExprOp::Mul};
    for (ExprOp op : all) {
      if (op_text(op).level == level && take(op_text(op).symbol)) return op;
    }
    return ExprOp::Const;
  }

  void parse_level(int level) {
    if (++nesting_ > 8 * max_nesting) return refuse("the expression nests too deeply");
    if (level == 3) {
      parse_not();
    } else if (level == 7) {
      parse_unary();
    } else {
      parse_binary(level);
    }
    --nesting_;
  }

  void parse_not() {
    if (!take("not")) return parse_level(4);
    parse_level(3);
    code_.push_back({ExprOp::Not, 0});
  }

  void parse_binary(int level) {
    parse_level(level + 1);
    for (ExprOp op = take_operator(level); op != ExprOp::Const && error_.empty();
         op = take_operator(level)) {
      parse_level(level + 1);
      code_.push_back({op, 0});
      if (level == 4) return;  // comparisons do not chain
    }
  }

  /// A minus belongs to a number; before anything else it subtracts from 0.
  void parse_unary() {
    if (!take("-")) return parse_primary(false);
    std::string_view word = peek_word();
    if (!word.empty() && is_digit(word[0])) return parse_primary(true);
    code_.push_back({ExprOp::Const, 0});
    parse_level(7);
    code_.push_back({ExprOp::Sub, 0});
  }

  void parse_primary(bool negative) {
    if (code_.size() > max_expr_length) return refuse("the expression is too long");
    if (take("(")) {
      parse_level(1);
      if (!take(")")) refuse("')' is missing");
      return;
    }
    std::string_view word = peek_word();
    if (word.empty()) return refuse("a value is missing");
    if (is_digit(word[0])) return parse_number(word, negative);
    if (std::optional<uint32_t> dim = dims_.find(word)) {
      at_ += word.size();
      code_.push_back({ExprOp::Dim, int64_t(*dim)});
      return;
    }
    if (word == "min" || word == "max") return parse_call(word);
    refuse(cat("the dimension ", in_quotes(word), " is not known"));
  }

  void parse_number(std::string_view word, bool negative) {
    std::string digits = cat(negative ? "-" : "", word);
    int64_t value = 0;
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status != std::errc() || end != digits.data() + digits.size()) {
      return refuse("a number is malformed or beyond 64 bits");
    }
    at_ += word.size();
    code_.push_back({ExprOp::Const, value});
  }

  void parse_call(std::string_view name) {
    at_ += name.size();
    if (!take("(")) return refuse("'(' is missing");
    parse_level(1);
    if (!take(",")) return refuse("',' is missing");
    parse_level(1);
    if (!take(")")) return refuse("')' is missing");
    code_.push_back({name == "min" ? ExprOp::Min : ExprOp::Max, 0});
  }

  std::string_view text_;
  const DimNumbers& dims_;
  size_t at_ = 0;
  int nesting_ = 0;
  Expr code_;
  std::string error_;
};

}  // namespace

bool is_dim_name(std::string_view name) {
  if (!is_printable_name(name) || is_digit(name[0]) || name[0] == '.') return false;
  if (name == "and" || name == "or" || name == "not") return false;
  return std::all_of(name.begin(), name.end(), is_word);
}

std::string expr_text(std::span<const ExprInstr> expr, std::span<const std::string> dims) {
  return ExprPrinter(expr, dims).print();
}

DimNumbers::DimNumbers(std::span<const std::string> names) : names_(names) {
  for (size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], uint32_t(i));
}

std::optional<uint32_t> DimNumbers::find(std::string_view name) const {
  auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Result<Expr> parse_expr(std::string_view text, const DimNumbers& dims) {
  return ExprParser(text, dims).parse();
}

}  // namespace tessera::format

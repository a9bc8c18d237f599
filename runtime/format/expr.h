#pragma once
// Dimension expressions as postfix code over i64: what plans store and the runtime evaluates, and
// their one text form, which manifests, reflection and messages use.
//
//   B*H + 1    (M + 127) // 128    min(S, 4096) % 64    B > 0 and not (D == 8)
//
// Precedence, low to high: or; and; not; comparisons (not chained); + -; * // %; unary minus.
// `//` rounds towards minus infinity and `%` takes the sign of the divisor. Truth is 1 or 0, and
// any value other than 0 counts as true. Nothing wraps: an overflow or a division by zero is an
// error of the evaluation. Both sides of `and` and `or` are evaluated.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/result.h"

namespace tessera::format {

/// Operations; the values are stored in plans: append, never reorder.
enum class ExprOp : uint8_t {
  Const,
  Dim,
  Add,
  Sub,
  Mul,
  FloorDiv,
  Mod,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
};
inline constexpr int expr_op_count = int(ExprOp::Not) + 1;

struct ExprInstr {
  ExprOp op = ExprOp::Const;
  int64_t value = 0;  ///< of a Const; the dimension's index for Dim; else 0
  bool operator==(const ExprInstr&) const = default;
};

/// Postfix code that leaves one value.
using Expr = std::vector<ExprInstr>;

inline constexpr size_t max_expr_length = 1024;
inline constexpr size_t max_expr_stack = 64;

inline Expr const_expr(int64_t value) {
  return {{ExprOp::Const, value}};
}
inline Expr dim_expr(uint32_t dim) {
  return {{ExprOp::Dim, int64_t(dim)}};
}
/// The code of `a op b`.
Expr binary_expr(ExprOp op, const Expr& a, const Expr& b);

/// True for a name that the text form can hold: letters, digits, "_", "." and bytes beyond ASCII,
/// not starting with a digit or ".", and none of and, or, not.
bool is_dim_name(std::string_view name);

/// Checks length, operations, dimension indices below `dim_count`, and the stack.
Outcome check_expr(std::span<const ExprInstr> expr, size_t dim_count);

enum class EvalStatus : uint8_t { Ok, Overflow, DivisionByZero };

/// Evaluates checked code; `value` is set when the result is Ok.
EvalStatus evaluate(std::span<const ExprInstr> expr, std::span<const int64_t> dims, int64_t& value);
/// "it overflows 64 bits" or "it divides by zero".
std::string_view eval_status_text(EvalStatus status);

/// The text of checked code, with as few parentheses as its meaning needs.
std::string expr_text(std::span<const ExprInstr> expr, std::span<const std::string> dims);

/// The numbers of dimensions by their names. The list of names stays its owner's.
class DimNumbers {
 public:
  explicit DimNumbers(std::span<const std::string> names);
  std::optional<uint32_t> find(std::string_view name) const;
  std::span<const std::string> names() const { return names_; }

 private:
  std::span<const std::string> names_;
  std::map<std::string_view, uint32_t> numbers_;
};

/// Reads the text form; names must be among `dims`. print(parse(t)) is one form per expression.
Result<Expr> parse_expr(std::string_view text, const DimNumbers& dims);
inline Result<Expr> parse_expr(std::string_view text, std::span<const std::string> dims) {
  return parse_expr(text, DimNumbers(dims));
}

/// Code that ends in a comparison, taken apart.
struct Comparison {
  ExprOp op = ExprOp::Eq;
  Expr left;
  Expr right;
};
/// The two sides of checked code that ends in a comparison; nothing of other code.
std::optional<Comparison> comparison_of(const Expr& expr);

/// True when the code reads that dimension.
bool reads_dim(std::span<const ExprInstr> expr, uint32_t dim);

}  // namespace tessera::format

#include "runtime/format/expr.h"

#include "runtime/files/text.h"

namespace tessera::format {

namespace {

/// Values that an operation takes from the stack.
int arity(ExprOp op) {
  if (op == ExprOp::Const || op == ExprOp::Dim) return 0;
  return op == ExprOp::Not ? 1 : 2;
}

EvalStatus divide(int64_t a, int64_t b, bool remainder, int64_t& value) {
  if (b == 0) return EvalStatus::DivisionByZero;
  if (b == -1) {  // the one quotient that overflows, and a trap for the machine's division
    if (remainder) {
      value = 0;
      return EvalStatus::Ok;
    }
    return __builtin_sub_overflow(int64_t(0), a, &value) ? EvalStatus::Overflow : EvalStatus::Ok;
  }
  int64_t quotient = a / b;
  int64_t rest = a % b;
  bool adjust = rest != 0 && (rest < 0) != (b < 0);
  value = remainder ? rest + (adjust ? b : 0) : quotient - (adjust ? 1 : 0);
  return EvalStatus::Ok;
}

EvalStatus apply(ExprOp op, int64_t a, int64_t b, int64_t& value) {
  bool overflow = false;
  switch (op) {
    case ExprOp::Add:
      overflow = __builtin_add_overflow(a, b, &value);
      break;
    case ExprOp::Sub:
      overflow = __builtin_sub_overflow(a, b, &value);
      break;
    case ExprOp::Mul:
      overflow = __builtin_mul_overflow(a, b, &value);
      break;
    case ExprOp::FloorDiv:
      return divide(a, b, false, value);
    case ExprOp::Mod:
      return divide(a, b, true, value);
    case ExprOp::Min:
      value = a < b ? a : b;
      break;
    case ExprOp::Max:
      value = a > b ? a : b;
      break;
    case ExprOp::Eq:
      value = a == b;
      break;
    case ExprOp::Ne:
      value = a != b;
      break;
    case ExprOp::Lt:
      value = a < b;
      break;
    case ExprOp::Le:
      value = a <= b;
      break;
    case ExprOp::Gt:
      value = a > b;
      break;
    case ExprOp::Ge:
      value = a >= b;
      break;
    case ExprOp::And:
      value = a != 0 && b != 0;
      break;
    case ExprOp::Or:
      value = a != 0 || b != 0;
      break;
    case ExprOp::Const:
    case ExprOp::Dim:
    case ExprOp::Not:
      break;
  }
  return overflow ? EvalStatus::Overflow : EvalStatus::Ok;
}

}  // namespace

Expr binary_expr(ExprOp op, const Expr& a, const Expr& b) {
  Expr out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.push_back({op, 0});
  return out;
}

Outcome check_expr(std::span<const ExprInstr> expr, size_t dim_count) {
  if (expr.size() > max_expr_length) return error("it is longer than ", max_expr_length, " steps");
  size_t depth = 0;
  for (const ExprInstr& instr : expr) {
    if (int(instr.op) >= expr_op_count) return error("operation ", int(instr.op), " is unknown");
    size_t taken = size_t(arity(instr.op));
    if (depth < taken) return error("an operation finds too few values");
    depth = depth - taken + 1;
    if (depth > max_expr_stack) return error("it needs more than ", max_expr_stack, " values");
    if (instr.op == ExprOp::Dim && (instr.value < 0 || uint64_t(instr.value) >= dim_count)) {
      return error("dimension ", instr.value, " of ", dim_count);
    }
    if (taken != 0 && instr.value != 0) return error("an operation has an operand of its own");
  }
  if (depth != 1) return error("it leaves ", depth, " values instead of one");
  return {};
}

EvalStatus evaluate(std::span<const ExprInstr> expr, std::span<const int64_t> dims,
                    int64_t& value) {
  int64_t stack[max_expr_stack];
  size_t depth = 0;
  for (const ExprInstr& instr : expr) {
    if (instr.op == ExprOp::Const) {
      stack[depth++] = instr.value;
    } else if (instr.op == ExprOp::Dim) {
      stack[depth++] = dims[size_t(instr.value)];
    } else if (instr.op == ExprOp::Not) {
      stack[depth - 1] = stack[depth - 1] == 0;
    } else {
      --depth;
      EvalStatus status = apply(instr.op, stack[depth - 1], stack[depth], stack[depth - 1]);
      if (status != EvalStatus::Ok) return status;
    }
  }
  value = stack[0];
  return EvalStatus::Ok;
}

std::string_view eval_status_text(EvalStatus status) {
  switch (status) {
    case EvalStatus::Ok:
      return "it has a value";
    case EvalStatus::Overflow:
      return "it overflows 64 bits";
    case EvalStatus::DivisionByZero:
      return "it divides by zero";
  }
  return "";
}

std::optional<Comparison> comparison_of(const Expr& expr) {
  bool compares = !expr.empty() && expr.back().op >= ExprOp::Eq && expr.back().op <= ExprOp::Ge;
  if (!compares) return std::nullopt;
  // The right side is the shortest end that leaves one value.
  size_t begin = expr.size() - 1;
  for (size_t wanted = 1; wanted > 0 && begin > 0; --begin) {
    ExprOp op = expr[begin - 1].op;
    bool leaf = op == ExprOp::Const || op == ExprOp::Dim;
    if (leaf) {
      --wanted;
    } else if (op != ExprOp::Not) {
      ++wanted;
    }
  }
  auto at = expr.begin() + ptrdiff_t(begin);
  return Comparison{expr.back().op, Expr(expr.begin(), at), Expr(at, expr.end() - 1)};
}

bool reads_dim(std::span<const ExprInstr> expr, uint32_t dim) {
  for (const ExprInstr& instr : expr) {
    if (instr.op == ExprOp::Dim && instr.value == int64_t(dim)) return true;
  }
  return false;
}

}  // namespace tessera::format

// Laws of arithmetic that hold for every operand, NaN, infinities, both zeros and denormals
// included. A NaN stands for any NaN. Floats are not reassociated; integers wrap, so that all laws
// of a ring hold for them.

#include <cmath>

#include "ir/graph/build.h"
#include "ir/graph/constants.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using Kind = ElementwiseKind;

bool is_int(Op* op) {
  return !is_float(op->result()->type()->dtype);
}

/// True if all elements are that number; of floats 0 means +0.0.
bool is_number(Value* value, double number) {
  std::optional<Element> element = graph::uniform_element(value);
  if (!element) return false;
  if (!is_float(value->type()->dtype)) return element->i == int64_t(number);
  return element->f == number && std::signbit(element->f) == std::signbit(number);
}

/// All bits of an integer dtype set.
bool is_all_ones(Value* value) {
  std::optional<Element> element = graph::uniform_element(value);
  if (!element || is_float(value->type()->dtype)) return false;
  DType dtype = value->type()->dtype;
  Element zero{.i = 0};
  return evaluate_elementwise(Kind::Not, dtype, dtype, {&zero, 1}).i == element->i;
}

bool replace_with_number(Op* op, Element element, Rewriter& rewriter) {
  Type type = op->result()->type();
  Attr value = graph::attribute_of(rewriter.context(), type->dtype, element);
  rewriter.replace(op, graph::uniform(rewriter, value, type));
  return true;
}

/// The known operand of a commutative op comes second.
bool known_operand_last(Op* op, Rewriter& rewriter) {
  if (op->info().elementwise == Kind::None || !op->info().has(Commutative)) return false;
  Value *a = op->operand(0), *b = op->operand(1);
  if (!graph::uniform_value(a) || graph::uniform_value(b)) return false;
  rewriter.set_operand(op, 0, b);
  rewriter.set_operand(op, 1, a);
  return true;
}

/// True if the op with `b` as its second operand gives its first one.
bool is_neutral(Op* op, Value* b) {
  switch (op->info().elementwise) {
    case Kind::Add:
      return is_number(b, is_int(op) ? 0.0 : -0.0);  // -0.0 + 0.0 is 0.0
    case Kind::Sub:
      return is_number(b, 0.0);
    case Kind::Mul:
    case Kind::Div:
      return is_number(b, 1);
    case Kind::FloorDiv:
      return is_int(op) && is_number(b, 1);
    case Kind::Pow:
      return is_number(b, 1);
    case Kind::Or:
    case Kind::Xor:
    case Kind::Shl:
    case Kind::Shr:
      return is_number(b, 0);
    case Kind::And:
      return is_all_ones(b);
    default:
      return false;
  }
}

/// x * 1, x + -0.0, x & ~0, ...
bool neutral_operand(Op* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || !is_neutral(op, op->operand(1))) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// Integers: x * 0, x & 0, x % 1, x - x, x ^ x.
bool integer_zero(Op* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || op->info().elementwise == Kind::None || !is_int(op)) return false;
  Value *a = op->operand(0), *b = op->operand(1);
  bool by_zero = (is(op, Kind::Mul) || is(op, Kind::And)) && is_number(b, 0);
  bool modulo_one = is(op, Kind::Mod) && is_number(b, 1);
  bool of_itself = (is(op, Kind::Sub) || is(op, Kind::Xor)) && a == b;
  if (!by_zero && !modulo_one && !of_itself) return false;
  return replace_with_number(op, {.i = 0}, rewriter);
}

/// min(x, x), max(x, x), x & x, x | x. Of a NaN both give NaN.
bool both_the_same(Op* op, Rewriter& rewriter) {
  bool idempotent = is(op, Kind::Min) || is(op, Kind::Max) || is(op, Kind::And) || is(op, Kind::Or);
  if (!idempotent || op->operand(0) != op->operand(1)) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// Integers: (x + c) + d is x + (c + d); likewise *, &, |, ^.
bool gather_constants(Op* op, Rewriter& rewriter) {
  Kind kind = op->info().elementwise;
  bool associative = kind == Kind::Add || kind == Kind::Mul || kind == Kind::And ||
                     kind == Kind::Or || kind == Kind::Xor;
  if (!associative || !is_int(op)) return false;
  Op* inner = def_of(op->operand(0), kind);
  if (!inner) return false;
  DType dtype = op->result()->type()->dtype;
  std::optional<Element> c = graph::uniform_element(inner->operand(1));
  std::optional<Element> d = graph::uniform_element(op->operand(1));
  if (!c || !d) return false;
  Element both[2] = {*c, *d};
  Attr value = graph::attribute_of(rewriter.context(), dtype,
                                   evaluate_elementwise(kind, dtype, dtype, both));
  Value* constant = graph::uniform(rewriter, value, op->operand(1)->type());
  return replace_with_op(op, kind, {inner->operand(0), constant}, rewriter);
}

/// -(-x), ~~x
bool twice(Op* op, Rewriter& rewriter) {
  Kind kind = op->info().elementwise;
  if (kind != Kind::Neg && kind != Kind::Not) return false;
  Op* inner = def_of(op->operand(0), kind);
  return inner && replace_by(op, inner->operand(0), rewriter);
}

/// Functions of a value that they gave: ||x||, relu(relu(x)), floor(floor(x)), ...
bool idempotent(Op* op, Rewriter& rewriter) {
  switch (op->info().elementwise) {
    case Kind::Abs:
    case Kind::Relu:
    case Kind::Sign:
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Round:
    case Kind::Trunc:
      break;
    default:
      return false;
  }
  Op* inner = def_of(op->operand(0), op->info().elementwise);
  return inner && replace_by(op, inner->result(), rewriter);
}

/// |-x| is |x|; not of unsigned integers, whose absolute value is -x modulo 2^n.
bool abs_of_neg(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Abs)) return false;
  if (dtype_info(op->result()->type()->dtype).cls == DTypeClass::Unsigned) return false;
  Op* inner = def_of(op->operand(0), Kind::Neg);
  return inner && replace_with_op(op, Kind::Abs, {inner->operand(0)}, rewriter);
}

/// a + -b is a - b, and a - -b is a + b: IEEE 754 defines one by the other.
bool add_of_neg(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Add) && !is(op, Kind::Sub)) return false;
  Kind other = is(op, Kind::Add) ? Kind::Sub : Kind::Add;
  Value *a = op->operand(0), *b = op->operand(1);
  if (Op* neg = def_of(b, Kind::Neg))
    return replace_with_op(op, other, {a, neg->operand(0)}, rewriter);
  Op* neg = def_of(a, Kind::Neg);
  if (!neg || !is(op, Kind::Add)) return false;
  return replace_with_op(op, other, {b, neg->operand(0)}, rewriter);
}

/// x / c is x * (1 / c) when c is a power of two whose inverse the dtype holds: both round the same
/// real number.
bool divide_by_power_of_two(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Div) || is_int(op)) return false;
  std::optional<Element> divisor = graph::uniform_element(op->operand(1));
  if (!divisor || !std::isfinite(divisor->f) || divisor->f == 0) return false;
  int exponent;
  if (std::fabs(std::frexp(divisor->f, &exponent)) != 0.5) return false;
  DType dtype = op->result()->type()->dtype;
  double inverse = 1 / divisor->f;
  if (!std::isfinite(inverse)) return false;
  if (decode_float(dtype, encode_float(dtype, inverse)) != inverse) return false;
  Value* factor =
      graph::uniform(rewriter, rewriter.context().number(inverse), op->operand(1)->type());
  return replace_with_op(op, Kind::Mul, {op->operand(0), factor}, rewriter);
}

/// 1 / x is the reciprocal; of a square root it is rsqrt, which is defined by that formula in f32
/// and f64.
bool inverse(Op* op, Rewriter& rewriter) {
  if (is(op, Kind::Div) && !is_int(op) && is_number(op->operand(0), 1)) {
    return replace_with_op(op, Kind::Reciprocal, {op->operand(1)}, rewriter);
  }
  DType dtype = op->result_count() ? op->result()->type()->dtype : DType::Bool;
  if (!is(op, Kind::Reciprocal) || (dtype != DType::F32 && dtype != DType::F64)) return false;
  Op* root = def_of(op->operand(0), Kind::Sqrt);
  return root && replace_with_op(op, Kind::Rsqrt, {root->operand(0)}, rewriter);
}

/// x ** 2 is x * x: a double holds the square of what a narrower dtype holds, and both round it.
bool square(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Pow) || !is_number(op->operand(1), 2)) return false;
  if (op->result()->type()->dtype == DType::F64) return false;
  return replace_with_op(op, Kind::Mul, {op->operand(0), op->operand(0)}, rewriter);
}

/// max(x, 0) is relu(x), which also gives 0.0 for -0.0 and NaN for NaN; of unsigned integers it is
/// x.
bool relu(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Max) || !is_number(op->operand(1), 0.0)) return false;
  DTypeClass cls = dtype_info(op->result()->type()->dtype).cls;
  if (cls == DTypeClass::Unsigned) return replace_by(op, op->operand(0), rewriter);
  if (cls == DTypeClass::Bool) return false;
  return replace_with_op(op, Kind::Relu, {op->operand(0)}, rewriter);
}

/// A choice that is known, between equals, or by the opposite of a condition.
bool choice(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Select)) return false;
  Value *condition = op->operand(0), *a = op->operand(1), *b = op->operand(2);
  if (a == b) return replace_by(op, a, rewriter);
  if (std::optional<Element> known = graph::uniform_element(condition)) {
    return replace_by(op, known->i ? a : b, rewriter);
  }
  Op* opposite = def_of(condition, Kind::Not);
  return opposite && replace_with_op(op, Kind::Select, {opposite->operand(0), b, a}, rewriter);
}

/// The comparison that holds where `kind` does not. With NaN neither < nor >= holds, so that floats
/// have one for == and != alone.
Kind opposite_of(Kind kind, DType dtype) {
  switch (kind) {
    case Kind::Eq:
      return Kind::Ne;
    case Kind::Ne:
      return Kind::Eq;
    default:
      break;
  }
  if (is_float(dtype)) return Kind::None;
  switch (kind) {
    case Kind::Lt:
      return Kind::Ge;
    case Kind::Le:
      return Kind::Gt;
    case Kind::Gt:
      return Kind::Le;
    case Kind::Ge:
      return Kind::Lt;
    default:
      return Kind::None;
  }
}

/// not (a == b) is a != b, and so on.
bool not_compare(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Not) || op->result()->type()->dtype != DType::Bool) return false;
  Op* compare = op->operand(0)->def();
  if (!compare || compare->operand_count() != 2) return false;
  Kind kind = opposite_of(compare->info().elementwise, compare->operand(0)->type()->dtype);
  if (kind == Kind::None) return false;
  return replace_with_op(op, kind, {compare->operand(0), compare->operand(1)}, rewriter);
}

}  // namespace

std::span<const Pattern> algebra_patterns() {
  static constexpr Pattern patterns[] = {
      {"known_operand_last", known_operand_last},
      {"neutral_operand", neutral_operand},
      {"integer_zero", integer_zero},
      {"both_the_same", both_the_same},
      {"gather_constants", gather_constants},
      {"twice", twice},
      {"idempotent", idempotent},
      {"abs_of_neg", abs_of_neg},
      {"add_of_neg", add_of_neg},
      {"divide_by_power_of_two", divide_by_power_of_two},
      {"inverse", inverse},
      {"square", square},
      {"relu", relu},
      {"choice", choice},
      {"not_compare", not_compare},
  };
  return patterns;
}

}  // namespace tessera::canonical

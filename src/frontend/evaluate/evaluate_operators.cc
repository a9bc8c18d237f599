// Operators on compile-time values: Python's meaning, with 64-bit integers that may not overflow,
// and sizes that are not known yet.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "frontend/evaluate/evaluate.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/values/dtype_values.h"
#include "ir/core/module.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

ElementwiseKind elementwise_kind(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::Add:
      return ElementwiseKind::Add;
    case ast::BinaryOp::Sub:
      return ElementwiseKind::Sub;
    case ast::BinaryOp::Mul:
      return ElementwiseKind::Mul;
    case ast::BinaryOp::Div:
      return ElementwiseKind::Div;
    case ast::BinaryOp::FloorDiv:
      return ElementwiseKind::FloorDiv;
    case ast::BinaryOp::Mod:
      return ElementwiseKind::Mod;
    case ast::BinaryOp::Pow:
      return ElementwiseKind::Pow;
    case ast::BinaryOp::ShiftLeft:
      return ElementwiseKind::Shl;
    case ast::BinaryOp::ShiftRight:
      return ElementwiseKind::Shr;
    case ast::BinaryOp::BitAnd:
      return ElementwiseKind::And;
    case ast::BinaryOp::BitXor:
      return ElementwiseKind::Xor;
    case ast::BinaryOp::BitOr:
      return ElementwiseKind::Or;
    case ast::BinaryOp::MatMul:
      return ElementwiseKind::None;
  }
  return ElementwiseKind::None;
}

ElementwiseKind elementwise_kind(ast::CompareOp op) {
  switch (op) {
    case ast::CompareOp::Equal:
      return ElementwiseKind::Eq;
    case ast::CompareOp::NotEqual:
      return ElementwiseKind::Ne;
    case ast::CompareOp::Less:
      return ElementwiseKind::Lt;
    case ast::CompareOp::LessEqual:
      return ElementwiseKind::Le;
    case ast::CompareOp::Greater:
      return ElementwiseKind::Gt;
    case ast::CompareOp::GreaterEqual:
      return ElementwiseKind::Ge;
    default:
      return ElementwiseKind::None;
  }
}

/// A value that the lowering computes with.
bool is_dynamic(const Datum& datum) {
  return datum.is_ir() || datum.is(DatumKind::Object);
}

template <typename T>
bool ordered(ast::CompareOp op, const T& a, const T& b) {
  switch (op) {
    case ast::CompareOp::Equal:
      return a == b;
    case ast::CompareOp::NotEqual:
      return a != b;
    case ast::CompareOp::Less:
      return a < b;
    case ast::CompareOp::LessEqual:
      return a <= b;
    case ast::CompareOp::Greater:
      return a > b;
    case ast::CompareOp::GreaterEqual:
      return a >= b;
    default:
      return false;
  }
}

std::optional<int64_t> integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

std::string operand_kinds(const Datum& a, const Datum& b) {
  return fmt::format("{} and {}", describe(a), describe(b));
}

constexpr std::string_view compile_time_value = "a compile-time value";

Datum binary_numbers(Evaluator& evaluator, ast::BinaryOp op, double a, double b, Loc loc) {
  bool divides =
      op == ast::BinaryOp::Div || op == ast::BinaryOp::FloorDiv || op == ast::BinaryOp::Mod;
  if (divides && b == 0) {
    evaluator.report(diag::division_by_zero, loc, compile_time_value);
    return Datum::poison();
  }
  ElementwiseKind kind = elementwise_kind(op);
  const ElementwiseInfo& info = elementwise_info(kind);
  if (kind == ElementwiseKind::None || info.cls == ElementwiseClass::Logical) {
    evaluator.report(diag::wrong_operands, loc, ast::spelling(op), "numbers with fractions");
    return Datum::poison();
  }
  Element operands[] = {Element{.f = a}, Element{.f = b}};
  return Datum::number(evaluate_elementwise(kind, DType::F64, DType::F64, operands).f);
}

Datum binary_integers(Evaluator& evaluator, ast::BinaryOp op, int64_t a, int64_t b, Loc loc) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case ast::BinaryOp::Add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case ast::BinaryOp::Sub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case ast::BinaryOp::Mul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case ast::BinaryOp::Div:
      return binary_numbers(evaluator, op, double(a), double(b), loc);
    case ast::BinaryOp::FloorDiv:
    case ast::BinaryOp::Mod: {
      if (b == 0) {
        evaluator.report(diag::division_by_zero, loc, compile_time_value);
        return Datum::poison();
      }
      overflow = b == -1 && __builtin_sub_overflow(int64_t(0), a, &result);
      if (b == -1) {
        if (op == ast::BinaryOp::Mod) return Datum::integer(0);
        break;
      }
      int64_t quotient = a / b, rest = a % b;
      bool adjust = rest != 0 && ((rest < 0) != (b < 0));
      result = op == ast::BinaryOp::Mod ? rest + (adjust ? b : 0) : quotient - (adjust ? 1 : 0);
      break;
    }
    case ast::BinaryOp::Pow: {
      if (b < 0) return binary_numbers(evaluator, op, double(a), double(b), loc);
      std::optional<int64_t> power = integer_power(a, b);
      overflow = !power;
      result = power.value_or(0);
      break;
    }
    case ast::BinaryOp::ShiftLeft:
    case ast::BinaryOp::ShiftRight:
      if (b < 0 || b > 62) {
        evaluator.report(diag::index_out_of_range, loc, b, "the shifts of a 64-bit integer");
        return Datum::poison();
      }
      if (op == ast::BinaryOp::ShiftRight) return Datum::integer(a >> b);
      overflow = __builtin_mul_overflow(a, int64_t(1) << b, &result);
      break;
    case ast::BinaryOp::BitAnd:
      result = a & b;
      break;
    case ast::BinaryOp::BitOr:
      result = a | b;
      break;
    case ast::BinaryOp::BitXor:
      result = a ^ b;
      break;
    case ast::BinaryOp::MatMul:
      evaluator.report(diag::wrong_operands, loc, "@", "two integers");
      return Datum::poison();
  }
  if (!overflow) return Datum::integer(result);
  evaluator.report(diag::number_overflow, loc, fmt::format("{} {} {}", a, ast::spelling(op), b));
  return Datum::poison();
}

/// A size as an operand of a message: sums in brackets.
std::string factor_text(Dim dim) {
  return dim->terms.size() > 1 ? fmt::format("({})", dim->text) : dim->text;
}

/// A product of as many factors; none where that of a size of 2 is beyond 64 bits.
Datum power_of_size(Evaluator& evaluator, Dim x, int64_t exponent, Loc loc) {
  Dim power = exponent < 63 ? evaluator.dims().constant(1) : nullptr;
  for (int64_t i = 0; i < exponent && power && !power->overflow; ++i) power = evaluator.dims().mul(power, x);
  if (power && !power->overflow) return Datum::dim(evaluator.simplified(power));
  evaluator.report(diag::dimension_overflow, loc, fmt::format("the size {} ** {}", factor_text(x), exponent));
  return Datum::poison();
}

Datum binary_dims(Evaluator& evaluator, ast::BinaryOp op, const Datum& a, const Datum& b, const OperatorPlace& at) {
  Dim x = as_dimension(evaluator.dims(), a), y = as_dimension(evaluator.dims(), b);
  bool by_zero = false;
  Dim result = x && y ? combine(evaluator.dims(), op, x, y, by_zero) : nullptr;
  if (result) result = evaluator.simplified(result);
  if (result && result->overflow) {
    evaluator.report(diag::dimension_overflow, at.loc,
                     fmt::format("the size {} {} {}", factor_text(x), ast::spelling(op), factor_text(y)));
    return Datum::poison();
  }
  if (result) return Datum::dim(result);
  if (by_zero) {
    evaluator.report(diag::division_by_zero, at.loc, compile_time_value);
    return Datum::poison();
  }
  if (op == ast::BinaryOp::Pow && x && b.is(DatumKind::Int) && b.as_int() >= 0) {
    return power_of_size(evaluator, x, b.as_int(), at.loc);
  }
  ElementwiseKind kind = elementwise_kind(op);
  bool arithmetic = op == ast::BinaryOp::Div || op == ast::BinaryOp::Pow || !x || !y;
  if (kind != ElementwiseKind::None && arithmetic &&
      elementwise_info(kind).cls != ElementwiseClass::Logical) {
    Datum operands[] = {a, b};
    return evaluator.apply(kind, operands, at);
  }
  if (evaluator.may_be_number(a) || evaluator.may_be_number(b)) return Datum::poison();
  evaluator.report(diag::wrong_operands, at.loc, ast::spelling(op), operand_kinds(a, b));
  return Datum::poison();
}

Datum binary_sequences(Evaluator& evaluator, ast::BinaryOp op, const Datum& a, const Datum& b, Loc loc) {
  if (op == ast::BinaryOp::Add && a.kind() == b.kind()) {
    if (a.is(DatumKind::String)) {
      size_t size = a.as_string().size() + b.as_string().size();
      if (!evaluator.may_spend(0, loc, size)) return Datum::poison();
      std::string both;
      both.reserve(size);  // which `+` does not: it needs a copy of the first beside both
      both.append(a.as_string()).append(b.as_string());
      return Datum::string(std::move(both));
    }
    if (a.is_sequence()) {
      size_t count = a.elements().size() + b.elements().size();
      if (!evaluator.may_make(count, loc)) return Datum::poison();
      std::vector<Datum> all;
      all.reserve(count);
      for (const Datum& part : {a, b}) all.insert(all.end(), part.elements().begin(), part.elements().end());
      return a.is(DatumKind::Tuple) ? Datum::tuple(std::move(all)) : Datum::list(std::move(all));
    }
  }
  if (op == ast::BinaryOp::Mul && a.is_sequence() && b.is(DatumKind::Int)) {
    int64_t copies = std::max<int64_t>(0, b.as_int());
    if (a.elements().empty()) copies = 0;
    if (copies > int64_t(value_parts_limit)) return evaluator.refuse_parts(loc);
    size_t count = size_t(copies) * a.elements().size();
    if (!evaluator.may_make(count, loc)) return Datum::poison();
    std::vector<Datum> all;
    all.reserve(count);
    for (int64_t i = 0; i < copies; ++i) {
      all.insert(all.end(), a.elements().begin(), a.elements().end());
    }
    return a.is(DatumKind::Tuple) ? Datum::tuple(std::move(all)) : Datum::list(std::move(all));
  }
  if (op == ast::BinaryOp::Mul && a.is(DatumKind::Int) && b.is_sequence()) {
    return binary_sequences(evaluator, op, b, a, loc);
  }
  bool bools = a.is(DatumKind::Bool) && b.is(DatumKind::Bool);
  if (bools && op == ast::BinaryOp::BitAnd) return Datum::boolean(a.as_bool() && b.as_bool());
  if (bools && op == ast::BinaryOp::BitOr) return Datum::boolean(a.as_bool() || b.as_bool());
  if (bools && op == ast::BinaryOp::BitXor) return Datum::boolean(a.as_bool() != b.as_bool());
  if (evaluator.depends_on_call(a) || evaluator.depends_on_call(b)) {  // a list repeated by a size
    const Datum& list = a.is_sequence() ? a : b;
    bool repeats = op == ast::BinaryOp::Mul && list.is(DatumKind::List);
    return repeats ? Datum::unknown_list(evaluator.joined(list.elements(), loc)) : Datum::poison();
  }
  auto builder = evaluator.report(diag::wrong_operands, loc, ast::spelling(op), operand_kinds(a, b));
  bool is_format = a.is(DatumKind::String) && op == ast::BinaryOp::Mod;
  if (is_format) builder.help("a text holds no values; they stand beside it: print(\"x\", x)");
  return Datum::poison();
}

/// Counts what a look at all parts of two values takes.
bool may_compare(Evaluator& evaluator, const Datum& a, const Datum& b, Loc loc) {
  constexpr size_t characters_of_step = 64;
  if (a.kind() != b.kind()) return true;
  if (a.is(DatumKind::String)) {
    return evaluator.may_spend(std::min(a.as_string().size(), b.as_string().size()) / characters_of_step, loc);
  }
  return evaluator.may_spend(std::min(a.measure().parts, b.measure().parts) / parts_of_step, loc);
}

/// Whether two data are equal; nothing where that depends on sizes that calls bring, or on run-time values.
std::optional<bool> decided_equal(Evaluator& evaluator, const Datum& a, const Datum& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_ir() || b.is_ir()) return std::nullopt;
  Dim x = as_dimension(evaluator.dims(), a), y = as_dimension(evaluator.dims(), b);
  if (x && y) return decide(evaluator.dims(), ast::CompareOp::Equal, x, y, evaluator.facts());
  if (!a.is_sequence() || a.kind() != b.kind()) return equal(a, b);
  if (a.elements().size() != b.elements().size()) return false;
  std::optional<bool> all = true;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    std::optional<bool> same = decided_equal(evaluator, a.elements()[i], b.elements()[i]);
    if (same == false) return false;
    if (!same) all = same;
  }
  return all;
}

/// A value at run time whose elements are integers, which have no quotient by a zero in the source.
bool divides_by_zero(ElementwiseKind kind, std::span<const Datum> operands) {
  bool divides = kind == ElementwiseKind::FloorDiv || kind == ElementwiseKind::Mod || kind == ElementwiseKind::Div;
  if (!divides || !operands[0].is_ir() || !operands[1].is(DatumKind::Int) || operands[1].as_int() != 0) return false;
  return is_integer(operands[0].as_ir().value->type()->dtype);
}

/// The first of some kinds that two values are of different ones of: such values are never equal.
enum class Sort : uint8_t { Number, Text, DType, Tuple, List, Other };

Sort sort_of(const Datum& datum) {
  if (datum.is_scalar() || datum.is(DatumKind::Bool)) return Sort::Number;
  if (datum.is(DatumKind::String)) return Sort::Text;
  if (datum.is(DatumKind::DType)) return Sort::DType;
  if (datum.is(DatumKind::Tuple)) return Sort::Tuple;
  return datum.is(DatumKind::List) ? Sort::List : Sort::Other;
}

bool is_number_text(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.-") == std::string_view::npos;
}

}  // namespace

/// An operand that is never None: an expression, or a parameter whose type is written.
bool Evaluator::is_never_none(const OperatorPlace::Operand& operand) const {
  const auto* name = ast::as<ast::Name>(operand.expr);
  if (!name) return operand.expr != nullptr;
  const Function* function = frames_.empty() ? nullptr : frames_.back().function;
  return function && std::ranges::any_of(function->parameters(), [&](const ast::Parameter& each) {
           return each.name.text == name->text && each.annotation;
         });
}

bool Evaluator::refuse_never_equal(const Datum& a, const Datum& b, const OperatorPlace& at) {
  bool has_none = (a.is_none() && b.is_ir()) || (a.is_ir() && b.is_none());
  if (has_none && is_never_none(a.is_none() ? at.right : at.left)) {
    report(diag::never_equal, at.loc, describe(a), describe(b))
        .help("leave the comparison out: this is a tensor in each call");
    return true;
  }
  Sort first = sort_of(a), second = sort_of(b);
  if (first == second || first == Sort::Other || second == Sort::Other) return false;
  const Datum& text = first == Sort::Text ? a : b;
  const Datum& other = first == Sort::Text ? b : a;
  const OperatorPlace::Operand& written = first == Sort::Text ? at.left : at.right;
  bool has_text = text.is(DatumKind::String);
  bool has_dtype = first == Sort::DType || second == Sort::DType;
  bool are_sequences = !has_text && !has_dtype && first != Sort::Number && second != Sort::Number;
  bool has_number_text = has_text && other.is_scalar() && is_number_text(text.as_string());
  // A parameter may be of several kinds, which a function tells apart so.
  auto is_open_name = [](const OperatorPlace::Operand& operand) {
    return !operand.expr || operand.expr->kind == ast::NodeKind::Name;
  };
  bool may_vary = is_open_name(at.left) || is_open_name(at.right);
  if (may_vary && !has_dtype && !are_sequences && !has_number_text) return false;
  auto builder = report(diag::never_equal, at.loc, describe(a), describe(b));
  std::string_view dtype = has_text && has_dtype ? std::string_view(text.as_string()) : "";
  if (!dtype_by_name(dtype)) dtype = dtype_here(dtype);
  bool is_literal = written.expr && written.expr->kind == ast::NodeKind::String;
  if (!dtype.empty() && is_literal) {
    builder.fix("a dtype has no quotes", written.loc, std::string(dtype));
  } else if (has_dtype) {
    builder.help("a dtype is compared with a dtype: x.dtype == f32");
  } else if (has_number_text && is_literal) {
    builder.fix("a number has no quotes", written.loc, text.as_string());
  } else if (are_sequences) {
    builder.help("a tuple is compared with a tuple: x.shape == (4, 8)");
  } else {
    builder.help("compare values of one kind");
  }
  return true;
}

Datum Evaluator::apply(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at) {
  if (operands.size() == 2 && divides_by_zero(kind, operands)) {
    report(diag::division_by_zero, at.loc, describe(operands[0]))
        .help("integers have no infinity: divide by another number");
    return Datum::poison();
  }
  for (const Datum& operand : operands) {
    bool fits = is_dynamic(operand) || operand.is_scalar() || operand.is(DatumKind::Bool);
    if (!fits && blame_.report_valueless(operand, at.loc, "the operand")) return Datum::poison();
    if (!fits && blame_.report_argument(operand, at)) return Datum::poison();
    if (!fits) return refuse_operands(kind, operands, at);
  }
  return elementwise(kind, operands, at);
}

Datum Evaluator::unary(ast::UnaryOp op, const Datum& operand, Loc loc) {
  if (operand.is_poison()) return operand;
  if (is_dynamic(operand)) {
    if (op == ast::UnaryOp::Plus) return operand;
    ElementwiseKind kind = op == ast::UnaryOp::Minus ? ElementwiseKind::Neg : ElementwiseKind::Not;
    return apply(kind, {&operand, 1}, loc);
  }
  if (op == ast::UnaryOp::Not) {
    std::optional<bool> truth = expect_bool(operand, loc, "the operand of 'not'");
    return truth ? Datum::boolean(!*truth) : Datum::poison();
  }
  if (operand.is(DatumKind::Float) && op != ast::UnaryOp::Invert) {
    return Datum::number(op == ast::UnaryOp::Minus ? -operand.as_float() : operand.as_float());
  }
  if (operand.is(DatumKind::Int) || operand.is(DatumKind::Dim)) {
    if (op == ast::UnaryOp::Plus) return operand;
    Datum negative = binary(ast::BinaryOp::Mul, operand, Datum::integer(-1), loc);
    if (op == ast::UnaryOp::Minus) return negative;
    return binary(ast::BinaryOp::Sub, negative, Datum::integer(1), loc);
  }
  report(diag::wrong_operands, loc, ast::spelling(op), describe(operand));
  return Datum::poison();
}

Datum Evaluator::binary(ast::BinaryOp op, const Datum& a, const Datum& b, const OperatorPlace& at) {
  if (a.unless_none() || b.unless_none()) {
    return binary(op, a.unless_none() ? *a.unless_none() : a, b.unless_none() ? *b.unless_none() : b, at);
  }
  if (op == ast::BinaryOp::Add && (a.known_element() || b.known_element())) {
    const Datum* lists[] = {&a, &b};
    return joined_lists(lists, at.loc);
  }
  bool is_repeated = op == ast::BinaryOp::Mul && is_open() && (a.is_poison() || b.is_poison());
  for (const Datum* list : {&a, &b}) {
    if (is_repeated && list->is(DatumKind::List)) return Datum::unknown_list(joined(list->elements(), at.loc));
  }
  if (a.is_poison() || b.is_poison()) return Datum::poison();
  if (blame_.report_valueless(a, at.left.loc.known() ? at.left.loc : at.loc, "this operand") ||
      blame_.report_valueless(b, at.right.loc.known() ? at.right.loc : at.loc, "this operand")) {
    return Datum::poison();
  }
  if (a.is(DatumKind::Dim) != b.is(DatumKind::Dim) && (a.is_ir() || b.is_ir())) {
    // A number of the entry that is combined with sizes is one.
    if (Dim size = lowering_.size_of(a.is_ir() ? a.as_ir() : b.as_ir())) {
      return a.is_ir() ? binary_dims(*this, op, Datum::dim(size), b, at)
                       : binary_dims(*this, op, a, Datum::dim(size), at);
    }
  }
  if (is_dynamic(a) || is_dynamic(b)) {
    if (op == ast::BinaryOp::MatMul) return matmul(a, b, at);
    Datum operands[] = {a, b};
    return apply(elementwise_kind(op), operands, at);
  }
  if (a.is(DatumKind::Int) && b.is(DatumKind::Int)) {
    return binary_integers(*this, op, a.as_int(), b.as_int(), at.loc);
  }
  if (a.is_number() && b.is_number()) {
    return binary_numbers(*this, op, a.as_double(), b.as_double(), at.loc);
  }
  if (a.is_scalar() && b.is_scalar()) return binary_dims(*this, op, a, b, at);
  return binary_sequences(*this, op, a, b, at.loc);
}

Datum Evaluator::evaluate_logical(const ast::Logical& node, Scope& scope) {
  bool is_and = node.op == ast::LogicalOp::And;
  std::optional<Datum> dynamic;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ast::Expr* operand = node.operands[i];
    Datum value = evaluate(*operand, scope);
    if (value.is_poison() && is_open()) {
      MayRun here(*this);
      explore_all(node.operands.subspan(i + 1), scope);
    }
    if (value.is_poison()) return value;
    if (is_dynamic(value)) {
      if (dynamic) {
        Datum operands[] = {*dynamic, value};
        value = apply(is_and ? ElementwiseKind::And : ElementwiseKind::Or, operands, node.loc);
        if (value.is_poison()) return value;
      }
      dynamic = value;
      continue;
    }
    std::optional<bool> truth = expect_bool(value, operand->loc, "the operand");
    if (!truth) return Datum::poison();
    if (*truth != is_and) return Datum::boolean(*truth);
  }
  return dynamic ? *dynamic : Datum::boolean(is_and);
}

/// `a < b == True` stands for `a < b and b == True`, which nobody means.
bool Evaluator::refuse_truth_in_chain(const ast::Compare& node) const {
  if (node.ops.size() < 2) return false;
  auto truth = std::ranges::find(node.operands, ast::NodeKind::Bool, [](const ast::Expr* each) { return each->kind; });
  if (truth == node.operands.end()) return false;
  std::string written = source_text(session_.sources(), (*truth)->loc);
  report(diag::wrong_kind, (*truth)->loc, "an operand of a chain of comparisons", "a bool", "a number or a tensor")
      .help(fmt::format("a < b == {0} stands for a < b and b == {0}: a comparison needs no '== {0}'", written));
  return true;
}

Datum Evaluator::evaluate_compare(const ast::Compare& node, Scope& scope) {
  if (refuse_truth_in_chain(node)) return Datum::poison();
  std::optional<Datum> dynamic;
  Datum left = evaluate(*node.operands[0], scope);
  for (size_t i = 0; i < node.ops.size(); ++i) {
    Datum right = evaluate(*node.operands[i + 1], scope);
    bool is_unknown = left.is_poison() || right.is_poison();
    if (is_open() && is_unknown) explore_all(node.operands.subspan(i + 2), scope);
    if (is_unknown) return Datum::poison();
    OperatorPlace at(node.loc, {*node.operands[i], left}, {*node.operands[i + 1], right}, scope,
                     ast::spelling(node.ops[i]));
    Datum result = compare(node.ops[i], left, right, at);
    if (result.is_poison()) return result;
    if (is_dynamic(result)) {
      Datum operands[] = {dynamic.value_or(result), result};
      dynamic = dynamic ? apply(ElementwiseKind::And, operands, node.loc) : result;
    } else if (!result.as_bool()) {
      return result;
    }
    left = right;
  }
  return dynamic ? *dynamic : Datum::boolean(true);
}

Datum Evaluator::compare(ast::CompareOp op, const Datum& a, const Datum& b, const OperatorPlace& at) {
  if (op == ast::CompareOp::In || op == ast::CompareOp::NotIn) return contains(op, a, b, at);
  if (op == ast::CompareOp::Is || op == ast::CompareOp::IsNot) {
    bool is_number = a.is_ir() || b.is_ir() || a.is_scalar() || b.is_scalar();
    if (is_number && !a.is_none() && !b.is_none()) {
      report(diag::wrong_operands, at.loc, op == ast::CompareOp::Is ? "is" : "is not", operand_kinds(a, b))
          .help(op == ast::CompareOp::Is ? "'==' compares numbers" : "'!=' compares numbers");
      return Datum::poison();
    }
    if (!may_compare(*this, a, b, at.loc)) return Datum::poison();
    bool same = a.kind() == b.kind() && !is_dynamic(a) && equal(a, b);
    return Datum::boolean(same == (op == ast::CompareOp::Is));
  }
  bool equality = op == ast::CompareOp::Equal || op == ast::CompareOp::NotEqual;
  if ((is_dynamic(a) || is_dynamic(b)) && !(equality && (a.is_none() || b.is_none()))) {
    Datum operands[] = {a, b};
    return apply(elementwise_kind(op), operands, at);
  }
  if (a.is(DatumKind::Int) && b.is(DatumKind::Int)) {
    return Datum::boolean(ordered(op, a.as_int(), b.as_int()));
  }
  if (a.is_number() && b.is_number()) {
    return Datum::boolean(ordered(op, a.as_double(), b.as_double()));
  }
  Dim x = as_dimension(dims(), a), y = as_dimension(dims(), b);
  if (x && y) {
    // What a caller has to know, how often a loop is unrolled, and what has no call cannot be left to calls.
    auto decides = [](const CallFrame& frame) { return frame.is_clause || frame.is_trip || frame.is_shared; };
    bool has_calls = lowering_.built() && lowering_.built()->level() == Level::Graph && !is_open();
    bool is_left_open = has_calls && !frames_.empty() && std::ranges::none_of(frames_, decides);
    if (is_left_open && !decide(dims(), op, x, y, facts_.known)) {
      Datum operands[] = {a, b};
      return apply(elementwise_kind(op), operands, at);
    }
    std::optional<bool> holds = decide_dims(op, x, y, at.loc);
    return holds ? Datum::boolean(*holds) : Datum::poison();
  }
  if (!may_compare(*this, a, b, at.loc)) return Datum::poison();
  if (a.is(DatumKind::String) && b.is(DatumKind::String)) {
    return Datum::boolean(ordered(op, a.as_string(), b.as_string()));
  }
  if (equality && a.is_sequence() && a.kind() == b.kind()) return compare_sequences(op, a, b, at);
  if (equality && refuse_never_equal(a, b, at)) return Datum::poison();
  if (equality) return Datum::boolean(equal(a, b) == (op == ast::CompareOp::Equal));
  report(diag::wrong_operands, at.loc, ast::spelling(op), operand_kinds(a, b));
  return Datum::poison();
}

std::optional<bool> Evaluator::decide_dims(ast::CompareOp op, Dim a, Dim b, Loc loc) {
  std::optional<bool> holds = decide(dims(), op, a, b, facts_.known);
  if (!holds && !note_undecided(op, a, b)) blame_.report_undecided(op, a, b, loc);
  return holds;
}

Datum Evaluator::compare_sequences(ast::CompareOp op, const Datum& a, const Datum& b, const OperatorPlace& at) {
  std::optional<bool> decided = decided_equal(*this, a, b);
  bool wanted = op == ast::CompareOp::Equal;
  if (decided) return Datum::boolean(*decided == wanted);
  std::optional<Datum> dynamic;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    Datum same = compare(op, a.elements()[i], b.elements()[i], at);
    if (same.is_poison()) return same;
    if (!is_dynamic(same)) continue;
    Datum operands[] = {dynamic.value_or(same), same};
    dynamic = dynamic ? apply(wanted ? ElementwiseKind::And : ElementwiseKind::Or, operands, at) : same;
    if (dynamic->is_poison()) break;
  }
  return *dynamic;
}

Datum Evaluator::contains(ast::CompareOp op, const Datum& item, const Datum& container, const OperatorPlace& at) {
  bool wanted = op == ast::CompareOp::In;
  if (container.is(DatumKind::Dict) && item.is(DatumKind::String)) {
    return Datum::boolean((container.entries().get(item.as_string()) != nullptr) == wanted);
  }
  if (!container.is_sequence()) {
    report(diag::wrong_operands, at.loc, ast::spelling(op), operand_kinds(item, container));
    return Datum::poison();
  }
  std::vector<const Datum*> open;
  if (!may_spend(container.elements().size() / parts_of_step, at.loc)) return Datum::poison();
  for (const Datum& element : container.elements()) {
    if (!may_compare(*this, item, element, at.loc)) return Datum::poison();
    std::optional<bool> same = decided_equal(*this, item, element);
    if (same == true) return Datum::boolean(wanted);
    if (!same) open.push_back(&element);
  }
  std::optional<Datum> dynamic;
  for (const Datum* element : open) {
    Datum same = compare(wanted ? ast::CompareOp::Equal : ast::CompareOp::NotEqual, item, *element, at);
    if (same.is_poison()) return same;
    Datum operands[] = {dynamic.value_or(same), same};
    dynamic = dynamic ? apply(wanted ? ElementwiseKind::Or : ElementwiseKind::And, operands, at) : same;
    if (dynamic->is_poison()) break;
  }
  if (dynamic) return *dynamic;
  bool is_refused = container.elements().size() != 0 && refuse_never_equal(item, container.elements()[0], at.loc);
  return is_refused ? Datum::poison() : Datum::boolean(!wanted);
}

}  // namespace tessera::frontend

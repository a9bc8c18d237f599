// Elementwise ops: operands are promoted to one dtype and broadcast to one shape.

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dtype_values.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

std::string operand_name(const OperatorPlace& at, size_t i, size_t count) {
  if (at.arguments.size() == count) return fmt::format("argument '{}'", at.arguments[i].name);
  if (count == 2) return i == 0 ? "the left operand" : "the right operand";
  return fmt::format("operand {}", i + 1);
}

bool is_elementwise_operand(const Datum& datum) {
  return datum.is_ir() || datum.is_scalar() || datum.is(DatumKind::Bool);
}

/// Whether a power is a square root of a dtype that has no code for powers, which is reported.
bool refuse_root(const Evaluator& evaluator, std::span<const Datum> operands, Loc loc) {
  bool is_root = operands[0].is_ir() && operands[1].is(DatumKind::Float) && operands[1].as_double() == 0.5;
  if (!is_root || has_code(ElementwiseKind::Pow, operands[0].as_ir().storage)) return false;
  evaluator.report(diag::unsupported_construct, loc, fmt::format("'**' of {}", to_string(operands[0].as_ir().storage)))
      .help("a square root is sqrt(x)");
  return true;
}

}  // namespace

bool GraphBuilder::is_assumed(Dim a, Dim b) {
  if (!evaluator_.is_open() || blame().certainly_differ(a, b)) return false;
  DimFact needed{Relation::Equal, a, b};
  // Of sizes of 0 everything holds: what would follow from them hides what else is wrong.
  bool may_hold = !are_equal_at_zero_only(dims(), a, b);
  if (may_hold && blame().unproven(needed) == Blame::Unproven::Unstated) evaluator_.facts().push_back(needed);
  return true;
}

/// Of two sizes that calls make equal, or one of which they make 1.
Dim GraphBuilder::unknown_size() { return evaluator_.unknown_size("d").as_dim(); }

/// The dims of the result: axes align at the right, missing ones and extents of 1 repeat.
std::optional<std::vector<Dim>> GraphBuilder::common_dims(std::span<const Datum> operands,
                                                          const OperatorPlace& at) {
  std::vector<Dim> dims_now;
  std::vector<std::pair<size_t, size_t>> from;  // the operand and axis that an extent is of
  for (size_t n = 0; n < operands.size(); ++n) {
    if (!operands[n].is_ir()) continue;
    const IrValue& ir = operands[n].as_ir();
    const std::vector<Dim>& other = ir.value->type()->dims;
    if (other.size() > dims_now.size()) {
      size_t more = other.size() - dims_now.size();
      dims_now.insert(dims_now.begin(), more, dims().constant(1));
      from.insert(from.begin(), more, {});
    }
    size_t offset = dims_now.size() - other.size();
    if (auto i = blame().differing_axis(std::span(dims_now).subspan(offset), other, true)) {
      auto [earlier, axis] = from[offset + *i];
      const IrValue& first = operands[earlier].as_ir();
      ShapeQuestion question = blame().ask_operands(at, first.value->type()->dims, other);
      report_unequal(blame(), at.loc, place(first, axis, operand_name(at, earlier, operands.size())),
                     place(ir, *i, operand_name(at, n, operands.size())), &question);
      if (!is_assumed(dims_now[offset + *i], other[*i])) return std::nullopt;
    }
    for (size_t i = 0; i < other.size(); ++i) {
      bool differs = dims_now[offset + i] != other[i] && !dims_now[offset + i]->is_constant(1) &&
                     !other[i]->is_constant(1);
      if (differs) dims_now[offset + i] = unknown_size();
      if (!dims_now[offset + i]->is_constant(1) || other[i]->is_constant(1)) continue;
      dims_now[offset + i] = other[i];
      from[offset + i] = {n, i};
    }
  }
  return dims_now;
}

bool GraphBuilder::check_class(ElementwiseKind kind, DType dtype, const OperatorPlace& at) {
  Loc loc = at.loc;
  bool whole_quotient = kind == ElementwiseKind::Div && is_integer(dtype);
  if (accepts(elementwise_info(kind).cls, dtype) && !whole_quotient) {
    if (has_code(kind, dtype)) return true;
    report(diag::unsupported_construct, loc, fmt::format("'{}' of {}", operator_text(kind), to_string(dtype)))
        .help("it is computed in f32: cast(x, f32)");
    return false;
  }
  auto builder = report(diag::wrong_dtype, loc, blame().written(kind, loc), to_string(dtype));
  bool takes_masks = kind == ElementwiseKind::And || kind == ElementwiseKind::Or || kind == ElementwiseKind::Not;
  bool divides_number = kind == ElementwiseKind::Div && at.left.expr && ast::as<ast::Integer>(at.left.expr) &&
                        is_operand(session().sources(), at.right.loc) && !session().is_builtin(loc);
  if (divides_number) {  // 1 // k is 0
    builder.fix("'/' divides floats; '//' gives the whole part of the quotient",
                {{at.left.loc.behind(), ".0"}, {at.right.loc.before(), "cast("}, {at.right.loc.behind(), ", f32)"}});
  } else if (kind == ElementwiseKind::Div) {
    const SourceManager& sources = session().sources();
    auto text = [&](const OperatorPlace::Operand& operand, std::string_view otherwise, auto written) {
      bool is_simple = is_operand(sources, operand.loc) && !session().is_builtin(operand.loc);
      return is_simple ? written(sources, operand.loc) : std::string(otherwise);
    };
    std::string y = text(at.right, "y", bracketed_text);
    std::string divisor = at.right.value ? fmt::format("cast({}, f32)", text(at.right, "y", source_text)) : y;
    builder.help(fmt::format("a quotient with a fraction is one of floats: cast({}, f32) / {}",
                             text(at.left, "x", source_text), divisor))
        .help(fmt::format("the whole part of the quotient is {} // {}", text(at.left, "x", bracketed_text), y));
  } else if (takes_masks && is_float(dtype)) {
    std::string sign = blame().written(kind, loc);
    bool is_sign = (sign == "&" || sign == "|") && is_compared(session().sources(), at.left.loc, at.right.loc);
    constexpr std::string_view brackets =
        "'{0}' binds more tightly than comparisons, which need brackets: (x > a) {0} (x < b)";
    builder.help(fmt::format(fmt::runtime(is_sign ? brackets : "'{0}' takes masks: x != 0.0 is one"), sign));
  } else if (blame().written(kind, loc) == "^" && is_float(dtype)) {
    builder.help("a power is x ** 2");
  } else if (kind == ElementwiseKind::Pow && is_integer(dtype)) {
    builder.help("of integers there are the powers 1 to 4; for others convert them first: cast(x, f32)");
  } else if (is_integer(dtype)) {
    builder.help("convert it first: cast(x, f32)");
  }
  return false;
}

/// Numbers are values of the dtype that is stored, also where a wider one is computed in.
bool GraphBuilder::check_numbers(std::span<const Datum> operands, DType storage, const OperatorPlace& at) {
  for (const Datum& each : operands) {
    if (!is_float(storage) || !each.is_number() || has_number(storage, each.as_double())) continue;
    auto builder = report(diag::number_not_of_dtype, at.loc, to_text(each), to_string(storage));
    blame().label_operand(builder, at, storage);
    help_range(builder, each, storage, at);
    return false;
  }
  return true;
}

std::optional<Datum> GraphBuilder::elementwise(ElementwiseKind kind, std::span<const Datum> operands,
                                               const OperatorPlace& at) {
  for (const Datum& operand : operands) {
    if (!is_elementwise_operand(operand)) return std::nullopt;
  }
  if (kind == ElementwiseKind::Select) return select(operands, at);
  if (kind == ElementwiseKind::Pow && operands[0].is_ir() && operands[1].is(DatumKind::Int)) {
    int64_t exponent = operands[1].as_int();
    if (exponent >= 1 && exponent <= 4) return small_power(operands[0], exponent, at);
  }
  if (kind == ElementwiseKind::Pow && refuse_root(evaluator_, operands, at.loc)) return Datum::poison();
  const ElementwiseInfo& info = elementwise_info(kind);
  bool divides = kind == ElementwiseKind::Div || kind == ElementwiseKind::Pow;
  auto type = promote(operands, divides || info.cls == ElementwiseClass::Real, at);
  if (!type || !check_class(kind, type->storage, at) || !check_numbers(operands, type->storage, at))
    return Datum::poison();
  auto shape = common_dims(operands, at);
  if (!shape) return Datum::poison();
  std::vector<Value*> values;
  for (const Datum& each : operands) {
    values.push_back(operand(each, type->compute(), *shape, at));
    if (!values.back()) return Datum::poison();
  }
  builder_.set_loc(at.loc);
  Value* result = nullptr;
  switch (values.size()) {
    case 1:
      result = graph::elementwise(builder_, kind, {values[0]});
      break;
    case 2:
      result = graph::elementwise(builder_, kind, {values[0], values[1]});
      break;
    default:
      result = graph::elementwise(builder_, kind, {values[0], values[1], values[2]});
  }
  if (info.cls == ElementwiseClass::Compare) type = NumericType{DType::Bool, {}, false};
  return handle(result, *type, at.loc);
}

/// x ** n for n of 1 to 4 is a product: x*x, x*x*x, (x*x)*(x*x). It is defined for integers, too.
Datum GraphBuilder::small_power(const Datum& x, int64_t exponent, const OperatorPlace& at) {
  auto product = [&](const Datum& a, const Datum& b) {
    Datum factors[] = {a, b};
    return a.is_poison() ? a : evaluator_.elementwise(ElementwiseKind::Mul, factors, at);
  };
  if (exponent == 1) return x;
  Datum square = product(x, x);
  if (exponent == 2 || square.is_poison()) return square;
  return exponent == 3 ? product(square, x) : product(square, square);
}

/// where(condition, a, b).
Datum GraphBuilder::select(std::span<const Datum> operands, const OperatorPlace& at) {
  bool is_bool = operands[0].is(DatumKind::Bool) ||
                 (operands[0].is_ir() && operands[0].as_ir().storage == DType::Bool);
  if (!is_bool) {
    auto builder =
        report(diag::wrong_kind, at.loc, "the condition of 'where'", describe(operands[0]), "a tensor of bool");
    if (operands[0].is_ir()) {
      const IrValue& x = operands[0].as_ir();
      builder.help(fmt::format("compare it: where({} != {}, …)", x.name.empty() ? "x" : x.name,
                               is_float(x.storage) ? "0.0" : "0"));
    }
    return Datum::poison();
  }
  auto type = promote(operands.subspan(1), false, at);
  if (!type || !check_numbers(operands.subspan(1), type->storage, at)) return Datum::poison();
  auto shape = common_dims(operands, at);
  if (!shape) return Datum::poison();
  Value* condition = operand(operands[0], DType::Bool, *shape, at);
  Value* a = operand(operands[1], type->compute(), *shape, at);
  Value* b = a ? operand(operands[2], type->compute(), *shape, at) : nullptr;
  if (!condition || !b) return Datum::poison();
  builder_.set_loc(at.loc);
  type->weak = false;
  return handle(graph::select(builder_, condition, a, b), *type, at.loc);
}

}  // namespace tessera::frontend

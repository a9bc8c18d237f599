#include "frontend/lower/kernel/tile_ops.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/lower/kernel/weak_value.h"
#include "frontend/values/dims.h"
#include "frontend/values/dtype_values.h"
#include "ir/core/common_attributes.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

bool is_tile(const Datum& datum) {
  return datum.is_ir() && datum.as_ir().value->type()->is(TypeKind::Tile);
}

/// A scalar made of sizes and numbers alone: f32, and promoted to another float dtype beside one.
bool is_weak(const Datum& datum) {
  return datum.is_ir() && datum.as_ir().weak;
}

bool is_tensor(const Datum& datum) {
  return datum.is_ir() && datum.as_ir().value->type()->is(TypeKind::Tensor);
}

void report_operand(Evaluator& evaluator, const Datum& datum, Loc loc) {
  evaluator.report(diag::wrong_kind, loc, "an operand", describe(datum),
                   "a tile, a scalar or a number");
}

std::string op_name(ElementwiseKind kind) {
  return snake_case(elementwise_info(kind).name);
}

/// The smaller dtype that holds every value of both, or nullopt.
std::optional<DType> promote(DType a, DType b) {
  if (a == b || widens_to(b, a)) return a;
  if (widens_to(a, b)) return b;
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Dim>> broadcast_dims(std::span<const Dim> a, std::span<const Dim> b) {
  if (a.size() < b.size()) std::swap(a, b);
  std::vector<Dim> dims(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Dim& dim = dims[offset + i];
    if (dim == b[i] || b[i]->is_constant(1)) continue;
    if (!dim->is_constant(1)) return std::nullopt;
    dim = b[i];
  }
  return dims;
}

Datum TileOps::handle(Value* value, Loc loc) const {
  IrValue ir;
  ir.value = value;
  ir.storage = value->type()->dtype;
  ir.origin = loc;
  return Datum::ir(ir);
}

Value* TileOps::expect_tile(const Datum& datum, Loc loc, std::string_view what) {
  if (is_tile(datum)) return datum.as_ir().value;
  auto builder = evaluator_.report(diag::wrong_kind, loc, what, describe(datum), "a tile");
  if (is_tensor(datum)) {
    builder.help("a tensor has no addresses in a kernel: v = tile.load(x) is this program's tile of it");
  }
  return nullptr;
}

std::optional<DType> TileOps::common_dtype(std::span<const Datum> operands, bool real, const OperatorPlace& at) {
  std::optional<DType> common;
  bool has_float = real;
  bool all_bool = true;
  for (const Datum& operand : operands) {
    has_float = has_float || operand.is(DatumKind::Float) || is_weak(operand);
    all_bool = all_bool && operand.is(DatumKind::Bool);
    if (!operand.is_ir() || is_weak(operand)) continue;
    DType dtype = operand.as_ir().value->type()->dtype;
    std::optional<DType> promoted = common ? promote(*common, dtype) : dtype;
    if (!promoted) {
      evaluator_.blame().report_mixed_dtypes(at, *common, dtype, wide_enough(*common, dtype), "tile.cast");
      return std::nullopt;
    }
    common = promoted;
  }
  if (common) return common;
  if (all_bool) return DType::Bool;
  return has_float ? DType::F32 : DType::I64;
}

std::optional<std::vector<Dim>> TileOps::common_dims(std::span<const Datum> operands, const OperatorPlace& at,
                                                     std::string_view what) {
  std::vector<Dim> dims;
  for (const Datum& operand : operands) {
    if (!is_tile(operand)) continue;
    const std::vector<Dim>& other = operand.as_ir().value->type()->dims;
    std::optional<std::vector<Dim>> both = broadcast_dims(dims, other);
    if (!both) {
      auto builder =
          evaluator_.report(diag::tile_broadcast, at.loc, to_text(dims), to_text(other), what);
      ShapeQuestion question = evaluator_.blame().ask_operands(at, dims, other);
      bool is_asked = operands.size() == 2 || !at.arguments.empty();
      bool is_helped = is_asked && evaluator_.blame().help_shapes(builder, question);
      if (!is_helped && dims.size() != other.size()) builder.help("`x[:, None]` adds an axis of extent 1");
      return std::nullopt;
    }
    dims = std::move(*both);
  }
  return dims;
}

/// `operands` are those of the op, in that dtype.
bool TileOps::check_class(ElementwiseKind kind, DType dtype, std::span<const Datum> operands, Loc loc) {
  if (!accepts(elementwise_info(kind).cls, dtype)) {
    bool is_one = operands.size() == 1 && operands[0].is_ir();
    bool is_logic = kind == ElementwiseKind::And || kind == ElementwiseKind::Or;
    std::optional<DType> better = is_integer(dtype) ? std::optional(DType::F32) : std::nullopt;
    std::string name = is_logic ? evaluator_.blame().written(kind, loc) : op_name(kind);
    evaluator_.blame().report_dtype(diag::wrong_dtype, loc, is_one ? operands[0].as_ir().value : nullptr, better,
                                    "it is used here", name, to_string(dtype));
    return false;
  }
  if (has_code(kind, dtype)) return true;
  evaluator_.report(diag::unsupported_construct, loc, fmt::format("'{}' of {}", op_name(kind), to_string(dtype)))
      .help("it is computed in f32: tile.cast(x, f32)");
  return false;
}

/// A number takes the dtype of the tiles beside it, which must be able to hold it.
bool TileOps::check_number(const Datum& number, DType dtype, const OperatorPlace& at) {
  if (is_weak(number)) {
    if (!is_float(dtype))
      evaluator_.report(diag::number_not_of_dtype, at.loc, "a quotient or root", to_string(dtype));
    return is_float(dtype);
  }
  if (number.is(DatumKind::Bool) && dtype == DType::Bool) return true;
  if (number.is(DatumKind::Dim) && dtype != DType::Bool) return true;
  if (number.is_number() && is_float(dtype) && has_number(dtype, number.as_double())) return true;
  if (number.is(DatumKind::Int) && is_integer(dtype) && has_integer(dtype, number.as_int())) return true;
  if (number.is_scalar() || number.is(DatumKind::Bool)) {
    auto builder = evaluator_.report(diag::number_not_of_dtype, at.loc, to_text(number), to_string(dtype));
    evaluator_.blame().label_operand(builder, at, dtype);
    if (number.is(DatumKind::Float) && is_integer(dtype)) {
      builder.help("an integer takes integers; tile.cast(x, f32) makes a float of it first");
    }
  } else {
    report_operand(evaluator_, number, at.loc);
  }
  return false;
}

Value* TileOps::materialise_constant(const Datum& number, Type type) {
  const OpInfo* op = info(type->is(TypeKind::Tile) ? OpKind::Full : OpKind::Constant);
  Context& context = builder_.context();
  Attr value = nullptr;
  if (number.is(DatumKind::Bool)) {
    value = context.integer(number.as_bool() ? 1 : 0);
  } else if (is_float(type->dtype)) {
    value = context.number(number.as_double());
  } else {
    value = context.integer(number.as_int());
  }
  return builder_.value(op, {}, type, {common::Constant::value(value)});
}

Value* TileOps::convert(Value* value, DType dtype) {
  if (value->type()->dtype == dtype) return value;
  return builder_.value(info(ElementwiseKind::Cast), {{value}},
                        builder_.context().with_dtype(value->type(), dtype));
}

Value* TileOps::reshape(Value* tile, std::vector<Dim> dims) {
  if (tile->type()->dims == dims) return tile;
  Type type = builder_.context().tile(std::move(dims), tile->type()->dtype);
  return builder_.value(info(OpKind::Reshape), {{tile}}, type);
}

Value* TileOps::broadcast_to(Value* tile, const std::vector<Dim>& dims) {
  std::vector<Dim> aligned = tile->type()->dims;
  aligned.insert(aligned.begin(), dims.size() - aligned.size(), evaluator_.dims().constant(1));
  Value* value = reshape(tile, aligned);
  if (aligned == dims) return value;
  return builder_.value(info(OpKind::Broadcast), {{value}},
                        builder_.context().tile(dims, tile->type()->dtype));
}

Value* TileOps::materialise(const Datum& operand, DType dtype, const std::vector<Dim>& dims,
                            bool is_tile) {
  Context& context = builder_.context();
  Type type = is_tile ? context.tile(dims, dtype) : context.scalar(dtype);
  if (!operand.is_ir() && !operand.is(DatumKind::Dim)) return materialise_constant(operand, type);
  Value* value = operand.is_ir()
                     ? operand.as_ir().value
                     : builder_.value(info(OpKind::Dim), {}, context.scalar(DType::I64),
                                      {schedule::attr::Dim::value(context, operand.as_dim())});
  bool again = is_weak(operand) && dtype == DType::F64;
  value = again ? in_double(evaluator_, builder_, operand.as_ir(), info(ElementwiseKind::Cast)) : convert(value, dtype);
  if (value->type()->is(TypeKind::Tile)) return broadcast_to(value, dims);
  return is_tile ? builder_.value(info(OpKind::Splat), {{value}}, type) : value;
}

Datum TileOps::elementwise(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at) {
  builder_.set_loc(at.loc);
  std::string name = op_name(kind);
  for (const Datum& operand : operands) {
    if (!is_tensor(operand)) continue;
    expect_tile(operand, at.loc, fmt::format("an operand of '{}'", name));
    return Datum::poison();
  }
  size_t first = elementwise_info(kind).cls == ElementwiseClass::Choose ? 1 : 0;
  std::span<const Datum> data = operands.subspan(first);
  bool real = elementwise_info(kind).cls == ElementwiseClass::Real || kind == ElementwiseKind::Div;
  auto dtype = common_dtype(data, real, at);
  auto dims = common_dims(operands, at, name);
  if (!dtype || !dims || !check_class(kind, *dtype, operands, at.loc)) return Datum::poison();
  for (const Datum& operand : data) {
    if ((!operand.is_ir() || is_weak(operand)) && !check_number(operand, *dtype, at))
      return Datum::poison();
  }
  bool tile = std::any_of(operands.begin(), operands.end(), is_tile);
  std::vector<std::vector<Value*>> slots;
  if (first == 1) {
    const Datum& condition = operands[0];
    bool is_bool = condition.is_ir() ? condition.as_ir().value->type()->dtype == DType::Bool
                                     : condition.is(DatumKind::Bool);
    if (!is_bool) {
      evaluator_.report(diag::wrong_kind, at.loc, "the condition of 'where'", describe(condition),
                        "a bool tile");
      return Datum::poison();
    }
    slots.push_back({materialise(condition, DType::Bool, *dims, tile)});
  }
  for (const Datum& operand : data) slots.push_back({materialise(operand, *dtype, *dims, tile)});
  DType result = elementwise_info(kind).cls == ElementwiseClass::Compare ? DType::Bool : *dtype;
  Context& context = builder_.context();
  Type type = tile ? context.tile(*dims, result) : context.scalar(result);
  IrValue value = handle(builder_.value(info(kind), std::move(slots), type), at.loc).as_ir();
  value.weak = std::all_of(operands.begin(), operands.end(),
                           [](const Datum& d) { return !d.is_ir() || is_weak(d); });
  return Datum::ir(value);
}

std::optional<std::vector<int64_t>> TileOps::read_axes(const Datum& axes, size_t rank, Loc loc,
                                                       std::string_view what) {
  std::vector<int64_t> list;
  if (axes.is_none()) {
    for (size_t i = 0; i < rank; ++i) list.push_back(int64_t(i));
    return list;
  }
  std::vector<Datum> written = axes.is_sequence() ? axes.elements() : std::vector<Datum>{axes};
  for (const Datum& datum : written) {
    auto axis = evaluator_.expect_int(datum, loc, fmt::format("the axis of '{}'", what));
    if (!axis) return std::nullopt;
    int64_t position = *axis < 0 ? *axis + int64_t(rank) : *axis;
    if (position < 0 || position >= int64_t(rank)) {
      evaluator_.report(diag::axis_out_of_range, loc, *axis, counted(size_t(rank), "dimension"),
                        fmt::format("the operand of '{}'", what));
      return std::nullopt;
    }
    if (std::find(list.begin(), list.end(), position) != list.end()) {
      evaluator_.report(diag::repeated_axis, loc, position, what);
      return std::nullopt;
    }
    list.push_back(position);
  }
  std::sort(list.begin(), list.end());
  return list;
}

Datum TileOps::reduce(std::string_view kind, const Datum& tile, const Datum& axes, bool keepdims,
                      Loc loc) {
  builder_.set_loc(loc);
  Value* value = expect_tile(tile, loc, kind);
  if (!value) return Datum::poison();
  if (value->type()->dtype == DType::Bool) {
    return evaluator_.report(diag::wrong_dtype, loc, kind, "bool"), Datum::poison();
  }
  auto list = read_axes(axes, value->type()->rank(), loc, kind);
  if (!list) return Datum::poison();
  Context& context = builder_.context();
  std::vector<Dim> kept = value->type()->dims;
  for (auto axis = list->rbegin(); axis != list->rend(); ++axis) {
    kept[size_t(*axis)] = evaluator_.dims().constant(1);
    std::vector<Dim> dims = value->type()->dims;
    dims.erase(dims.begin() + *axis);
    value =
        builder_.value(info(OpKind::Reduce), {{value}}, context.tile(dims, value->type()->dtype),
                       {schedule::attr::Reduce::axis(context, *axis),
                        schedule::attr::Reduce::kind(context, kind)});
  }
  return handle(keepdims ? reshape(value, kept) : value, loc);
}

std::optional<int64_t> TileOps::one_axis(const Datum& axis, size_t rank, Loc loc, std::string_view what) {
  auto list = axis.is_none() ? std::nullopt : read_axes(axis, rank, loc, what);
  if (list && list->size() == 1) return (*list)[0];
  if (list || axis.is_none()) {
    evaluator_.report(diag::wrong_kind, loc, fmt::format("the axis of 'tile.{}'", what), describe(axis), "one axis");
  }
  return std::nullopt;
}

Datum TileOps::along_axis(OpKind kind, const Datum& tile, const Datum& axis, std::vector<OpAttr> attributes, Loc loc) {
  builder_.set_loc(loc);
  std::string_view name = info(kind)->name;
  name.remove_prefix(name.find('.') + 1);
  Value* value = expect_tile(tile, loc, name);
  auto place = value ? one_axis(axis, value->type()->rank(), loc, name) : std::nullopt;
  if (!place) return Datum::poison();
  attributes.push_back(common::Along::axis(builder_.context(), *place));
  return handle(builder_.value(info(kind), {{value}}, value->type(), std::move(attributes)), loc);
}

Datum TileOps::scan(const Datum& tile, const Datum& axis, const ScanOptions& options, Loc loc) {
  builder_.set_loc(loc);
  Value* value = expect_tile(tile, loc, "scan");
  if (!value) return Datum::poison();
  if (value->type()->dtype == DType::Bool) {
    evaluator_.report(diag::wrong_dtype, loc, "scan", "bool");
    return Datum::poison();
  }
  std::string_view kinds[] = {"sum", "prod", "max", "min"};
  if (std::find(std::begin(kinds), std::end(kinds), options.kind) == std::end(kinds)) {
    evaluator_.report(diag::wrong_kind, loc, "the kind of 'tile.scan'", fmt::format("\"{}\"", options.kind),
                      "\"sum\", \"prod\", \"max\" or \"min\"");
    return Datum::poison();
  }
  auto place = one_axis(axis, value->type()->rank(), loc, "scan");
  if (!place) return Datum::poison();
  Context& context = builder_.context();
  std::vector<Dim> kept = value->type()->dims, left = kept;
  kept[size_t(*place)] = evaluator_.dims().constant(1);
  left.erase(left.begin() + *place);
  std::vector<OpAttr> attributes{schedule::attr::Scan::axis(context, *place),
                                 schedule::attr::Scan::kind(context, options.kind)};
  if (options.exclusive) attributes.push_back(schedule::attr::Scan::exclusive(context, true));
  if (options.reverse) attributes.push_back(schedule::attr::Scan::reverse(context, true));
  Op* op = builder_.op(info(OpKind::Scan), {{value}}, {value->type(), context.tile(kept, value->type()->dtype)},
                       std::move(attributes));
  Datum result = handle(op->result(0), loc);
  if (!options.total) return result;
  return Datum::tuple({result, handle(reshape(op->result(1), left), loc)});
}

Datum TileOps::cast(const Datum& value, DType dtype, Loc loc) {
  builder_.set_loc(loc);
  if (value.is_ir() && !is_tensor(value)) {
    Type type = value.as_ir().value->type();
    return handle(materialise(value, dtype, type->dims, type->is(TypeKind::Tile)), loc);
  }
  expect_tile(value, loc, "cast");
  return Datum::poison();
}

Datum TileOps::bitcast(const Datum& value, DType dtype, Loc loc) {
  builder_.set_loc(loc);
  Value* tile = expect_tile(value, loc, "bitcast");
  if (!tile) return Datum::poison();
  DType from = tile->type()->dtype;
  if (!has_same_bits(from, dtype)) {
    evaluator_.report(diag::wrong_dtype, loc, "bitcast", fmt::format("{} as {}", to_string(from), to_string(dtype)))
        .help("both dtypes have as many bits, and none is bool or i4");
    return Datum::poison();
  }
  if (from == dtype) return value;
  return handle(builder_.value(info(ElementwiseKind::Bits), {{tile}},
                               builder_.context().with_dtype(tile->type(), dtype)), loc);
}

Datum TileOps::dot(const Datum& a, const Datum& b, const Datum& acc, const OperatorPlace& at) {
  builder_.set_loc(at.loc);
  Value* left = expect_tile(a, at.loc, "the first operand of dot");
  Value* right = left ? expect_tile(b, at.loc, "the second operand of dot") : nullptr;
  Value* sum = right && !acc.is_none() ? expect_tile(acc, at.loc, "the accumulator of dot") : nullptr;
  if (!right || (!sum && !acc.is_none())) return Datum::poison();
  Datum both[] = {a, b};
  auto dtype = common_dtype(both, false, at);
  if (!dtype) return Datum::poison();
  const std::vector<Dim>& m = left->type()->dims;
  const std::vector<Dim>& n = right->type()->dims;
  std::vector<Dim> dims;
  if (m.size() == 2 && n.size() == 2 && m[1] == n[0]) dims = {m[0], n[1]};
  if (dims.empty() || (sum && sum->type()->dims != dims)) {
    auto builder = evaluator_.report(diag::dot_shapes, at.loc, to_text(m), to_text(n),
                                     sum ? to_text(sum->type()->dims) : "a tile");
    ShapeQuestion question = evaluator_.blame().ask_operands(at, m, n);
    question.may_exchange = true;
    for (ShapedOperand& operand : question.operands) operand.rank = 0;
    question.fits = [&](const Shapes& shapes) {
      const std::vector<Dim>&a = shapes[0], &b = shapes[1];
      bool has_dot = a.size() == 2 && b.size() == 2 && a[1] == b[0];
      return has_dot && (!sum || sum->type()->dims == std::vector<Dim>{a[0], b[1]});
    };
    evaluator_.blame().help_shapes(builder, question);
    return Datum::poison();
  }
  DType wanted = contraction_dtype(*dtype, {});
  DType given = sum ? sum->type()->dtype : wanted;
  bool same_kind =
      is_float(given) == is_float(*dtype) && given != DType::Bool && *dtype != DType::Bool;
  bool is_narrow = given != wanted && !widens_to(wanted, given);
  if (!same_kind || is_narrow) {
    evaluator_.blame().report_dtype(diag::dot_accumulator, at.loc, sum, wanted, "the dot accumulates here",
                                    to_string(*dtype), to_string(given));
    return Datum::poison();
  }
  Type type = builder_.context().tile(dims, given);
  if (!sum) sum = materialise_constant(Datum::integer(0), type);
  Value* dot = builder_.value(info(OpKind::Dot),
                                  {{convert(left, *dtype)}, {convert(right, *dtype)}, {sum}}, type);
  return handle(dot, at.loc);
}

Datum TileOps::transpose(const Datum& tile, std::span<const Datum> perm, Loc loc) {
  builder_.set_loc(loc);
  Value* value = expect_tile(tile, loc, "transpose");
  if (!value) return Datum::poison();
  size_t rank = value->type()->rank();
  std::vector<int64_t> order;
  for (size_t i = 0; i < rank && perm.empty(); ++i) order.push_back(int64_t(rank - 1 - i));
  for (const Datum& datum : perm) {
    auto axis = evaluator_.expect_int(datum, loc, "an axis of 'transpose'");
    if (!axis) return Datum::poison();
    order.push_back(*axis < 0 ? *axis + int64_t(rank) : *axis);
  }
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < std::max(rank, sorted.size()); ++i) {
    if (sorted.size() == rank && sorted[i] == int64_t(i)) continue;
    return evaluator_.report(diag::tile_permutation, loc, counted(rank, "axis", "axes")), Datum::poison();
  }
  std::vector<Dim> dims;
  for (int64_t axis : order) dims.push_back(value->type()->dims[size_t(axis)]);
  Context& context = builder_.context();
  return handle(
      builder_.value(info(OpKind::Transpose), {{value}}, context.tile(dims, value->type()->dtype),
                     {schedule::attr::Transpose::perm(context, order)}),
      loc);
}

Datum TileOps::broadcast(const Datum& tile, const std::vector<Dim>& dims, Loc loc) {
  builder_.set_loc(loc);
  Value* value = expect_tile(tile, loc, "broadcast");
  if (!value) return Datum::poison();
  if (broadcast_dims(value->type()->dims, dims) != dims) {
    evaluator_.report(diag::tile_broadcast, loc, to_text(value->type()->dims), to_text(dims),
                      "broadcast");
    return Datum::poison();
  }
  return handle(broadcast_to(value, dims), loc);
}

Datum TileOps::full(const std::vector<Dim>& dims, const Datum& value, DType dtype, Loc loc) {
  builder_.set_loc(loc);
  if (is_tensor(value) || is_tile(value)) {
    return report_operand(evaluator_, value, loc), Datum::poison();
  }
  if (!value.is_ir() && !check_number(value, dtype, loc)) return Datum::poison();
  return handle(materialise(value, dtype, dims, true), loc);
}

Value* TileOps::index_constant(int64_t value) {
  Context& context = builder_.context();
  return builder_.value(info(OpKind::Constant), {}, context.scalar(DType::I64),
                        {schedule::attr::Constant::value(context, value)});
}

Value* TileOps::index(const Datum& datum, Loc loc, std::string_view what) {
  builder_.set_loc(loc);
  bool integer = datum.is(DatumKind::Int) || datum.is(DatumKind::Dim);
  if (datum.is_ir()) {
    Type type = datum.as_ir().value->type();
    bool one = type->is(TypeKind::Tile) && type->rank() == 0;
    integer = (one || type->is(TypeKind::Scalar)) && is_integer(type->dtype) &&
              promote(type->dtype, DType::I64) == DType::I64;
    if (integer && one) {
      Value* number = builder_.value(info(OpKind::Extract), {{datum.as_ir().value}},
                                     builder_.context().scalar(type->dtype));
      return materialise(handle(number, loc), DType::I64, {}, false);
    }
  }
  if (!integer) {
    evaluator_.report(diag::wrong_kind, loc, what, describe_given(datum), "an integer index");
    return nullptr;
  }
  return materialise(datum, DType::I64, {}, false);
}

namespace {

/// More tiles than an axis has.
constexpr double most_tiles = 0x1p40;
/// So far from all of them that no place in elements overflows before.
constexpr double far_tiles = 0x1p48;

double reach_of(Dim size) {
  double sum = 0;
  for (const DimTerm& term : size->terms) {
    sum += std::abs(double(term.coefficient)) * std::pow(most_tiles, double(term.factors.size()));
  }
  return sum;
}

/// How far from 0 a number may be: unbounded if a loop carries it, or any other op makes it, such as one that reads
/// memory.
double reach_of(const Value* number, std::map<const Value*, double>& known) {
  const Op* def = number->def();
  if (!def) {
    // The first argument of a loop counts its iterations.
    const Op* around = number->parent_block()->parent_op();
    bool counts = !around->is(info(OpKind::Pipeline)) || number == around->region()->front()->arg(0);
    return counts ? most_tiles : INFINITY;
  }
  auto [it, is_new] = known.try_emplace(number, INFINITY);
  if (!is_new) return it->second;
  auto of = [&](unsigned operand) { return reach_of(def->operand(operand), known); };
  auto computed = [&]() -> double {
    if (def->is(info(OpKind::Dim))) return reach_of(def->attr(schedule::attr::Dim::value));
    if (def->is(info(OpKind::Constant)))
      return std::abs(def->attr(schedule::attr::Constant::value)->number);
    switch (def->info().elementwise) {
      case ElementwiseKind::Cast:
      case ElementwiseKind::Neg:
      case ElementwiseKind::FloorDiv: return of(0);
      case ElementwiseKind::Add:
      case ElementwiseKind::Sub: return of(0) + of(1);
      case ElementwiseKind::Mul: return of(0) * of(1);
      case ElementwiseKind::Mod:
      case ElementwiseKind::Min:
      case ElementwiseKind::Max: return std::max(of(0), of(1));
      case ElementwiseKind::Select: return std::max(of(1), of(2));
      default: return INFINITY;
    }
  };
  return known[number] = computed();
}

}  // namespace

bool TileOps::may_reach(const Value* number, double distance) {
  std::map<const Value*, double> known;
  return !(reach_of(number, known) < distance);
}

Value* TileOps::tile_index(const Datum& datum, Dim extent, Dim tile, Loc loc, std::string_view what) {
  Value* number = index(datum, loc, what);
  if (!number || tile->is_constant(1) || tile->is_constant(0) || !may_reach(number, far_tiles)) {
    return number;
  }
  auto op = [&](ElementwiseKind kind, Value* limit) {
    return builder_.value(info(kind), {{number}, {limit}}, number->type());
  };
  number = op(ElementwiseKind::Max, index_constant(-1));
  Dim count = evaluator_.dims().ceildiv(extent, tile);
  return op(ElementwiseKind::Min, materialise(Datum::dim(count), DType::I64, {}, false));
}

std::optional<std::vector<Value*>> TileOps::index_tiles(std::span<const Datum> index, std::vector<Dim>& dims,
                                                        Loc loc) {
  builder_.set_loc(loc);
  for (const Datum& each : index) {
    Type type = each.is_ir() ? each.as_ir().value->type() : nullptr;
    bool integer = type ? is_integer(type->dtype) && !type->is(TypeKind::Tensor) && !type->is(TypeKind::View)
                        : each.is(DatumKind::Int) || each.is(DatumKind::Dim);
    if (integer && type && type->dtype == DType::U64) integer = false;  // past what coordinates are
    if (integer) continue;
    evaluator_.report(diag::wrong_kind, loc, "a coordinate", describe(each), "a tile of integers of up to 63 bits");
    return std::nullopt;
  }
  auto common = common_dims(index, loc, "the coordinates");
  if (!common) return std::nullopt;
  auto both = dims.empty() ? common : broadcast_dims(dims, *common);
  if (!both || (!dims.empty() && *both != dims)) {
    evaluator_.report(diag::tile_broadcast, loc, to_text(dims), to_text(*common), "elements and their coordinates");
    return std::nullopt;
  }
  dims = *both;
  std::vector<Value*> tiles;
  for (const Datum& each : index) tiles.push_back(materialise(each, DType::I64, dims, true));
  return tiles;
}

Value* TileOps::coordinates(Dim extent, Value* index, Loc loc) {
  builder_.set_loc(loc);
  Context& context = builder_.context();
  Type type = context.tile({extent}, DType::I64);
  Value* within =
      builder_.value(info(OpKind::Iota), {}, type, {schedule::attr::Iota::axis(context, 0)});
  if (!index) return within;
  Value* size = materialise(Datum::dim(extent), DType::I64, {}, false);
  Value* start =
      builder_.value(info(ElementwiseKind::Mul), {{index}, {size}}, context.scalar(DType::I64));
  return builder_.value(info(ElementwiseKind::Add),
                        {{within}, {builder_.value(info(OpKind::Splat), {{start}}, type)}}, type);
}

}  // namespace tessera::frontend

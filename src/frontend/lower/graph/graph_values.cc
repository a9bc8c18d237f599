// Values and their dtypes: promotes the operands of an op to one dtype.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/lower/kernel/weak_value.h"
#include "frontend/values/dtype_values.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

std::string subject(const IrValue& value, std::string_view otherwise) {
  return value.name.empty() ? std::string(otherwise) : fmt::format("'{}'", value.name);
}

std::string dimension_of(size_t axis, std::string_view what) {
  return fmt::format("dimension {} of {}", axis, what);
}

std::string with_count(const Datum& value) {
  if (!value.is_sequence()) return describe(value);
  return fmt::format("{} of {}", describe(value), counted(value.elements().size(), "value"));
}

void help_range(DiagnosticEngine::Builder& builder, const Datum& number, DType dtype, const OperatorPlace& at) {
  if (!is_float(dtype) || !number.is_number()) return;
  DType wider = has_number(DType::F32, number.as_double()) ? DType::F32 : DType::F64;
  if (std::abs(number.as_double()) < 1) {
    builder.help("it is nearer to 0 than any other number of that dtype");
  } else if (dtype != DType::F64) {
    // What stands beside the number is converted; of a call the dtype may be an argument.
    builder.help(fmt::format("it is beyond the range of {}; a wider dtype has it: {}", to_string(dtype),
                             fmt::format(fmt::runtime(at.left.expr ? "cast(x, {})" : "{}"), to_string(wider))));
  }
}

/// The value under the dims that the facts have for its extents: the same elements in the same order.
Value* GraphBuilder::under_facts(Value* value) {
  std::vector<Dim> extents;
  for (Dim extent : value->type()->dims) extents.push_back(evaluator_.simplified(extent));
  return extents == value->type()->dims ? value : graph::reshape(builder_, value, std::move(extents));
}

Datum GraphBuilder::handle(Value* value, const NumericType& type, Loc loc) {
  value = under_facts(value);
  if (!check_size(blame(), value->type()->dims, loc) ||
      !check_extents_constant(value->type()->dims, loc))
    return Datum::poison();
  IrValue ir;
  ir.value = value;
  ir.storage = type.storage;
  ir.policies = type.policies;
  ir.weak = type.weak;
  ir.origin = loc;
  return Datum::ir(ir);
}

bool GraphBuilder::is_counted(Dim size) const {
  return std::any_of(function_.runtime_loops.begin(), function_.runtime_loops.end(), [&](const RuntimeLoop& loop) {
    return loop.counter && mentions(size, loop.counter->symbol());
  });
}

/// All iterations of a run-time loop have the same ops: refuses sizes that its counter changes.
bool GraphBuilder::check_extents_constant(std::span<const Dim> extents, Loc loc) {
  for (const RuntimeLoop& loop : function_.runtime_loops) {
    auto changes = [&](Dim extent) { return loop.counter && mentions(extent, loop.counter->symbol()); };
    auto changed = std::find_if(extents.begin(), extents.end(), changes);
    if (changed == extents.end()) continue;
    std::vector<Dim> written;
    for (Dim extent : extents) written.push_back(as_written(extent));
    report(diag::unsupported_construct, loc,
           fmt::format("a tensor of {}, whose size changes between iterations of a loop,", to_text(written)))
        .help(fmt::format("compute the whole axis in each iteration, with a neutral value for the rest: "
                          "where(arange(N, i64) < {}, x, 0)", as_written(*changed)->text));
    return false;
  }
  return true;
}

Value* GraphBuilder::convert(Value* value, DType dtype) {
  return value->type()->dtype == dtype ? value : graph::cast(builder_, value, dtype);
}

Value* GraphBuilder::in_dtype(const IrValue& value, DType dtype) {
  bool again = value.weak && dtype == DType::F64;
  if (!again) return convert(value.value, dtype);
  return in_double(evaluator_, builder_, value, graph::info(ElementwiseKind::Cast));
}

Value* GraphBuilder::computed(const IrValue& value) {
  return convert(value.value, compute_dtype(value.storage, value.policies));
}

Value* GraphBuilder::stored(const IrValue& value) {
  return round_to(value.value, type_of(value), value.origin);
}

/// True if the cast must cut: a number of the dtype itself is beyond its range only where it is infinite, which the
/// result of another such cast is not.
static bool saturates(const NumericType& type, Value* value) {
  if (!type.policies.saturate) return false;
  bool is_cut = value->def() && value->def()->is(graph::info(graph::OpKind::Cast)) && value->type()->policies.saturate;
  return value->type()->dtype != type.storage || (is_float(type.storage) && !is_cut);
}

/// The bits in the dtype that the type is stored in; with @saturate no finite or infinite number becomes more than that
/// dtype's greatest, with @stochastic_round the library rounds.
Value* GraphBuilder::round_to(Value* value, const NumericType& type, Loc loc) {
  DType from = value->type()->dtype;
  bool narrows = is_float(from) && is_float(type.storage) && dtype_info(type.storage).bits < 32;
  if (from != type.storage && narrows && type.policies.stochastic_round) return round_stochastically(value, type, loc);
  if (!saturates(type, value)) return convert(value, type.storage);
  Policies policies;
  policies.saturate = true;
  Value* cut = graph::cast_to(builder_, value, context().tensor(value->type()->dims, type.storage, policies));
  return cut;
}

/// stochastic_round of stdlib/rounding.tsr.
Value* GraphBuilder::round_stochastically(Value* value, const NumericType& type, Loc loc) {
  SourceModule* library = session().load_library("tessera.rounding");
  TSR_CHECK(library, "the library has a module for rounding");
  Datum function = evaluator_.lookup("stochastic_round", *library->scope, loc);
  Datum x = handle(convert(value, DType::F32), {DType::F32, {}, false}, loc);
  Datum rounded = evaluator_.call(function,
                                  {{"", x, loc}, {"", Datum::dtype(type.storage), loc},
                                   {"saturate", Datum::boolean(type.policies.saturate), loc}},
                                  loc);
  return rounded.is_ir() ? rounded.as_ir().value : convert(value, type.storage);
}

std::optional<NumericType> GraphBuilder::promote(const NumericType& a, const NumericType& b, const OperatorPlace& at) {
  if (a.policies.accum && b.policies.accum && a.policies.accum != b.policies.accum) {
    auto builder = report(diag::accum_conflict, at.loc, to_string(*a.policies.accum), to_string(*b.policies.accum));
    builder.help("cast one of them, or declare both with the same @accum");
    blame().label_accumulation(builder, at, *a.policies.accum, *b.policies.accum);
    return std::nullopt;
  }
  bool first = a.storage == b.storage || widens_to(b.storage, a.storage);
  if (!first && !widens_to(a.storage, b.storage)) {
    blame().report_mixed_dtypes(at, a.storage, b.storage, wide_enough(a.storage, b.storage));
    return std::nullopt;
  }
  NumericType promoted;
  promoted.storage = first ? a.storage : b.storage;
  promoted.policies = first ? a.policies : b.policies;
  promoted.policies.accum = a.policies.accum ? a.policies.accum : b.policies.accum;
  if (promoted.policies.accum && !widens_to(promoted.storage, *promoted.policies.accum)) promoted.policies.accum = {};
  return promoted;
}

std::optional<NumericType> GraphBuilder::promote(std::span<const Datum> operands, bool real, const OperatorPlace& at) {
  std::optional<NumericType> promoted;
  bool has_float = real, all_bool = true;
  for (const Datum& operand : operands) {
    has_float = has_float || operand.is(DatumKind::Float) || operand.is_ir();
    all_bool = all_bool && operand.is(DatumKind::Bool);
    if (!operand.is_ir() || operand.as_ir().weak) continue;
    NumericType type = type_of(operand.as_ir());
    promoted = promoted ? promote(*promoted, type, at) : type;
    if (!promoted) return std::nullopt;
  }
  if (promoted) return promoted;
  DType dtype = has_float ? DType::F32 : DType::I64;
  return NumericType{all_bool ? DType::Bool : dtype, {}, !all_bool};
}

namespace {

constexpr int64_t exact_in_double = int64_t(1) << 53;

}  // namespace

Value* GraphBuilder::number(const Datum& datum, DType dtype, const std::vector<Dim>& dims,
                            const OperatorPlace& at) {
  builder_.set_loc(at.loc);
  if (datum.is(DatumKind::Bool) && dtype == DType::Bool) {
    return graph::full(builder_, datum.as_bool() ? 1 : 0, dims, dtype);
  }
  bool fits = false;
  if (datum.is(DatumKind::Dim)) {
    fits = has_size(dtype, datum.as_dim(), this->dims(), evaluator_.facts());
  } else if (is_float(dtype)) {
    fits = datum.is_number() && has_number(dtype, datum.as_double());
  } else if (is_integer(dtype)) {
    fits = datum.is(DatumKind::Int) && has_integer(dtype, datum.as_int());
  }
  if (!fits && evaluator_.may_be_number(datum)) return nullptr;
  if (!fits) {
    auto builder = report(diag::number_not_of_dtype, at.loc, to_text(datum), to_string(dtype));
    blame().label_operand(builder, at, dtype);
    if (datum.is(DatumKind::Float) && is_integer(dtype)) {
      builder.help("an integer takes integers; cast(x, f32) makes a float of it first");
    } else {
      help_range(builder, datum, dtype, at);
    }
    return nullptr;
  }
  if (datum.is(DatumKind::Dim)) {
    Value* size = convert(graph::dim(builder_, datum.as_dim()), dtype);
    return graph::broadcast_to(builder_, size, dims);
  }
  bool exact = !is_integer(dtype) ||
               (datum.as_int() >= -exact_in_double && datum.as_int() <= exact_in_double);
  if (exact) return graph::full(builder_, datum.as_double(), dims, dtype);
  return graph::broadcast_to(builder_, graph::scalar(builder_, datum.as_int(), dtype), dims);
}

Value* GraphBuilder::operand(const Datum& datum, DType dtype, const std::vector<Dim>& dims,
                             const OperatorPlace& at) {
  if (!datum.is_ir()) return number(datum, dtype, dims, at);
  const IrValue& ir = datum.as_ir();
  if (ir.weak && !is_float(dtype)) {
    auto builder = report(diag::mixed_dtypes, at.loc, to_string(ir.storage), to_string(dtype));
    builder.help(fmt::format("write the conversion: cast(…, {})", to_string(ir.storage)));
    return nullptr;
  }
  builder_.set_loc(at.loc);
  Value* value = in_dtype(ir, dtype);
  if (evaluator_.is_open()) value = with_unknown(value, dims);
  return graph::broadcast_to(builder_, value, dims);
}

/// Of what nothing calls: the value with those of the dims that are in the place of its own.
Value* GraphBuilder::with_unknown(Value* value, const std::vector<Dim>& dims) {
  std::vector<Dim> own = value->type()->dims;
  size_t offset = dims.size() - own.size();
  for (size_t i = 0; i < own.size(); ++i) {
    if (!own[i]->is_constant(1)) own[i] = dims[offset + i];
  }
  return graph::reshape(builder_, value, std::move(own));
}

std::optional<IrValue> GraphBuilder::expect_tensor(const Datum& datum, Loc loc,
                                                   std::string_view what) {
  if (datum.is_ir()) return datum.as_ir();
  if (datum.is_scalar() || datum.is(DatumKind::Bool)) {
    auto type = promote({&datum, 1}, false, loc);
    Value* value = type ? number(datum, type->storage, {}, loc) : nullptr;
    if (!value) return std::nullopt;
    return handle(value, *type, loc).as_ir();
  }
  if (datum.is_poison()) return std::nullopt;
  if (blame().report_valueless(datum, loc, what)) return std::nullopt;
  auto builder = report(diag::wrong_kind, loc, what, describe(datum), "a tensor");
  if (datum.is_sequence()) {
    builder.help("several tensors become one by concat((x, y), axis=0), or by stack((x, y)) of tessera.nn; x + y adds "
                 "two of them");
  } else if (datum.object_as<GradientFunction>()) {
    std::string function = source_text(session().sources(), loc);
    builder.help(fmt::format("it is called with the arguments of the function: {}(x)",
                             function.empty() ? "grad(loss)" : function));
  }
  return std::nullopt;
}

std::optional<IrValue> GraphBuilder::expect_float(const Datum& datum, Loc loc,
                                                  std::string_view function) {
  auto tensor = expect_tensor(datum, loc, fmt::format("the argument of '{}'", function));
  if (!tensor) return std::nullopt;
  if (is_float(tensor->storage)) return tensor;
  auto builder = blame().report_dtype(diag::wrong_dtype, loc, tensor->value, DType::F32, "it is used here", function,
                                      to_string(tensor->storage));
  blame().help_conversion(builder, loc, DType::F32);
  return std::nullopt;
}

}  // namespace tessera::frontend

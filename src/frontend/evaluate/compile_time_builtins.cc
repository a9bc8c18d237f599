#include "frontend/evaluate/compile_time_builtins.h"

#include <algorithm>
#include <cmath>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/placement.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/fixes/foreign.h"
#include "frontend/values/function.h"
#include "frontend/values/modules.h"
#include "frontend/values/runtime_range.h"
#include "ir/core/op.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

bool all(std::span<const Datum> values, bool (Datum::*is)() const) {
  for (const Datum& value : values) {
    if (!(value.*is)()) return false;
  }
  return true;
}

bool all_of_kind(std::span<const Datum> values, DatumKind kind) {
  for (const Datum& value : values) {
    if (!value.is(kind)) return false;
  }
  return true;
}

/// Kinds whose result of integers is an integer.
bool keeps_integers(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Min:
    case ElementwiseKind::Max:
    case ElementwiseKind::Abs:
    case ElementwiseKind::Sign:
    case ElementwiseKind::Relu:
      return true;
    default:
      return false;
  }
}

std::optional<Datum> number_function(Evaluator& evaluator, const Builtin& builtin, const BoundArguments& arguments) {
  ElementwiseKind kind = builtin.elementwise;
  const std::vector<Datum>& values = arguments.values;
  if (kind == ElementwiseKind::Select) {
    bool chooses = values[0].is(DatumKind::Bool) && !values[1].is_ir() && !values[2].is_ir();
    if (!chooses) return std::nullopt;
    return values[0].as_bool() ? values[1] : values[2];
  }
  bool bools = all_of_kind(values, DatumKind::Bool);
  if (elementwise_info(kind).cls == ElementwiseClass::Logical && bools) {
    Element operands[2] = {};
    for (size_t i = 0; i < values.size(); ++i) operands[i].i = values[i].as_bool();
    Element result =
        evaluate_elementwise(kind, DType::Bool, DType::Bool, {operands, values.size()});
    return Datum::boolean(result.i != 0);
  }
  if (kind == ElementwiseKind::Min || kind == ElementwiseKind::Max) {
    Dim a = as_dimension(evaluator.dims(), values[0]), b = as_dimension(evaluator.dims(), values[1]);
    if (a && b)
      return Datum::dim(kind == ElementwiseKind::Min ? evaluator.dims().min(a, b) : evaluator.dims().max(a, b));
  }
  if (!all(values, &Datum::is_number)) return std::nullopt;
  Element operands[3] = {};
  if (keeps_integers(kind) && all_of_kind(values, DatumKind::Int)) {
    for (size_t i = 0; i < values.size(); ++i) operands[i].i = values[i].as_int();
    return Datum::integer(
        evaluate_elementwise(kind, DType::I64, DType::I64, {operands, values.size()}).i);
  }
  if (elementwise_info(kind).cls == ElementwiseClass::Logical) {
    evaluator.report(diag::wrong_operands, arguments.call, builtin.name, "numbers");
    return Datum::poison();
  }
  for (size_t i = 0; i < values.size(); ++i) operands[i].f = values[i].as_double();
  return Datum::number(
      evaluate_elementwise(kind, DType::F64, DType::F64, {operands, values.size()}).f);
}

/// A range with a bound that is a size or a tensor.
Datum make_open_range(Evaluator& evaluator, const BoundArguments& arguments) {
  bool one = arguments[1].is_none();
  Datum start = one ? Datum::integer(0) : arguments[0];
  const Datum& stop = one ? arguments[0] : arguments[1];
  if (arguments[2].is(DatumKind::Dim)) {
    evaluator.report(diag::wrong_kind, arguments.locs[2], "the step", describe_given(arguments[2]), "an integer")
        .help("in a kernel tile.range(K, t.k) counts in steps of a tile");
    return Datum::poison();
  }
  std::optional<int64_t> step = evaluator.expect_int(arguments[2], arguments.locs[2], "the step");
  if (!step) return Datum::poison();
  if (*step < 1) {
    evaluator
        .report(diag::wrong_kind, arguments.locs[2], "the step of a range of symbolic length",
                std::to_string(*step), "an integer from 1 up")
        .help("count up, and take elements from the end: x[N - 1 - i] for i in range(N)");
    return Datum::poison();
  }
  for (size_t i = 0; i < 2; ++i) {
    const Datum& bound = i == 0 ? start : stop;
    bool tensor = bound.is_ir() && bound.as_ir().storage == DType::I64 && bound.as_ir().value->type()->rank() == 0;
    if (tensor || bound.is(DatumKind::Int) || bound.is(DatumKind::Dim)) continue;
    evaluator.report(diag::wrong_kind, arguments.locs[one ? 0 : i], "a bound of a range", describe_given(bound),
                     "an integer, a size or an i64 of rank 0");
    return Datum::poison();
  }
  return Datum::object(std::make_shared<RuntimeRange>(std::move(start), stop, *step));
}

Datum make_range(Evaluator& evaluator, const BoundArguments& arguments) {
  bool one = arguments[1].is_none();
  if (std::ranges::any_of(arguments.values, [&](const Datum& each) { return evaluator.depends_on_call(each); })) {
    // A call that gives a number unrolls the loop.
    bool is_ascending = arguments[2].is(DatumKind::Int) && arguments[2].as_int() > 0;
    return evaluator.unknown_range(one ? Datum::integer(0) : arguments[0], is_ascending);
  }
  auto is_bound = [](const Datum& bound) { return bound.is_ir() || bound.is(DatumKind::Dim); };
  if (is_bound(arguments[0]) || is_bound(arguments[1])) return make_open_range(evaluator, arguments);
  std::optional<int64_t> first = one ? 0 : evaluator.expect_int(arguments[0], arguments.locs[0], "the start");
  size_t stop = one ? 0 : 1;
  std::optional<int64_t> last = evaluator.expect_int(arguments[stop], arguments.locs[stop], "the stop");
  std::optional<int64_t> step = evaluator.expect_int(arguments[2], arguments.locs[2], "the step");
  if (!first || !last || !step) return Datum::poison();
  if (*step == 0) {
    evaluator.report(diag::wrong_kind, arguments.locs[2], "the step of a range", "0", "another integer");
    return Datum::poison();
  }
  __int128 stride = *step, length = (__int128(*last) - *first + stride - (stride > 0 ? 1 : -1)) / stride;
  if (length > __int128(value_parts_limit)) return evaluator.refuse_parts(arguments.call);
  size_t count = length > 0 ? size_t(length) : 0;
  if (!evaluator.may_make(count, arguments.call)) return Datum::poison();
  std::vector<Datum> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(Datum::integer(int64_t(*first + __int128(i) * stride)));
  return Datum::list(std::move(values));
}

Datum convert_number(Evaluator& evaluator, BuiltinId id, const BoundArguments& arguments) {
  const Datum& value = arguments[0];
  if (id == BuiltinId::ToBool) {
    if (value.is(DatumKind::Bool)) return value;
    if (value.is_number()) return Datum::boolean(value.as_double() != 0);
  } else if (id == BuiltinId::ToFloat) {
    if (value.is_number()) return Datum::number(value.as_double());
    if (value.is(DatumKind::Bool)) return Datum::number(value.as_bool() ? 1 : 0);
    if (value.is(DatumKind::Dim)) {
      // A size becomes a number of the IR beside one.
      Datum operands[] = {value, Datum::number(1)};
      return evaluator.apply(ElementwiseKind::Mul, operands, arguments.call);
    }
  } else {
    if (value.is(DatumKind::Int) || value.is(DatumKind::Dim)) return value;
    if (value.is(DatumKind::Bool)) return Datum::integer(value.as_bool() ? 1 : 0);
    if (value.is(DatumKind::Float)) {
      double whole = std::trunc(value.as_float());
      if (std::abs(whole) < 0x1p63) return Datum::integer(int64_t(whole));
      evaluator.report(diag::number_overflow, arguments.locs[0], to_text(value));
      return Datum::poison();
    }
  }
  auto builder =
      evaluator.report(diag::wrong_kind, arguments.locs[0], "the converted value", describe(value), "a number");
  if (value.is(DatumKind::String)) {
    bool is_infinite = value.as_string().find("inf") != std::string::npos;
    builder.help(is_infinite ? "infinity is INF" : "a number is written without quotes");
  }
  return Datum::poison();
}

/// `max(a, b, …)` or `max((a, b))` of numbers and sizes; nullopt for a reduction.
std::optional<Datum> extreme(Evaluator& evaluator, bool greatest, const BoundArguments& arguments) {
  if (!evaluator.may_spend(arguments[0].measure().parts / parts_of_step, arguments.call)) return Datum::poison();
  std::vector<Datum> values;
  if (arguments[0].is_sequence()) {
    values = arguments[0].elements();
  } else {
    values.push_back(arguments[0]);
  }
  const std::vector<Datum>& rest = arguments[1].elements();
  values.insert(values.end(), rest.begin(), rest.end());
  if (std::ranges::any_of(values, [&](const Datum& each) { return each.is_ir() && evaluator.depends_on_call(each); })) {
    return Datum::poison();
  }
  if (values.empty() || !all(values, &Datum::is_scalar)) {
    if (values.size() == 1) return std::nullopt;
    std::string_view name = greatest ? "maximum" : "minimum";
    auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], "an argument", describe(arguments[0]),
                                    "a number or a size");
    if (values.size() == 2 && values[1].is(DatumKind::Int)) {
      builder.help(fmt::format("along an axis it is {}(x, axis={})", greatest ? "max" : "min", values[1].as_int()));
    }
    builder.help(fmt::format("'{}' compares the elements of two tensors", name));
    return Datum::poison();
  }
  Datum best = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    Dim a = as_dimension(evaluator.dims(), best), b = as_dimension(evaluator.dims(), values[i]);
    if (a && b) {
      best = Datum::dim(greatest ? evaluator.dims().max(a, b) : evaluator.dims().min(a, b));
    } else if (best.is_number() && values[i].is_number()) {
      bool more = values[i].as_double() > best.as_double();
      if (more == greatest && values[i].as_double() != best.as_double()) best = values[i];
    } else {
      evaluator.report(diag::wrong_operands, arguments.call, greatest ? "max" : "min",
                       fmt::format("{} and {}", describe(best), describe(values[i])));
      return Datum::poison();
    }
  }
  return best;
}

Datum enumerated(Evaluator& evaluator, const BoundArguments& arguments) {
  std::optional<int64_t> start = evaluator.expect_int(arguments[1], arguments.locs[1], "the start");
  if (!start) return Datum::poison();
  if (!arguments[0].is_sequence()) {
    auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], "the argument of 'enumerate'",
                                    describe(arguments[0]), "a tuple or a list");
    if (arguments[0].is_ir()) builder.help(std::string(help_for_rows()));
    return Datum::poison();
  }
  if (!evaluator.may_make(4 * arguments[0].elements().size(), arguments.call)) return Datum::poison();
  std::vector<Datum> pairs;
  for (const Datum& element : arguments[0].elements()) {
    int64_t number = 0;
    if (__builtin_add_overflow(*start, int64_t(pairs.size()), &number)) {
      evaluator.report(diag::number_overflow, arguments.locs[1], "start");
      return Datum::poison();
    }
    pairs.push_back(Datum::tuple({Datum::integer(number), element}));
  }
  return Datum::list(std::move(pairs));
}

Datum zipped(Evaluator& evaluator, const BoundArguments& arguments) {
  const std::vector<Datum>& parts = arguments[0].elements();
  for (const Datum& part : parts) {
    if (!part.is_sequence()) {
      auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], "an argument of 'zip'", describe(part),
                                      "a tuple or a list");
      if (part.is_ir()) builder.help(std::string(help_for_rows()));
      return Datum::poison();
    }
    if (part.elements().size() == parts[0].elements().size()) continue;
    evaluator.report(diag::unequal_lengths, arguments.call, parts[0].elements().size(),
                     part.elements().size());
    return Datum::poison();
  }
  std::vector<Datum> rows;
  size_t length = parts.empty() ? 0 : parts[0].elements().size();
  if (!evaluator.may_make(length * (parts.size() + 2), arguments.call)) return Datum::poison();
  for (size_t i = 0; i < length; ++i) {
    std::vector<Datum> row;
    for (const Datum& part : parts) row.push_back(part.elements()[i]);
    rows.push_back(Datum::tuple(std::move(row)));
  }
  return Datum::list(std::move(rows));
}

/// `block(BM, BN)` or `block(m=64)`: a schedule that fixes the block and nothing else.
Datum make_block(Evaluator& evaluator, const BoundArguments& arguments) {
  std::vector<CallArgument> given;
  for (const Datum& extent : arguments[0].elements()) {
    given.push_back({"", extent, arguments.locs[0]});
  }
  for (const auto& [axis, extent] : arguments[1].entries().entries) {
    given.push_back({axis, extent, arguments.call});
  }
  return ScheduleMember(Datum::schedule({}), "block").call(evaluator, given, arguments.call);
}

/// Whether the first argument of a transform is a function; says so where it is not.
bool takes_function(Evaluator& evaluator, const BoundArguments& arguments, std::string_view name) {
  if (arguments[0].is_poison()) return false;
  if (is_function(arguments[0]) || arguments[0].object_as<ModuleInstance>()) return true;
  auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], fmt::format("the first argument of '{}'", name),
                                  describe(arguments[0]), "a function");
  if (arguments[0].is_ir()) {
    builder.help(fmt::format("{0} takes the function and is called with the arguments: {0}(f)(x)", name));
  }
  return false;
}

/// grad(f) and value_and_grad(f).
Datum make_gradient(Evaluator& evaluator, const BoundArguments& arguments, bool gives_value) {
  std::string_view name = gives_value ? "value_and_grad" : "grad";
  if (!takes_function(evaluator, arguments, name)) return Datum::poison();
  auto is_argument = [](const Datum& by) {
    return by.is(DatumKind::String) || (by.is(DatumKind::Int) && by.as_int() >= 0);
  };
  const Datum& by = arguments[1];
  bool fits = by.is_sequence() ? std::ranges::all_of(by.elements(), is_argument) && !by.elements().empty()
                               : is_argument(by);
  if (!fits) {
    std::string given = by.is_sequence() || by.is(DatumKind::Int) ? to_text(by) : describe_given(by);
    evaluator.report(diag::wrong_kind, arguments.locs[1], fmt::format("'argnums' of '{}'", name), given,
                     "the number of an argument from 0 up, its name, or a tuple of at least one of these");
    return Datum::poison();
  }
  if (!arguments[2].is(DatumKind::Bool)) {
    evaluator.report(diag::wrong_kind, arguments.locs[2], fmt::format("'has_aux' of '{}'", name),
                     describe(arguments[2]), "a bool");
    return Datum::poison();
  }
  return Datum::object(std::make_shared<GradientFunction>(arguments[0], by, gives_value, arguments[2].as_bool(),
                                                          arguments.call));
}

/// Whether a value says along which axes examples lie: an integer, None, or a tuple or list of such.
bool is_axes(const Datum& axes) {
  if (axes.is(DatumKind::Int) || axes.is_none()) return true;
  return axes.is_sequence() && std::ranges::all_of(axes.elements(), is_axes);
}

/// vmap(f).
Datum make_mapped(Evaluator& evaluator, const BoundArguments& arguments) {
  if (!takes_function(evaluator, arguments, "vmap")) return Datum::poison();
  for (size_t i : {1u, 2u}) {
    if (is_axes(arguments[i])) continue;
    evaluator.report(diag::wrong_kind, arguments.locs[i], i == 1 ? "'in_axes' of 'vmap'" : "'out_axes' of 'vmap'",
                     describe(arguments[i]), "the number of an axis, None, or a tuple of these");
    return Datum::poison();
  }
  return Datum::object(std::make_shared<MappedFunction>(arguments[0], arguments[1], arguments[2], arguments.call));
}

/// checkpoint(f).
Datum make_checkpointed(Evaluator& evaluator, const BoundArguments& arguments) {
  if (!takes_function(evaluator, arguments, "checkpoint")) return Datum::poison();
  std::optional<CheckpointPolicy> policy = checkpoint_policy(arguments[1]);
  if (policy) {
    return Datum::object(std::make_shared<CheckpointedFunction>(arguments[0], std::move(*policy), arguments.call));
  }
  if (arguments[1].is_poison()) return Datum::poison();
  bool is_text = arguments[1].is(DatumKind::String);
  auto builder = evaluator.report(diag::wrong_kind, arguments.locs[1], "'policy' of 'checkpoint'",
                                  is_text ? to_text(arguments[1]) : describe(arguments[1]), checkpoint_policies);
  if (is_text) {
    builder.help(fmt::format("a name that checkpoint_name gives is in a tuple: policy=({},)", to_text(arguments[1])));
  }
  if (arguments[1].is_ir()) {
    builder.help("checkpoint takes the function and is called with the arguments: checkpoint(f)(x)");
  }
  return Datum::poison();
}

}  // namespace

std::optional<Datum> compile_time_builtin(Evaluator& evaluator, const Builtin& builtin,
                                          const BoundArguments& arguments) {
  if (builtin.elementwise != ElementwiseKind::None) return number_function(evaluator, builtin, arguments);
  if (builtin.table != "ops") return std::nullopt;
  switch (BuiltinId(builtin.id)) {
    case BuiltinId::Vmap:
      return make_mapped(evaluator, arguments);
    case BuiltinId::Checkpoint:
      return make_checkpointed(evaluator, arguments);
    case BuiltinId::Range:
      return make_range(evaluator, arguments);
    case BuiltinId::ToInt:
    case BuiltinId::ToFloat:
    case BuiltinId::ToBool:
      // Of a number that is computed of sizes, a call that gives these has one at compile time.
      if (arguments[0].is_ir() && arguments[0].as_ir().weak && evaluator.is_open()) return Datum::poison();
      if (arguments[0].is_ir()) return std::nullopt;
      return convert_number(evaluator, BuiltinId(builtin.id), arguments);
    case BuiltinId::ReduceMax:
      return extreme(evaluator, true, arguments);
    case BuiltinId::ReduceMin:
      return extreme(evaluator, false, arguments);
    case BuiltinId::Ceildiv: {
      Dim a = evaluator.expect_dim(arguments[0], arguments.locs[0], "the argument of 'ceildiv'");
      Dim b = evaluator.expect_dim(arguments[1], arguments.locs[1], "the argument of 'ceildiv'");
      if (!a || !b) return Datum::poison();
      if (!b->is_constant(0)) return Datum::dim(evaluator.dims().ceildiv(a, b));
      evaluator.report(diag::division_by_zero, arguments.locs[1], "a compile-time value");
      return Datum::poison();
    }
    case BuiltinId::IsKnown: {
      Dim size = evaluator.expect_dim(arguments[0], arguments.locs[0], "the argument of 'is_known'");
      bool is_for_call = size && !size->constant() && evaluator.is_open();
      return size && !is_for_call ? Datum::boolean(size->constant().has_value()) : Datum::poison();
    }
    case BuiltinId::AddsInAnyOrder: {
      const SessionOptions& options = evaluator.session().options();
      auto is_gpu = [](const std::string& target) {
        const Machine* machine = find_machine(target);
        return machine && machine->is_gpu();
      };
      bool are_gpus = !options.targets.empty() && std::ranges::all_of(options.targets, is_gpu);
      return Datum::boolean(options.nondet && are_gpus);
    }
    case BuiltinId::IsTuple:
      return Datum::boolean(arguments[0].is_sequence());
    case BuiltinId::IsNumber:
      return Datum::boolean(arguments[0].is_number());
    case BuiltinId::Len: {
      const Datum& value = arguments[0];
      if (value.is_sequence()) return Datum::integer(int64_t(value.elements().size()));
      if (value.is(DatumKind::Dict)) return Datum::integer(int64_t(value.entries().entries.size()));
      if (value.is(DatumKind::String)) return Datum::integer(int64_t(value.as_string().size()));
      auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], "the argument of 'len'", describe(value),
                                      "a tuple, a list, a dict or a string");
      if (value.is_ir()) builder.help("the extent of an axis is x.shape[0], the number of axes len(x.shape)");
      return Datum::poison();
    }
    case BuiltinId::Enumerate:
      return enumerated(evaluator, arguments);
    case BuiltinId::Zip:
      return zipped(evaluator, arguments);
    case BuiltinId::Dict:
      return arguments[0];
    case BuiltinId::Identity:
      return arguments[0];
    case BuiltinId::Grad:
    case BuiltinId::ValueAndGrad:
      return make_gradient(evaluator, arguments, BuiltinId(builtin.id) == BuiltinId::ValueAndGrad);
    case BuiltinId::Schedule:
      return make_schedule(evaluator, arguments[0].entries(), arguments.call);
    case BuiltinId::Block:
      return make_block(evaluator, arguments);
    case BuiltinId::Device:
      return make_device(evaluator, arguments);
    case BuiltinId::Prefetch:
      return make_prefetch(evaluator, arguments);
    case BuiltinId::Mesh:
      return make_mesh(evaluator, arguments);
    case BuiltinId::Accum: {
      auto dtype = evaluator.expect_dtype(arguments[0], arguments.locs[0], "the argument of 'accum'");
      if (!dtype) return Datum::poison();
      Policies policies;
      if (arguments[0].is(DatumKind::DType)) policies = arguments[0].dtype_policies();
      return Datum::dtype(contraction_dtype(*dtype, policies));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tessera::frontend

// Values made of a shape alone, random numbers, casts, and the table of functions on tensors.

#include <algorithm>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dtype_values.h"
#include "frontend/values/tile_builtins.h"
#include "ir/numbers/philox.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

std::optional<Datum> GraphBuilder::call_builtin(const Builtin& builtin, const BoundArguments& arguments, Loc loc) {
  if (builtin.table == tile_table && is_of_tiles()) return call_tile(builtin, arguments, loc);
  if (builtin.table != "ops" || function_.op == nullptr) {
    return std::nullopt;
  }
  auto id = BuiltinId(builtin.id);
  switch (id) {
    case BuiltinId::Cast:
    case BuiltinId::CastLike:
      return cast(arguments);
    case BuiltinId::Sum:
      return reduce("sum", arguments, 1);
    case BuiltinId::Mean:
      return reduce("mean", arguments, 1);
    case BuiltinId::Prod:
      return reduce("prod", arguments, 1);
    case BuiltinId::ReduceMax:
      return reduce("max", arguments, 2);
    case BuiltinId::ReduceMin:
      return reduce("min", arguments, 2);
    case BuiltinId::Softmax:
    case BuiltinId::SoftmaxSafe:
      return softmax(arguments);
    case BuiltinId::Rmsnorm:
    case BuiltinId::RmsnormSafe:
      return rmsnorm(arguments);
    case BuiltinId::Matmul:
      return evaluator_.matmul(arguments[0], arguments[1], {builtin, arguments});
    case BuiltinId::Einsum:
      return einsum(arguments);
    case BuiltinId::Embedding:
      return embedding(arguments);
    case BuiltinId::CrossEntropy:
      return cross_entropy(arguments);
    case BuiltinId::FlashAttention:
      return flash_attention(arguments);
    case BuiltinId::Reshape:
      return reshape(arguments);
    case BuiltinId::Transpose:
      return transpose(arguments);
    case BuiltinId::BroadcastTo:
      return broadcast_to(arguments);
    case BuiltinId::Windows:
      return windows(arguments);
    case BuiltinId::Concat:
      return concat(arguments);
    case BuiltinId::Zeros:
    case BuiltinId::Ones:
    case BuiltinId::Full:
      return create(id, arguments);
    case BuiltinId::Arange:
      return arange(arguments);
    case BuiltinId::Normal:
    case BuiltinId::Uniform:
      return random(id, arguments);
    case BuiltinId::Vjp:
      return vjp(arguments);
    case BuiltinId::Jvp:
      return jvp(arguments);
    case BuiltinId::CheckpointName:
      return checkpoint_name(arguments);
    case BuiltinId::Scan:
      return scan(arguments);
    case BuiltinId::Map:
      return map(arguments);
    case BuiltinId::Reduce:
      return reduce_by(arguments);
    case BuiltinId::TreeMap:
      return tree_map(arguments);
    case BuiltinId::TreeLeaves:
      return tree_leaves(arguments);
    case BuiltinId::Update:
      return update(arguments);
    case BuiltinId::ToInt:
    case BuiltinId::ToFloat:
    case BuiltinId::ToBool:
      if (evaluator_.may_be_number(arguments[0])) return Datum::poison();
      report(diag::wrong_kind, arguments.locs[0], "the converted value", describe(arguments[0]),
             "a compile-time number")
          .help("a tensor is converted by cast(x, dtype)");
      return Datum::poison();
    default:
      break;
  }
  return std::nullopt;
}

/// Whether a kernel on whole tensors is being run.
bool GraphBuilder::is_of_tiles() {
  return std::any_of(evaluator_.frames().begin(), evaluator_.frames().end(), [](const CallFrame& frame) {
    return frame.function && frame.function->of_tiles;
  });
}

/// Functions of tiles for whole tensors.
Datum GraphBuilder::call_tile(const Builtin& builtin, const BoundArguments& arguments, Loc loc) {
  switch (TileBuiltin(builtin.id)) {
    case TileBuiltin::Dot: {
      Datum result = evaluator_.matmul(arguments[0], arguments[1], {builtin, arguments});
      if (arguments[2].is_none() || result.is_poison()) return result;
      Datum operands[] = {arguments[2], result};
      return evaluator_.elementwise(ElementwiseKind::Add, operands, loc);
    }
    case TileBuiltin::Cast:
      return cast(arguments);
    case TileBuiltin::Transpose:
      return transpose(arguments);
    case TileBuiltin::Sum:
      return reduce("sum", arguments, 1);
    case TileBuiltin::Prod:
      return reduce("prod", arguments, 1);
    case TileBuiltin::Mean:
      return reduce("mean", arguments, 1);
    case TileBuiltin::ReduceMax:
      return reduce("max", arguments, 1);
    case TileBuiltin::ReduceMin:
      return reduce("min", arguments, 1);
    default:
      report(diag::tile_outside_kernel, loc, builtin.name)
          .help("a kernel that declares its axes has parts of tensors: t = tile.context(…)");
      return Datum::poison();
  }
}

/// cast(x, dtype), and cast_like(x, y) to the dtype that y is stored in.
Datum GraphBuilder::cast(const BoundArguments& arguments) {
  NumericType type;
  if (arguments[1].is_ir()) {
    type = type_of(arguments[1].as_ir());
  } else {
    auto dtype = evaluator_.expect_dtype(arguments[1], arguments.locs[1], "the dtype of 'cast'");
    if (!dtype) return Datum::poison();
    type.storage = *dtype;
    if (arguments[1].is(DatumKind::DType)) type.policies = arguments[1].dtype_policies();
  }
  type.weak = false;
  if (arguments[0].is_scalar() || arguments[0].is(DatumKind::Bool)) {
    Value* value = number(arguments[0], type.storage, {}, arguments.call);
    return value ? handle(value, type, arguments.call) : Datum::poison();
  }
  auto x = expect_tensor(arguments[0], arguments.locs[0], "the argument of 'cast'");
  if (!x) return Datum::poison();
  builder_.set_loc(arguments.call);
  if (x->weak) x->value = in_dtype(*x, type.compute());
  return handle(round_to(x->value, type, arguments.call), type, arguments.call);
}

namespace {

/// How a function without operands is called.
std::string example_of(std::string_view function) {
  if (function == "full") return "for example full((4, 6), 1.5, f32)";
  bool is_random = function == "normal" || function == "uniform";
  return fmt::format("for example {}({})", function, is_random ? "shape=(4, 6), dtype=f32" : "(4, 6), f32");
}

}  // namespace

/// The shape and dtype that a function without operands gives: as written, else those of the param
/// whose initialiser is built.
std::optional<GraphBuilder::Target> GraphBuilder::target(const BoundArguments& arguments,
                                                         size_t shape, size_t dtype,
                                                         std::string_view function) {
  Target made;
  const ParamType* param = function_.initialised ? param_type(*function_.initialised) : nullptr;
  if (arguments[shape].is_none() && param) {
    made.dims = param->dims;
  } else if (arguments[shape].is_none()) {
    report(diag::missing_argument, arguments.call, "shape", function).help(example_of(function));
    return std::nullopt;
  } else {
    auto given = evaluator_.expect_shape(arguments[shape], arguments.locs[shape], "the shape");
    if (!given) return std::nullopt;
    for (Dim dim : *given) {
      if (!expect_size(dim, arguments.locs[shape])) return std::nullopt;
    }
    made.dims = std::move(*given);
  }
  if (arguments[dtype].is_none() && param) {
    made.dtype = param->storage;
  } else if (arguments[dtype].is_none()) {
    report(diag::missing_argument, arguments.call, "dtype", function).help(example_of(function));
    return std::nullopt;
  } else {
    auto given = evaluator_.expect_dtype(arguments[dtype], arguments.locs[dtype], "the dtype");
    if (!given) return std::nullopt;
    made.dtype = *given;
  }
  return made;
}

/// zeros, ones and full.
Datum GraphBuilder::create(BuiltinId id, const BoundArguments& given) {
  BoundArguments arguments = given;
  Datum value = Datum::integer(id == BuiltinId::Ones ? 1 : 0);
  size_t dtype = 1;
  Loc value_loc = arguments.call;
  // What is computed of sizes that are symbols, of a function that nothing calls.
  auto is_of_sizes = [&](const Datum& number) {
    return number.is_ir() && number.as_ir().weak && evaluator_.is_open();
  };
  if (id == BuiltinId::Full) {
    // full(0.5), where a param says the rest.
    bool is_number = arguments[0].is_scalar() || is_of_sizes(arguments[0]);
    if (function_.initialised && arguments[1].is_none() && is_number) {
      std::swap(arguments.values[0], arguments.values[1]);
      std::swap(arguments.locs[0], arguments.locs[1]);
    }
    value = arguments[1];
    value_loc = arguments.locs[1];
    dtype = 2;
    if (value.is_none()) {
      report(diag::missing_argument, arguments.call, "value", "full");
      return Datum::poison();
    }
  }
  std::string_view name = common_builtins()[size_t(id)].name;
  auto made = target(arguments, 0, dtype, name);
  if (!made) return Datum::poison();
  if (made->dtype == DType::Bool && value.is(DatumKind::Int)) {
    value = Datum::boolean(value.as_int() != 0);
  }
  if (is_of_sizes(value)) value = Datum::integer(0);  // a call gives it
  if (!value.is_scalar() && !value.is(DatumKind::Bool)) {
    report(diag::wrong_kind, value_loc, "the value of 'full'", describe(value), "a number");
    return Datum::poison();
  }
  Value* result = number(value, made->dtype, made->dims, value_loc);
  return result ? handle(result, {made->dtype, {}, false}, arguments.call) : Datum::poison();
}

/// 0, 1, … size-1.
Datum GraphBuilder::arange(const BoundArguments& arguments) {
  Dim size = evaluator_.expect_dim(arguments[0], arguments.locs[0], "the size of 'arange'");
  auto dtype = evaluator_.expect_dtype(arguments[1], arguments.locs[1], "the dtype of 'arange'");
  if (!size || !dtype) return Datum::poison();
  if (!expect_size(size, arguments.locs[0])) return Datum::poison();
  if (*dtype == DType::Bool) {
    report(diag::wrong_dtype, arguments.locs[1], "arange", to_string(*dtype));
    return Datum::poison();
  }
  int64_t surely = interval(size).low.value_or(0);
  if (is_integer(*dtype) && surely > 0 && !has_integer(*dtype, surely - 1)) {
    report(diag::number_not_of_dtype, arguments.locs[0],
           fmt::format("{}, the last number of this arange,", dims().sub(size, dims().constant(1))->text),
           to_string(*dtype))
        .help(fmt::format("a wider dtype has it: arange({}, i64)", size->text));
    return Datum::poison();
  }
  builder_.set_loc(arguments.call);
  DType counted = is_integer(*dtype) ? *dtype : DType::I64;
  Value* value = convert(graph::iota(builder_, 0, {size}, counted), *dtype);
  return handle(value, {*dtype, {}, false}, arguments.call);
}

/// normal(std, mean=…) and uniform(low, high). Each use has a stream of its own.
Datum GraphBuilder::random(BuiltinId id, const BoundArguments& arguments) {
  bool normal = id == BuiltinId::Normal;
  auto made = target(arguments, 2, 3, normal ? "normal" : "uniform");
  auto first = evaluator_.expect_number(arguments[0], arguments.locs[0],
                                        normal ? "the standard deviation" : "the lower bound");
  auto second =
      evaluator_.expect_number(arguments[1], arguments.locs[1], normal ? "the mean" : "the upper bound");
  if (!made || !first || !second) return Datum::poison();
  if (normal && *first < 0) {
    report(diag::wrong_kind, arguments.locs[0], "the standard deviation", to_text(arguments[0]), "a number from 0 up")
        .help("the mean has a name: normal(1.0, mean=-1.0, …)");
    return Datum::poison();
  }
  if (!normal && *second < *first) {
    report(diag::wrong_kind, arguments.locs[1], "the upper bound", to_text(arguments[1]),
           fmt::format("a number from {} up", to_text(arguments[0])))
        .help("the lower bound is the first argument: uniform(0.0, 1.0, …)");
    return Datum::poison();
  }
  if (!is_float(made->dtype)) {
    report(diag::wrong_dtype, arguments.call, normal ? "normal" : "uniform",
           to_string(made->dtype));
    return Datum::poison();
  }
  if (!function_.initialised) evaluator_.add_effect("rng", arguments.call);
  // An initialiser's seed is one of the param, so that params can share it.
  uint64_t stream = function_.initialised ? function_.streams++ : philox::stream_of(next_stream());
  Value* source = seed(arguments.call);
  if (!source) return Datum::poison();
  builder_.set_loc(arguments.call);
  Value* value = normal ? graph::philox_normal(builder_, source, int64_t(stream), made->dims)
                        : graph::philox_uniform(builder_, source, int64_t(stream), made->dims);
  double scale = normal ? *first : *second - *first;
  double offset = normal ? *second : *first;
  auto constant = [&](double of) { return graph::full(builder_, of, made->dims, DType::F32); };
  if (scale != 1) value = graph::mul(builder_, value, constant(scale));
  if (offset != 0) value = graph::add(builder_, value, constant(offset));
  return handle(convert(value, made->dtype), {made->dtype, {}, false}, arguments.call);
}

}  // namespace tessera::frontend

// The members of `tile`, and the functions of the language that mean something for tiles.

#include <algorithm>
#include <array>

#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/check_numerics.h"
#include "frontend/values/dims.h"
#include "frontend/values/tile_builtins.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

/// The first two arguments as operands.
OperatorPlace operands_of(const BoundArguments& arguments) {
  OperatorPlace at(arguments.call);
  at.left.loc = arguments.locs[0];
  at.right.loc = arguments.locs[1];
  return at;
}

constexpr int64_t max_tile_elements = int64_t(1) << 31;

}  // namespace

/// A function of whole tensors.
Datum KernelBuilder::report_builtin(const Builtin& builtin, Loc loc) {
  std::string_view help = help_for_tile(builtin.name);
  report(diag::unsupported_construct, loc, fmt::format("'{}' in a kernel", builtin.name))
      .help(help.empty() ? "it works on whole tensors: call it before or after the kernel" : std::string(help));
  return Datum::poison();
}

bool KernelBuilder::has_context(std::string_view what, Loc loc) {
  if (kernel_.grid) return true;
  // An error in the context itself has been reported.
  if (has_errors()) return false;
  report(diag::no_tile_context, loc, what).help("begin the kernel with t = tile.context(…)");
  return false;
}

/// An extent of a tile is a constant from 1 up, or an axis's whole extent.
bool KernelBuilder::check_extents(const std::vector<Dim>& extents, Loc loc) {
  int64_t elements = 1;
  for (Dim extent : extents) {
    bool is_axis = std::any_of(kernel_.axes.begin(), kernel_.axes.end(),
                               [&](const KernelAxis& axis) { return axis.extent == extent; });
    auto constant = extent->constant();
    if (!is_axis && (!constant || *constant < 1)) {
      auto builder = report(diag::tile_extent, loc, extent->text);
      std::string name = new_axis_name(extent);
      if (kernel_.scan.context && !name.empty()) {
        builder.label(kernel_.scan.context->loc, fmt::format("no axis has the extent {}", extent->text))
            .help(fmt::format("declare one, tile.context(…, {0}={1}), and write t.{0}", name, extent->text));
      }
      return false;
    }
    if (constant &&
        (__builtin_mul_overflow(elements, *constant, &elements) || elements > max_tile_elements)) {
      report(diag::unsupported_tile_size, loc, to_text(extents), max_tile_elements);
      return false;
    }
  }
  return true;
}

std::optional<Datum> KernelBuilder::call_builtin(const Builtin& builtin, const BoundArguments& arguments,
                                                 Loc loc) {
  if (builtin.table != tile_table) return call_common(builtin, arguments, loc);
  auto id = TileBuiltin(builtin.id);
  if (id == TileBuiltin::Context) return open_context(arguments[0], loc);
  if (id == TileBuiltin::Windows) return windows(arguments);
  if (!has_context(fmt::format("tile.{}", builtin.name), loc)) return Datum::poison();
  return call_tile(builtin, arguments, loc);
}

std::optional<bool> KernelBuilder::keepdims(const BoundArguments& arguments, size_t at) {
  return evaluator_.expect_bool(arguments[at], arguments.locs[at], "keepdims");
}

Datum KernelBuilder::reduce(std::string_view kind, const BoundArguments& arguments, size_t axis,
                            Loc loc) {
  auto keep = keepdims(arguments, axis + 1);
  if (!keep) return Datum::poison();
  bool is_mean = kind == "mean";
  Datum result = ops_.reduce(is_mean ? "sum" : kind, arguments[0], arguments[axis], *keep, loc);
  if (result.is_poison()) return result;
  Value* tile = arguments[0].as_ir().value;
  std::vector<int64_t> reduced = *ops_.read_axes(arguments[axis], tile->type()->rank(), loc, kind);
  if (Value* kept = result.as_ir().value; *keep && kept->def()->is(info(OpKind::Reshape))) {
    std::vector<int>& from = kernel_.origins.inserted[kept];
    for (int64_t i = 0, next = 0; i < int64_t(tile->type()->rank()); ++i) {
      from.push_back(std::ranges::binary_search(reduced, i) ? -1 : int(next++));
    }
  }
  return is_mean ? mean(tile, reduced, result, loc) : result;
}

/// A sum by the number of its elements. How many of them an edge leaves is known when all of the body is.
Datum KernelBuilder::mean(Value* tile, const std::vector<int64_t>& axes, const Datum& sum, Loc loc) {
  Dim count = dims().constant(1);
  for (int64_t axis : axes) count = dims().mul(count, tile->type()->dims[size_t(axis)]);
  Datum operands[] = {sum, Datum::dim(count)};
  Datum result = ops_.elementwise(ElementwiseKind::Div, operands, loc);
  if (result.is_ir()) kernel_.means.push_back({result.as_ir().value->def(), tile, axes});
  return result;
}

Datum KernelBuilder::scan(const BoundArguments& arguments) {
  enum Argument : size_t { Tile, Axis, Kind, Exclusive, Reverse, Total };
  bool flags[3];
  const char* names[] = {"exclusive", "reverse", "total"};
  for (size_t i = 0; i < 3; ++i) {
    auto flag = evaluator_.expect_bool(arguments[Exclusive + i], arguments.locs[Exclusive + i], names[i]);
    if (!flag) return Datum::poison();
    flags[i] = *flag;
  }
  if (!arguments[Kind].is(DatumKind::String)) {
    report(diag::wrong_kind, arguments.locs[Kind], "the kind of 'tile.scan'", describe(arguments[Kind]), "a string");
    return Datum::poison();
  }
  ScanOptions options{arguments[Kind].as_string(), flags[0], flags[1], flags[2]};
  return ops_.scan(arguments[Tile], arguments[Axis], options, arguments.call);
}

Datum KernelBuilder::cast_to(const Datum& value, const Datum& dtype, Loc loc, Loc dtype_loc) {
  auto wanted = evaluator_.expect_dtype(dtype, dtype_loc, "the dtype of 'cast'");
  return wanted ? ops_.cast(value, *wanted, loc) : Datum::poison();
}

/// `tile.dot(acc, a, b)`: the tiles fit as a dot where another of them than the last is the accumulator.
bool KernelBuilder::report_displaced_sum(const BoundArguments& arguments) {
  auto is_tile = [](const Datum& datum) { return datum.is_ir() && datum.as_ir().value->type()->is(TypeKind::Tile); };
  auto fits = [&](size_t left, size_t right, size_t sum) {
    Type a = arguments[left].as_ir().value->type(), b = arguments[right].as_ir().value->type();
    Type c = arguments[sum].as_ir().value->type();
    bool are_matrices = a->rank() == 2 && b->rank() == 2 && a->dims[1] == b->dims[0];
    return are_matrices && a->dtype == b->dtype && (a->dtype == c->dtype || widens_to(a->dtype, c->dtype)) &&
           c->dims == std::vector<Dim>{a->dims[0], b->dims[1]};
  };
  if (!std::all_of(arguments.values.begin(), arguments.values.begin() + 3, is_tile) || fits(0, 1, 2)) return false;
  constexpr std::array<size_t, 3> orders[] = {{1, 2, 0}, {0, 2, 1}};
  auto order = std::ranges::find_if(orders, [&](const auto& each) { return fits(each[0], each[1], each[2]); });
  if (order == std::end(orders)) return false;
  auto dims = [&](size_t i) { return to_text(arguments[i].as_ir().value->type()->dims); };
  auto builder = report(diag::dot_shapes, arguments.call, dims(0), dims(1), dims(2));
  std::vector<Edit> edits;
  bool is_written = true;
  for (size_t i = 0; i < 3; ++i) {
    Loc from = arguments.locs[(*order)[i]];
    is_written = is_written && is_operand(session().sources(), from) && !session().is_builtin(from);
    if (is_written && (*order)[i] != i) edits.push_back({arguments.locs[i], source_text(session().sources(), from)});
  }
  constexpr const char* message = "the accumulator stands last: tile.dot(a, b, acc)";
  is_written ? builder.fix(message, std::move(edits)) : builder.help(message);
  return true;
}

Datum KernelBuilder::call_tile(const Builtin& builtin, const BoundArguments& given, Loc loc) {
  BoundArguments arguments = given;
  auto id = TileBuiltin(builtin.id);
  for (Datum& value : arguments.values) {
    if (id != TileBuiltin::SoftmaxAccumulate) value = materialised(value);
    if (value.is_poison()) return value;
  }
  switch (id) {
    case TileBuiltin::Range:
      return tile_range(arguments, false);
    case TileBuiltin::RangeN:
      return tile_range(arguments, true);
    case TileBuiltin::Load:
      return load(arguments);
    case TileBuiltin::Store:
      return store(arguments);
    case TileBuiltin::Alloc:
      return alloc(arguments);
    case TileBuiltin::AsyncCopy:
      return async_copy(arguments);
    case TileBuiltin::Wait:
      return wait(arguments);
    case TileBuiltin::Barrier:
      return barrier(arguments);
    case TileBuiltin::Scatter:
      return scatter(arguments, false);
    case TileBuiltin::AtomicAdd:
      return scatter(arguments, true);
    case TileBuiltin::Gather:
      return gather(arguments);
    case TileBuiltin::Zeros:
      return full(arguments, Datum::integer(0), arguments[1]);
    case TileBuiltin::Full:
      return full(arguments, arguments[1], arguments[2]);
    case TileBuiltin::Arange:
      return arange(arguments);
    case TileBuiltin::RowIndex:
      return coordinates(true, arguments);
    case TileBuiltin::ColIndex:
      return coordinates(false, arguments);
    case TileBuiltin::MaskCausal:
      return mask_causal(arguments);
    case TileBuiltin::SoftmaxOnline:
      return softmax_online(arguments);
    case TileBuiltin::SoftmaxAccumulate:
      return softmax_accumulate(arguments);
    case TileBuiltin::Dot:
      if (report_displaced_sum(arguments)) return Datum::poison();
      return ops_.dot(arguments[0], arguments[1], arguments[2], operands_of(arguments));
    case TileBuiltin::Cast:
      return cast_to(arguments[0], arguments[1], loc, arguments.locs[1]);
    case TileBuiltin::Bitcast: {
      auto wanted = evaluator_.expect_dtype(arguments[1], arguments.locs[1], "the dtype of 'bitcast'");
      return wanted ? ops_.bitcast(arguments[0], *wanted, loc) : Datum::poison();
    }
    case TileBuiltin::Transpose:
      return ops_.transpose(arguments[0], arguments[1].elements(), loc);
    case TileBuiltin::Broadcast: {
      auto shape = evaluator_.expect_shape(arguments[1], arguments.locs[1], "the shape of 'broadcast'");
      bool fits = shape && check_extents(*shape, arguments.locs[1]);
      return fits ? made(ops_.broadcast(arguments[0], *shape, loc), axes_of(arguments[1])) : Datum::poison();
    }
    case TileBuiltin::Scan:
      return scan(arguments);
    case TileBuiltin::Sort: {
      auto descending = evaluator_.expect_bool(arguments[2], arguments.locs[2], "descending");
      auto bitonic = evaluator_.expect_bool(arguments[3], arguments.locs[3], "bitonic");
      if (!descending || !bitonic) return Datum::poison();
      auto flag = [&](bool value) { return value ? context().boolean(true) : nullptr; };
      return ops_.along_axis(OpKind::Sort, arguments[0], arguments[1],
                             {schedule::attr::Sort::descending(flag(*descending)),
                              schedule::attr::Sort::bitonic(flag(*bitonic))}, loc);
    }
    case TileBuiltin::Uniform:
      return random_uniform(arguments);
    case TileBuiltin::Sum:
      return reduce("sum", arguments, 1, loc);
    case TileBuiltin::Prod:
      return reduce("prod", arguments, 1, loc);
    case TileBuiltin::ReduceMax:
      return reduce("max", arguments, 1, loc);
    case TileBuiltin::ReduceMin:
      return reduce("min", arguments, 1, loc);
    case TileBuiltin::Mean:
      return reduce("mean", arguments, 1, loc);
    default:
      return evaluator_.unsupported(loc, fmt::format("'tile.{}'", builtin.name));
  }
}

/// Functions that are not of `tile`: those that act on a tile as on a tensor, by their rows.
Datum KernelBuilder::call_common(const Builtin& builtin, const BoundArguments& arguments, Loc loc) {
  if (!has_context(builtin.name, loc)) return Datum::poison();
  auto id = BuiltinId(builtin.id);
  bool is_extreme = id == BuiltinId::ReduceMax || id == BuiltinId::ReduceMin;
  bool is_of_numbers = is_extreme && !arguments[1].elements().empty();
  if (!builtin.on_tiles || is_of_numbers) return report_builtin(builtin, loc);
  switch (id) {
    case BuiltinId::Cast:
      return cast_to(arguments[0], arguments[1], loc, arguments.locs[1]);
    case BuiltinId::Sum:
      return reduce("sum", arguments, 1, loc);
    case BuiltinId::Prod:
      return reduce("prod", arguments, 1, loc);
    case BuiltinId::Mean:
      return reduce("mean", arguments, 1, loc);
    case BuiltinId::ReduceMax:
      return reduce("max", arguments, 2, loc);
    case BuiltinId::ReduceMin:
      return reduce("min", arguments, 2, loc);
    case BuiltinId::DropoutInKernel:
      return dropout(arguments);
    case BuiltinId::Print:
      return print(arguments);
    case BuiltinId::Transpose:
      return ops_.transpose(arguments[0], arguments[1].elements(), loc);
    case BuiltinId::Matmul:
      return ops_.dot(arguments[0], arguments[1], Datum::none(), loc);
    case BuiltinId::Zeros:
      return full(arguments, Datum::integer(0), arguments[1]);
    case BuiltinId::Ones:
      return full(arguments, Datum::integer(1), arguments[1]);
    case BuiltinId::Full:
      return full(arguments, arguments[1], arguments[2]);
    default:
      TSR_UNREACHABLE("a function acts on tiles by its row, and has no code for them");
  }
}

Datum KernelBuilder::full(const BoundArguments& arguments, const Datum& value, const Datum& dtype) {
  auto shape = evaluator_.expect_shape(arguments[0], arguments.locs[0], "the shape");
  if (!shape || !check_extents(*shape, arguments.locs[0])) return Datum::poison();
  DType wanted = value.is_ir() ? value.as_ir().value->type()->dtype : DType::F32;
  if (!dtype.is_none()) {
    auto given = evaluator_.expect_dtype(dtype, arguments.locs.back(), "the dtype");
    if (!given) return Datum::poison();
    wanted = *given;
  }
  return made(ops_.full(*shape, value, wanted, arguments.call), axes_of(arguments[0]));
}

Datum KernelBuilder::arange(const BoundArguments& arguments) {
  Dim extent = evaluator_.expect_dim(arguments[0], arguments.locs[0], "the extent of 'arange'");
  if (!extent) return Datum::poison();
  if (extent->is_constant(0)) {
    report(diag::tile_extent, arguments.locs[0], extent->text)
        .help("tile.arange(n) has the numbers from 0 below n; tile.arange(n, index) those of tile 'index'");
    return Datum::poison();
  }
  if (!check_extents({extent}, arguments.locs[0])) return Datum::poison();
  bool first = arguments[1].is(DatumKind::Int) && arguments[1].as_int() == 0;
  Value* index =
      first ? nullptr : ops_.index(arguments[1], arguments.locs[1], "the index of 'arange'");
  if (!first && !index) return Datum::poison();
  warn_of_elements(arguments[1], extent, "tile.arange");
  const KernelAxis* axis = arguments[0].axis();
  if (axis && index) return ops_.handle(numbered({index, extent, axis->extent}, arguments.call), arguments.call);
  Datum numbers = ops_.handle(ops_.coordinates(extent, index, arguments.call), arguments.call);
  bool is_default = first && arguments.locs[1] == arguments.call;
  if (axis && is_default) kernel_.origins.within_block[numbers.as_ir().value] = axis;
  return made(std::move(numbers), {axis});
}

const KernelAxis* KernelBuilder::axis_of_index(const Datum& index) const {
  return index.is_ir() ? axis_of_index(index.as_ir().value) : nullptr;
}

const KernelAxis* KernelBuilder::axis_of_index(const Value* value) const {
  auto loop = kernel_.loop_axes.find(value);
  if (loop != kernel_.loop_axes.end()) return loop->second;
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.index == value) return &axis;
  }
  return nullptr;
}

/// Refuses coordinates without an index where rows or columns of several axes may be meant.
bool KernelBuilder::check_coordinates(bool rows, const std::vector<const KernelAxis*>& grid, Loc call) {
  if (grid.empty()) return true;
  const KernelAxis& last = kernel_.axes.back();
  if (rows && grid.size() > 2 && grid[0]->single) {
    report(diag::index_of_axis, call, "tile.row_index()", fmt::format("axis '{}'", grid[0]->name),
           fmt::format("a program has one element along it, of a grid of {} axes", grid.size()))
        .help("name the index along the axis that is meant, tile.row_index(t.i) or tile.row_index(t.j)");
    return false;
  }
  if (!rows && grid.size() == 1 && !last.grid) {
    report(diag::index_of_axis, call, "tile.col_index()", fmt::format("axis '{}'", grid[0]->name),
           fmt::format("the last axis is '{}'", last.name))
        .help(fmt::format("tile.arange(t.{0})[None, :] numbers the columns of axis '{0}', tile.col_index({0}) with the "
                          "index {0} of a loop those of its tile, and tile.col_index(t.i) is along axis '{1}'",
                          last.name, grid[0]->name));
    return false;
  }
  return true;
}

/// `row_index()` and `col_index()`: coordinates along the first and the last grid axis, or along
/// the axis that the index given counts tiles of.
Datum KernelBuilder::coordinates(bool rows, const BoundArguments& arguments) {
  const KernelAxis* axis = nullptr;
  Value* index = nullptr;
  if (arguments[0].is_none()) {
    std::vector<const KernelAxis*> grid;
    for (const KernelAxis& candidate : kernel_.axes) {
      if (candidate.grid) grid.push_back(&candidate);
    }
    if (!check_coordinates(rows, grid, arguments.call)) return Datum::poison();
    if (!grid.empty()) axis = rows ? grid.front() : grid.back();
    index = axis ? axis->index : nullptr;
  } else {
    axis = axis_of_index(arguments[0]);
    index = axis ? arguments[0].as_ir().value : nullptr;
  }
  if (!axis) {
    report(diag::wrong_kind, arguments.locs[0], "the index", describe(arguments[0]),
           "an index along an axis of the kernel");
    return Datum::poison();
  }
  Value* tile = numbered({index, axis->tile, axis->extent}, arguments.call);
  // Rows stand at the end of what the cache holds.
  Datum shift = rows && arguments[0].is_none() ? cache_length(arguments.call) : Datum::none();
  if (!shift.is_none()) {
    std::optional<int64_t> known = axis->extent->constant();
    Datum ends[] = {shift, known ? Datum::integer(*known) : Datum::dim(axis->extent)};
    Datum first = ops_.elementwise(ElementwiseKind::Sub, ends, arguments.call);
    Datum moved[] = {ops_.handle(tile, arguments.call), first};
    Datum sum = first.is_poison() ? first : ops_.elementwise(ElementwiseKind::Add, moved, arguments.call);
    if (sum.is_poison()) return sum;
    tile = sum.as_ir().value;
  }
  Dim one = dims().constant(1);
  std::vector<Dim> shape =
      rows ? std::vector<Dim>{axis->tile, one} : std::vector<Dim>{one, axis->tile};
  Value* shaped = ops_.reshape(tile, shape);
  if (axis->single) {
    std::vector<const KernelAxis*>& single = kernel_.origins.single[shaped];
    single.resize(2);
    single[rows ? 0 : 1] = axis;
  }
  return ops_.handle(shaped, arguments.call);
}

}  // namespace tessera::frontend

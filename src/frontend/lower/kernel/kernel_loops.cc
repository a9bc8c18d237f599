// `tile.range` and the loops over it: bounds that are computed at run time, loop-carried values.

#include <algorithm>
#include <utility>

#include "frontend/binding/names.h"
#include "frontend/lower/kernel/kernel_access.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/dims.h"
#include "frontend/values/type_text.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

/// `tile.range(extent, step)`, or of the last but one dimension of a shape.
Datum KernelBuilder::tile_range(const BoundArguments& arguments, bool of_shape) {
  Dim extent = nullptr;
  bool of_cache = false;
  if (of_shape) {
    auto shape = evaluator_.expect_shape(arguments[0], arguments.locs[0], "the shape of 'range_n'");
    if (!shape) return Datum::poison();
    if (shape->size() < 2)
      return report(diag::rank_mismatch, arguments.locs[0], "the shape of 'range_n'", shape->size(),
                    2),
             Datum::poison();
    extent = (*shape)[shape->size() - 2];
    auto ahead = evaluator_.expect_int(arguments[2], arguments.locs[2], "'prefetch'");
    if (!ahead || (*ahead != 0 && !add_hint("stages", *ahead, arguments.locs[2]))) return Datum::poison();
    of_cache = is_cache_shape(*shape);
  } else {
    extent = evaluator_.expect_dim(arguments[0], arguments.locs[0], "the extent of 'range'");
  }
  Dim step = extent ? evaluator_.expect_dim(arguments[1], arguments.locs[1], "the step of 'range'") : nullptr;
  if (!step) return Datum::poison();
  auto constant = step->constant();
  if (constant ? *constant < 1 && step != extent : step != extent) {
    report(diag::tile_range_step, arguments.locs[1], step->text, extent->text);
    return Datum::poison();
  }
  Dim count = step == extent ? dims().constant(1) : dims().ceildiv(extent, step);
  auto range = std::make_shared<TileRange>(count, extent, step);
  range->of_cache = of_cache;
  const KernelAxis* axis = arguments[1].axis();
  if (axis && axis->extent == extent) range->axis = axis;
  range->steps = axis;
  BoundArguments bounds = arguments;
  size_t start = of_shape ? 3 : 2;
  if (of_cache && bounds[start + 1].is_none()) bounds.values[start + 1] = cache_length(arguments.call);
  return bound_range(*range, bounds, start) ? Datum::object(std::move(range))
                                                          : Datum::poison();
}

/// Reads `start` and `stop`, which count elements, into indices of tiles.
bool KernelBuilder::bound_range(TileRange& range, const BoundArguments& arguments, size_t at) {
  if (arguments[at].is_none() && arguments[at + 1].is_none()) return true;
  auto element = [&](size_t i, std::string_view what) {
    Value* bound = ops_.index(arguments[i], arguments.locs[i], what);
    if (bound && !range.step->is_constant(1)) warn_of_tiles(bound, what, arguments.locs[i]);
    return bound;
  };
  auto op = [&](ElementwiseKind kind, Value* a, Value* b) {
    return ops_.builder().value(info(kind), {{a}, {b}}, a->type());
  };
  ops_.builder().set_loc(arguments.call);
  Value* zero = ops_.index_constant(0);
  Value* step = ops_.index(Datum::dim(range.step), arguments.call, "the step");
  Value* count = ops_.index(Datum::dim(range.count), arguments.call, "the count");
  auto within = [&](Value* tile) {
    return op(ElementwiseKind::Min, op(ElementwiseKind::Max, tile, zero), count);
  };
  range.first = zero;
  range.last = count;
  Value *start = nullptr, *stop = nullptr;
  if (!arguments[at].is_none()) {
    start = element(at, "the start of 'range'");
    if (!start) return false;
    range.first = within(op(ElementwiseKind::FloorDiv, start, step));
  }
  Value* extent = ops_.index(Datum::dim(range.extent), arguments.call, "the extent");
  if (!arguments[at + 1].is_none()) {
    stop = element(at + 1, "the stop of 'range'");
    if (!stop) return false;
    if (TileOps::may_reach(stop, 0x1p62)) {  // it might not be rounded up without overflow
      stop = op(ElementwiseKind::Min, stop, extent);
    }
    Value* up = op(ElementwiseKind::Sub, op(ElementwiseKind::Add, stop, step), ops_.index_constant(1));
    range.last = within(op(ElementwiseKind::FloorDiv, up, step));
  }
  if (start) {
    // No tile has elements of an empty range that lies within one, and as many tiles have some as there are at most.
    Value* end = stop ? op(ElementwiseKind::Min, stop, extent) : extent;
    Value* begin = op(ElementwiseKind::Max, start, zero);
    Value* elements = op(ElementwiseKind::Max, op(ElementwiseKind::Sub, end, begin), zero);
    range.last = op(ElementwiseKind::Min, range.last, op(ElementwiseKind::Add, range.first, elements));
  }
  return true;
}

/// Warns of a bound that is the number of a tile, or one near it, where it counts elements.
void KernelBuilder::warn_of_tiles(Value* bound, std::string_view what, Loc loc) {
  auto is_sum = [](Op* op) {
    bool is_either = op && (op->is(info(ElementwiseKind::Add)) || op->is(info(ElementwiseKind::Sub)));
    return is_either && fixed_index(op->operand(1));
  };
  while (is_sum(bound->def())) bound = bound->def()->operand(0);
  std::optional<Counter> counter = counter_of(bound);
  if (!counter || counter->step->is_constant(1) || is_one_tile(counter->extent, counter->step)) return;
  if (session().is_builtin(loc)) return;
  if (!session().say_once(fmt::format("bound:{}:{}:{}", loc.file, loc.line, loc.column))) return;
  std::string tile = counter->steps ? "t." + counter->steps->name : counter->step->text;
  session()
      .report(diag::bound_of_tiles, loc, what, counter->name, tile)
      .help(fmt::format("give the element: ({} + 1) * {}, for example, is the first behind that tile", counter->name,
                        tile));
}

/// The names that a loop changes: what they are before it, by name.
std::vector<KernelBuilder::Carried> KernelBuilder::carried_names(const ast::For& loop,
                                                                 Scope& scope) {
  std::vector<Carried> carried;
  std::string_view target =
      ast::as<ast::Name>(loop.target) ? ast::as<ast::Name>(loop.target)->text : "";
  for (std::string_view name : names::assigned_names(loop.body)) {
    if (name == target) continue;
    // Loop bodies have scopes of their own here; around them is the function's.
    for (Scope* at = &scope; at; at = kernel_.loop_scopes.count(at) ? at->parent() : nullptr) {
      Binding* binding = at->find_here(name);
      if (!binding) continue;
      carried.push_back({name, binding->value});
      break;
    }
  }
  return carried;
}

/// The loop-carried value of a name at the end of an iteration, in the type it entered with; null
/// when an error was reported.
Value* KernelBuilder::carried_out(const Carried& name, const Datum& now, Loc loc) {
  if (now.is_poison()) return nullptr;
  Type type = name.before.as_ir().value->type();
  Value* value = now.is_ir() ? now.as_ir().value : nullptr;
  bool same_shape = value && value->type()->kind == type->kind && same_dims(value->type(), type);
  if (same_shape &&
      (value->type()->dtype == type->dtype || widens_to(value->type()->dtype, type->dtype))) {
    return ops_.convert(value, type->dtype);
  }
  const Value* before = same_shape ? name.before.as_ir().value : nullptr;
  std::optional<DType> better = same_shape ? std::optional(value->type()->dtype) : std::nullopt;
  std::string left = value ? type_text(value->type()) : describe(now);
  auto builder = blame().report_dtype(diag::loop_carried_type, loc, before, better, "an iteration leaves it here",
                                      name.name, type_text(type), left);
  bool is_chosen = blame().chosen_dtype(before).known();
  if (!is_chosen) builder.label(name.before.as_ir().origin, "the value that enters is made here");
  return nullptr;
}

std::optional<Flow> KernelBuilder::for_each(const Datum& iterable, const ast::For& loop, Scope& scope) {
  const auto* range = iterable.object_as<TileRange>();
  const auto* target = ast::as<ast::Name>(loop.target);
  if (!range || !target) return std::nullopt;
  std::vector<Carried> names = carried_names(loop, scope);
  std::vector<Carried> constants;
  std::vector<Value*> inits;
  for (const Carried& name : names) {
    if (name.before.is_ir()) inits.push_back(name.before.as_ir().value);
  }
  std::copy_if(names.begin(), names.end(), std::back_inserter(constants),
               [](const Carried& n) { return !n.before.is_ir(); });
  std::erase_if(names, [](const Carried& n) { return !n.before.is_ir(); });

  Op* pipeline = create_pipeline(*range, inits, loop.loc);
  Block* outside = ops_.builder().block();
  Block* body = pipeline->region()->add_block();
  Value* index = body->add_arg(context().scalar(DType::I64), module_.intern(target->text));
  if (const KernelAxis* axis = axis_of_range(*range)) kernel_.loop_axes[index] = axis;
  kernel_.loops[index] = {std::string(target->text), target->loc,  range->extent,  range->step,
                          axis_over(loop),           range->steps, range->of_cache};
  Scope* inner = evaluator_.open_scope(&scope);
  kernel_.loop_scopes.insert(inner);
  Datum counter = ops_.handle(index, target->loc);
  evaluator_.observe(target->text, target->loc, counter);
  inner->set(target->text, std::move(counter), target->loc);
  for (const Carried& name : names) {
    Value* argument = body->add_arg(name.before.as_ir().value->type(), module_.intern(name.name));
    inner->set(name.name, ops_.handle(argument, loop.loc), loop.loc);
  }
  ops_.builder().set_end(body);
  if (evaluator_.execute(loop.body, *inner) == Flow::Return) {
    report(diag::return_in_loop, loop.loc)
        .help("a loop carries tiles: s = s + v, of s = tile.zeros((t.m,), f32) before it; return them behind the loop");
  }
  close_loop(pipeline, names, constants, *inner, scope, loop.loc);
  ops_.builder().set_end(outside);
  return Flow::Next;
}

const KernelAxis* KernelBuilder::axis_of_range(const TileRange& range) const {
  if (range.axis) return range.axis;
  for (const KernelAxis& axis : kernel_.axes) {
    if (!axis.grid && axis.extent == range.extent && axis.tile == range.step) return &axis;
  }
  return nullptr;
}

Op* KernelBuilder::create_pipeline(const TileRange& range, const std::vector<Value*>& inits,
                                   Loc loc) {
  std::vector<OpAttr> attributes = {schedule::attr::Pipeline::count(context(), range.count)};
  if (const KernelAxis* axis = axis_of_range(range); axis && !axis->grid)
    attributes.push_back(schedule::attr::Pipeline::axis(context(), axis->name));
  if (Attr stages = schedule::given(kernel_.keys, schedule::key::stages))
    attributes.push_back(schedule::attr::Pipeline::stages(stages));
  std::vector<Type> types;
  for (Value* init : inits) types.push_back(init->type());
  ops_.builder().set_loc(loc);
  std::vector<Value*> bounds;
  if (range.first) bounds = {range.first, range.last};
  return ops_.builder().op(info(OpKind::Pipeline), {inits, bounds}, std::move(types),
                           std::move(attributes));
}

/// Yields what the body left in the carried names and gives them the loop's results.
void KernelBuilder::close_loop(Op* pipeline, const std::vector<Carried>& names,
                               const std::vector<Carried>& constants, Scope& inner, Scope& scope,
                               Loc loc) {
  for (const Carried& name : constants) {
    Binding* binding = inner.find_here(name.name);
    if (!binding || binding->value.is_poison() || name.before.is_poison()) continue;
    // A size of the signature may lend its name to a tile of the loop.
    if (kernel_.signature->declares_dim(name.name)) continue;
    if (!binding->value.is_ir() && equal(binding->value, name.before)) continue;
    auto builder = report(diag::loop_carried_constant, binding->loc, name.name);
    bool holds_values = binding->value.is_sequence() || binding->value.is(DatumKind::Dict);
    builder.help(holds_values ? "a run-time loop carries tiles alone: keep one that accumulates, or let a number "
                                "unroll the loop: for k in range(4)"
                              : "start with a tile: tile.full(shape, value, dtype)");
    scope.set(name.name, Datum::poison(), binding->loc);
  }
  std::vector<Value*> yields;
  for (size_t i = 0; i < names.size(); ++i) {
    Binding* binding = inner.find_here(names[i].name);
    Value* value = carried_out(names[i], binding->value, binding->loc);
    Datum after = Datum::poison();
    if (value) {
      after = ops_.handle(pipeline->result(unsigned(i)), loc);
      pipeline->result(unsigned(i))->set_name(module_.intern(names[i].name));
      if (kernel_.softmax_sums.count(value)) kernel_.softmax_sums.insert(pipeline->result(unsigned(i)));
    }
    // An error leaves a loop that is dropped with its kernel; any value of the type keeps it well
    // formed till then.
    yields.push_back(value ? value : pipeline->region()->front()->arg(unsigned(i) + 1));
    scope.set(names[i].name, after, loc);
  }
  ops_.builder().set_loc(loc);
  ops_.builder().op(info(OpKind::Yield), {yields}, {});
}

}  // namespace tessera::frontend

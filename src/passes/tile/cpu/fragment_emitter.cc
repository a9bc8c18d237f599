#include "passes/tile/cpu/fragment_emitter.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/kernel_size.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

FragmentEmitter::FragmentEmitter(Op* kernel, PassContext& context, const TileAxes& axes,
                                 Block* body, const std::vector<Value*>& parameters)
    : builder_(*kernel->module(), body), kernel_(kernel), pass_(context), axes_(axes) {
  builder_.set_loc(kernel->loc());
  Scope outermost;
  outermost.block = body;
  Block* old = kernel->region()->front();
  for (unsigned i = 0; i < old->arg_count(); ++i) outermost.known[old->arg(i)] = {parameters[i], 0};
  scopes_.push_back(std::move(outermost));
  zero_ = indices_[0] = tile::index(builder_, 0);
  start_ = zero_->def();
  first_op_ = builder_.module().op_count();
}

void FragmentEmitter::reject(Op* op, const std::string& reason, const std::string& help) {
  if (!failed_) {
    auto builder = pass_.diagnostics.report(diag::unsupported_tile_split, op->loc(), std::string(op->name()), reason);
    if (!help.empty()) builder.help(help);
  }
  failed_ = true;
}

std::vector<int> FragmentEmitter::unbound(Value* tile) const {
  std::vector<int> found;
  for (int axis : axes_.of(tile)) {
    if (!is_bound(axis)) found.push_back(axis);
  }
  return found;
}

void FragmentEmitter::enter(size_t level) {
  Scope& scope = scopes_[level];
  if (scope.inner) {
    builder_.set_before(scope.inner);
  } else {
    builder_.set_end(scope.block);
  }
}

Value* FragmentEmitter::at_start(const std::function<Value*()>& make) {
  Builder here = builder_;
  builder_.set_after(start_);
  Value* made = make();
  start_ = made->def();
  builder_ = here;
  return made;
}

Value* FragmentEmitter::index(int64_t value) {
  auto [it, inserted] = indices_.try_emplace(value, nullptr);
  if (inserted) it->second = at_start([&] { return tile::index(builder_, value); });
  return it->second;
}

Value* FragmentEmitter::scratch(Dim elements, DType dtype) {
  return at_start([&] { return tile::alloc(builder_, elements, dtype); });
}

Value* FragmentEmitter::view(Value* memory, const std::vector<Dim>& dims,
                             const std::vector<Dim>& strides, Dim offset) {
  return at_start([&] { return tile::view(builder_, memory, dims, strides, offset); });
}

// Scopes and loops.

FragmentEmitter::Values FragmentEmitter::inside(Op* inner, Scope scope, const LoopBody& body,
                                                const Values& arguments) {
  Block* block = scopes_.back().block;
  auto set_inner = [&](Op* op) {
    for (Scope& outer : scopes_) {
      if (outer.block == block) outer.inner = op;
    }
  };
  if (inner) set_inner(inner);
  scopes_.push_back(std::move(scope));
  Values results = body(arguments);
  if (inner) {
    tile::yield(builder(), results);
    results.clear();
    for (unsigned i = 0; i < inner->result_count(); ++i) results.push_back(inner->result(i));
    scopes_.pop_back();
    set_inner(nullptr);
  }
  return results;
}

FragmentEmitter::Values FragmentEmitter::in_loop(Op* loop, const LoopBody& body) {
  Scope scope;
  scope.block = loop->region()->front();
  Values carried;
  for (unsigned i = 1; i < scope.block->arg_count(); ++i) carried.push_back(scope.block->arg(i));
  return inside(loop, std::move(scope), body, carried);
}

FragmentEmitter::Values FragmentEmitter::bound_iteration(int axis, int64_t start, int64_t extent,
                                                    Value* rest, Value* domain, const Values& inits,
                                                    const LoopBody& body) {
  size_t level = scopes_.size();
  IterationKey key{axis, row_, column_, start, extent, domain};
  Scope scope;
  scope.block = scopes_.back().block;
  scope.known = scopes_.back().iterations[key];
  bindings_[axis] = {index(start), extent, rest, domain, level};
  Values results = inside(nullptr, std::move(scope), body, inits);
  scopes_[level - 1].iterations[key] = std::move(scopes_.back().known);
  scopes_.pop_back();
  bindings_.erase(axis);
  return results;
}

FragmentEmitter::Values FragmentEmitter::bound_loop(int axis, Value* lo, Value* hi, int64_t extent,
                                                    Value* total, Value* domain,
                                                    const Values& inits, const LoopBody& body) {
  Value* step = index(extent);
  Op* loop = tile::for_loop(builder(), lo, hi, step, inits);
  auto bound = [&](const Values& carried) {
    Value* start = loop->region()->front()->arg(0);
    Value* rest = total ? tile::sub(builder(), total, start) : nullptr;
    bindings_[axis] = {start, extent, rest, domain, scopes_.size() - 1};
    Values results = body(carried);
    bindings_.erase(axis);
    return results;
  };
  return in_loop(loop, bound);
}

FragmentEmitter::Values FragmentEmitter::copied_loop(int axis, Value* hi, int64_t extent, Value* domain,
                                                     const Values& inits, const LoopBody& body) {
  Op* loop = tile::for_loop(builder(), zero_, hi, index(extent * copies_), inits);
  auto bound = [&](const Values& carried) {
    Value* start = loop->region()->front()->arg(0);
    Values values = carried;
    for (int64_t copy = 0; copy < copies_; ++copy) {
      Scope scope;
      scope.block = scopes_.back().block;
      Value* here = copy ? tile::add(builder(), start, index(copy * extent)) : start;
      bindings_[axis] = {here, extent, nullptr, domain, scopes_.size()};
      values = inside(nullptr, std::move(scope), body, values);
      scopes_.pop_back();
      bindings_.erase(axis);
    }
    return values;
  };
  return in_loop(loop, bound);
}

Value* FragmentEmitter::total(int axis, Value* domain) {
  Value* extent = tile::dim(builder(), axes_.extent(axis));
  if (!domain) return extent;
  return tile::min(builder(), demand(domain), extent);
}

FragmentEmitter::Values FragmentEmitter::loop(int axis, int64_t extent, Value* domain,
                                              TailKind tail, const Values& inits,
                                              const LoopBody& body) {
  Value* count = total(axis, domain);
  std::optional<int64_t> known = tile::known_index(count);
  if (known) {
    int64_t whole = *known / extent * extent;
    Values values = inits;
    if (whole == extent) {
      values = bound_iteration(axis, 0, extent, nullptr, domain, values, body);
    } else if (whole > 0) {
      values = bound_loop(axis, zero_, index(whole), extent, nullptr, domain, values, body);
    }
    int64_t rest = std::max<int64_t>(*known - whole, 0);
    if (rest == 0) return values;
    if (tail == TailKind::Limited)
      return bound_iteration(axis, whole, extent, index(rest), domain, values, body);
    return tail_loop(axis, index(whole), index(*known), extent, domain, tail, values, body);
  }
  Value* whole = tile::round_down(builder(), count, extent);
  Values values = inits;
  Value* done = zero_;
  if (copies_ > 1 && extent > 1) {
    done = tile::round_down(builder(), count, extent * copies_);
    values = copied_loop(axis, done, extent, domain, values, body);
  }
  values = bound_loop(axis, done, whole, extent, nullptr, domain, values, body);
  bool divides = extent == 1 || (!domain && is_multiple_of(axes_.extent(axis), extent));
  return divides ? values : tail_loop(axis, whole, count, extent, domain, tail, values, body);
}

FragmentEmitter::Values FragmentEmitter::descending_loop(int axis, Value* hi, int64_t extent, Value* domain,
                                                         const Values& inits, const LoopBody& body) {
  Op* loop = tile::for_loop(builder(), zero_, hi, index(extent), inits);
  auto bound = [&](const Values& carried) {
    Value* passed = tile::add(builder(), loop->region()->front()->arg(0), index(extent));
    bindings_[axis] = {tile::sub(builder(), hi, passed), extent, nullptr, domain, scopes_.size() - 1};
    Values results = body(carried);
    bindings_.erase(axis);
    return results;
  };
  return in_loop(loop, bound);
}

FragmentEmitter::Values FragmentEmitter::reverse_loop(int axis, int64_t extent, Value* domain, const Values& inits,
                                                      const LoopBody& body) {
  Value* count = total(axis, domain);
  std::optional<int64_t> known = tile::known_index(count);
  Values values = inits;
  if (known) {
    int64_t whole = *known / extent * extent, rest = std::max<int64_t>(*known - whole, 0);
    if (rest) values = bound_iteration(axis, whole, extent, index(rest), domain, values, body);
    if (whole == extent) return bound_iteration(axis, 0, extent, nullptr, domain, values, body);
    return whole > 0 ? descending_loop(axis, index(whole), extent, domain, values, body) : values;
  }
  Value* whole = tile::round_down(builder(), count, extent);
  bool divides = extent == 1 || (!domain && is_multiple_of(axes_.extent(axis), extent));
  if (!divides) values = tail_loop(axis, whole, count, extent, domain, TailKind::Limited, values, body);
  return descending_loop(axis, whole, extent, domain, values, body);
}

void FragmentEmitter::range_loop(int axis, Value* lo, Value* hi, int64_t extent, Value* domain,
                                 TailKind tail, const LoopBody& body) {
  Value* count = tile::round_down(builder(), tile::sub(builder(), hi, lo), extent);
  Value* whole = tile::add(builder(), lo, count);
  bound_loop(axis, lo, whole, extent, nullptr, domain, {}, body);
  tail_loop(axis, whole, hi, extent, domain, tail, {}, body);
}

FragmentEmitter::Values FragmentEmitter::tail_loop(int axis, Value* lo, Value* total,
                                                   int64_t extent, Value* domain, TailKind tail,
                                                   const Values& inits, const LoopBody& body) {
  if (tail == TailKind::Ones) return bound_loop(axis, lo, total, 1, nullptr, domain, inits, body);
  return bound_loop(axis, lo, total, extent, total, domain, inits, body);
}

FragmentEmitter::Values FragmentEmitter::run_within(int axis, Value* block, Value* count,
                                                    int64_t unroll, Value* domain,
                                                    const Values& inits, const LoopBody& body) {
  Op* loop = tile::for_loop(builder(), zero_, count, index(1), inits, unroll);
  auto bound = [&](const Values& carried) {
    Value* within = loop->region()->front()->arg(0);
    Value* start = tile::add(builder(), block, within);
    bindings_[axis] = {start, 1, nullptr, domain, scopes_.size() - 1, block, within};
    Values results = body(carried);
    bindings_.erase(axis);
    return results;
  };
  return in_loop(loop, bound);
}

FragmentEmitter::Values FragmentEmitter::contraction_loop(int axis, int64_t run, int64_t unroll,
                                                          Value* domain, const Values& inits,
                                                          const LoopBody& body) {
  Value* count = total(axis, domain);
  std::optional<int64_t> known = tile::known_index(count);
  Value* whole = tile::round_down(builder(), count, run);
  Values values = inits;
  if (!known || *known >= run) {
    Op* blocks = tile::for_loop(builder(), zero_, whole, index(run), values);
    auto one_block = [&](const Values& now) {
      return run_within(axis, blocks->region()->front()->arg(0), index(run), unroll, domain, now,
                        body);
    };
    values = in_loop(blocks, one_block);
  }
  bool divides = known ? *known % run == 0 : !domain && is_multiple_of(axes_.extent(axis), run);
  if (divides) return values;
  return run_within(axis, whole, tile::sub(builder(), count, whole), 1, domain, values, body);
}

FragmentEmitter::Values FragmentEmitter::whole_loop(int axis, int64_t extent, Value* domain,
                                                    const Values& inits, const LoopBody& body) {
  return bound_loop(axis, zero_, total(axis, domain), extent, nullptr, domain, inits, body);
}

FragmentEmitter::Values FragmentEmitter::subdivide(int axis, int64_t extent, Reach reach,
                                                   const Values& inits, const LoopBody& body) {
  AxisBinding whole = binding(axis);
  Value* all = index(whole.extent);
  bool ends = whole.rest && reach == Reach::Present;
  Value* count = ends ? tile::min(builder(), whole.rest, all) : all;
  Op* loop = tile::for_loop(builder(), zero_, count, index(extent), inits);
  auto bound = [&](const Values& carried) {
    Value* within = loop->region()->front()->arg(0);
    Value* start = tile::add(builder(), whole.start, within);
    Value* rest = whole.rest ? tile::sub(builder(), ends ? count : whole.rest, within) : nullptr;
    bindings_[axis] = {start, extent, rest, whole.domain, scopes_.size() - 1, whole.start, within};
    return body(carried);
  };
  Values results = in_loop(loop, bound);
  bindings_[axis] = whole;
  return results;
}

FragmentEmitter::Values FragmentEmitter::old_loop(Op* old, const std::vector<bool>& in_memory,
                                                  const Values& inits, const LoopBody& body) {
  Value* lo = demand(old->in(in::For::lo));
  Value* hi = demand(old->in(in::For::hi));
  Value* step = demand(old->in(in::For::step));
  Op* loop = tile::for_loop(builder(), lo, hi, step, inits);
  Scope scope;
  scope.block = loop->region()->front();
  Block* from = old->region()->front();
  for (unsigned i = 0, next = 0; i < from->arg_count(); ++i) {
    if (i > 0 && in_memory[i - 1]) continue;
    scope.known[from->arg(i)] = {scope.block->arg(next++), scopes_.size()};
  }
  return inside(loop, std::move(scope), body, {});
}

FragmentEmitter::Values FragmentEmitter::old_branch(Op* old, const std::vector<Type>& types,
                                                    const std::function<Values(unsigned)>& body) {
  Value* condition = demand(old->in(in::If::condition));
  Op* made = builder().op(tile::info(OpKind::If), {{condition}}, types);
  Values results;
  for (unsigned r = 0; r < 2; ++r) {
    Scope scope;
    scope.block = made->region(r)->add_block();
    results = inside(made, std::move(scope), [&](const Values&) { return body(r); }, {});
  }
  return results;
}

// Values.

const FragmentEmitter::Known* FragmentEmitter::find(Value* old) const {
  for (size_t level = scopes_.size(); level-- > 0;) {
    auto it = scopes_[level].known.find(old);
    if (it != scopes_[level].known.end()) return &it->second;
  }
  return nullptr;
}

void FragmentEmitter::remember(Value* old, Value* value) {
  scopes_.back().known[old] = {value, scopes_.size() - 1};
}

Value* FragmentEmitter::demand(Value* old) {
  Builder here = builder_;
  Value* value = resolve(old).value;
  builder_ = here;
  return value;
}

FragmentEmitter::Known FragmentEmitter::resolve(Value* old) {
  if (const Known* known = find(old)) return *known;
  Known made;
  if (builder_.module().op_count() - first_op_ > most_lowered_ops && !failed_) {
    report_kernel_size(kernel_, old->def() ? old->def()->loc() : kernel_->loc(), most_lowered_ops, pass_.diagnostics);
    failed_ = true;
  }
  if (auto panel = panels_.find(old); panel != panels_.end()) {
    made = {panel->second(), scopes_.size() - 1};
  } else if (auto kept = kept_.find(old); kept != kept_.end()) {
    made = write_memory_load(kept->second, fragment_type(old), nullptr);
  } else {
    Loc around = builder_.loc();
    made = write(old);
    builder_.set_loc(around);
  }
  scopes_[made.level].known[old] = made;
  return made;
}

size_t FragmentEmitter::level_of(const std::vector<int>& axes) const {
  size_t level = 0;
  for (int axis : axes) {
    auto it = bindings_.find(axis);
    if (it != bindings_.end()) level = std::max(level, it->second.level);
  }
  return level;
}

Type FragmentEmitter::fragment_type(Value* old) {
  int64_t rows = 1, columns = 1;
  for (int axis : axes_.of(old)) {
    if (axis < 0) continue;
    auto it = bindings_.find(axis);
    int64_t extent = it == bindings_.end() ? 0 : it->second.extent;
    if (axis == row_) rows = extent;
    if (axis == column_) columns = extent;
    bool fits = axis == row_ || axis == column_ ? extent > 0 : extent == 1;
    if (!fits && !failed_) {
      reject(old->def() ? old->def() : kernel_,
             "an axis of " + old->type()->text + " is in no loop here");
    }
  }
  DimTable& dims = context().dims();
  return context().tile(
      {dims.constant(std::max<int64_t>(rows, 1)), dims.constant(std::max<int64_t>(columns, 1))},
      old->type()->dtype);
}

FragmentEmitter::Known FragmentEmitter::write(Value* old) {
  Op* op = old->def();
  if (!op) {
    reject(kernel_, "a carried value is used outside of its loop");
    return {zero_, 0};
  }
  builder_.set_loc(op->loc());
  if (failed_ && old->type()->is(TypeKind::Tile)) {  // whatever it is, nobody reads it
    enter(0);
    return {tile::full(builder_, fragment_type(old), context().integer(0)), 0};
  }
  if (!old->type()->is(TypeKind::Tile)) return write_scalar(op);
  if (op->info().elementwise != ElementwiseKind::None) return write_elementwise(op);
  size_t level = level_of(axes_.of(old));
  Type type = fragment_type(old);
  switch (kind_of(op)) {
    case OpKind::Load:
      return write_load(op);
    case OpKind::Gather:
      return write_gather(op);
    case OpKind::Take:
      return write_take(op);
    case OpKind::Iota:
      return write_iota(op);
    case OpKind::Reshape:
    case OpKind::Transpose:
      return resolve(op->operand(0));
    case OpKind::Reduce:
      // Along an extent of 1 there is nothing to combine; other reductions are stages.
      if (axes_.of(op->operand(0), size_t(op->attr(attr::Reduce::axis))) < 0)
        return resolve(op->operand(0));
      break;
    case OpKind::Scan:
      // The same holds here.
      if (axes_.of(op->operand(0), size_t(op->attr(attr::Scan::axis))) < 0) {
        if (old == op->result(1) || !op->attr(attr::Scan::exclusive))
          return resolve(op->operand(0));
        enter(level);
        Attr none = tile::reduction_identity(context(), op->attr(attr::Scan::kind), type->dtype);
        return {tile::full(builder_, type, none), level};
      }
      break;
    case OpKind::Broadcast: {
      Known from = resolve(op->operand(0));
      return write_broadcast(from.value, std::max(from.level, level), type);
    }
    case OpKind::Full:
      enter(level);
      return {tile::full(builder_, type, op->attr(attr::Full::value)), level};
    case OpKind::Splat: {
      Known scalar = resolve(op->operand(0));
      level = std::max(level, scalar.level);
      enter(level);
      return {builder_.value(tile::info(OpKind::Splat), {{scalar.value}}, type), level};
    }
    default:
      break;
  }
  reject(op, "its result is needed where it is not known",
         "give each axis that is combined a block in the schedule, move the scaling of whole rows behind a dot, or "
         "make this value in a kernel of its own");
  enter(level);
  return {tile::full(builder_, type, context().integer(0)), level};
}

FragmentEmitter::Known FragmentEmitter::write_elementwise(Op* op) {
  size_t level = level_of(axes_.of(op->result()));
  std::vector<std::vector<Value*>> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Known operand = resolve(op->operand(i));
    level = std::max(level, operand.level);
    operands.push_back({operand.value});
  }
  Type type = fragment_type(op->result());
  enter(level);
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  return {builder_.value(&op->info(), std::move(operands), type, std::move(attributes)), level};
}

FragmentEmitter::Known FragmentEmitter::write_broadcast(Value* from, size_t level, Type type) {
  enter(level);
  return {tile::broadcast(builder_, from, type->dims), level};
}

FragmentEmitter::Known FragmentEmitter::write_scalar(Op* op) {
  size_t level = 0;
  std::map<Value*, Value*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Known operand = resolve(op->operand(i));
    level = std::max(level, operand.level);
    operands[op->operand(i)] = operand.value;
  }
  if (op->region_count() || !op->is_pure()) {
    reject(op, "it is not arithmetic");
    return {zero_, 0};
  }
  enter(level);
  Op* copy = builder_.module().clone(op, operands);
  if (!copy->loc().known()) copy->set_loc(kernel_->loc());
  builder_.insert(copy);
  return {copy->result(), level};
}

FragmentEmitter::Known FragmentEmitter::write_iota(Op* op) {
  int axis = axes_.of(op->result(), size_t(op->attr(common::Along::axis)));
  std::vector<int> all = axes_.of(op->result());
  Type type = fragment_type(op->result());
  size_t level = level_of(all);
  Value* start = axis < 0 ? zero_ : binding(axis).start;
  if (Value* from = op->in(in::Iota::start)) {
    Known first = resolve(from);
    level = std::max(level, first.level);
    enter(level);
    start = tile::add(builder_, start, first.value);
  }
  enter(level);
  return {coordinates(axis, start, type), level};
}

/// A tile of that type with the numbers from `start` on along a program axis.
Value* FragmentEmitter::coordinates(int axis, Value* start, Type type) {
  bool spans = axis >= 0 && (axis == row_ || axis == column_);
  if (!spans) {
    return builder_.value(tile::info(OpKind::Splat), {{tile::cast(builder_, start, type->dtype)}}, type);
  }
  std::vector<Dim> dims = type->dims;
  dims[axis == row_ ? 1 : 0] = context().dims().constant(1);
  Value* line =
      builder_.value(tile::info(OpKind::Iota), {{start}}, context().tile(dims, type->dtype),
                     {attr::Iota::axis(context(), axis == row_ ? 0 : 1)});
  return tile::broadcast(builder_, line, type->dims);
}

}  // namespace tessera

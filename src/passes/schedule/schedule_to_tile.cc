// From loop nests over tiles to one program instance.
//
// The grid becomes `tile.program_id`, a pipeline becomes `tile.for`, and what counted tiles counts
// elements: the tile at index i of extent T starts at i*T. An access may reach past an edge only
// along an axis whose extent is not known to be a multiple of T; such an axis gets the limit extent
// - i*T, the number of elements that are there. A tile before the first one is as empty as one past
// the end, and becomes the one past the end: no offset is negative, and one limit says it all.
// Offsets and limits of one axis are one value wherever they are used in a block, which is how later
// passes see that a store ends where the loads that feed it end.

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "ir/core/common_attributes.h"
#include "ir/core/dim_facts.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/build.h"
#include "passes/pass.h"
#include "passes/tile/common/window_loads.h"

namespace tessera {

namespace {

using entry::Axis;
using SOp = schedule::OpKind;

/// Beyond what products of two sizes can be, and where indices wrap.
constexpr double most_size = 0x1p31, most_index = 0x1p63;

class KernelLowering {
 public:
  KernelLowering(Module& module, Op* kernel, const Machine* machine)
      : builder_(module), kernel_(kernel), machine_(machine) {}

  void run() {
    Op* lowered = make_kernel();
    Block* body = lowered->region()->add_block();
    Block* old = kernel_->region()->front();
    for (unsigned i = 0; i < old->arg_count(); ++i) {
      values_[old->arg(i)] = body->add_arg(old->arg(i)->type(), old->arg(i)->name());
    }
    builder_.set_end(body);
    lower_block(old);
    kernel_->erase();
  }

 private:
  Context& context() { return builder_.context(); }

  Op* make_kernel() {
    std::vector<Attr> grid;
    for (Attr axis : kernel_->attr(schedule::attr::Kernel::axes)) {
      if (!entry::read(axis, Axis::grid)) continue;
      Dim extent = entry::read(axis, Axis::extent), block = entry::read(axis, Axis::block);
      DimTable& dims = context().dims();
      // A whole axis is one program, also when there is nothing on it.
      bool one = extent == block || is_within(extent, block, entry::read(axis, Axis::name));
      grid.push_back(context().dim(one ? dims.constant(1) : dims.ceildiv(extent, block)));
    }
    using From = schedule::attr::Kernel;
    using To = tile::attr::Kernel;
    std::vector<OpAttr> attributes{
        To::grid(context().array(grid)),
        common::Function::symbol(kernel_->node(common::Function::symbol)),
        To::outputs(kernel_->node(From::outputs)),
        To::schedule(kernel_->node(From::schedule)),
        To::kernel(kernel_->node(From::kernel)),
        To::epilogue(kernel_->node(From::epilogue)),
        To::assume(kernel_->node(From::assume)),
        To::own(kernel_->node(From::own)),
        To::key_places(kernel_->node(From::key_places)),
        To::fallback(kernel_->node(From::fallback))};
    OpState state;
    state.info = tile::info(tile::OpKind::Kernel);
    state.loc = kernel_->loc();
    state.attributes = attributes;
    Op* lowered = builder_.module().create(state);
    lowered->move_before(kernel_);
    return lowered;
  }

  /// True if the kernel assumes at most `block` elements on an axis, and at least one where the schedule blocks it.
  bool is_within(Dim extent, Dim block, std::string_view axis) {
    DimTable& dims = context().dims();
    std::vector<DimFact> facts = read_facts(kernel_->attr(common::Kernel::assume));
    auto holds = [&](Relation relation, Dim bound) { return decide(dims, {relation, extent, bound}, facts) == true; };
    Attr blocks = entry::node(kernel_->attr(common::Kernel::schedule), schedule::key::block);
    bool is_blocked = block->is_constant(1) || (blocks && blocks->get(axis));
    return holds(Relation::LessEqual, block) && (!is_blocked || holds(Relation::GreaterEqual, dims.constant(1)));
  }

  void lower_block(Block* block) {
    for (Op* op : *block) {
      builder_.set_loc(op->loc());
      lower(op);
    }
  }

  Value* mapped(Value* value) { return values_.at(value); }
  std::vector<Value*> mapped(const std::vector<Value*>& values) {
    std::vector<Value*> out;
    for (Value* value : values) out.push_back(mapped(value));
    return out;
  }
  void define(Op* op, Value* value) {
    value->set_name(op->result()->name());
    values_[op->result()] = value;
  }

  void lower(Op* op) {
    switch (schedule::kind_of(op)) {
      case SOp::Kernel:
        TSR_UNREACHABLE("kernels do not nest");
      case SOp::Tile:
        return lower_grid(op);
      case SOp::Pipeline:
        return lower_pipeline(op);
      case SOp::If:
        return lower_if(op);
      case SOp::Return:
        builder_.op(tile::info(tile::OpKind::Return), {}, {});
        return;
      case SOp::Yield:
        if (schedule::kind_of(op->parent()) != SOp::Tile) tile::yield(builder_, mapped(op->ins(0)));
        return;
      case SOp::View:
        return same(op, tile::OpKind::View);
      case SOp::Load:
        return lower_load(op);
      case SOp::Store:
        return lower_store(op);
      case SOp::Gather:
        return lower_gather(op);
      case SOp::Take:
        return same(op, tile::OpKind::Take);
      case SOp::Scatter:
        return lower_scatter(op);
      case SOp::Alloc:
        define(op, builder_.value(tile::info(tile::OpKind::AllocShared), {}, op->result()->type(),
                                  {tile::attr::AllocShared::written(context(), true)}));
        return;
      case SOp::Slot:
        return same(op, tile::OpKind::Slot);
      case SOp::CopyAsync:
        return lower_copy(op);
      case SOp::CopyWait:
        builder_.op(tile::info(tile::OpKind::CopyWait), {}, {},
                    {tile::attr::CopyWait::pending(op->node(schedule::attr::CopyWait::pending))});
        return;
      case SOp::Barrier:
        builder_.op(tile::info(tile::OpKind::Barrier), {}, {});
        return;
      case SOp::Full:
        return same(op, tile::OpKind::Full);
      case SOp::Splat:
        return same(op, tile::OpKind::Splat);
      case SOp::Constant:
        return same(op, tile::OpKind::Constant);
      case SOp::Dim:
        return same(op, tile::OpKind::Dim);
      case SOp::Iota:
        return same(op, tile::OpKind::Iota, {{}});
      case SOp::Broadcast:
        return same(op, tile::OpKind::Broadcast);
      case SOp::Reshape:
        return same(op, tile::OpKind::Reshape);
      case SOp::Transpose:
        return same(op, tile::OpKind::Transpose);
      case SOp::Within:
        return same(op, tile::OpKind::Within);
      case SOp::Reduce:
        return same(op, tile::OpKind::Reduce, {{}});
      case SOp::Sort:
        return same(op, tile::OpKind::Sort, {{}});
      case SOp::Scan:
        return lower_scan(op);
      case SOp::Dot:
        return same(op, tile::OpKind::Dot, {{}});
      case SOp::Extract:
        return same(op, tile::OpKind::Extract);
      case SOp::Hook:
        values_[op->result()] = mapped(op->operand(0));
        return;
#define ELEMENTWISE(Name, ...) case SOp::Name:
#include "ir/numbers/elementwise.def"
        return define(op, clone_as(op, tile::info(op->info().elementwise), {}));
    }
    TSR_UNREACHABLE("unknown op");
  }

  /// The op of the tile level with the same operands and attributes; `extra` are further operand
  /// slots.
  Value* clone_as(Op* op, const OpInfo* info, std::vector<std::vector<Value*>> extra) {
    std::vector<std::vector<Value*>> slots;
    for (unsigned s = 0; s < op->slot_count(); ++s) slots.push_back(mapped(op->ins(s)));
    slots.insert(slots.end(), extra.begin(), extra.end());
    std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
    return builder_.value(info, std::move(slots), op->result()->type(), std::move(attributes));
  }
  void same(Op* op, tile::OpKind kind, std::vector<std::vector<Value*>> extra = {}) {
    define(op, clone_as(op, tile::info(kind), std::move(extra)));
  }

  void lower_scan(Op* op) {
    std::vector<Type> types{op->result(0)->type(), op->result(1)->type()};
    std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
    Op* scan = builder_.op(tile::info(tile::OpKind::Scan), {{mapped(op->in(schedule::in::Scan::a))}, {}, {}},
                           std::move(types), std::move(attributes));
    for (unsigned i = 0; i < op->result_count(); ++i) {
      scan->result(i)->set_name(op->result(i)->name());
      values_[op->result(i)] = scan->result(i);
    }
  }

  void lower_grid(Op* op) {
    Block* body = op->region()->front();
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      Value* id = tile::program_id(builder_, i);
      id->set_name(body->arg(i)->name());
      values_[body->arg(i)] = id;
    }
    lower_block(body);
  }

  void lower_pipeline(Op* op) {
    std::vector<Value*> bounds = mapped(op->ins(schedule::in::Pipeline::bounds));
    Value* lo = bounds.empty() ? tile::index(builder_, 0) : bounds[0];
    Value* hi =
        bounds.empty() ? tile::dim(builder_, op->attr(schedule::attr::Pipeline::count)) : bounds[1];
    Value* one = tile::index(builder_, 1);
    Op* loop = tile::for_loop(builder_, lo, hi, one, mapped(op->ins(schedule::in::Pipeline::inits)));
    Block* body = loop->region()->front();
    Block* old = op->region()->front();
    for (unsigned i = 0; i < old->arg_count(); ++i) {
      body->arg(i)->set_name(old->arg(i)->name());
      values_[old->arg(i)] = body->arg(i);
    }
    auto outer = positions_;  // what is made inside is not available after the loop
    builder_.set_end(body);
    lower_block(old);
    builder_.set_after(loop);
    positions_ = std::move(outer);
    for (unsigned i = 0; i < op->result_count(); ++i) values_[op->result(i)] = loop->result(i);
  }

  void lower_if(Op* op) {
    std::vector<Type> types;
    for (unsigned i = 0; i < op->result_count(); ++i) types.push_back(op->result(i)->type());
    Op* made = builder_.op(tile::info(tile::OpKind::If), {{mapped(op->operand(0))}}, std::move(types));
    auto outer = positions_;  // as for a loop
    for (unsigned r = 0; r < 2; ++r) {
      builder_.set_end(made->region(r)->add_block());
      lower_block(op->region(r)->front());
      positions_ = outer;
    }
    builder_.set_after(made);
    for (unsigned i = 0; i < op->result_count(); ++i) {
      made->result(i)->set_name(op->result(i)->name());
      values_[op->result(i)] = made->result(i);
    }
  }

  struct Position {
    Value* offset;
    Value* limit;
  };
  /// Where tile `index` of that extent starts on an axis, and how many elements are there from that
  /// place on.
  Position position(Value* index, Dim extent, Dim size) {
    auto [it, inserted] = positions_.try_emplace({index, extent, size});
    if (!inserted) return it->second;
    Value* offset = tile::mul(builder_, on_or_past_axis(index, extent, size), tile::dim(builder_, extent));
    std::optional<int64_t> constant = extent->constant();
    bool divides = extent == size || (constant && *constant > 0 && is_multiple_of(size, *constant));
    bool inside = starts_inside(index, extent, size);
    Value* limit = nullptr;
    if (!inside || !divides) limit = tile::sub(builder_, tile::dim(builder_, size), offset);
    if (!inside) {
      Value* zero = tile::index(builder_, 0);
      limit = tile::elementwise(builder_, ElementwiseKind::Max, {limit, zero});
    }
    return it->second = {offset, limit};
  }

  /// The index itself, or that of the first tile past the end in place of a negative one.
  Value* on_or_past_axis(Value* index, Dim extent, Dim size) {
    Value* at = mapped(index);
    if (is_never_negative(index)) return at;
    DimTable& dims = context().dims();
    Value* end = tile::dim(builder_, extent == size ? dims.constant(1) : dims.ceildiv(size, extent));
    if (tile::known_index(at)) return end;
    Value* before = tile::elementwise(builder_, ElementwiseKind::Lt, {at, tile::index(builder_, 0)});
    return tile::elementwise(builder_, ElementwiseKind::Select, {before, end, at});
  }

  bool is_never_negative(Value* value) { return most(value).has_value(); }

  /// The most that a number may be that is never negative, nor wraps. Follows arithmetic that keeps what is at least 0
  /// so: counters and sizes are, differences may not be.
  std::optional<double> most(Value* value) {
    auto [it, is_new] = most_.try_emplace(value);
    if (!is_new) return it->second;
    std::optional<double> found = computed_most(value);
    if (found && *found > most_index) found.reset();
    return most_[value] = found;
  }

  std::optional<double> computed_most(Value* value) {
    Op* def = value->def();
    if (!def) {  // the grid's counters and that of a loop, but not what a loop carries
      Op* parent = value->block()->parent_op();
      bool counts = schedule::kind_of(parent) == SOp::Tile || value->index() == 0;
      return counts ? std::optional(most_size) : std::nullopt;
    }
    if (def->is(schedule::info(SOp::Constant))) {
      int64_t known = tile::known_index(mapped(value)).value_or(-1);
      return known >= 0 ? std::optional(double(known)) : std::nullopt;
    }
    if (def->is(schedule::info(SOp::Dim))) {
      std::optional<int64_t> known = def->attr(common::Size::value)->constant();
      if (interval(def->attr(common::Size::value)).low.value_or(-1) < 0) return std::nullopt;
      return known ? double(*known) : most_size;
    }
    ElementwiseKind kind = def->info().elementwise;
    if (kind == ElementwiseKind::None || def->operand_count() != 2) return std::nullopt;
    std::optional<double> a = most(def->operand(0)), b = most(def->operand(1));
    if (kind == ElementwiseKind::Max && (a || b)) return std::max(a.value_or(most_index), b.value_or(most_index));
    if (!a || !b) return std::nullopt;
    switch (kind) {
      case ElementwiseKind::Add: return *a + *b;
      case ElementwiseKind::Mul: return *a * *b;
      case ElementwiseKind::FloorDiv:
      case ElementwiseKind::Div: return a;
      case ElementwiseKind::Mod: return b;
      case ElementwiseKind::Min: return std::min(*a, *b);
      default: return std::nullopt;
    }
  }

  /// Is a tile at this index known to start on the axis? The grid and pipelines count tiles up to
  /// its end, or those of another axis that has as many; any other index may lie past it, where nothing is left.
  bool starts_inside(Value* index, Dim extent, Dim size) {
    if (Op* def = index->def()) {
      if (is_part_of_grid(def, extent, size)) return true;
      bool first = def->is(schedule::info(SOp::Constant)) && tile::known_index(mapped(index)) == 0;
      std::optional<int64_t> span = extent->constant(), whole = size->constant();
      return first && (extent == size || (span && whole && *span <= *whole));
    }
    Op* parent = index->block()->parent_op();
    if (schedule::kind_of(parent) == SOp::Pipeline) {
      return index->index() == 0 &&
             parent->attr(common::Loop::count) == context().dims().ceildiv(size, extent);
    }
    unsigned nth = 0;
    for (Attr axis : kernel_->attr(schedule::attr::Kernel::axes)) {
      if (!entry::read(axis, Axis::grid) || nth++ != index->index()) continue;
      DimTable& dims = context().dims();
      Dim whole = entry::read(axis, Axis::extent), block = entry::read(axis, Axis::block);
      return dims.ceildiv(whole, block) == dims.ceildiv(size, extent);
    }
    return false;
  }

  /// Is this a grid index of one element a program, divided by as many as share one of `size`?
  bool is_part_of_grid(Op* def, Dim extent, Dim size) {
    if (def->info().elementwise != ElementwiseKind::FloorDiv || !extent->is_constant(1)) return false;
    Value *index = def->operand(0), *by = mapped(def->operand(1));
    Op* divisor = by->def();
    bool in_grid = !index->def() && schedule::kind_of(index->block()->parent_op()) == SOp::Tile;
    if (!in_grid || !divisor) return false;
    DimTable& dims = context().dims();
    std::optional<int64_t> known = tile::known_index(by);
    Dim count = known                                        ? dims.constant(*known)
                : divisor->is(tile::info(tile::OpKind::Dim)) ? divisor->attr(tile::attr::Dim::value)
                                                             : nullptr;
    unsigned nth = 0;
    for (Attr axis : kernel_->attr(schedule::attr::Kernel::axes)) {
      if (!entry::read(axis, Axis::grid) || nth++ != index->index()) continue;
      Dim whole = entry::read(axis, Axis::extent), block = entry::read(axis, Axis::block);
      return count && block == extent && whole == dims.mul(size, count);
    }
    return false;
  }

  struct Access {
    std::vector<Value*> offsets;
    std::vector<Value*> limits;
  };
  Access access(const std::vector<Value*>& index, Type tile, Type memory) {
    Access found;
    bool limited = false;
    for (size_t i = 0; i < index.size(); ++i) {
      Position p = position(index[i], tile->dims[i], memory->dims[i]);
      found.offsets.push_back(p.offset);
      found.limits.push_back(p.limit);
      limited |= p.limit != nullptr;
    }
    if (!limited) found.limits.clear();
    for (size_t i = 0; i < found.limits.size(); ++i) {
      if (!found.limits[i]) found.limits[i] = tile::dim(builder_, tile->dims[i]);
    }
    return found;
  }

  /// Whether the copy engine may bring what is loaded, as it does only for dots.
  bool may_be_copied(Op* load) {
    if (!machine_->gpu.has_tma) return false;
    for (Value* value = load->result(); value->has_one_use(); value = value->first_use()->owner()->result()) {
      Op* user = value->first_use()->owner();
      if (user->is(schedule::info(SOp::Dot))) return value->first_use()->index() < 2;
      if (!user->is(schedule::info(SOp::Reshape))) return false;
    }
    return false;
  }

  void lower_load(Op* op) {
    Value* memory = op->in(schedule::in::Load::memory);
    Type type = op->result()->type();
    Access a = access(op->ins(schedule::in::Load::index), type, memory->type());
    Value* lowered = mapped(memory);
    if (windows_of(lowered) && machine_ && !may_be_copied(op)) {
      return define(op, gather_windows(builder_, lowered, a.offsets, a.limits, type));
    }
    define(op, tile::load(builder_, mapped(memory), a.offsets, a.limits, type,
                          op->attr(schedule::attr::Load::fill)));
  }

  void lower_store(Op* op) {
    Value* memory = op->in(schedule::in::Store::memory);
    Value* value = op->in(schedule::in::Store::value);
    Access a = access(op->ins(schedule::in::Store::index), value->type(), memory->type());
    tile::store(builder_, mapped(value), mapped(memory), a.offsets, a.limits);
  }

  /// Elements that take no part are found by propagate_masks.
  void lower_scatter(Op* op) {
    std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
    builder_.op(tile::info(tile::OpKind::Scatter),
                {{mapped(op->in(schedule::in::Scatter::value))},
                 {mapped(op->in(schedule::in::Scatter::memory))},
                 mapped(op->ins(schedule::in::Scatter::index)),
                 {}},
                {}, std::move(attributes));
  }

  /// Each copy is a group of its own.
  void lower_copy(Op* op) {
    Value *from = op->in(schedule::in::CopyAsync::from), *to = op->in(schedule::in::CopyAsync::to);
    std::vector<Dim> tile(from->type()->rank() - to->type()->rank(), context().dims().constant(1));
    size_t lead = tile.size();
    tile.insert(tile.end(), to->type()->dims.begin(), to->type()->dims.end());
    Access a = access(op->ins(schedule::in::CopyAsync::index), context().tile(tile, to->type()->dtype), from->type());
    if (!a.limits.empty()) a.limits = copied_limits(a, lead);
    builder_.op(tile::info(tile::OpKind::CopyAsync), {{mapped(from)}, a.offsets, a.limits, {mapped(to)}, {}}, {});
    builder_.op(tile::info(tile::OpKind::CopyCommit), {}, {});
  }

  /// The limits of the last axes. Where an index of the axes before them is past its end there is nothing to copy.
  std::vector<Value*> copied_limits(const Access& a, size_t lead) {
    std::vector<Value*> limits(a.limits.begin() + int64_t(lead), a.limits.end());
    for (size_t i = 0; i < lead; ++i) {
      if (tile::known_index(a.limits[i]).value_or(0) > 0) continue;
      Value* none = tile::index(builder_, 0);
      Value* there = tile::elementwise(builder_, ElementwiseKind::Gt, {a.limits[i], none});
      limits[0] = tile::elementwise(builder_, ElementwiseKind::Select, {there, limits[0], none});
    }
    return limits;
  }

  void lower_gather(Op* op) {
    Value* table = op->in(schedule::in::Gather::table);
    Type type = op->result()->type();
    Position p =
        position(op->in(schedule::in::Gather::column), type->dims[1], table->type()->dims[1]);
    std::vector<Value*> limits;
    if (p.limit) limits = {tile::dim(builder_, type->dims[0]), p.limit};
    define(op,
           builder_.value(
               tile::info(tile::OpKind::Gather),
               {{mapped(table)}, {mapped(op->in(schedule::in::Gather::rows))}, {p.offset}, limits},
               type));
  }

  Builder builder_;
  Op* kernel_;
  const Machine* machine_;  ///< null: none in particular
  std::map<Value*, Value*> values_;
  std::map<Value*, std::optional<double>> most_;
  std::map<std::tuple<Value*, Dim, Dim>, Position> positions_;
};

}  // namespace

Status schedule_to_tile(Module& module, PassContext& context) {
  for (Op* op : *module.body()) {
    if (op->is(schedule::info(SOp::Kernel))) KernelLowering(module, op, context.machine).run();
  }
  module.set_level(Level::Tile);
  return success;
}

}  // namespace tessera

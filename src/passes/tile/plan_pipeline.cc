// Decides how the operands of products reach the units that multiply (GPU).
//
// Tensor cores read operands from shared memory, and an FMA product wants them there too, so each operand of a
// tile.dot becomes a tile of shared memory and the dot a tile.mma. What lies there comes in one of these ways:
//
//   channel    loads that the copy engine can do, once or in each turn of a loop that counts turns:
//              `acquire; copy …; wait; mma; mma_wait; release`. The channel has one stage here; multi_buffer gives it
//              more, specialise_roles splits the two sides.
//   copies     other loads, which the threads copy: copy, copy_wait, barrier, mma, mma_wait, barrier.
//   stores     what is no load is computed in registers and stored.
//   registers  a left factor that was computed from another product's sums stays where it is, if the matrix unit reads
//              it there: the map of its accumulators is that of the factor.
//
// What is loaded before a loop and multiplied in it is brought once, where it is loaded. Products that follow
// each other and wait for nothing of each other are a *group*: what they read in a turn shares a channel, a tile that
// several of them read is brought once, and they are waited for together.
//
// All threads that the schedule has for computing do all of that; specialise_roles adds those that only load.

#include <algorithm>
#include <map>
#include <set>

#include "ir/layout/wgmma_descriptor.h"
#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"
#include "passes/tile/gpu/flat_stores.h"
#include "passes/tile/gpu/gpu_schedule.h"
#include "passes/tile/gpu/operand_loads.h"
#include "passes/tile/gpu/product_unit.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/gpu/written_memory.h"
#include "support/check.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace in = tile::in;

namespace {

/// The op of the block that the other is, or is inside of.
Op* within(Block* block, Op* op) {
  while (op->block() != block) op = op->parent();
  return op;
}

bool is_shared(Value* memory) {
  return memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
}

class PipelinePlan {
 public:
  PipelinePlan(Op* kernel, const Machine& machine)
      : kernel_(kernel),
        machine_(machine),
        warps_(gpu_schedule(kernel, machine).compute_warps),
        known_(kernel),
        builder_(*kernel->module()) {}

  void run() {
    flatten_stores(kernel_);
    has_written_ = place_written_memory(kernel_, machine_);
    std::vector<Op*> dots;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) dots.push_back(op);
      if (op->is(tile::info(OpKind::Store))) stored_.insert(whole_of(op->in(in::Store::memory)));
    });
    OperandLoads loads(kernel_);
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) loads.settle(dot->in(slot));
    }
    std::vector<std::vector<Op*>> groups;
    for (Op* dot : dots) {
      if (groups.empty() || !joins(groups.back(), dot)) groups.emplace_back();
      groups.back().push_back(dot);
    }
    for (const std::vector<Op*>& group : groups) stage(group);
  }

 private:
  enum class Way : uint8_t { Channel, Copy, Store, Written, Register };
  struct Operand {
    Value* value;
    unsigned slot;  ///< of the dot
    Op* load;       ///< null: computed
    std::optional<SharedLayout> layout = {};
    Way way = Way::Store;
    bool before = false;      ///< it is loaded before the loop that multiplies it
    Value* place = nullptr;   ///< where the product reads it
  };
  /// A turn of a channel.
  struct Turn {
    Value* channel = nullptr;
    Value* number = nullptr;
  };
  /// What is brought before the loops that read it, until behind the last of them.
  struct Held {
    Value* place;
    Op* release;  ///< null where no channel has to be given back
  };

  Context& context() { return builder_.context(); }

  /// What the memory is a window of.
  static Value* whole_of(Value* memory) {
    while (memory->def() && memory->def()->operand_count() > 0) memory = memory->def()->operand(0);
    return memory;
  }

  /// The load from global memory that makes the value; null where another op does.
  static Op* load_of(Value* value) {
    Op* def = value->def();
    bool loaded = def && def->is(tile::info(OpKind::Load)) && !is_shared(def->in(in::Load::memory));
    return loaded ? def : nullptr;
  }

  /// Whether the product can be staged with those of the group: all of them read loads alone, and nothing uses a
  /// result before the last of them.
  bool joins(const std::vector<Op*>& group, Op* dot) {
    if (has_written_) return false;
    auto reads_loads = [](Op* op) { return load_of(op->in(in::Dot::a)) && load_of(op->in(in::Dot::b)); };
    if (!reads_loads(dot) || !reads_loads(group[0]) || dot->block() != group[0]->block()) return false;
    for (Op* earlier : group) {
      for (Use* use = earlier->result()->first_use(); use; use = use->next()) {
        if (!dot->is_before(within(dot->block(), use->owner()))) return false;
      }
    }
    return true;
  }

  /// Whether the product may read the memory itself: nothing has been ordered between the load and it.
  static bool still_holds(Op* load, Op* dot) {
    if (load->block() != dot->block() || load->in(in::Load::memory)->type()->rank() != 2) return false;
    for (Op* op = load->next(); op != dot; op = op->next()) {
      if (!op || op->is(tile::info(OpKind::Barrier)) || op->region_count() > 0) return false;
    }
    return true;
  }

  /// Whether turns of the block can be counted: it is the kernel's own, or that of a loop in it.
  bool counts_turns(Block* block) const {
    Op* loop = block->parent_op();
    if (loop == kernel_) return true;
    return loop->is(tile::info(OpKind::For)) && loop->parent() == kernel_ &&
           tile::known_index(loop->in(in::For::step)) == 1;
  }

  /// The number of the turn, where the builder stands.
  Value* turn_of(Block* block) {
    Op* loop = block->parent_op();
    if (loop == kernel_) return tile::index(builder_, 0);
    return tile::sub(builder_, block->arg(0), loop->in(in::For::lo));
  }

  Operand operand(Op* dot, unsigned slot) {
    Value* value = dot->in(slot);
    Operand found{value, slot, load_of(value)};
    Op* def = value->def();
    Type type = value->type();
    if (!found.load && def && def->is(tile::info(OpKind::Load)) && still_holds(def, dot)) {
      found.way = Way::Written;
      found.place = def->in(in::Load::memory);
      return found;
    }
    Type memory = found.load ? found.load->in(in::Load::memory)->type()
                             : context().contiguous_view(type->dims, type->dtype, MemorySpace::Global);
    found.layout = staged_layout(context(), memory, type);
    TSR_CHECK(found.layout, "no layout in shared memory for " + type->text);
    if (found.load && !found.load->has_attr("fill")) {
      found.before = found.load->block() != dot->block() && dot->parent()->is(tile::info(OpKind::For));
      bool near = found.before || found.load->block() == dot->block();
      found.way = near && is_for_engine(found) ? Way::Channel : Way::Copy;
    } else if (slot == in::Dot::a && stays_in_registers(dot)) {
      found.way = Way::Register;
    }
    return found;
  }

  bool is_for_engine(const Operand& operand) {
    Op* load = operand.load;
    if (!machine_.gpu.has_tma || has_written_ || !counts_turns(load->block())) return false;
    bool stored = stored_.contains(whole_of(load->in(in::Load::memory)));
    return !stored && is_tensor_copy(load, *operand.layout, known_);
  }

  /// Whether the left factor was computed from sums that lie as the matrix unit reads it.
  bool stays_in_registers(Op* dot) {
    Value *a = dot->in(in::Dot::a), *b = dot->in(in::Dot::b);
    if (!has_wgmma_shape(a->type(), dot->result()->type(), warps_, machine_)) return false;
    Type memory = load_of(b) ? load_of(b)->in(in::Load::memory)->type()
                             : context().contiguous_view(b->type()->dims, b->type()->dtype, MemorySpace::Global);
    std::optional<SharedLayout> right = staged_layout(context(), memory, b->type());
    std::set<Value*> seen;
    return right && layout::wgmma_operand(*right, 0) && is_made_of_sums(a, seen);
  }

  /// True if a product's result is among what the tile is computed from, element by element.
  static bool is_made_of_sums(Value* value, std::set<Value*>& seen) {
    Op* def = value->def();
    if (!def || !seen.insert(value).second) return false;
    if (def->is(tile::info(OpKind::MmaWait))) return true;
    if (def->info().elementwise == ElementwiseKind::None && !def->is(tile::info(OpKind::Merge))) return false;
    for (unsigned i = 0; i < def->operand_count(); ++i) {
      bool same = def->operand(i)->type()->dims == value->type()->dims;
      if (same && is_made_of_sums(def->operand(i), seen)) return true;
    }
    return false;
  }

  void stage(const std::vector<Op*>& group) {
    Op* place = group.back();
    builder_.set_loc(place->loc());
    std::vector<Operand> operands;
    // What is computed is another operand as a right factor.
    std::map<std::pair<Value*, unsigned>, size_t> known;
    auto key = [](Op* dot, unsigned slot) { return std::pair(dot->in(slot), load_of(dot->in(slot)) ? 0 : slot); };
    for (Op* dot : group) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        bool is_new = known.try_emplace(key(dot, slot), operands.size()).second;
        if (is_new) operands.push_back(operand(dot, slot));
      }
    }
    // Where threads bring something in each turn, barriers of all of them order it, and a channel has nothing to add.
    bool waits = std::ranges::any_of(operands, [](const Operand& each) {
      return each.way == Way::Copy || each.way == Way::Store;
    });
    std::vector<Operand*> by_channel;
    for (Operand& each : operands) {
      if (each.way != Way::Channel || each.before) continue;
      if (waits) each.way = Way::Copy;
      if (!waits) by_channel.push_back(&each);
    }
    Turn turn = by_channel.empty() ? Turn() : fill_channel(by_channel, place);
    bool by_threads = bring(operands, place);
    if (turn.channel) tile::channel_op(builder_, OpKind::ChannelWait, turn.channel, turn.number);
    std::vector<Value*> products;
    for (Op* dot : group) {
      Value *a = operands[known[key(dot, in::Dot::a)]].place, *b = operands[known[key(dot, in::Dot::b)]].place;
      products.push_back(product(dot, a, b));
    }
    Op* done = tile::mma_wait(builder_, products, 0);
    if (turn.channel) tile::channel_op(builder_, OpKind::ChannelRelease, turn.channel, turn.number);
    if (by_threads) tile::barrier(builder_);
    for (size_t i = 0; i < group.size(); ++i) replace(group[i], done->result(unsigned(i)));
    for (const Operand& each : operands) {
      bool read = each.way != Way::Store && each.way != Way::Register;
      if (read && each.value->unused()) each.value->def()->erase();
    }
  }

  /// Brings what does not come by a channel of the group's own; true if threads do so. The builder then stands before
  /// the group.
  bool bring(std::vector<Operand>& operands, Op* place) {
    bool copies = false, stores = false, held = false;
    for (Operand& each : operands) {
      builder_.set_before(place);
      if (each.before) {
        each.place = hold(each, place);
        held |= each.way == Way::Copy;
      } else if (each.way == Way::Copy) {
        each.place = new_tile(each, 0);
        tile::copy_async(builder_, each.load, each.place, nullptr);
        copies = true;
      } else if (each.way == Way::Store) {
        each.place = new_tile(each, 0);
        Value* zero = tile::index(builder_, 0);
        tile::store(builder_, within_limit(place, each), each.place, {zero, zero}, {});
        stores = true;
      } else if (each.way == Way::Register) {
        each.place = within_limit(place, each);
      }
    }
    builder_.set_before(place);
    if (copies || stores) finish_copies(copies);
    return copies || stores || held;
  }

  /// Shared memory belongs to the whole kernel.
  Value* new_tile(const Operand& operand, int64_t slots) {
    Builder here = builder_;
    builder_.set_before(kernel_->region()->front()->front());
    Value* made = tile::alloc_shared(builder_, shared_type(context(), operand.value->type(), *operand.layout, slots));
    builder_ = here;
    return made;
  }

  /// Bytes that the copy engine brings: columns of a swizzled tile are aligned, and what lies between them is no part
  /// of any copy.
  static int64_t copied_bytes(const Operand& operand) {
    int64_t bytes = byte_size(operand.value->type()->dtype);
    for (Dim dim : operand.value->type()->dims) bytes *= *dim->constant();
    return bytes;
  }

  /// Acquires a turn of a new channel before the op and copies the operands.
  Turn fill_channel(const std::vector<Operand*>& operands, Op* before) {
    std::vector<Value*> rings;
    int64_t bytes = 0;
    for (Operand* each : operands) {
      rings.push_back(new_tile(*each, 1));
      bytes += copied_bytes(*each);
    }
    builder_.set_after(rings.front()->def());  // each stands before those made earlier
    Value* channel = builder_.value(tile::info(OpKind::Channel), {rings}, tile::channel_type(context()),
                                    {{"stages", context().integer(1)}});
    builder_.set_before(before);
    Value* number = turn_of(before->block());
    tile::channel_op(builder_, OpKind::ChannelAcquire, channel, number, {{"bytes", context().integer(bytes)}});
    for (size_t i = 0; i < operands.size(); ++i) operands[i]->place = tile::slot(builder_, rings[i], number);
    for (Operand* each : operands) tile::copy_async(builder_, each->load, each->place, channel);
    return {channel, number};
  }

  /// Brings an operand where it is loaded, unless it is there already, for the products at `reader`.
  Value* hold(Operand& operand, Op* reader) {
    Op* user = within(operand.load->block(), reader);
    auto [it, is_new] = held_.try_emplace(operand.load);
    Held& held = it->second;
    if (!is_new) {
      if (held.release && held.release->is_before(user)) held.release->move_before(user->next());
      return held.place;
    }
    if (operand.way == Way::Copy) {
      held = {new_tile(operand, 0), nullptr};
      builder_.set_after(operand.load);
      tile::copy_async(builder_, operand.load, held.place, nullptr);
      finish_copies(true);
      return held.place;
    }
    Turn turn = fill_channel({&operand}, operand.load->next());
    tile::channel_op(builder_, OpKind::ChannelWait, turn.channel, turn.number);
    builder_.set_after(user);
    held = {operand.place, tile::channel_op(builder_, OpKind::ChannelRelease, turn.channel, turn.number)};
    return held.place;
  }

  /// Waits for copies, and for what was written otherwise, of all threads.
  void finish_copies(bool copies) {
    if (copies) {
      builder_.op(tile::info(OpKind::CopyCommit), {}, {});
      builder_.op(tile::info(OpKind::CopyWait), {}, {}, {{"pending", context().integer(0)}});
    }
    if (machine_.gpu.has_wgmma) tile::fence_async(builder_);  // which reads shared memory by itself
    tile::barrier(builder_);
  }

  /// A computed operand with zeros past the limit of k.
  Value* within_limit(Op* dot, const Operand& operand) {
    Value* limit = dot->in(in::Dot::limit);
    if (!limit) return operand.value;
    Type type = operand.value->type();
    std::vector<Value*> limits{tile::dim(builder_, type->dims[0]), tile::dim(builder_, type->dims[1])};
    limits[operand.slot == in::Dot::a ? 1 : 0] = limit;
    Attr nothing = is_float(type->dtype) ? context().number(0) : context().integer(0);
    return tile::merge(builder_, operand.value, tile::full(builder_, type, nothing), limits);
  }

  /// Elements past the limit of k are zero in both operands, so the product needs no limit.
  Value* product(Op* dot, Value* a, Value* b) {
    Value* c = dot->in(in::Dot::c);
    return builder_.value(tile::info(OpKind::Mma), {{a}, {b}, {c}, {}}, c->type());
  }

  void replace(Op* dot, Value* with) {
    with->set_name(dot->result()->name());
    dot->result()->replace_all_uses(with);
    dot->erase();
  }

  Op* kernel_;
  const Machine& machine_;
  int64_t warps_;
  Divisibility known_;
  Builder builder_;
  bool has_written_ = false;  ///< the source has memory of its own, and its loops stay as they are
  std::set<Value*> stored_;   ///< memory that the kernel writes
  std::map<Op*, Held> held_;
};

}  // namespace

Status plan_pipeline(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "plan_pipeline needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    PipelinePlan(op, *context.machine).run();
    op->set_attr("threads", module.context().integer(32 * gpu_schedule(op, *context.machine).compute_warps));
  }
  return success;
}

}  // namespace tessera

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

#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"
#include "passes/tile/gpu/flat_stores.h"
#include "passes/tile/gpu/gpu_schedule.h"
#include "passes/tile/gpu/operand_loads.h"
#include "passes/tile/gpu/operand_staging.h"
#include "passes/tile/gpu/operand_ways.h"
#include "passes/tile/gpu/written_memory.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

class PipelinePlan {
 public:
  PipelinePlan(Op* kernel, const Machine& machine) : kernel_(kernel), machine_(machine), staging_(kernel, machine) {}

  void run() {
    flatten_stores(kernel_);
    has_written_ = place_written_memory(kernel_, machine_);
    std::vector<Op*> dots;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) dots.push_back(op);
    });
    OperandWays ways(kernel_, machine_, gpu_schedule(kernel_, machine_).compute_warps, has_written_);
    OperandLoads loads(kernel_);
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) loads.settle(dot->in(slot));
    }
    std::vector<std::vector<Op*>> groups;
    for (Op* dot : dots) {
      if (groups.empty() || !joins(groups.back(), dot)) groups.emplace_back();
      groups.back().push_back(dot);
    }
    for (const std::vector<Op*>& group : groups) stage(group, ways);
  }

 private:
  /// Whether the product can be staged with those of the group: all of them read loads alone, and nothing uses a
  /// result before the last of them.
  bool joins(const std::vector<Op*>& group, Op* dot) {
    if (has_written_) return false;
    auto reads_loads = [](Op* op) { return global_load_of(op->in(in::Dot::a)) && global_load_of(op->in(in::Dot::b)); };
    if (!reads_loads(dot) || !reads_loads(group[0]) || dot->block() != group[0]->block()) return false;
    for (Op* earlier : group) {
      for (Use* use = earlier->result()->first_use(); use; use = use->next()) {
        if (!dot->is_before(op_within(dot->block(), use->owner()))) return false;
      }
    }
    return true;
  }

  void stage(const std::vector<Op*>& group, const OperandWays& ways) {
    Builder& builder = staging_.builder();
    Op* place = group.back();
    builder.set_loc(place->loc());
    std::vector<StagedOperand> operands;
    // What is computed is another operand as a right factor.
    std::map<std::pair<Value*, unsigned>, size_t> known;
    auto key = [](Op* dot, unsigned slot) {
      return std::pair(dot->in(slot), global_load_of(dot->in(slot)) ? 0 : slot);
    };
    for (Op* dot : group) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        bool is_new = known.try_emplace(key(dot, slot), operands.size()).second;
        if (is_new) operands.push_back(ways.choose(dot, slot));
      }
    }
    // Where threads bring something in each turn, barriers of all of them order it, and a channel has nothing to add.
    bool waits = std::ranges::any_of(operands, [](const StagedOperand& each) {
      return each.way == OperandWay::Copy || each.way == OperandWay::Store;
    });
    std::vector<StagedOperand*> by_channel;
    for (StagedOperand& each : operands) {
      if (each.way != OperandWay::Channel || each.before) continue;
      if (waits) each.way = OperandWay::Copy;
      if (!waits) by_channel.push_back(&each);
    }
    OperandStaging::Turn turn = by_channel.empty() ? OperandStaging::Turn() : staging_.fill_channel(by_channel, place);
    bool by_threads = staging_.bring(operands, place);
    if (turn.channel) tile::channel_op(builder, OpKind::ChannelWait, turn.channel, turn.number);
    std::vector<Value*> products;
    for (Op* dot : group) {
      Value *a = operands[known[key(dot, in::Dot::a)]].place, *b = operands[known[key(dot, in::Dot::b)]].place;
      products.push_back(product(dot, a, b));
    }
    Op* done = tile::mma_wait(builder, products, 0);
    if (turn.channel) tile::channel_op(builder, OpKind::ChannelRelease, turn.channel, turn.number);
    if (by_threads) tile::barrier(builder);
    for (size_t i = 0; i < group.size(); ++i) replace(group[i], done->result(unsigned(i)));
    for (const StagedOperand& each : operands) {
      bool read = each.way != OperandWay::Store && each.way != OperandWay::Register;
      if (read && each.value->unused()) each.value->def()->erase();
    }
  }

  /// Elements past the limit of k are zero in both operands, so the product needs no limit.
  Value* product(Op* dot, Value* a, Value* b) {
    Value* c = dot->in(in::Dot::c);
    return staging_.builder().value(tile::info(OpKind::Mma), {{a}, {b}, {c}, {}}, c->type());
  }

  void replace(Op* dot, Value* with) {
    with->set_name(dot->result()->name());
    dot->result()->replace_all_uses(with);
    dot->erase();
  }

  Op* kernel_;
  const Machine& machine_;
  OperandStaging staging_;
  bool has_written_ = false;  ///< the source has memory of its own, and its loops stay as they are
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

// Decides how the operands of each tile.dot reach the unit that multiplies (GPU).
//
// Tensor cores read operands from shared memory, and the FMA path wants them there too. So each
// operand of a tile.dot becomes a tile in shared memory, and the dot becomes a tile.mma. An operand
// takes one of these paths:
//
//   channel    loads that the copy engine can do, once or in each iteration of a loop:
//              `acquire; copy …; wait; mma; mma_wait; release`. The channel has one stage here;
//              multi_buffer gives it more, specialise_roles splits the two sides.
//   copies     other loads, which the threads copy: copy, copy_wait, barrier, mma, mma_wait, barrier.
//   stores     an operand that is computed in registers is stored, and so is one that is loaded but lies in memory as
//              the instruction cannot read it. Where it is computed of narrower elements, such as weights of 8 or 4
//              bits, and loads may run ahead, threads copy these first: copy, copy_wait, barrier, load, compute, store,
//              barrier.
//   registers  a left factor computed from the result of another MMA stays in registers, if the
//              matrix unit reads it there: its accumulators have the layout of that factor. So does one that is
//              computed of narrower elements, which are copied first as for a store.
//
// What such a loop loads beside operands (a bias of scores, or the weights of such a factor) takes the first path as
// well, where roles keep its loads in flight and there is shared memory for them.
//
// An operand that is loaded before a loop and multiplied in it is brought once, where it is loaded.
// Dots that follow each other are a *group* if none of them reads another's result, other than to add to it: the
// operands that they read in an iteration share a channel, a tile that several of them read is brought once, and
// one mma_wait waits for all of them. What stays in registers is computed right before the MMA that reads it, beside
// those that are issued.
//
// All threads that the schedule has for computing do this work; specialise_roles adds threads that
// only load.

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/common/window_loads.h"
#include "passes/tile/gpu/flat_stores.h"
#include "passes/tile/gpu/operand_loads.h"
#include "passes/tile/gpu/operand_paths.h"
#include "passes/tile/gpu/operand_staging.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/gpu/written_memory.h"
#include "passes/tile/pipeline/builders.h"
#include "passes/tile/pipeline/choose_schedule.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

class PipelinePlan {
 public:
  PipelinePlan(Op* kernel, PassContext& context)
      : kernel_(kernel), machine_(*context.machine), pipelined_(context.pipelined), staging_(kernel, machine_) {}

  void run() {
    flatten_stores(kernel_);
    has_written_ = place_written_memory(kernel_, machine_);
    std::vector<Op*> dots;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) dots.push_back(op);
    });
    OperandPaths paths(kernel_, machine_, gpu_schedule(kernel_, machine_).compute_warps, has_written_);
    OperandLoads loads(kernel_);
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) loads.normalise(dot->in(slot));
    }
    for (Value* value : beside(dots, OpKind::Reshape)) loads.normalise(value);
    for (Value* value : beside(dots, OpKind::Load)) loads.drop_repeated(value->def());
    for (const std::vector<Op*>& group : groups_of(dots, paths)) gather_what_is_not_copied(group, paths);
    if (pipelined_ || (!dots.empty() && leaves_open())) find_pipelines(dots, paths);
    std::vector<std::vector<Op*>> groups = groups_of(dots, paths);
    std::vector<StagedOperand> loaded = loaded_beside(dots, paths);
    for (const std::vector<Op*>& group : groups) stage(group, paths, loaded);
    for (StagedOperand& each : loaded) staging_.bring_beside(each);
  }

 private:
  std::vector<std::vector<Op*>> groups_of(const std::vector<Op*>& dots, const OperandPaths& paths) {
    std::vector<std::vector<Op*>> groups;
    for (Op* dot : dots) {
      if (groups.empty() || !joins(groups.back(), dot, paths)) groups.emplace_back();
      groups.back().push_back(dot);
    }
    return groups;
  }

  /// Windows that the copy engine does not bring become rows that threads gather: where it cannot, and where threads
  /// bring another operand.
  void gather_what_is_not_copied(const std::vector<Op*>& group, const OperandPaths& paths) {
    std::set<Op*> loads;
    bool by_threads = false;
    for (Op* dot : group) {
      const MmaInstruction* instruction = paths.instruction(dot);
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        by_threads |= is_by_threads(paths.choose(dot, slot, instruction));
        Op* load = global_load_of(dot->in(slot));
        if (load && windows_of(load->in(in::Load::memory))) loads.insert(load);
      }
    }
    if (!by_threads) return;
    Builder& builder = staging_.builder();
    for (Op* load : loads) {
      builder.set_before(load);
      builder.set_loc(load->loc());
      Value* rows = gather_windows(builder, load->in(in::Load::memory), load->ins(in::Load::offsets),
                                   load->ins(in::Load::limits), load->result()->type());
      load->result()->replace_all_uses(rows);
      load->erase();
    }
  }

  /// Whether the schedule leaves open how loads are kept in flight.
  bool leaves_open() const {
    Attr asked = kernel_->attr(attr::Kernel::schedule);
    bool may_have_roles = machine_.gpu.has_register_reallocation;
    return !entry::node(asked, schedule::key::stages) || (may_have_roles && !entry::node(asked, schedule::key::roles));
  }

  /// The bodies of loops with dots, in order of the program.
  static std::vector<Block*> loops_of(const std::vector<Op*>& dots) {
    std::vector<Block*> bodies;
    for (Op* dot : dots) {
      bool is_new = dot->parent()->is(tile::info(OpKind::For)) && std::ranges::count(bodies, dot->block()) == 0;
      if (is_new) bodies.push_back(dot->block());
    }
    return bodies;
  }

  /// Results of two axes of such ops in loops with dots.
  static std::vector<Value*> beside(const std::vector<Op*>& dots, OpKind kind) {
    std::vector<Value*> found;
    for (Block* body : loops_of(dots)) {
      for (Op* op : *body) {
        if (op->is(tile::info(kind)) && op->result()->type()->rank() == 2) found.push_back(op->result());
      }
    }
    return found;
  }

  /// Whether a number is computed of the value: what loads depend on is read by the threads that load.
  static bool reaches_numbers(Value* value, std::set<Value*>& seen) {
    if (!seen.insert(value).second) return false;
    if (!value->type()->is(TypeKind::Tile) || value->type()->rank() == 0) return true;
    auto reaches = [&](Op* op, unsigned i) {
      bool is_loop = op->is(tile::info(OpKind::For));
      return (is_loop && reaches_numbers(op->region()->front()->arg(i + 1), seen)) ||
             reaches_numbers(op->result(i), seen);
    };
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* op = use->owner();
      if (op->is_terminator() && op->parent()->result_count() > 0) {
        if (reaches(op->parent(), use->index())) return true;
      } else if (op->is(tile::info(OpKind::For))) {
        if (reaches(op, use->index() - op->slot_begin(in::For::inits))) return true;
      } else {
        for (unsigned i = 0; i < op->result_count(); ++i) {
          if (reaches_numbers(op->result(i), seen)) return true;
        }
      }
    }
    return false;
  }

  /// Whether threads copy or store something of the operand in each iteration.
  static bool is_by_threads(const StagedOperand& each) {
    return each.path == OperandPath::Copy || each.path == OperandPath::Store || each.computed_here;
  }

  int64_t shared_bytes(const StagedOperand& operand, int64_t slots) const {
    Type tile = operand.value->type();
    return tile::shared_bytes(shared_type(kernel_->module()->context(), tile, *operand.layout, slots));
  }

  /// Loads of loops in which the copy engine brings all operands, as far as shared memory holds them. Results leave
  /// from registers where none is left for them.
  std::vector<StagedOperand> loaded_beside(const std::vector<Op*>& dots, const OperandPaths& paths) const {
    GpuSchedule schedule = gpu_schedule(kernel_, machine_);
    std::vector<StagedOperand> found;
    if (schedule.load_groups == 0 || schedule.stages < 2 || has_written_) return found;
    std::set<Op*> operands;
    std::set<Block*> by_engine, by_threads;
    int64_t bytes = pipeline::kept_shared_bytes;
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        StagedOperand operand = paths.choose(dot, slot, paths.instruction(dot));
        if (operand.path == OperandPath::Copy || operand.path == OperandPath::Store) by_threads.insert(dot->block());
        if (!operand.layout || !operands.insert(operand.value->def()).second) continue;
        bool is_in_loop = operand.path == OperandPath::Channel && !operand.before;
        if (is_in_loop) by_engine.insert(dot->block());
        bytes += shared_bytes(operand, is_in_loop ? schedule.stages : 1);
      }
    }
    for (Value* value : beside(dots, OpKind::Load)) {
      Op* load = value->def();
      if (!by_engine.contains(load->block()) || by_threads.contains(load->block()) || operands.contains(load)) continue;
      std::optional<StagedOperand> loaded = paths.beside(load);
      std::set<Value*> seen;
      if (!loaded || reaches_numbers(value, seen)) continue;
      int64_t more = shared_bytes(*loaded, schedule.stages);
      if (bytes + more > machine_.gpu.shared_per_block) continue;
      bytes += more;
      found.push_back(*loaded);
    }
    return found;
  }

  /// How operands reach the unit that multiplies. Where threads bring one of a dot's operands, they bring both.
  pipeline::DotChoices choices_of(const std::vector<Op*>& dots, const OperandPaths& paths) const {
    using By = pipeline::DotChoices::By;
    pipeline::DotChoices choices;
    for (Op* dot : dots) {
      const MmaInstruction* instruction = choices.instructions[dot] = paths.instruction(dot);
      std::vector<StagedOperand> operands;
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        operands.push_back(paths.choose(dot, slot, instruction));
      }
      bool by_threads = std::ranges::any_of(operands, is_by_threads);
      for (const StagedOperand& each : operands) {
        bool is_in_loop = each.load && !each.before;
        if (each.raw) choices.brought[each.raw] = By::Threads;
        if (is_in_loop) choices.brought[each.load] = by_threads ? By::Threads : By::CopyEngine;
        if (is_in_loop || each.path == OperandPath::Register) continue;
        choices.held_bytes += pipeline::tile_bytes(each.value->type());
      }
    }
    return choices;
  }

  /// Shows the pipelines that the kernel's loops can have, and gives the schedule what it leaves open.
  void find_pipelines(const std::vector<Op*>& dots, const OperandPaths& paths) {
    pipeline::DotChoices choices = choices_of(dots, paths);
    GpuSchedule schedule = gpu_schedule(kernel_, machine_);
    std::vector<pipeline::LoopPipeline> pipelines;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::For))) pipelines.push_back(pipeline_of(op, choices, schedule, machine_));
    });
    for (const pipeline::LoopPipeline& each : pipelines) {
      if (pipelined_) pipelined_(kernel_, each);
    }
    Attr chosen = has_written_ ? nullptr : choose_schedule(kernel_, pipelines, choices, machine_);
    if (chosen) kernel_->set(attr::Kernel::chosen, chosen->entries);
  }

  /// Whether the dot can join the group: all dots in it read only loads, and what is computed of narrower loads, and
  /// nothing uses a result before the last of them, but for one of them that alone reads it and adds to it.
  bool joins(const std::vector<Op*>& group, Op* dot, const OperandPaths& paths) {
    if (has_written_) return false;
    auto reads_loads = [&](Op* op) {
      const MmaInstruction* instruction = paths.instruction(op);
      auto is_loaded = [&](unsigned slot) {
        return global_load_of(op->in(slot)) || paths.choose(op, slot, instruction).raw;
      };
      return is_loaded(in::Dot::a) && is_loaded(in::Dot::b);
    };
    if (!reads_loads(dot) || !reads_loads(group[0]) || dot->block() != group[0]->block()) return false;
    auto is_added_to = [&](Value* sum) {
      Use* use = sum->first_use();
      if (!use || use->next()) return false;
      Op* op = use->owner();
      bool is_dot = op == dot || std::ranges::find(group, op) != group.end();
      return is_dot && use->index() == op->slot_begin(in::Dot::c);
    };
    for (Op* earlier : group) {
      if (is_added_to(earlier->result())) continue;
      for (Use* use = earlier->result()->first_use(); use; use = use->next()) {
        if (!dot->is_before(op_within(dot->block(), use->owner()))) return false;
      }
    }
    return true;
  }

  /// `loaded`: what comes in channels of its own.
  void stage(const std::vector<Op*>& group, const OperandPaths& paths, const std::vector<StagedOperand>& loaded) {
    Builder& builder = staging_.builder();
    std::vector<const MmaInstruction*> instructions;
    for (Op* dot : group) instructions.push_back(paths.instruction(dot));
    Op* place = group.back();
    builder.set_loc(place->loc());
    std::vector<StagedOperand> operands;
    // A value that is not copied is a different operand as a left and as a right factor.
    std::map<std::pair<Value*, unsigned>, size_t> known;
    std::vector<std::array<size_t, 2>> read;
    for (size_t i = 0; i < group.size(); ++i) {
      read.emplace_back();
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
        StagedOperand operand = paths.choose(group[i], slot, instructions[i]);
        bool comes = std::ranges::any_of(loaded, [&](const auto& each) { return each.load == operand.raw; });
        if (comes) operand.raw = nullptr, operand.computed_here = false;
        auto [it, is_new] = known.try_emplace({operand.value, operand.load ? 0 : slot}, operands.size());
        if (is_new) operands.push_back(operand);
        read.back()[slot == in::Dot::a ? 0 : 1] = it->second;
      }
    }
    // Where threads copy or store an operand in each iteration, barriers of all threads order the
    // accesses, and a channel would add nothing.
    bool waits = std::ranges::any_of(operands, is_by_threads);
    std::vector<StagedOperand*> by_channel;
    for (StagedOperand& each : operands) {
      if (each.path != OperandPath::Channel || each.before) continue;
      if (waits) each.path = OperandPath::Copy;
      if (!waits) by_channel.push_back(&each);
    }
    OperandStaging::Iteration iteration;
    if (!by_channel.empty()) iteration = staging_.fill_channel(by_channel, place);
    bool by_threads = staging_.bring(operands, place, gpu_schedule(kernel_, machine_).stages > 1);
    if (iteration.channel) tile::channel_op(builder, OpKind::ChannelWait, iteration.channel, iteration.number);
    std::map<Value*, Value*> sums;  // of dots, while others may add to them
    std::vector<Value*> mmas;
    for (size_t i = 0; i < group.size(); ++i) {
      auto [a, b] = read[i];
      Value* c = group[i]->in(in::Dot::c);
      bool adds = !promotes(instructions[i]);
      if (auto known = sums.find(c); adds && known != sums.end()) c = known->second, known->second = nullptr;
      mmas.push_back(mma(c, operands[a].place, operands[b].place, instructions[i]));
      if (adds) sums[group[i]->result()] = mmas.back();
    }
    auto is_final = [&](size_t i) { return promotes(instructions[i]) || sums.at(group[i]->result()); };
    std::vector<Value*> awaited;
    for (size_t i = 0; i < group.size(); ++i) {
      if (is_final(i)) awaited.push_back(mmas[i]);
    }
    Op* done = tile::mma_wait(builder, awaited, 0);
    if (iteration.channel) tile::channel_op(builder, OpKind::ChannelRelease, iteration.channel, iteration.number);
    if (by_threads) tile::barrier(builder);
    for (size_t i = 0, next = 0; i < group.size(); ++i) {
      Value* sum = is_final(i) ? done->result(unsigned(next++)) : mmas[i];
      if (promotes(instructions[i])) sum = tile::add(builder, group[i]->in(in::Dot::c), sum);
      replace(group[i], sum);
    }
    compute_late(mmas);
    for (const StagedOperand& each : operands) {
      bool read = each.path != OperandPath::Store && each.path != OperandPath::Register;
      if (read && each.value->unused()) each.value->def()->erase();
    }
  }

  static bool promotes(const MmaInstruction* instruction) { return instruction && instruction->promotes; }

  /// Elements past the limit of k are zero in both operands, so the MMA needs no limit. Where the sum is promoted, it
  /// starts from 0.
  Value* mma(Value* c, Value* a, Value* b, const MmaInstruction* instruction) {
    Builder& builder = staging_.builder();
    if (promotes(instruction)) c = tile::full(builder, c->type(), builder.context().number(0));
    Op* made = builder.op(tile::info(OpKind::Mma), {{a}, {b}, {c}, {}}, {c->type()});
    if (instruction) made->set(attr::Mma::instruction, instruction->name);
    return made->result();
  }

  /// What the value is computed of element by element in that block and not yet in `made`, operands first.
  static void compute_first(Value* value, Block* block, std::set<Op*>& made, std::vector<Op*>& order) {
    Op* def = value->def();
    bool is_computed = def && def->block() == block && def->info().elementwise != ElementwiseKind::None;
    if (!is_computed || !value->type()->is(TypeKind::Tile) || !made.insert(def).second) return;
    for (unsigned i = 0; i < def->operand_count(); ++i) compute_first(def->operand(i), block, made, order);
    order.push_back(def);
  }

  /// Computes what an MMA reads from registers, and neither those before it nor others do, right before it.
  static void compute_late(const std::vector<Value*>& mmas) {
    std::set<Op*> made;
    for (Value* each : mmas) {
      Op* mma = each->def();
      std::vector<Op*> order;
      compute_first(mma->in(in::Mma::a), mma->block(), made, order);
      if (each == mmas[0]) continue;
      std::set<Op*> late{mma};
      for (Op* op : order | std::views::reverse) {
        bool is_late = true;
        for (Use* use = op->result()->first_use(); use; use = use->next()) is_late &= late.contains(use->owner());
        if (is_late) late.insert(op);
      }
      for (Op* op : order) {
        if (late.contains(op)) op->move_before(mma);
      }
    }
  }

  void replace(Op* dot, Value* with) {
    with->set_name(dot->result()->name());
    dot->result()->replace_all_uses(with);
    dot->erase();
  }

  Op* kernel_;
  const Machine& machine_;
  const std::function<void(Op*, const pipeline::LoopPipeline&)>& pipelined_;
  OperandStaging staging_;
  bool has_written_ = false;  ///< the source has memory of its own, and its loops stay as they are
};

}  // namespace

Status plan_pipeline(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "plan_pipeline needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    PipelinePlan(op, context).run();
    op->set(attr::Kernel::threads, 32 * gpu_schedule(op, *context.machine).compute_warps);
  }
  return success;
}

}  // namespace tessera

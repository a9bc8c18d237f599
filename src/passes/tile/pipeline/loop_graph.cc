#include "passes/tile/pipeline/loop_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/tile/ops.h"

namespace tessera::pipeline {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

namespace {

bool is_mma(Op* op) { return op->is(tile::info(OpKind::Mma)); }
bool is_shared(Value* memory) {
  return memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
}

class GraphBuilder {
 public:
  GraphBuilder(Op* loop, const DotChoices& dots, int64_t phases, const Machine& machine)
      : dots_(dots), machine_(machine), body_(loop->region()->front()) {
    problem_.units = unit_uses();
    problem_.phases = phases;
  }

  LoopGraph build() {
    for (Op* op : *body_) is_staged_ |= is_mma(op);
    if (is_staged_) {
      // Groups of warps share these instruction by instruction.
      for (Unit unit : {Unit::Functions, Unit::Arithmetic}) problem_.units[size_t(unit)] = UnitUse::Mixed;
    }
    for (Op* op : *body_) {
      if (takes_time(op)) add_op(op);
    }
    for (size_t i = 0; i < ops().size(); ++i) add_values(i);
    add_order_of_memory();
    if (is_staged_) {
      add_order_of_threads();
      add_lifetimes();
      for (size_t i = 0; i < ops().size(); ++i) keep_in_place(i);
    }
    return std::move(graph_);
  }

 private:
  std::vector<PipelinedOp>& ops() { return graph_.ops; }

  void add_op(Op* op) {
    auto brought = dots_.brought.find(op);
    bool copies = brought != dots_.brought.end();
    bool loads = copies && brought->second == DotChoices::By::CopyEngine;
    OpClocks clocks = clocks_of(op, dots_, machine_);
    int64_t latency_alone = clocks.latency - clocks.busy(), phases = problem_.phases;
    for (Occupancy& each : clocks.occupies) each.clocks = (each.clocks + phases - 1) / phases;
    clocks.latency = latency_alone + clocks.busy();
    // An MMA may have to wait for that of another group.
    if (is_mma(op) && phases > 1) clocks.latency += clocks.busy() / 2;
    numbers_[op] = ops().size();
    problem_.operations.push_back(clocks.occupies);
    problem_.operations.back().push_back({size_t(Unit::Warps), is_staged_ ? held(op, clocks) : 0});
    ops().push_back({op, std::move(clocks), loads, copies});
  }

  /// Clocks for which the op holds its warps, which run ops in order: until it is done, but for one that goes on by
  /// itself.
  static int64_t held(Op* op, const OpClocks& clocks) {
    constexpr int64_t issue = 16;
    bool accesses = !op->ins(ValueClass::ReadMemory).empty() || !op->ins(ValueClass::WrittenMemory).empty();
    return is_mma(op) || accesses ? std::min(issue, clocks.busy()) : clocks.busy();
  }

  int64_t busy(size_t i) { return std::max<int64_t>(ops()[i].clocks.busy(), 1); }

  void add_values(size_t to) {
    Op* op = ops()[to].op;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      bool adds_to = (op->is(tile::info(OpKind::Dot)) || is_mma(op)) && i == in::Dot::c;
      seen_.clear();
      add_value(op->operand(i), to, 0, adds_to);
    }
  }

  /// Ops that take no time are seen through, and so are values that the iteration before left. An accumulator that a
  /// dot hands to the next stays where it is.
  void add_value(Value* value, size_t to, int64_t distance, bool adds_to) {
    if (!seen_.insert({value, distance}).second || value->parent_block() != body_) return;
    Op* def = value->def();
    if (!def) {
      if (value->index() == 0 || distance > int64_t(body_->arg_count())) return;
      return add_value(body_->terminator()->operand(value->index() - 1), to, distance + 1, adds_to);
    }
    if (def->is(tile::info(OpKind::MmaWait))) return add_value(def->operand(value->index()), to, distance, adds_to);
    auto made = numbers_.find(def);
    if (made == numbers_.end()) {
      for (unsigned i = 0; i < def->operand_count(); ++i) add_value(def->operand(i), to, distance, false);
      return;
    }
    bool is_dot = def->is(tile::info(OpKind::Dot)) || is_mma(def);
    bool stays = adds_to && is_dot;
    const OpClocks& clocks = ops()[made->second].clocks;
    problem_.dependences.push_back({made->second, to, stays ? clocks.busy() : clocks.latency, distance});
    bool in_registers = is_mma(ops()[to].op) && !adds_to && value->type()->is(TypeKind::Tile);
    graph_.reads.push_back({made->second, to, distance, in_registers});
  }

  /// What is written is read and written again in order, as far as one cannot tell the places apart.
  void add_order_of_memory() {
    struct Access {
      size_t number;
      Value* memory;
      bool writes;
    };
    std::vector<Access> accesses;
    for (size_t i = 0; i < ops().size(); ++i) {
      Op* op = ops()[i].op;
      for (Value* memory : op->ins(ValueClass::ReadMemory)) accesses.push_back({i, root_of(memory), false});
      for (Value* memory : op->ins(ValueClass::WrittenMemory)) accesses.push_back({i, root_of(memory), true});
    }
    for (const Access& first : accesses) {
      for (const Access& second : accesses) {
        bool is_pair = first.memory == second.memory && first.number != second.number;
        if (!is_pair || !(first.writes || second.writes)) continue;
        int64_t delay = ops()[first.number].clocks.busy();
        problem_.dependences.push_back({first.number, second.number, delay, first.number < second.number ? 0 : 1});
      }
    }
  }

  /// Threads that write shared memory for each other, the barriers between, and what reads that memory stay in order.
  void add_order_of_threads() {
    std::set<Value*> written;
    std::vector<size_t> ordered;
    for (const PipelinedOp& each : ops()) {
      for (Value* memory : each.op->ins(ValueClass::WrittenMemory)) {
        if (is_shared(memory)) written.insert(root_of(memory));
      }
    }
    for (size_t i = 0; i < ops().size(); ++i) {
      if (is_ordered(ops()[i].op, written)) ordered.push_back(i);
    }
    for (size_t n = 0; n < ordered.size(); ++n) {
      bool is_last = n + 1 == ordered.size();
      size_t from = ordered[n], to = ordered[is_last ? 0 : n + 1];
      if (from == to) continue;
      bool completes = is_mma(ops()[from].op) && !is_mma(ops()[to].op);
      int64_t delay = completes ? ops()[from].clocks.latency : busy(from);
      problem_.dependences.push_back({from, to, delay, is_last ? 1 : 0});
      if (completes) graph_.completions.push_back({from, to, is_last ? 1 : 0});
    }
  }

  static bool is_ordered(Op* op, const std::set<Value*>& written) {
    bool synchronises = op->info().has(Trait::Threaded) && op->info().effects != 0;
    if (synchronises && !is_mma(op) && !op->is(tile::info(OpKind::MmaWait))) return true;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (is_shared(op->operand(i)) && written.contains(root_of(op->operand(i)))) return true;
    }
    return false;
  }

  /// A tile of an iteration is read before that of the next takes its registers: registers have no index, so a value
  /// that lives longer would be moved.
  void add_lifetimes() {
    for (const ValueRead& each : graph_.reads) {
      if (each.distance > 0 || each.from == each.to) continue;
      int64_t delay = each.until_done ? ops()[each.to].clocks.latency : busy(each.to);
      problem_.dependences.push_back({each.to, each.from, delay, 1});
      if (each.until_done) graph_.completions.push_back({each.to, each.from, 1});
    }
  }

  /// What else reads the tile that an MMA adds to, comes before it.
  void keep_in_place(size_t mma) {
    Op* op = ops()[mma].op;
    if (!is_mma(op) || op->in(in::Mma::c)->parent_block() != body_) return;
    for (Use* use = op->in(in::Mma::c)->first_use(); use; use = use->next()) {
      auto other = numbers_.find(use->owner());
      if (other == numbers_.end() || other->second >= mma) continue;
      problem_.dependences.push_back({other->second, mma, busy(other->second), 0});
    }
  }

  const DotChoices& dots_;
  const Machine& machine_;
  Block* body_;
  bool is_staged_ = false;  ///< operands are placed, and dots are MMAs
  LoopGraph graph_;
  ModuloProblem& problem_ = graph_.problem;
  std::map<Op*, size_t> numbers_;
  std::set<std::pair<Value*, int64_t>> seen_;
};

}  // namespace

Value* root_of(Value* memory) {
  while (memory->def() && memory->def()->operand_count() > 0) memory = memory->def()->operand(0);
  return memory;
}

LoopGraph graph_of(Op* loop, const DotChoices& dots, int64_t phases, const Machine& machine) {
  return GraphBuilder(loop, dots, phases, machine).build();
}

}  // namespace tessera::pipeline

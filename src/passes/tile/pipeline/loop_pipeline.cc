#include "passes/tile/pipeline/loop_pipeline.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/tile/ops.h"
#include "support/check.h"

namespace tessera::pipeline {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

namespace {

/// The memory behind windows and slots.
Value* root_of(Value* memory) {
  while (memory->def() && memory->def()->operand_count() > 0) memory = memory->def()->operand(0);
  return memory;
}

/// Builds what modulo scheduling needs of a loop's body.
class LoopGraph {
 public:
  LoopGraph(LoopPipeline& pipeline, const DotChoices& dots, const Machine& machine)
      : pipeline_(pipeline), dots_(dots), machine_(machine), body_(pipeline.loop->region()->front()) {}

  ModuloProblem build() {
    problem_.units = unit_uses();
    for (Op* op : *body_) {
      if (takes_time(op)) add_op(op);
    }
    for (size_t i = 0; i < pipeline_.ops.size(); ++i) add_values(i);
    add_order_of_memory();
    return std::move(problem_);
  }

 private:
  void add_op(Op* op) {
    OpClocks clocks = clocks_of(op, dots_, machine_);
    problem_.operations.push_back(clocks.occupies);
    auto brought = dots_.brought.find(op);
    bool copies = brought != dots_.brought.end();
    bool loads = copies && brought->second == DotChoices::By::CopyEngine;
    numbers_[op] = pipeline_.ops.size();
    pipeline_.ops.push_back({op, std::move(clocks), loads, copies});
  }

  void add_values(size_t to) {
    Op* op = pipeline_.ops[to].op;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      bool adds_to = op->is(tile::info(OpKind::Dot)) && i == in::Dot::c;
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
      if (value->index() == 0 || distance > 0) return;
      return add_value(body_->terminator()->operand(value->index() - 1), to, distance + 1, adds_to);
    }
    auto made = numbers_.find(def);
    if (made == numbers_.end()) {
      for (unsigned i = 0; i < def->operand_count(); ++i) add_value(def->operand(i), to, distance, false);
      return;
    }
    const OpClocks& clocks = pipeline_.ops[made->second].clocks;
    bool stays = adds_to && def->is(tile::info(OpKind::Dot));
    problem_.dependences.push_back({made->second, to, stays ? clocks.busy() : clocks.latency, distance});
  }

  /// What is written is read and written again in order, as far as one cannot tell the places apart.
  void add_order_of_memory() {
    struct Access {
      size_t number;
      Value* memory;
      bool writes;
    };
    std::vector<Access> accesses;
    for (size_t i = 0; i < pipeline_.ops.size(); ++i) {
      Op* op = pipeline_.ops[i].op;
      for (Value* memory : op->ins(ValueClass::ReadMemory)) accesses.push_back({i, root_of(memory), false});
      for (Value* memory : op->ins(ValueClass::WrittenMemory)) accesses.push_back({i, root_of(memory), true});
    }
    for (const Access& first : accesses) {
      for (const Access& second : accesses) {
        bool is_pair = first.memory == second.memory && first.number != second.number;
        if (!is_pair || !(first.writes || second.writes)) continue;
        int64_t delay = pipeline_.ops[first.number].clocks.busy();
        problem_.dependences.push_back({first.number, second.number, delay, first.number < second.number ? 0 : 1});
      }
    }
  }

  LoopPipeline& pipeline_;
  const DotChoices& dots_;
  const Machine& machine_;
  Block* body_;
  ModuloProblem problem_;
  std::map<Op*, size_t> numbers_;
  std::set<std::pair<Value*, int64_t>> seen_;
};

/// When the results of a schedule's ops are there, and what they take.
class Lifetimes {
 public:
  Lifetimes(const LoopPipeline& pipeline, const ModuloProblem& problem, const DotChoices& dots, int64_t threads)
      : pipeline_(pipeline), problem_(problem) {
    for (const PipelinedOp& each : pipeline.ops) words_.push_back(words(each.op, dots, threads));
  }

  /// The end of the last op that reads the result, in clocks after the start of the iteration that made it.
  std::vector<int64_t> ends() const {
    std::vector<int64_t> ends;
    for (size_t i = 0; i < words_.size(); ++i) ends.push_back(end(i));
    for (const Dependence& each : problem_.dependences) {
      int64_t read = end(each.to) + each.distance * pipeline_.schedule.interval;
      ends[each.from] = std::max(ends[each.from], read);
    }
    return ends;
  }

  /// 32-bit registers of each thread at the clock of an interval at which results take most.
  int64_t registers() const {
    std::vector<int64_t> ends = this->ends();
    int64_t interval = pipeline_.schedule.interval, most = 0;
    for (size_t op = 0; op < words_.size(); ++op) {
      int64_t held = 0, at = end(op) % interval;
      auto passed = [&](int64_t end) { return end <= at ? 0 : (end - at + interval - 1) / interval; };
      for (size_t i = 0; i < words_.size(); ++i) held += (passed(ends[i]) - passed(first(i))) * words_[i];
      most = std::max(most, held);
    }
    return most;
  }

  /// Registers and slots by the clocks that they are held: what a good schedule has little of.
  double held() const {
    std::vector<int64_t> ends = this->ends();
    double held = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      constexpr double of_slots = 0.01;  // shared memory is the cheaper place
      held += double(ends[i] - first(i)) * (double(words_[i]) + of_slots * pipeline_.ops[i].copies);
    }
    return held;
  }

 private:
  int64_t end(size_t i) const { return pipeline_.schedule.start[i] + pipeline_.ops[i].clocks.busy(); }

  /// An op replaces its operands element by element, so its result counts from its end on. What is loaded has its
  /// registers from the start.
  int64_t first(size_t i) const {
    bool reads_memory = !pipeline_.ops[i].op->ins(ValueClass::ReadMemory).empty();
    return reads_memory ? pipeline_.schedule.start[i] : end(i);
  }

  static int64_t words(Op* op, const DotChoices& dots, int64_t threads) {
    if (dots.brought.contains(op)) return 0;
    int64_t bits = 0;
    for (unsigned r = 0; r < op->result_count(); ++r) {
      Type type = op->result(r)->type();
      if (type->is(TypeKind::Tile)) bits += element_count(type) * std::max<int64_t>(dtype_info(type->dtype).bits, 8);
    }
    return (bits / 32 + threads - 1) / threads;
  }

  const LoopPipeline& pipeline_;
  const ModuloProblem& problem_;
  std::vector<int64_t> words_;
};

/// Slots for as many iterations as are in flight from the start of a load to the end of its last reader. Where shared
/// memory has no place for them all buffers give up slots, and loads wait.
void choose_buffers(LoopPipeline& pipeline, const std::vector<int64_t>& ends, const Machine& machine) {
  int64_t interval = pipeline.schedule.interval, slot_bytes = 0, most = 1;
  for (size_t i = 0; i < pipeline.ops.size(); ++i) {
    const PipelinedOp& each = pipeline.ops[i];
    if (!each.copies) continue;
    int64_t bytes = tile_bytes(each.op->result()->type());
    int64_t wanted = (ends[i] - each.start + interval - 1) / interval;
    pipeline.buffers.push_back({each.op, bytes, wanted, wanted});
    slot_bytes += bytes;
    most = std::max(most, wanted);
  }
  if (slot_bytes == 0) return;
  int64_t place = std::max<int64_t>(machine.gpu.shared_per_block / slot_bytes, 1);
  for (PipelineBuffer& each : pipeline.buffers) each.slots = std::min(each.wanted, place);
  if (most > place) pipeline.interval = std::max(interval, (most * interval + place - 1) / place);
}

/// The least interval at which the results fit the registers. At the length of a whole iteration nothing overlaps, and
/// no other interval would take fewer.
void choose_interval(LoopPipeline& pipeline, const ModuloProblem& problem, const Lifetimes& lives) {
  for (int64_t least = 1;; least = pipeline.interval + std::max<int64_t>(pipeline.interval / 32, 1)) {
    pipeline.schedule = pipeline::schedule(problem, least);
    pipeline.interval = pipeline.schedule.interval;
    move_later(problem, pipeline.schedule, [&] { return lives.held(); });
    pipeline.registers = lives.registers();
    int64_t last = *std::ranges::max_element(pipeline.schedule.start);
    if (pipeline.registers <= pipeline.registers_there || last < pipeline.interval) break;
  }
  TSR_CHECK(is_valid(problem, pipeline.schedule), "a pipeline breaks a dependence, or occupies a unit twice");
}

int64_t memory_clocks(const LoopPipeline& pipeline, const Machine& machine) {
  double bytes = 0;
  for (const PipelinedOp& each : pipeline.ops) {
    if (!each.op->is(tile::info(OpKind::Load)) && !each.op->is(tile::info(OpKind::Gather))) continue;
    bytes += double(tile_bytes(each.op->result()->type()));
  }
  // A multiprocessor's share of the bandwidth, in bytes a clock.
  const PeakFigures& peaks = machine.gpu.peaks;
  double share = peaks.bandwidth / (peaks.f32 / (2.0 * machine.gpu.lanes));
  return int64_t(bytes / share);
}

std::string reason_against(Op* loop) {
  for (Op* op : *loop->region()->front()) {
    if (op->region_count() == 0) continue;
    return op->is(tile::info(OpKind::For)) ? "it has a loop in it" : "it has a branch in it";
  }
  return {};
}

}  // namespace

LoopPipeline pipeline_of(Op* loop, const DotChoices& dots, const GpuSchedule& schedule, const Machine& machine) {
  TSR_CHECK(loop->is(tile::info(OpKind::For)), "a pipeline is a loop's");
  LoopPipeline pipeline{loop};
  pipeline.unpipelined = reason_against(loop);
  if (!pipeline.unpipelined.empty()) return pipeline;
  ModuloProblem problem = LoopGraph(pipeline, dots, machine).build();
  if (pipeline.ops.empty()) {
    pipeline.unpipelined = "nothing in it takes time";
    return pipeline;
  }
  pipeline.registers_there =
      schedule.compute_registers ? schedule.compute_registers : launch_registers(machine, schedule.threads());
  Lifetimes lives(pipeline, problem, dots, 32 * schedule.compute_warps);
  choose_interval(pipeline, problem, lives);
  for (size_t i = 0; i < pipeline.ops.size(); ++i) {
    PipelinedOp& each = pipeline.ops[i];
    each.start = pipeline.schedule.start[i];
    each.stage = each.start / pipeline.interval;
    each.order = each.start % pipeline.interval;
    pipeline.stages = std::max(pipeline.stages, each.stage + 1);
    pipeline.chain = std::max(pipeline.chain, each.start + each.clocks.busy());
  }
  choose_buffers(pipeline, lives.ends(), machine);
  pipeline.memory_clocks = memory_clocks(pipeline, machine);
  return pipeline;
}

namespace {

std::string name_of(Op* op) {
  std::string name(op->name().substr(op->name().find('.') + 1));
  if (op->is(tile::info(OpKind::Reduce))) name = std::string(op->attr(tile::attr::Reduce::kind)) + " (reduce)";
  return name;
}

/// What an op is, with the names that the source gives its operands or its result.
std::string what_of(Op* op) {
  std::string what = name_of(op);
  bool reads = !op->ins(ValueClass::ReadMemory).empty();
  std::string_view name = reads ? root_of(op->ins(ValueClass::ReadMemory)[0])->name()
                          : op->result_count() ? op->result()->name()
                                               : std::string_view();
  return name.empty() ? what : fmt::format("{} {}", what, name);
}

std::string bound_text(const LoopPipeline& pipeline) {
  const ModuloSchedule& schedule = pipeline.schedule;
  if (pipeline.interval > schedule.interval) return "slots of shared memory";
  int64_t bound = std::max(schedule.resource_bound, schedule.recurrence_bound);
  if (schedule.interval > bound + bound / 16) return fmt::format("registers; without them it is {}", bound);
  if (schedule.recurrence_bound > schedule.resource_bound) {
    std::vector<std::string> cycle;
    for (size_t op : schedule.recurrence) cycle.push_back(what_of(pipeline.ops[op].op));
    return fmt::format("the recurrence {}", fmt::join(cycle, ", "));
  }
  std::string by(info(Unit(schedule.busiest)).text);
  if (schedule.interval == schedule.resource_bound) return by;
  return fmt::format("{}, whose bound is {}", by, schedule.resource_bound);
}

std::string occupied_text(const OpClocks& clocks) {
  std::vector<std::string> parts;
  for (const Occupancy& each : clocks.occupies) {
    parts.push_back(fmt::format("{} {}", info(Unit(each.unit)).text, each.clocks));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string text(const LoopPipeline& pipeline, Op* kernel, const SourceManager& sources) {
  const Loc& loc = pipeline.loop->loc();
  std::string text = fmt::format("pipeline of a loop of @{}", symbol_name(kernel));
  if (loc.known()) text += fmt::format(", {}:{}", sources.file(loc.file).name(), loc.line);
  if (!pipeline.unpipelined.empty()) return text + fmt::format(": none, {}\n", pipeline.unpipelined);
  const ModuloSchedule& schedule = pipeline.schedule;
  text += fmt::format("\n  interval   {} clocks, bound by {}\n", pipeline.interval, bound_text(pipeline));
  text += fmt::format("  bounds     units {}, recurrence {}, memory without caches {}\n", schedule.resource_bound,
                      schedule.recurrence_bound, pipeline.memory_clocks);
  text += fmt::format("  stages     {}; one iteration alone takes {} clocks\n", pipeline.stages, pipeline.chain);
  text += fmt::format("  registers  {} for tiles, of {} in each thread\n", pipeline.registers,
                      pipeline.registers_there);
  for (const PipelineBuffer& each : pipeline.buffers) {
    std::string of = each.slots < each.wanted ? fmt::format(" of {} wanted", each.wanted) : std::string();
    text += fmt::format("  buffer     {}: {} slots{} of {} bytes\n", what_of(each.load), each.slots, of, each.bytes);
  }
  text += fmt::format("  {:<28} {:<8} {:>5} {:>6} {:>8}  {}\n", "op", "role", "stage", "order", "latency", "occupies");
  for (const PipelinedOp& each : pipeline.ops) {
    text += fmt::format("  {:<28} {:<8} {:>5} {:>6} {:>8}  {}\n", what_of(each.op), each.loads ? "load" : "compute",
                        each.stage, each.order, each.clocks.latency, occupied_text(each.clocks));
  }
  return text;
}

}  // namespace tessera::pipeline

#include "passes/tile/pipeline/loop_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/tile/build.h"
#include "support/check.h"

namespace tessera::pipeline {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

namespace {

/// Sums of coordinates, which are computed again for each element.
bool is_of_coordinates(Value* value) {
  Op* def = value->def();
  if (!def || value->type()->dtype != DType::I64 || !def->is_pure()) return false;
  bool is_sum = def->info().elementwise == ElementwiseKind::Add || def->info().elementwise == ElementwiseKind::Sub;
  if (takes_time(def) && !is_sum) return false;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    Value* operand = def->operand(i);
    if (operand->type()->is(TypeKind::Tile) && !is_of_coordinates(operand)) return false;
  }
  return true;
}

/// When the results of a schedule's ops are there, and what they take.
class Lifetimes {
 public:
  Lifetimes(const LoopPipeline& pipeline, const std::vector<ValueRead>& reads, const DotChoices& dots, int64_t threads)
      : pipeline_(pipeline), reads_(reads) {
    for (const PipelinedOp& each : pipeline.ops) {
      words_.push_back(words(each.op, dots, threads));
      from_start_.push_back(each.op->is(tile::info(OpKind::Mma)) || !each.op->ins(ValueClass::ReadMemory).empty());
    }
    for (const ValueRead& each : reads) {
      if (pipeline.ops[each.to].op->is(tile::info(OpKind::Mma)) && !each.until_done) from_start_[each.to] = false;
    }
  }

  /// The end of the last op that reads the result, in clocks after the start of the iteration that made it.
  std::vector<int64_t> ends() const {
    std::vector<int64_t> ends;
    for (size_t i = 0; i < words_.size(); ++i) ends.push_back(end(i));
    for (const ValueRead& each : reads_) {
      int64_t read = each.until_done ? pipeline_.schedule.start[each.to] + pipeline_.ops[each.to].clocks.latency
                                     : end(each.to);
      ends[each.from] = std::max(ends[each.from], read + each.distance * pipeline_.schedule.interval);
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

  /// Registers and slots by the clocks that they are held: what a good schedule has little of. Values that pass from
  /// a step to the next cost moves, and the sum of an MMA is better read late than waited for.
  double held() const {
    constexpr double of_slots = 0.01;  // shared memory is the cheaper place
    constexpr double of_moves = 64, of_waits = 1e-4;
    const std::vector<int64_t>& start = pipeline_.schedule.start;
    int64_t interval = pipeline_.schedule.interval;
    std::vector<int64_t> ends = this->ends();
    double held = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      held += double(ends[i] - first(i)) * (double(words_[i]) + of_slots * pipeline_.ops[i].copies);
    }
    if (!pipeline_.is_staged) return held;
    for (const ValueRead& each : reads_) {
      int64_t steps = start[each.to] / interval + each.distance - start[each.from] / interval;
      held += of_moves * double(words_[each.from]) * double(steps);
      if (!pipeline_.ops[each.from].op->is(tile::info(OpKind::Mma))) continue;
      int64_t apart = start[each.to] + each.distance * interval - start[each.from];
      held -= of_waits * double(words_[each.from]) * double(apart);
    }
    return held;
  }

 private:
  int64_t end(size_t i) const { return pipeline_.schedule.start[i] + pipeline_.ops[i].clocks.busy(); }

  /// An op replaces its operands element by element, so its result counts from its end on. What is loaded has its
  /// registers from the start, and so has the sum of an MMA that adds to no other tile.
  int64_t first(size_t i) const { return from_start_[i] ? pipeline_.schedule.start[i] : end(i); }

  static int64_t words(Op* op, const DotChoices& dots, int64_t threads) {
    if (dots.brought.contains(op) || (op->result_count() && is_of_coordinates(op->result()))) return 0;
    int64_t bits = 0;
    for (unsigned r = 0; r < op->result_count(); ++r) {
      Type type = op->result(r)->type();
      if (type->is(TypeKind::Tile)) bits += element_count(type) * std::max<int64_t>(dtype_info(type->dtype).bits, 8);
    }
    return (bits / 32 + threads - 1) / threads;
  }

  const LoopPipeline& pipeline_;
  const std::vector<ValueRead>& reads_;
  std::vector<int64_t> words_;
  std::vector<bool> from_start_;  ///< whether the result has its registers from the op's start on
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

/// The MMA that is complete last after the end of its step, although the step waits for it there: one that reads
/// registers, and any where steps have several stages.
std::optional<size_t> late_mma(const LoopPipeline& pipeline) {
  const ModuloSchedule& schedule = pipeline.schedule;
  bool waits_for_all = std::ranges::any_of(schedule.start, [&](int64_t start) { return start >= schedule.interval; });
  std::optional<size_t> found;
  int64_t last = schedule.interval;
  for (size_t i = 0; i < pipeline.ops.size(); ++i) {
    Op* op = pipeline.ops[i].op;
    if (!op->is(tile::info(OpKind::Mma))) continue;
    bool is_awaited = waits_for_all || op->in(in::Mma::a)->type()->is(TypeKind::Tile);
    int64_t complete = schedule.start[i] % schedule.interval + pipeline.ops[i].clocks.latency;
    if (is_awaited && complete > last) last = complete, found = i;
  }
  return found;
}

/// A schedule of an interval of `least` or more. An MMA that would be complete after the end of its step moves to the
/// next step where that step then is no longer.
void find_starts(LoopPipeline& pipeline, ModuloProblem problem, const Lifetimes& lives, int64_t least) {
  problem.earliest.resize(pipeline.ops.size());
  auto find = [&] {
    pipeline.schedule = pipeline::schedule(problem, least);
    move_later(problem, pipeline.schedule, [&] { return lives.held(); });
    if (!pipeline.is_staged) return;
    int64_t first = *std::ranges::min_element(pipeline.schedule.start);
    for (int64_t& start : pipeline.schedule.start) start -= first;
  };
  find();
  for (size_t round = 0; round < pipeline.ops.size(); ++round) {
    std::optional<size_t> late = late_mma(pipeline);
    if (!late) return;
    ModuloSchedule before = pipeline.schedule;
    problem.earliest[*late] = (before.start[*late] / before.interval + 1) * before.interval;
    find();
    if (pipeline.schedule.interval == before.interval) continue;
    pipeline.schedule = std::move(before);
    return;
  }
}

/// The least interval at which the results fit the registers, in no more stages than there may be. At the length of a
/// whole iteration nothing overlaps, and no other interval would take fewer.
void choose_interval(LoopPipeline& pipeline, const ModuloProblem& problem, const Lifetimes& lives,
                     int64_t most_stages) {
  for (int64_t least = 1;; least = pipeline.interval + std::max<int64_t>(pipeline.interval / 32, 1)) {
    find_starts(pipeline, problem, lives, least);
    pipeline.interval = pipeline.schedule.interval;
    pipeline.registers = lives.registers();
    int64_t last = *std::ranges::max_element(pipeline.schedule.start);
    // Indices, addresses and what one op needs within itself.
    int64_t others = pipeline.is_staged ? 24 : 0;
    bool fits = pipeline.registers + others <= pipeline.registers_there && last / pipeline.interval < most_stages;
    if (fits || last < pipeline.interval) break;
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

/// Finds the schedule of a loop with that graph, and takes over what it says of each op.
void find_schedule(LoopPipeline& pipeline, const ModuloProblem& problem, const Lifetimes& lives, int64_t most_stages) {
  choose_interval(pipeline, problem, lives, most_stages);
  for (size_t i = 0; i < pipeline.ops.size(); ++i) {
    PipelinedOp& each = pipeline.ops[i];
    each.start = pipeline.schedule.start[i];
    each.stage = each.start / pipeline.interval;
    each.order = each.start % pipeline.interval;
    pipeline.stages = std::max(pipeline.stages, each.stage + 1);
    pipeline.chain = std::max(pipeline.chain, each.start + each.clocks.busy());
  }
}

}  // namespace

LoopPipeline pipeline_of(Op* loop, const DotChoices& dots, const GpuSchedule& schedule, const Machine& machine) {
  TSR_CHECK(loop->is(tile::info(OpKind::For)), "a pipeline is a loop's");
  LoopPipeline pipeline{loop};
  pipeline.unpipelined = reason_against(loop);
  if (!pipeline.unpipelined.empty()) return pipeline;
  LoopGraph graph = graph_of(loop, dots, 1, machine);
  pipeline.ops = std::move(graph.ops);
  if (pipeline.ops.empty()) {
    pipeline.unpipelined = "nothing in it takes time";
    return pipeline;
  }
  pipeline.registers_there =
      schedule.compute_registers ? schedule.compute_registers : launch_registers(machine, schedule.threads());
  Lifetimes lives(pipeline, graph.reads, dots, 32 * schedule.compute_warps);
  find_schedule(pipeline, graph.problem, lives, INT64_MAX);
  choose_buffers(pipeline, lives.ends(), machine);
  pipeline.memory_clocks = memory_clocks(pipeline, machine);
  return pipeline;
}

namespace {

/// Channels of a loop, each with its wait and its release in the body.
struct LoopChannels {
  std::map<Value*, int> waits, releases;
  bool fills = false;

  explicit LoopChannels(Op* loop) {
    for (Op* op : *loop->region()->front()) {
      if (op->is(tile::info(OpKind::ChannelWait))) ++waits[op->in(in::ChannelWait::channel)];
      if (op->is(tile::info(OpKind::ChannelRelease))) ++releases[op->in(in::ChannelRelease::channel)];
      fills |= op->is(tile::info(OpKind::ChannelAcquire));
    }
  }
  bool are_paired() const {
    return waits == releases && std::ranges::all_of(waits, [](const auto& each) { return each.second == 1; });
  }
  /// Iterations whose slots may be in use at once.
  int64_t slots() const {
    int64_t least = INT64_MAX;
    for (const auto& [channel, count] : waits) {
      least = std::min(least, channel->def()->attr(tile::attr::Channel::stages));
    }
    return least;
  }
};

bool is_asynchronous(Op* mma) {
  std::optional<std::string_view> name = mma->attr(tile::attr::Mma::instruction);
  return name && find_mma(*name)->unit == MmaUnit::Wgmma;
}

/// Why the iterations of a loop of MMAs do not overlap.
std::string reason_against_overlap(Op* loop, const LoopChannels& channels) {
  if (std::string reason = reason_against(loop); !reason.empty()) return reason;
  if (tile::known_index(loop->in(in::For::step)) != 1 || loop->has(tile::attr::For::unroll)) {
    return "it does not count by ones";
  }
  if (channels.fills) return "the warps that multiply also load";
  if (!channels.are_paired()) return "a slot is not released where it was waited for";
  bool any = false;
  for (Op* op : *loop->region()->front()) any |= op->is(tile::info(OpKind::Mma)) && is_asynchronous(op);
  return any ? std::string() : "its MMAs are not asynchronous";
}

}  // namespace

LoopPipeline overlap_of(Op* loop, const GpuSchedule& schedule, const Machine& machine) {
  LoopPipeline pipeline{loop};
  pipeline.is_staged = true;
  LoopChannels channels(loop);
  pipeline.unpipelined = reason_against_overlap(loop, channels);
  if (!pipeline.unpipelined.empty()) return pipeline;
  // Warpgroups take turns on the units: while one multiplies, another computes what comes between.
  constexpr int64_t warpgroup = 4;
  DotChoices none;
  LoopGraph graph = graph_of(loop, none, std::max<int64_t>(schedule.compute_warps / warpgroup, 1), machine);
  pipeline.ops = std::move(graph.ops);
  pipeline.completions = std::move(graph.completions);
  pipeline.registers_there =
      schedule.compute_registers ? schedule.compute_registers : launch_registers(machine, schedule.threads());
  Lifetimes lives(pipeline, graph.reads, none, 32 * schedule.compute_warps);
  // A third stage would need a second loop for those that run too seldom, and has not been measured.
  constexpr int64_t most_stages = 2;
  find_schedule(pipeline, graph.problem, lives, std::min(channels.slots(), most_stages));
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
  std::string_view what = pipeline.is_staged ? "overlap in" : "pipeline of";
  std::string text = fmt::format("{} a loop of @{}", what, symbol_name(kernel));
  if (loc.known()) text += fmt::format(", {}:{}", sources.file(loc.file).name(), loc.line);
  if (!pipeline.unpipelined.empty()) return text + fmt::format(": none, {}\n", pipeline.unpipelined);
  const ModuloSchedule& schedule = pipeline.schedule;
  text += fmt::format("\n  interval   {} clocks, bound by {}\n", pipeline.interval, bound_text(pipeline));
  text += fmt::format("  bounds     units {}, recurrence {}", schedule.resource_bound, schedule.recurrence_bound);
  text += pipeline.is_staged ? "\n" : fmt::format(", memory without caches {}\n", pipeline.memory_clocks);
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

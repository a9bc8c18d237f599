#include "passes/tile/pipeline/choose_schedule.h"

#include <algorithm>

#include "ir/core/context.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"

namespace tessera::pipeline {

namespace key = schedule::key;

namespace {

constexpr int64_t warpgroup = 4;  // warps
const int64_t most_groups = schedule::find_schedule_key(key::roles.name)->high;

constexpr int64_t rows_of_group = 64;  // of a dot of a warpgroup

int64_t rows_of(Op* dot) { return dot->result()->type()->dims[0]->constant().value_or(0); }

/// Registers of a thread of a warpgroup that only loads, and of those that compute. The block has what it was launched
/// with, and a thread takes them by eights.
struct RoleRegisters {
  int64_t load, compute;
};
RoleRegisters registers_of(int64_t groups, const Machine& machine) {
  constexpr int64_t load = 40, most = 240, unit = 8;
  int64_t threads = 32 * warpgroup;
  int64_t launched = launch_registers(machine, threads * (groups + 1)) * (groups + 1);
  return {load, std::min(most, (launched - load) / groups / unit * unit)};
}

/// Shared memory that is left for the slots of loops. Results pass through two buffers of lines of 128 bytes, and tiles
/// that are transposed through one of their own size.
int64_t place_for_slots(Op* kernel, const DotChoices& dots, const Machine& machine) {
  constexpr int64_t line = 128, buffers = 2;
  int64_t others = 0;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(tile::OpKind::Store))) {
      Type stored = op->in(tile::in::Store::value)->type();
      int64_t rows = stored->rank() ? stored->dims[0]->constant().value_or(1) : 1;
      others = std::max(others, std::min(tile_bytes(stored), buffers * line * rows));
    }
    if (op->is(tile::info(tile::OpKind::Transpose))) others = std::max(others, tile_bytes(op->result()->type()));
  });
  return machine.gpu.shared_per_block - dots.held_bytes - others - kept_shared_bytes;
}

/// One stage more than the schedule of a loop wants, so that loads that take longer stop nobody.
int64_t stages_of(const std::vector<LoopPipeline>& loops, int64_t place) {
  constexpr int64_t most = 4;
  int64_t wanted = 1, slot_bytes = 0;
  for (const LoopPipeline& loop : loops) {
    for (const PipelineBuffer& each : loop.buffers) {
      wanted = std::max(wanted, each.wanted);
      slot_bytes += each.bytes;
    }
  }
  return slot_bytes == 0 ? 1 : std::clamp<int64_t>(place / slot_bytes, 1, std::min(wanted + 1, most));
}

/// The entries of a schedule that a kernel leaves open.
class Choice {
 public:
  Choice(Op* kernel, const std::vector<LoopPipeline>& loops, const Machine& machine)
      : context_(kernel->module()->context()),
        asked_(kernel->attr(tile::attr::Kernel::schedule)),
        loops_(loops),
        machine_(machine) {}

  void add_stages(int64_t stages) {
    if (stages > 1 && !entry::node(asked_, key::stages)) add(key::stages, context_.integer(stages));
  }

  /// A warpgroup that only loads, beside those that compute: where these have rows of their own of each dot, and
  /// their threads keep the registers that they need.
  void add_roles(int64_t compute_warps) {
    bool by_engine = std::ranges::any_of(loops_, [](const LoopPipeline& loop) {
      return std::ranges::any_of(loop.ops, &PipelinedOp::loads);
    });
    int64_t groups = compute_warps / warpgroup;
    bool is_open = !entry::node(asked_, key::roles) && machine_.gpu.has_register_reallocation;
    if (!is_open || !by_engine || compute_warps % warpgroup != 0 || groups > most_groups) return;
    RoleRegisters registers = registers_of(groups, machine_);
    bool fits = std::ranges::all_of(loops_, [&](const LoopPipeline& loop) {
      return loop.registers <= registers.compute && std::ranges::all_of(loop.ops, [&](const PipelinedOp& each) {
        return !each.op->is(tile::info(tile::OpKind::Dot)) || rows_of(each.op) >= groups * rows_of_group;
      });
    });
    if (!fits) return;
    add(key::roles, by_role(1, groups));
    bool shares = groups > 1 && !entry::node(asked_, key::registers);
    if (shares) add(key::registers, by_role(registers.load, registers.compute));
  }

  /// Nothing where the schedule leaves nothing open.
  Attr take() { return chosen_.empty() ? nullptr : context_.dict(std::move(chosen_)); }

 private:
  void add(const auto& key, Attr value) { chosen_.emplace_back(std::string(key.name), value); }
  Attr by_role(int64_t load, int64_t compute) {
    return context_.dict({{"load", context_.integer(load)}, {"mma", context_.integer(compute)}});
  }

  Context& context_;
  Attr asked_;
  const std::vector<LoopPipeline>& loops_;
  const Machine& machine_;
  std::vector<NamedAttr> chosen_;
};

}  // namespace

Attr choose_schedule(Op* kernel, const std::vector<LoopPipeline>& loops, const DotChoices& dots,
                     const Machine& machine) {
  Choice choice(kernel, loops, machine);
  choice.add_stages(stages_of(loops, place_for_slots(kernel, dots, machine)));
  choice.add_roles(gpu_schedule(kernel, machine).compute_warps);
  return choice.take();
}

}  // namespace tessera::pipeline

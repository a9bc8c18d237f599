#pragma once
// A kernel's schedule for a GPU, with defaults for the keys that it does not set.

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/core/op.h"
#include "ir/numbers/machine.h"

namespace tessera {

struct GpuSchedule {
  int64_t compute_warps = 4;   ///< warps that compute
  int64_t load_groups = 0;     ///< warpgroups that only load; 0: the computing warps load
  int64_t stages = 1;          ///< iterations of a loop whose loads are in flight
  int64_t load_registers = 0;  ///< registers a thread of each role; 0: those of the launch
  int64_t compute_registers = 0;
  bool persistent = false;
  int64_t group = 1;           ///< rows of programs that are taken together, column by column
  std::vector<int64_t> cluster = {};  ///< programs of a cluster along the first axes of the grid; none: no clusters

  int64_t threads() const { return 128 * load_groups + 32 * compute_warps; }
  /// Elements that a tile may have before it is cut up: 64 registers of each thread that computes.
  int64_t most_elements() const { return 64 * 32 * compute_warps; }
};

/// Registers that each thread of a program starts with: an equal share of the multiprocessor's.
int64_t launch_registers(const Machine& machine, int64_t threads);

/// The keys of a tile.kernel's schedule, and those that the compiler chose where it has none.
Attr schedule_in_force(Op* kernel);

/// What a value of `roles` or `registers` gives a role; 0 where it does not name the role, or where there is no value.
int64_t of_role(Attr roles, std::string_view role);

/// Clocks in which a multiprocessor of the machine's typical GPU multiplies the tiles of a sched.dot.
double dot_clocks(Op* dot, const Machine& machine);

/// The schedule in force of a tile.kernel. Roles need asynchronous copies: without them there are none.
GpuSchedule gpu_schedule(Op* kernel, const Machine& machine);

}  // namespace tessera

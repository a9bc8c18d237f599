#pragma once
// The state of a run: roles with their places in the program, barriers, channels, and copies and
// MMAs in flight.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/tile/eval_value.h"

namespace tessera::tile {

/// A barrier in shared memory.
struct EvalBarrier {
  Op* op = nullptr;
  int64_t index = 0;
  std::optional<MemoryAccess> made = {};  ///< its initialisation; of no channel's barriers
  int64_t arrivals = 1;
  int64_t missing = 1;  ///< arrivals of the current phase that have not come
  int64_t bytes = 0;    ///< announced less those that have come
  int64_t phase = 0;    ///< number of phases that are complete
  Knowledge arriving;   ///< of all who arrived, in any phase
  Knowledge complete;   ///< of those who arrived in phases that are complete

  /// Ends the phase when no arrivals or bytes are missing.
  void end_phase_if_complete() {
    if (missing != 0 || bytes != 0) return;
    missing = arrivals;
    ++phase;
    complete = arriving;
  }
};

/// A channel: for each slot what fills it and what empties it.
struct EvalChannel {
  Op* op = nullptr;
  std::vector<EvalBarrier> full, empty;
  std::vector<std::set<uint16_t>> released;  ///< by slot: the roles that have, in this round
  std::map<uint16_t, int64_t> acquired;      ///< by role: the last iteration
  int64_t stages() const { return int64_t(full.size()); }
};

/// Bytes to be moved.
struct EvalMove {
  EvalMemory* memory;
  size_t to;
  const std::byte* from;  ///< null for zeros
};

/// A copy that has been issued.
struct EvalCopy {
  Op* op;
  uint32_t number;  ///< of its stream, or among all copies
  size_t element_bytes;
  std::vector<EvalMove> moves;
  EvalBarrier* barrier = nullptr;
};

/// A tile.mma that has been issued.
struct EvalMma {
  Op* op;
  uint16_t role;
  uint32_t number;
  EvalValue a, b, c;
  bool accumulate = true;
  std::vector<Element> elements = {};
};

/// The phase that a role waits for.
struct EvalWait {
  Op* op = nullptr;
  EvalBarrier* barrier = nullptr;  ///< null: for all roles to end
  int64_t phase = 0;               ///< that must be complete
};

struct EvalRole {
  struct Frame {
    Op* owner;
    Op* next;
    int64_t index = 0, hi = 0, step = 1;  ///< of a loop
  };

  std::string name;
  RoleOrder order;
  std::vector<Frame> frames = {};
  std::optional<EvalWait> wait = {};
  // Issued ops, oldest first.
  std::deque<EvalCopy> group_copies = {}, stores = {};
  std::deque<std::shared_ptr<EvalMma>> mmas = {};
  uint32_t groups = 0;  ///< closed ones
  uint32_t stores_made = 0;
  uint32_t mmas_issued = 0;

  bool done() const { return frames.empty(); }
};

}  // namespace tessera::tile

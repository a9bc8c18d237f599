#pragma once
// Finds accesses of explicit shared memory that nothing orders, from the sequence of accesses of
// one thread.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/op.h"

namespace tessera::frontend {

/// Two accesses that nothing orders, or one that has nothing to go with.
struct MemoryFault {
  Op* op = nullptr;
  Op* before = nullptr;  ///< the access that is not over; null: nothing was ever written, or nothing follows
  std::string_view what = {};
  std::string_view other = {};
  bool earlier_iteration = false;  ///< `before` was in another iteration of a loop
  std::vector<std::string> helps = {};
};

/// A memory, or a slot of it, or of that.
struct MemoryPlace {
  Value* memory = nullptr;
  std::vector<int64_t> slots = {};    ///< each within its extent
  std::vector<int64_t> indices = {};  ///< as the program counts them, before they are taken modulo the extent
};

/// Keeps what is not yet ordered. A copy is over for the thread that began it when it has waited for it, and for all
/// threads at the next barrier; a store or a load is over for all at the next barrier.
class MemoryOrder {
 public:
  void write(Op* op, const MemoryPlace& place, bool is_copy);
  void read(Op* op, const MemoryPlace& place);
  void wait(int64_t pending);
  void barrier();
  /// The program ends here.
  void finish();
  /// An iteration of a loop begins, or the code after the loop.
  void begin_iteration() { ++iteration_; }

  /// The first one found. What comes after it is not looked at, except for reads that the same wait is to order.
  const std::optional<MemoryFault>& fault() const { return fault_; }
  bool is_over() const { return fault_ && !waits_; }
  /// Loads of a slot by another number than it was filled by.
  const std::set<const Op*>& displaced() const { return displaced_; }

 private:
  struct Access {
    Op* op;
    MemoryPlace place;
    int64_t iteration;
    bool is_copy = false;
    bool in_flight = false;  ///< a copy that this thread has not waited for
  };

  void fail(Op* op, const MemoryPlace& place, std::string_view what, const Access& before);
  std::string help_for(const Access& before);
  void need_wait(const Access& before);

  std::vector<Access> writes_;  ///< that not all threads see
  std::vector<Access> reads_;   ///< since the last barrier
  std::vector<MemoryPlace> filled_;  ///< with the indices of the last write
  std::set<const Op*> displaced_;
  int64_t iteration_ = 0;
  std::optional<MemoryFault> fault_;
  bool waits_ = false;  ///< the fault is a missing wait, which later reads may need to be for more copies
  std::ptrdiff_t pending_ = 0;
};

}  // namespace tessera::frontend

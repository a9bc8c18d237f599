#pragma once
// Finds accesses of explicit shared memory that nothing orders, before any machine is known.

#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/core/op.h"

namespace tessera::frontend {

/// Runs through a body as threads do, each loop twice, and keeps what is not yet ordered. Slots whose numbers are
/// computed are only told apart or together where they are one value in one turn, so what it finds is never wrong; what
/// depends on more, the interpreter of tiles finds.
class MemoryOrder {
 public:
  struct Fault {
    Op* op;
    Op* before = nullptr;  ///< the access that is not over; null: nothing was ever written, or nothing follows
    std::string_view what = {};
    std::string_view other = {};
    std::string_view help = {};
  };

  std::optional<Fault> check(Block* body);

 private:
  /// A memory, or a slot of it: of a constant number, or of a value in one turn.
  struct Place {
    Value* memory;
    std::optional<int64_t> number = {};
    Value* slot = nullptr;
    int64_t turn = 0;
  };
  struct Write {
    Op* op;
    Place place;
    bool is_copy;
    bool under_way;
  };
  struct Read {
    Op* op;
    Place place;
  };

  Place place_of(Value* memory) const;
  static bool meet(const Place& a, const Place& b);
  void run(Block* block);
  void loop(Op* pipeline);
  void write(Op* op, const Place& place, bool is_copy);
  void read(Op* op, const Place& place);
  void wait(int64_t pending);
  void barrier();
  void fail(Fault fault);

  std::vector<Write> writes_;  ///< that not all threads see
  std::vector<Read> reads_;    ///< since the last barrier
  std::vector<Place> filled_;
  int64_t turn_ = 0;
  bool known_ = true;  ///< false behind a branch that does something here
  std::optional<Fault> fault_;
};

}  // namespace tessera::frontend

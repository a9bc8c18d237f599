#pragma once
// Which values are available where. Regions of one block need only op order; regions with a CFG get a
// dominator tree (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001), computed when
// first asked for.

#include <unordered_map>
#include <vector>

#include "ir/core/op.h"

namespace tessera {

class Dominance {
 public:
  /// True if `value` may be used by `user`: it is defined earlier in the same block, or in a block that
  /// dominates, or in an enclosing region (but never across the border of a function).
  bool dominates(Value* value, Op* user);
  /// True if every path from the region's entry to `b` passes `a`.
  bool dominates(Block* a, Block* b);

 private:
  struct Tree {
    std::unordered_map<Block*, Block*> parent;  ///< immediate dominators; absent: unreachable
    std::unordered_map<Block*, unsigned> order;
  };
  const Tree& tree(Region* region);
  unsigned position(Op* op);

  std::unordered_map<Region*, Tree> trees_;
  std::unordered_map<Block*, std::unordered_map<Op*, unsigned>> positions_;
};

}  // namespace tessera

#pragma once
// How the operands of a product come to the unit that multiplies.

#include <optional>
#include <set>

#include "ir/layout/shared_layout.h"
#include "ir/numbers/machine.h"
#include "ir/tile/ops.h"
#include "passes/analysis/divisibility.h"

namespace tessera {

/// The ways of plan_pipeline.cc.
enum class OperandWay : uint8_t { Channel, Copy, Store, Written, Register };

struct StagedOperand {
  Value* value;
  unsigned slot;  ///< of the dot
  Op* load;       ///< null: computed
  std::optional<layout::SharedLayout> layout = {};
  OperandWay way = OperandWay::Store;
  bool before = false;      ///< it is loaded before the loop that multiplies it
  Value* place = nullptr;   ///< where the product reads it
};

/// The load from global memory that makes the value; null where another op does.
Op* global_load_of(Value* value);

/// Chooses the way of each operand of a kernel's products.
class OperandWays {
 public:
  /// `has_written`: the source has memory of its own, and its loops stay as they are.
  OperandWays(Op* kernel, const Machine& machine, int64_t warps, bool has_written);

  StagedOperand choose(Op* dot, unsigned slot) const;

 private:
  bool counts_turns(Block* block) const;
  bool is_for_engine(const StagedOperand& operand) const;
  bool stays_in_registers(Op* dot) const;

  Op* kernel_;
  const Machine& machine_;
  int64_t warps_;
  bool has_written_;
  Divisibility known_;
  std::set<Value*> stored_;  ///< memory that the kernel writes
};

}  // namespace tessera

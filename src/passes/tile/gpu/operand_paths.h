#pragma once
// Chooses how each operand of a dot reaches the unit that multiplies.

#include <optional>
#include <set>
#include <vector>

#include "ir/layout/shared_layout.h"
#include "ir/numbers/machine.h"
#include "ir/tile/ops.h"
#include "passes/analysis/divisibility.h"
#include "passes/tile/gpu/mma_unit.h"

namespace tessera {

/// The paths that plan_pipeline.cc describes.
enum class OperandPath : uint8_t { Channel, Copy, Store, Written, Register };

struct StagedOperand {
  Value* value;
  unsigned slot;  ///< of the dot
  Op* load;       ///< null: computed
  Op* raw = nullptr;  ///< the load of narrower elements that it is computed of, which copies may bring
  std::optional<layout::SharedLayout> layout = {};
  OperandPath path = OperandPath::Store;
  bool computed_here = false;  ///< threads compute it of what they load, and leave it in registers
  bool before = false;      ///< it is loaded before the loop that multiplies it
  Value* place = nullptr;   ///< where the MMA reads it
};

/// The load from global memory that makes the value; null where another op does.
Op* global_load_of(Value* value);
/// The load that the factor is computed of element by element, if it has narrower elements; null where the factor is
/// computed of other things, too. `load_of` gives the load that makes a value, or null.
Op* narrow_load_of(Value* factor, Op* (*load_of)(Value*) = global_load_of);
/// What the loop computes of the load element by element up to the op, in order; nothing where others read it, too.
std::optional<std::vector<Op*>> computed_of(Op* load, Op* before);

/// Chooses the path of each operand of a kernel's dots.
class OperandPaths {
 public:
  /// `has_written`: the source has memory of its own, and its loops stay as they are.
  OperandPaths(Op* kernel, const Machine& machine, int64_t warps, bool has_written);

  /// The instruction that computes the dot; null: each thread multiplies and adds.
  const MmaInstruction* instruction(Op* dot) const;
  /// The path of an operand that this instruction reads.
  StagedOperand choose(Op* dot, unsigned slot, const MmaInstruction* instruction) const;
  /// A load beside the operands of dots that the copy engine can bring as it brings these; nothing where it cannot.
  std::optional<StagedOperand> beside(Op* load) const;

 private:
  std::optional<layout::SharedLayout> layout_of(Op* dot, unsigned slot, const MmaInstruction* instruction) const;
  Type memory_of(Value* operand) const;
  bool is_made_of_sums(Value* value, std::set<Value*>& seen) const;
  bool counts_iterations(Block* block) const;
  bool is_for_threads(Op* load, const layout::SharedLayout& layout) const;
  bool is_for_engine(const StagedOperand& operand) const;
  Op* raw_load_of(Op* dot, Value* operand) const;

  Op* kernel_;
  const Machine& machine_;
  int64_t warps_;
  bool has_written_;
  mutable Divisibility known_;  ///< remembers what it was asked
  std::set<Value*> stored_;  ///< memory that the kernel writes
};

}  // namespace tessera

#pragma once
// Brings the operands of dots to where the unit that multiplies reads them, each on its path.

#include <map>
#include <vector>

#include "ir/core/builder.h"
#include "passes/tile/gpu/operand_paths.h"

namespace tessera {

/// The op of the block that the other is, or is inside of.
Op* op_within(Block* block, Op* op);

class OperandStaging {
 public:
  /// An iteration of a channel.
  struct Iteration {
    Value* channel = nullptr;
    Value* number = nullptr;
  };

  OperandStaging(Op* kernel, const Machine& machine)
      : kernel_(kernel), machine_(machine), builder_(*kernel->module()) {}

  Builder& builder() { return builder_; }
  /// Acquires an iteration of a new channel before the op and copies the operands.
  Iteration fill_channel(const std::vector<StagedOperand*>& operands, Op* before);
  /// Brings the operands that the group's channel does not bring; true if threads copy or store
  /// some. The builder then stands before the group, whose last dot is `place`. `ahead`: copies may run ahead of the
  /// loop's iterations, so that what operands are computed of is copied, too.
  bool bring(std::vector<StagedOperand>& operands, Op* place, bool ahead);
  /// Brings what a loop loads beside operands through a channel of its own.
  void bring_beside(StagedOperand& loaded);

 private:
  /// An operand that is brought before the loops that read it and held until after the last of
  /// them.
  struct Held {
    Value* place;
    Op* release;  ///< null where there is no slot to release
  };

  Context& context() { return builder_.context(); }
  Value* iteration_of(Block* block);
  Value* new_tile(const StagedOperand& operand, int64_t slots);
  Value* hold(StagedOperand& operand, Op* reader);
  void finish_copies(bool copies);
  bool bring_raw(std::vector<StagedOperand>& operands, Op* place);
  Value* within_limit(Op* dot, const StagedOperand& operand);

  Op* kernel_;
  const Machine& machine_;
  Builder builder_;
  std::map<Op*, Held> held_;
};

}  // namespace tessera

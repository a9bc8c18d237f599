#pragma once
// Brings the operands of products to where the unit that multiplies reads them, as their ways say.

#include <map>
#include <vector>

#include "ir/core/builder.h"
#include "passes/tile/gpu/operand_ways.h"

namespace tessera {

/// The op of the block that the other is, or is inside of.
Op* op_within(Block* block, Op* op);

class OperandStaging {
 public:
  /// A turn of a channel.
  struct Turn {
    Value* channel = nullptr;
    Value* number = nullptr;
  };

  OperandStaging(Op* kernel, const Machine& machine)
      : kernel_(kernel), machine_(machine), builder_(*kernel->module()) {}

  Builder& builder() { return builder_; }
  /// Acquires a turn of a new channel before the op and copies the operands.
  Turn fill_channel(const std::vector<StagedOperand*>& operands, Op* before);
  /// Brings what does not come by a channel of the group's own; true if threads do so. The builder then stands before
  /// the group, whose last product is `place`.
  bool bring(std::vector<StagedOperand>& operands, Op* place);

 private:
  /// What is brought before the loops that read it, until behind the last of them.
  struct Held {
    Value* place;
    Op* release;  ///< null where no channel has to be given back
  };

  Context& context() { return builder_.context(); }
  Value* turn_of(Block* block);
  Value* new_tile(const StagedOperand& operand, int64_t slots);
  Value* hold(StagedOperand& operand, Op* reader);
  void finish_copies(bool copies);
  Value* within_limit(Op* dot, const StagedOperand& operand);

  Op* kernel_;
  const Machine& machine_;
  Builder builder_;
  std::map<Op*, Held> held_;
};

}  // namespace tessera

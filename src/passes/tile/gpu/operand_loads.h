#pragma once
// Loads of operands of products as copies can do them: tiles of two axes, from windows that lie as the product reads
// them.

#include "ir/core/builder.h"

namespace tessera {

class OperandLoads {
 public:
  explicit OperandLoads(Op* kernel) : kernel_(kernel), builder_(*kernel->module()) {}

  /// Rewrites what makes the operand where that is a load: one of [1, rows, columns] that is reshaped becomes one of
  /// [rows, columns], and one of two axes that is transposed a load of the transposed window.
  void settle(Value* operand);

 private:
  void flatten(Value* value);
  void turn(Value* value);
  Value* load_like(Op* load, Value* memory, const std::vector<Value*>& offsets, const std::vector<Value*>& limits,
                   Type type);

  Op* kernel_;
  Builder builder_;
};

}  // namespace tessera

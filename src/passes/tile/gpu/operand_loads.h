#pragma once
// Rewrites loads of operands to a form that copies can do: tiles of two axes, from windows in the
// order in which the MMA reads them.

#include "ir/core/builder.h"

namespace tessera {

class OperandLoads {
 public:
  explicit OperandLoads(Op* kernel) : kernel_(kernel), builder_(*kernel->module()) {}

  /// Rewrites the load of an operand: a load of [1, rows, columns] that is reshaped becomes one of
  /// [rows, columns], and a transposed load of two axes becomes a load of the transposed window. Gives the operand as
  /// it is then.
  Value* normalise(Value* operand);
  /// Leaves out the first axes of a window that are the same at each of their indices, as a bias is for each head.
  void drop_repeated(Op* load);

 private:
  Value* flatten(Value* value);
  Value* transpose(Value* value);
  Value* load_like(Op* load, Value* memory, const std::vector<Value*>& offsets, const std::vector<Value*>& limits,
                   Type type);

  Op* kernel_;
  Builder builder_;
};

}  // namespace tessera

#pragma once
// Integer ops for which the machine's instruction is undefined or missing for some operands.

#include "ir/numbers/machine.h"
#include "passes/target/target_builder.h"

namespace tessera {

/// The op as legal ops. New divisions and shifts by guarded amounts are put into `safe`.
class IntegerOps {
 public:
  IntegerOps(TargetBuilder& builder, std::vector<Op*>& safe, const Machine& machine)
      : b_(builder), safe_(safe), machine_(machine) {}

  Value* sign(Value* a);
  Value* relu(Value* a);
  /// Towards zero; 0 for a divisor of 0, and the least number divided by -1 wraps.
  Value* divide(Value* a, Value* b);
  Value* floor_divide(Value* a, Value* b);
  Value* modulo(Value* a, Value* b);
  /// 0 for amounts outside 0 … width - 1.
  Value* shift_left(Value* a, Value* amount);
  /// 0, or -1 for a negative `a`, for amounts outside.
  Value* shift_right(Value* a, Value* amount);

 private:
  struct Division {
    Value* quotient;   ///< a / safe divisor, towards zero
    Value* remainder;  ///< 0 where the divisor is 0 or -1
  };
  Division division(Value* a, Value* b);
  bool divides_short(Value* a, Value* b) const;
  Value* shortened(Value* a);
  bool divides_by_digits(Value* a, Value* b) const;
  Division floor_by_digits(Value* a, int64_t divisor);
  Value* signs_differ(Value* remainder, Value* b);
  Value* safely(ElementwiseKind kind, Value* a, Value* b);
  Value* in_range(Value* amount);

  TargetBuilder& b_;
  std::vector<Op*>& safe_;
  const Machine& machine_;
};

/// The value of an integer constant in every lane, if it is one.
std::optional<int64_t> constant_lanes(Value* value);

}  // namespace tessera

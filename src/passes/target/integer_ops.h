#pragma once
// Integer ops for which the machine's instruction is undefined or missing for some operands.

#include <map>
#include <tuple>

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
  enum class Rounding { Zero, Down };
  struct Division {
    Value* quotient;
    Value* remainder;  ///< 0 where the divisor is 0 or -1
  };
  Division division(Rounding rounding, Value* a, Value* b);
  Division divided(Rounding rounding, Value* a, Value* b);
  Division divided_short(Value* a, Value* b);
  Division divided_long(Rounding rounding, Value* a, Value* b);
  Division floor_by_digits(Value* a, int64_t divisor);
  Division chosen_when_run(Rounding rounding, Value* a, Value* b);
  Value* any_lane(ElementwiseKind combine, Value* a, Value* b);
  Value* safely(ElementwiseKind kind, Value* a, Value* b);
  Value* in_range(Value* amount);

  TargetBuilder& b_;
  std::vector<Op*>& safe_;
  const Machine& machine_;
  /// What a block has divided already.
  std::map<std::tuple<Block*, Rounding, Value*, Value*>, Division> made_;
};

/// The value of an integer constant in every lane, if it is one.
std::optional<int64_t> constant_lanes(Value* value);

}  // namespace tessera

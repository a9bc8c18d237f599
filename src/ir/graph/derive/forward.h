#pragma once
// Forward mode: tangents of values. With t the derivative of each input along some direction, the tangent of a value is
// its derivative along that direction. A value without a tangent does not depend on the inputs, or is no float: its
// tangent is 0, and no op is made for it.
//
// Tangents are linear in those of the inputs. Reverse mode is made of that (backward.h), after Frostig, Johnson,
// Maclaurin, Paszke and Radul, "Decomposing reverse-mode automatic differentiation" (2021).

#include <map>
#include <string>
#include <vector>

#include "ir/core/builder.h"
#include "ir/graph/ops.h"
#include "ir/graph/regions.h"

namespace tessera::graph {

/// An op whose derivative cannot be taken, and why: "has no derivative yet". Without a reason one was reported.
struct NoDerivative {
  Op* op = nullptr;
  std::string why;
};

class Forward;
class Backward;

/// What rules take from the level above: functions of the library and of the program.
class DerivativeLibrary {
 public:
  virtual ~DerivativeLibrary() = default;
  /// Zeros of the type `table` with each row [.., D] of `rows` added to the row that `ids` [..] names. Null: an error
  /// was reported.
  virtual Value* add_rows(Value* ids, Value* rows, Type table) = 0;
  /// Sets the tangents of an op that has kernels of its own for being taken backwards; false where it has none.
  virtual bool push_fused(Op* op, Forward& forward) = 0;
  /// Sets the tangents of a gir.custom_call's results.
  virtual void push(Op* call, Forward& forward) = 0;
  /// Adds to the cotangents of a gir.custom_tangent's `tangents`.
  virtual void pull(Op* tangent, Backward& backward) = 0;
};

class Forward {
 public:
  enum class Purpose : uint8_t {
    Along,       ///< the tangents are wanted
    Transposed,  ///< they are taken backwards: loops keep what that needs
  };

  /// New ops go to the builder's point, where all values are known that have tangents.
  Forward(Builder& builder, Purpose purpose, DerivativeLibrary& library)
      : builder_(&builder), library_(&library), purpose_(purpose) {}

  DerivativeLibrary& library() const { return *library_; }
  Purpose purpose() const { return purpose_; }
  /// Uses `with` for a value from here on, wherever it is used.
  void replace(Value* value, Value* with);
  /// What was put in the place of a value; itself for most.
  Value* now(Value* value) const { return const_cast<Value*>(now(static_cast<const Value*>(value))); }
  const Value* now(const Value* value) const;

  Builder& builder() const { return *builder_; }
  /// That of what stands in the value's place now. Null: 0.
  Value* tangent(const Value* value) const;
  /// The same, of the value's dims and dtype also where it is 0.
  Value* tangent_or_zero(Value* value);
  /// Its dims and dtype are those of the value. Null changes nothing.
  void set(const Value* value, Value* tangent);
  /// Says that there are no tangents of the op's results; the first such op is kept.
  void refuse(Op* op, std::string why);
  const NoDerivative& refused() const { return refused_; }

  /// Makes the tangents of what the ops give, in their order. Each op's rule is asked where one of its operands, or a
  /// value that its regions use, has a tangent. False: an op was refused.
  bool push(const std::vector<Op*>& ops);

 private:
  Builder* builder_;
  DerivativeLibrary* library_;
  Purpose purpose_;
  std::map<const Value*, Value*> tangents_;
  std::map<const Value*, Value*> replaced_;
  NoDerivative refused_;
};

/// The first of some ops in order that is not linear in the inputs, of those that depend on them; null for none. What
/// regions and kernels do is not looked at.
Op* find_not_linear(const std::vector<Op*>& ops, const std::vector<Value*>& inputs);

/// What a builder has inserted at its point since then: the ops behind `before`, or all of the block if that is null.
std::vector<Op*> ops_since(const Builder& builder, Op* before);
/// Erases those ops that nothing uses, of which later ones use earlier ones only.
void drop_unused(const std::vector<Op*>& ops);
/// The op behind which a builder inserts; null at the begin of the block.
Op* last_op(const Builder& builder);

}  // namespace tessera::graph

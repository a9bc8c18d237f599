#pragma once
// Reverse mode: takes linear ops backwards. The cotangent of a value is the derivative of a result with respect to it;
// it is the sum of what the uses of the value give, in the order of the ops from last to first.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/derive/forward.h"

namespace tessera::graph {

class Backward {
 public:
  Backward(Builder& builder, DerivativeLibrary& library) : builder_(&builder), library_(&library) {}

  Builder& builder() const { return *builder_; }
  DerivativeLibrary& library() const { return *library_; }
  /// Null: 0.
  Value* cotangent(const Value* value) const;
  /// Adds to the cotangent of a linear value; for any other value it does nothing. `term` has its dims and dtype.
  void add(Value* value, Value* term);
  /// The same where the sum with what was there is known.
  void set(Value* value, Value* sum);
  /// Whether a value is linear in the inputs, so that it has a cotangent.
  bool is_linear(const Value* value) const { return linear_.count(value) != 0; }
  void refuse(Op* op, std::string why);
  const NoDerivative& refused() const { return refused_; }

  /// Takes ops of one block backwards, which forward mode made of the tangents `inputs`. The results' cotangents were
  /// marked by `seed`. False: an op was refused.
  bool pull(const std::vector<Op*>& ops, const std::vector<Value*>& inputs);
  /// The cotangent of a result, before `pull`.
  void seed(const Value* value, Value* cotangent);

 private:
  Builder* builder_;
  DerivativeLibrary* library_;
  std::set<const Value*> linear_;
  std::map<const Value*, Value*> cotangents_;
  NoDerivative refused_;
};

}  // namespace tessera::graph

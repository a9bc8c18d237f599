#pragma once
// Ops on one example made to ops on all of them. A value that differs between examples becomes one with an axis more,
// the first, of an extent `count`; all others stay as they are.

#include <map>
#include <vector>

#include "ir/core/builder.h"
#include "ir/graph/ops.h"

namespace tessera::graph {

class Batch {
 public:
  /// New ops go to the builder's point.
  Batch(Builder& builder, Dim count) : builder_(&builder), count_(count) {}

  Builder& builder() const { return *builder_; }
  Dim count() const { return count_; }
  /// The dims of a value with the axis of examples.
  std::vector<Dim> leading(Value* value) const;

  bool differs(const Value* value) const;
  /// Whether an op reads something that differs, its regions included.
  bool depends(Op* op) const;
  /// What is in the place of a value: [count, ..] where it differs.
  Value* now(Value* value) const;
  /// [count, ..], the same for each example where it does not differ.
  Value* of_all(Value* value);
  /// Says what is in the place of a value that differs.
  void set(Value* value, Value* of_all) { values_[value] = {of_all, true}; }
  /// And of one that does not.
  void set_same(Value* value, Value* with) { values_[value] = {with, false}; }

  /// Makes ops of those that depend on what differs, in their order; the others stay where they are. Gives the ops
  /// that have others in their places.
  std::vector<Op*> push(const std::vector<Op*>& ops);
  /// All ops of a block once more but the one that ends it, of those that depend on what differs for all examples.
  void copy(Block* block);

 private:
  struct Entry {
    Value* value;
    bool differs;
  };

  Builder* builder_;
  Dim count_;
  std::map<const Value*, Entry> values_;
};

}  // namespace tessera::graph

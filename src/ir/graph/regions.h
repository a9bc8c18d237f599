#pragma once
// Regions of loops and branches, for what makes ops out of others: copies, other loop-carried values, stacks of what
// iterations give.

#include <map>
#include <string_view>
#include <vector>

#include "ir/core/builder.h"
#include "ir/graph/ops.h"

namespace tessera::graph {

/// What stands for values in a copy.
using Values = std::map<Value*, Value*>;
/// Itself where nothing stands for it.
Value* mapped(const Values& values, Value* value);

/// Puts a builder into a block as long as it lives.
class Inside {
 public:
  Inside(Builder& builder, Block* block) : builder_(&builder), outside_(builder) { builder.set_end(block); }
  ~Inside() { *builder_ = outside_; }
  Inside(const Inside&) = delete;

 private:
  Builder* builder_;
  Builder outside_;
};

/// Calls `visit` for each operand of an op and of those in its regions.
template <typename F>
void for_each_operand(Op* op, F&& visit) {
  auto visit_all = [&](Op* of) {
    for (unsigned i = 0; i < of->operand_count(); ++i) visit(of->operand(i));
  };
  visit_all(op);
  walk(op, visit_all);
}

inline Block* only_block(Op* op, unsigned region) { return op->region(region)->front(); }
/// The type without numerics policies.
Type plain(Builder& builder, Type type);
void yield(Builder& builder, std::vector<Value*> values);
std::vector<Value*> yielded(Block* block);

/// The values from outside that regions of the op use, each once.
std::vector<Value*> captured_values(Op* op);

/// A copy of an op at the builder's point, whose loops have counters of their own.
Op* copied(Op* op, Builder& builder, Values& values);
/// The same of all ops of a block but the one that ends it.
std::vector<Op*> copied(Block* block, Builder& builder, Values& values);

/// A loop of `count` iterations, whose body has arguments for the loop-carried values and no ops yet. Its counter is
/// called as none of the function around, after `counter`: `i_0_r1` of `i_0`; names of the source end otherwise.
Op* make_loop(Builder& builder, Dim count, std::string_view counter, const std::vector<Value*>& inits);
/// A loop of as many iterations as another.
Op* loop_like(Op* loop, Builder& builder, const std::vector<Value*>& inits);
Dim counter_of(Op* loop);

/// Element `at` along the first axis, [..] of [N, ..].
Value* element(Builder& builder, Value* stack, Dim at);
/// The stack with another element there.
Value* with_element(Builder& builder, Value* stack, Dim at, Value* value);

}  // namespace tessera::graph

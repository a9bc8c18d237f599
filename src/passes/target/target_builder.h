#pragma once
// Makes target ops, with types deduced and integer constants folded. Shared by the passes that make them.

#include <functional>
#include <map>
#include <span>

#include "ir/core/builder.h"
#include "ir/numbers/elementwise.h"

namespace tessera {

class TargetBuilder {
 public:
  /// New ops go to the end of `func`'s entry block until a position is set; constants always stand at its start.
  TargetBuilder(Module& module, Op* func);

  Builder& at() { return builder_; }
  Context& context() const { return builder_.context(); }

  /// The type of one element or register of `dtype` in the shape of `like`.
  Type like(Type shape, DType dtype) { return context().with_dtype(shape, dtype); }

  // Constants, made once per function.
  Value* integer(Type type, int64_t value);
  Value* number(Type type, double value);
  Value* index(int64_t value);
  /// An attribute in every lane, an integer or a number whatever the dtype.
  Value* full(Type type, Attr number);
  /// Zero of any type.
  Value* zero(Type type);
  /// The value of a scalar integer constant.
  static std::optional<int64_t> as_constant(Value* value);

  // Elementwise ops. Compare gives bool; cast is its own.
  Value* op(ElementwiseKind kind, Value* a);
  Value* op(ElementwiseKind kind, Value* a, Value* b);
  Value* add(Value* a, Value* b) { return op(ElementwiseKind::Add, a, b); }
  Value* sub(Value* a, Value* b) { return op(ElementwiseKind::Sub, a, b); }
  Value* mul(Value* a, Value* b) { return op(ElementwiseKind::Mul, a, b); }
  Value* div(Value* a, Value* b) { return op(ElementwiseKind::Div, a, b); }
  Value* min(Value* a, Value* b) { return op(ElementwiseKind::Min, a, b); }
  Value* max(Value* a, Value* b) { return op(ElementwiseKind::Max, a, b); }
  Value* bit_and(Value* a, Value* b) { return op(ElementwiseKind::And, a, b); }
  Value* bit_or(Value* a, Value* b) { return op(ElementwiseKind::Or, a, b); }
  Value* bit_xor(Value* a, Value* b) { return op(ElementwiseKind::Xor, a, b); }
  Value* shl(Value* a, int64_t bits);
  Value* shr(Value* a, int64_t bits);
  Value* fma(Value* a, Value* b, Value* c);
  Value* select(Value* condition, Value* a, Value* b);
  Value* cast(Value* a, DType to);
  /// As many lanes of `to` as fill the register; a scalar's size must stay.
  Value* bitcast(Value* a, DType to);

  // Registers.
  Value* splat(Value* scalar, int64_t lanes);
  Value* iota(Type reg);
  Value* mask(Value* count, int64_t lanes);
  Value* extract(Value* reg, int64_t lane);
  Value* insert(Value* reg, Value* scalar, int64_t lane);
  Value* shuffle(Value* a, Value* b, std::span<const int64_t> lanes);

  // Memory.
  Value* offset(Value* base, Value* bytes);
  Value* load(Value* address, Type type, bool invariant = false);
  Value* load_masked(Value* address, Value* mask, Value* fill);
  Value* gather(Value* base, Value* offsets, Value* mask, Value* fill);
  Op* store(Value* value, Value* address);
  Op* store_masked(Value* value, Value* address, Value* mask);

  // Control flow.
  Block* new_block();
  void branch(Block* to, std::vector<Value*> arguments = {});
  void cond_branch(Value* condition, Block* then, std::vector<Value*> then_arguments, Block* otherwise,
                   std::vector<Value*> otherwise_arguments);
  /// What `fast` makes where the condition holds, else what `slow` does: as many values of the same types. The ops from
  /// the position on, before which there must be one, go to a block of their own; new ops stay before them.
  std::vector<Value*> choose(Value* condition, const std::function<std::vector<Value*>()>& fast,
                             const std::function<std::vector<Value*>()>& slow);

 private:
  Value* constant(Type type, Attr value);
  Value* fold(ElementwiseKind kind, Value* a, Value* b);

  Builder builder_;
  Builder constants_;
  Region* region_;
  std::map<std::pair<Type, Attr>, Value*> made_;
};

}  // namespace tessera

#pragma once
// Inserts new ops at a point of a block.

#include <initializer_list>

#include "ir/core/module.h"

namespace tessera {

class Builder {
 public:
  explicit Builder(Module& module) : module_(&module) {}
  Builder(Module& module, Block* block) : module_(&module), block_(block) {}

  Module& module() const { return *module_; }
  Context& context() const { return module_->context(); }

  /// New ops go to the end of `block`.
  void set_end(Block* block) {
    block_ = block;
    before_ = nullptr;
  }
  /// New ops go right before `op`.
  void set_before(Op* op) {
    block_ = op->block();
    before_ = op;
  }
  void set_after(Op* op) {
    block_ = op->block();
    before_ = op->next();
  }
  Block* block() const { return block_; }
  Op* before() const { return before_; }
  void set_loc(Loc loc) {
    loc_ = loc;
    if (loc.call == 0) loc_.call = call_;
  }
  Loc loc() const { return loc_; }
  /// Places that name no inlined call are those of this one from here on.
  void set_call(uint32_t call) { call_ = call; }
  uint32_t call() const { return call_; }

  /// Creates and inserts an op. Operands are given slot by slot: op(info, {{a}, {b}}, {type}).
  Op* op(const OpInfo* info, std::vector<std::vector<Value*>> operands, std::vector<Type> results,
         std::vector<OpAttr> attributes = {}, std::vector<OpState::Target> successors = {}) {
    OpState state;
    state.info = info;
    state.loc = loc_;
    state.operands = std::move(operands);
    state.results = std::move(results);
    state.attributes = std::move(attributes);
    state.successors = std::move(successors);
    Op* created = module_->create(state);
    insert(created);
    return created;
  }
  /// The same for an op of one result: gives the result.
  Value* value(const OpInfo* info, std::vector<std::vector<Value*>> operands, Type result,
               std::vector<OpAttr> attributes = {}) {
    return op(info, std::move(operands), {result}, std::move(attributes))->result();
  }
  void insert(Op* created) {
    if (before_) {
      created->move_before(before_);
    } else {
      created->move_to_end(block_);
    }
  }

 private:
  Module* module_;
  Block* block_ = nullptr;
  Op* before_ = nullptr;
  Loc loc_;
  uint32_t call_ = 0;
};

}  // namespace tessera

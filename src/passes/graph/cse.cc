// Computes equal things once. Two ops are equal when table row, operands, attributes and result
// types are; types and attributes are uniqued, so this is a comparison of pointers. Operands of a
// commutative op are compared in any order. Only ops without effects are merged: equal random
// numbers are equal ops too, since their seed and stream are operands and attributes.
//
// An op may use what is known in the blocks around it. Where a region has several blocks each is
// on its own.

#include <algorithm>
#include <map>

#include "passes/pass.h"

namespace tessera {

namespace {

/// What two ops must have in common: identities of row, operands, attributes and types.
using Key = std::vector<const void*>;

Key key_of(Op* op) {
  Key key = {&op->info()};
  for (unsigned s = 0; s < op->slot_count(); ++s) {
    for (Value* value : op->ins(s)) key.push_back(value);
    key.push_back(nullptr);
  }
  if (op->info().has(Commutative) && std::less<>()(key[3], key[1])) std::swap(key[1], key[3]);
  for (const OpAttr& attribute : op->attributes()) {
    key.push_back(attribute.name.data());
    key.push_back(attribute.value);
  }
  key.push_back(nullptr);
  for (unsigned i = 0; i < op->result_count(); ++i) key.push_back(op->result(i)->type());
  return key;
}

class Merger {
 public:
  void run(Region* region) {
    for (Block* block = region->front(); block; block = block->next()) {
      scopes_.emplace_back();
      for (Op* op : *block) visit(op);
      scopes_.pop_back();
    }
  }

 private:
  using Scope = std::map<Key, Op*>;

  void visit(Op* op) {
    for (unsigned r = 0; r < op->region_count(); ++r) run(op->region(r));
    bool mergeable = op->is_pure() && !op->is_terminator() && op->region_count() == 0;
    if (!mergeable) return;
    Key key = key_of(op);
    Op* known = find(key);
    if (!known) {
      scopes_.back().emplace(std::move(key), op);
      return;
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      op->result(i)->replace_all_uses(known->result(i));
      if (known->result(i)->name().empty()) known->result(i)->set_name(op->result(i)->name());
    }
    op->erase();
  }

  Op* find(const Key& key) const {
    for (size_t i = scopes_.size(); i-- > 0;) {
      auto it = scopes_[i].find(key);
      if (it != scopes_[i].end()) return it->second;
    }
    return nullptr;
  }

  std::vector<Scope> scopes_;
};

}  // namespace

Status cse(Module& module, PassContext&) {
  for (Op* function : *module.body()) {
    for (unsigned r = 0; r < function->region_count(); ++r) Merger().run(function->region(r));
  }
  return success;
}

}  // namespace tessera

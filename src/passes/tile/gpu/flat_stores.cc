#include "passes/tile/gpu/flat_stores.h"

#include <algorithm>

#include "ir/tile/build.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

class FlatStore {
 public:
  explicit FlatStore(Op* store) : store_(store), builder_(*store->module()) {}

  void run() {
    Type type = store_->in(in::Store::value)->type();
    std::vector<Value*> limits = store_->ins(in::Store::limits);
    while (lead_ < type->rank() && type->dims[lead_]->is_constant(1)) {
      if (!limits.empty() && tile::known_index(limits[lead_]).value_or(0) < 1) break;
      ++lead_;
    }
    if (lead_ == 0 || lead_ == type->rank() || store_->has(attr::Store::site)) return;
    if (!can_be_flat(store_->in(in::Store::value))) return;
    builder_.set_loc(store_->loc());
    Value* value = flat(store_->in(in::Store::value));
    if (!limits.empty()) limits.erase(limits.begin(), limits.begin() + int64_t(lead_));
    builder_.set_before(store_);
    tile::store(builder_, value, store_->in(in::Store::memory), store_->ins(in::Store::offsets), limits);
    Value* old = store_->in(in::Store::value);
    store_->erase();
    erase_unused(old);
  }

 private:
  Type flat_type(Type type) {
    return builder_.context().tile({type->dims.begin() + int64_t(lead_), type->dims.end()}, type->dtype);
  }

  bool can_be_flat(Value* value) {
    Op* def = value->def();
    if (!def || value->type()->rank() <= lead_) return false;
    if (def->is(tile::info(OpKind::Reshape))) return def->operand(0)->type() == flat_type(value->type());
    if (!value->has_one_use()) return false;
    bool each = def->info().elementwise != ElementwiseKind::None || def->is(tile::info(OpKind::Broadcast));
    if (def->is(tile::info(OpKind::Full))) return true;
    if (def->is(tile::info(OpKind::Load))) return is_flat_load(def);
    for (unsigned i = 0; each && i < def->operand_count(); ++i) each = can_be_flat(def->operand(i));
    return each;
  }

  bool is_flat_load(Op* load) {
    std::vector<Value*> limits = load->ins(in::Load::limits);
    for (size_t i = 0; i < lead_ && !limits.empty(); ++i) {
      if (tile::known_index(limits[i]).value_or(0) < 1) return false;
    }
    return load->result()->type()->dims[lead_ - 1]->is_constant(1);
  }

  Value* flat(Value* value) {
    Op* def = value->def();
    if (def->is(tile::info(OpKind::Reshape))) return def->operand(0);
    std::vector<std::vector<Value*>> operands;
    if (def->is(tile::info(OpKind::Load))) {
      std::vector<Value*> limits = def->ins(in::Load::limits);
      if (!limits.empty()) limits.erase(limits.begin(), limits.begin() + int64_t(lead_));
      operands = {{def->in(in::Load::memory)}, def->ins(in::Load::offsets), limits};
    } else {
      for (unsigned i = 0; i < def->operand_count(); ++i) operands.push_back({flat(def->operand(i))});
    }
    builder_.set_before(def);
    std::vector<OpAttr> attributes(def->attributes().begin(), def->attributes().end());
    return builder_.value(&def->info(), std::move(operands), flat_type(value->type()), std::move(attributes));
  }

  /// Erases what computes a value that nothing uses any more, each op once.
  static void erase_unused(Value* value) {
    std::vector<Op*> open;
    auto add = [&](Value* each) {
      Op* def = each->def();
      if (def && std::find(open.begin(), open.end(), def) == open.end()) open.push_back(def);
    };
    add(value);
    while (!open.empty()) {
      Op* op = open.back();
      open.pop_back();
      bool used = false;
      for (unsigned i = 0; i < op->result_count(); ++i) used |= !op->result(i)->unused();
      bool may_go = op->is_pure() || op->info().has(Exchanges) || op->is(tile::info(OpKind::Load));
      if (used || !may_go) continue;
      for (unsigned i = 0; i < op->operand_count(); ++i) add(op->operand(i));
      op->erase();
    }
  }

  Op* store_;
  Builder builder_;
  size_t lead_ = 0;  ///< axes of one element in front
};

}  // namespace

void flatten_stores(Op* kernel) {
  std::vector<Op*> stores;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::Store))) stores.push_back(op);
  });
  for (Op* store : stores) FlatStore(store).run();
}

}  // namespace tessera

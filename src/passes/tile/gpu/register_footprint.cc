#include "passes/tile/gpu/register_footprint.h"

#include <algorithm>
#include <map>

#include "ir/layout/text.h"
#include "ir/tile/ops.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;

namespace {

class Footprint {
 public:
  explicit Footprint(Op* scope) {
    number(scope);
    for (Op* loop : loops_) most_ = std::max(most_, held_by(loop));
  }
  int64_t most() const { return most_; }

 private:
  struct Life {
    Value* value;
    int64_t from, registers;
  };

  /// Ops in order, those of regions after the op that has them.
  void number(Op* scope) {
    for (unsigned r = 0; r < scope->region_count(); ++r) {
      Block* block = scope->region(r)->front();
      for (unsigned i = 0; block && i < block->arg_count(); ++i) add(block->arg(i));
      for (Op* op = block ? block->front() : nullptr; op; op = op->next()) {
        positions_[op] = position_++;
        number(op);
        if (op->is(tile::info(OpKind::For))) loops_.push_back(op);
        for (unsigned i = 0; i < op->result_count(); ++i) add(op->result(i));
      }
    }
  }

  void add(Value* value) {
    if (!value->type()->is(TypeKind::Tile) || value->unused()) return;
    Op* def = value->def();
    bool made = def && def->operand_count() == 0 && def->is_pure();
    if (made) return;
    lives_.push_back({value, position_, registers_of(value)});
  }

  /// Those of a broadcast are its operand's, and of a splat there is one: an element is in one register however often a
  /// thread has it.
  static int64_t registers_of(Value* value) {
    Op* def = value->def();
    if (def && def->is(tile::info(OpKind::Broadcast))) return registers_of(def->operand(0));
    std::optional<layout::Layout> layout = layout::parse_layout(value->type()->layout);
    TSR_CHECK(layout, "a tile has no layout: " + value->type()->text);
    DType dtype = value->type()->dtype;
    bool same = def && def->is(tile::info(OpKind::Splat));
    int64_t elements = same ? 1 : layout->registers_per_thread();
    int64_t bytes = dtype == DType::Bool ? 0 : elements * int64_t(byte_size(dtype));
    return (bytes + 3) / 4;
  }

  int64_t held_by(Op* loop) {
    int64_t start = positions_.at(loop);
    Block* body = loop->region()->front();
    int64_t held = 0;
    for (const Life& life : lives_) {
      bool carried = life.value->block() == body;
      bool across = life.from <= start && !carried && is_used_after(life.value, start);
      if (carried || across) held += life.registers;
    }
    return held;
  }

  /// Whether an op within or after the loop that starts there uses the value.
  bool is_used_after(Value* value, int64_t start) {
    for (Use* use = value->first_use(); use; use = use->next()) {
      auto it = positions_.find(use->owner());
      if (it != positions_.end() && it->second > start) return true;
    }
    return false;
  }

  int64_t position_ = 0, most_ = 0;
  std::map<Op*, int64_t> positions_;
  std::vector<Op*> loops_;
  std::vector<Life> lives_;
};

}  // namespace

int64_t held_registers(Op* scope) { return Footprint(scope).most(); }

}  // namespace tessera

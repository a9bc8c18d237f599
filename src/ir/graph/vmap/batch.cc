#include "ir/graph/vmap/batch.h"

#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/regions.h"
#include "support/check.h"

namespace tessera::graph {

std::vector<Dim> Batch::leading(Value* value) const {
  std::vector<Dim> dims = value->type()->dims;
  dims.insert(dims.begin(), count_);
  return dims;
}

bool Batch::differs(const Value* value) const {
  auto found = values_.find(value);
  return found != values_.end() && found->second.differs;
}

bool Batch::depends(Op* op) const {
  bool found = false;
  for_each_operand(op, [&](Value* value) { found = found || differs(value); });
  return found;
}

Value* Batch::now(Value* value) const {
  auto found = values_.find(value);
  return found == values_.end() ? value : found->second.value;
}

Value* Batch::of_all(Value* value) {
  Value* here = now(value);
  return differs(value) ? here : broadcast_to(*builder_, here, leading(value));
}

std::vector<Op*> Batch::push(const std::vector<Op*>& ops) {
  std::vector<Op*> replaced;
  for (Op* op : ops) {
    if (!depends(op)) continue;
    TSR_CHECK(facts(op).vmap, "an op with operands has a rule");
    builder_->set_loc(op->loc());
    facts(op).vmap(op, *this);
    replaced.push_back(op);
  }
  return replaced;
}

void Batch::copy(Block* block) {
  for (Op* op : *block) {
    if (op->is_terminator()) continue;
    if (depends(op)) {
      push({op});
      continue;
    }
    Values values;
    for_each_operand(op, [&](Value* value) {
      if (now(value) != value) values[value] = now(value);
    });
    Op* made = copied(op, *builder_, values);
    for (unsigned i = 0; i < op->result_count(); ++i) set_same(op->result(i), made->result(i));
  }
}

}  // namespace tessera::graph

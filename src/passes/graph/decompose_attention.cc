// Writes gir.flash_attention as what it means, where there is no kernel for it.

#include "ir/graph/attention.h"
#include "ir/graph/op_facts.h"
#include "passes/pass.h"

namespace tessera {

namespace {

void decompose(Op* op) {
  Builder builder(*op->module());
  builder.set_before(op);
  builder.set_loc(op->loc());
  std::vector<Value*> results = graph::facts(op).decompose(op, builder);
  for (unsigned i = 0; i < op->result_count(); ++i) {
    results[i]->set_name(op->result(i)->name());
    op->result(i)->replace_all_uses(results[i]);
  }
  op->erase();
}

}  // namespace

Status decompose_attention(Module& module, PassContext&) {
  std::vector<Op*> found;
  for (Op* function : *module.body()) {
    walk(function, [&](Op* op) {
      if (!op->is(graph::info(graph::OpKind::FlashAttention))) return;
      if (!graph::has_attention_kernel(op)) found.push_back(op);
    });
  }
  for (Op* op : found) decompose(op);
  return success;
}

}  // namespace tessera

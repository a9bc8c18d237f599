#include "passes/graph/to_schedule/kernel_edit.h"

#include "ir/schedule/ops.h"
#include "support/check.h"

namespace tessera {

namespace {

using schedule::OpKind;

Context& context_of(Op* op) {
  return op->module()->context();
}

std::vector<Use*> uses_of(Value* value) {
  std::vector<Use*> uses;
  for (Use* use = value->first_use(); use; use = use->next()) uses.push_back(use);
  return uses;
}

/// Casts what `load` gives, which becomes one of `stored`.
void cast_after(Op* load, DType stored, const std::vector<DType>& casts) {
  Value* result = load->result();
  std::vector<Use*> uses = uses_of(result);
  Type type = result->type();
  result->set_type(context_of(load).with_dtype(type, stored));
  Builder builder(*load->module());
  builder.set_after(load);
  builder.set_loc(load->loc());
  Value* value = result;
  for (DType dtype : casts) {
    value = builder.value(schedule::info(ElementwiseKind::Cast), {{value}},
                          context_of(load).with_dtype(type, dtype));
  }
  for (Use* use : uses) use->set(value);
}

void change_dtype(Value* memory, DType stored, const std::vector<DType>& casts) {
  memory->set_type(
      context_of(memory->parent_block()->parent_op()).with_dtype(memory->type(), stored));
  for (Use* use : uses_of(memory)) {
    Op* owner = use->owner();
    bool reads = owner->is(schedule::info(OpKind::Load)) ||
                 (owner->is(schedule::info(OpKind::Gather)) && use->index() == 0) ||
                 (owner->is(schedule::info(OpKind::Take)) && use->index() == 0);
    if (owner->is(schedule::info(OpKind::View))) {
      change_dtype(owner->result(), stored, casts);
    } else {
      TSR_CHECK(reads, "an input of a library kernel is used by " + std::string(owner->name()));
      cast_after(owner, stored, casts);
    }
  }
}

}  // namespace

void read_through_window(Op* kernel, unsigned position, const std::vector<Dim>& dims,
                         const Access& window) {
  Context& context = context_of(kernel);
  Block* body = kernel->region()->front();
  Value* parameter = body->arg(position);
  std::vector<Use*> uses = uses_of(parameter);
  DType dtype = parameter->type()->dtype;
  Builder builder(*kernel->module());
  builder.set_before(body->front());
  builder.set_loc(kernel->loc());
  Type type = context.view(window.dims, dtype, window.strides, window.offset);
  Value* view = builder.value(schedule::info(OpKind::View), {{parameter}}, type);
  parameter->set_type(context.tensor(dims, dtype));
  for (Use* use : uses) {
    // A view that the kernel makes itself is one of contiguous memory.
    TSR_CHECK(!use->owner()->is(schedule::info(OpKind::View)), "a window of a window");
    use->set(view);
  }
}

void read_through_casts(Op* kernel, unsigned position, DType stored,
                        const std::vector<DType>& casts) {
  change_dtype(kernel->region()->front()->arg(position), stored, casts);
}

Op* find_result_store(Op* kernel) {
  if (kernel->attr(schedule::attr::Kernel::outputs) != 1) return nullptr;
  Block* body = kernel->region()->front();
  Value* result = body->arg(body->arg_count() - 1);
  if (!result->has_one_use()) return nullptr;
  Op* store = result->first_use()->owner();
  bool in_grid =
      store->is(schedule::info(OpKind::Store)) && store->parent()->is(schedule::info(OpKind::Tile));
  return in_grid ? store : nullptr;
}

Value* add_input(Op* kernel, Type type, std::string_view name) {
  Block* body = kernel->region()->front();
  unsigned outputs = unsigned(kernel->attr(schedule::attr::Kernel::outputs));
  unsigned first = body->arg_count() - outputs;
  Value* input = body->add_arg(type, name);
  for (unsigned i = 0; i < outputs; ++i) {
    Value* old = body->arg(first);
    Value* moved = body->add_arg(old->type(), old->name());
    old->replace_all_uses(moved);
    body->erase_arg(first);
  }
  return input;
}

void erase_unused(Op* kernel) {
  std::vector<Op*> ops;
  walk(kernel, [&](Op* op) { ops.push_back(op); });
  for (size_t i = ops.size(); i-- > 0;) {
    Op* op = ops[i];
    bool removable = op->is_pure() || op->info().effects == Reads;
    for (unsigned r = 0; r < op->result_count(); ++r)
      removable = removable && op->result(r)->unused();
    if (removable && op->result_count() != 0) op->erase();
  }
}

void erase_hooks(Op* kernel) {
  std::vector<Op*> hooks;
  walk(kernel, [&](Op* op) {
    if (op->is(schedule::info(OpKind::Hook))) hooks.push_back(op);
  });
  for (Op* hook : hooks) {
    hook->result()->replace_all_uses(hook->operand(0));
    hook->erase();
  }
}

}  // namespace tessera

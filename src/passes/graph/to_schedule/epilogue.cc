#include "passes/graph/to_schedule/epilogue.h"

#include "ir/schedule/ops.h"
#include "passes/graph/to_schedule/kernel_edit.h"
#include "support/check.h"

namespace tessera {

namespace {

/// The value that leaves the group: the last one of the chain.
Value* final_value(const FusionGroup& group) {
  TSR_CHECK(group.outputs.size() == 1, "an epilogue has one result");
  return group.outputs[0];
}

Attr names_of(Context& context, const FusionGroup& group) {
  std::vector<Attr> names;
  for (Op* op : group.members)
    names.push_back(context.string(op->name().substr(op->name().find('.') + 1)));
  return context.array(std::move(names));
}

}  // namespace

KernelSpace epilogue_space(const FusionGroup& group, const std::vector<int>& result_axes,
                           const std::vector<Dim>& result_dims, Op* store) {
  KernelSpace space;
  const AxisMap& map = group.maps.at(group.anchor->result());
  space.axis_of.resize(group.extents.size());
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] >= 0) space.axis_of[size_t(map[i])] = result_axes[i];
  }
  space.extents = result_dims;
  space.blocks = store->in(schedule::in::Store::value)->type()->dims;
  space.whole.resize(result_dims.size());
  return space;
}

void fold_epilogue(Op* kernel, Op* store, const GraphReads& reads, const FusionGroup& group,
                   const KernelSpace& space, const MemoryPlan& inputs,
                   const std::vector<Dim>& extents) {
  Module& module = *kernel->module();
  Context& context = module.context();
  std::vector<Value*> values;
  for (const MemoryParameter& parameter : inputs.parameters) {
    Type type = context.tensor(parameter_dims(context.dims(), parameter, extents),
                               parameter.buffer->type()->dtype);
    values.push_back(add_input(kernel, type, parameter.buffer->name()));
  }
  Builder builder(module);
  builder.set_before(kernel->region()->front()->front());
  builder.set_loc(kernel->loc());
  std::vector<TileMemory> memories;
  for (size_t i = 0; i < inputs.accesses.size(); ++i) {
    memories.push_back(open_memory(builder, inputs, i, extents, values[inputs.parameter_of[i]]));
  }
  builder.set_before(store);
  std::vector<Value*> indices = store->ins(schedule::in::Store::index);
  Value* stored = store->in(schedule::in::Store::value);
  TileEmitter emitter(builder, reads, group, space, stored->type()->dims, indices);
  for (size_t i = 0; i < memories.size(); ++i) emitter.set_memory(inputs.accesses[i], memories[i]);
  emitter.set_tile(group.anchor->result(), stored);
  for (Op* member : group.members) emitter.emit(member);
  Value* last = emitter.tile(final_value(group));
  store->set_operand(store->slot_begin(schedule::in::Store::value), last);
  Value* result = store->in(schedule::in::Store::memory);
  result->set_type(context.with_dtype(result->type(), last->type()->dtype));
  kernel->set_node(schedule::attr::Kernel::epilogue, names_of(context, group));
}

}  // namespace tessera

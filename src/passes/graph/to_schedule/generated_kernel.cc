// Kernels without a source: one grid over the group's space, one tile op for each graph op.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/kernels.h"
#include "passes/analysis/row_tiles.h"
#include "passes/graph/to_schedule/lowering.h"
#include "support/check.h"

namespace tessera {

namespace {

using ScheduleOp = schedule::OpKind;

std::string axis_name(const KernelSpace& space, size_t axis) {
  static constexpr std::string_view names = "ijklmnpq";
  return axis < names.size() && space.rank() <= names.size() ? std::string(1, names[axis])
                                                             : "i" + std::to_string(axis);
}

Attr axes_attr(Context& context, const KernelSpace& space, const std::vector<Dim>& extents,
               const std::vector<Dim>& blocks) {
  std::vector<Attr> axes;
  for (size_t k = 0; k < space.rank(); ++k) {
    using entry::Axis;
    axes.push_back(entry::make_dict(context, {Axis::block(context, blocks[k]), Axis::extent(context, extents[k]),
                                              Axis::grid(context, !space.whole[k]),
                                              Axis::name(context, axis_name(space, k))}));
  }
  return context.array(std::move(axes));
}

/// The schedule that plan_space has chosen, for the kernel's metadata.
Attr schedule_attr(Context& context, const KernelSpace& space) {
  std::vector<NamedAttr> blocks;
  for (size_t k = 0; k < space.rank(); ++k) {
    if (!space.whole[k]) blocks.emplace_back(axis_name(space, k), context.dim(space.blocks[k]));
  }
  return entry::make_dict(context, {schedule::key::block(context, std::move(blocks))});
}

bool is_empty(DimTable& table, Value* value) {
  return count_elements(table, value->type()->dims)->is_constant(0);
}

/// The kernel's own symbols for the extents of its axes, in order of first appearance in the
/// parameters' types; nothing when some extent is in no type.
std::optional<std::vector<Dim>> own_extents(DimTable& table, const KernelSpace& space,
                                            const MemoryPlan& inputs, const MemoryPlan& outputs,
                                            std::map<std::string, Dim>& binding) {
  std::map<Dim, Dim> symbols;
  for (const MemoryPlan* plan : {&inputs, &outputs}) {
    for (const MemoryParameter& parameter : plan->parameters) {
      for (Dim extent : parameter_dims(table, parameter, space.extents)) {
        if (extent->constant() || symbols.count(extent)) continue;
        std::string name = "d" + std::to_string(symbols.size());
        symbols[extent] = table.symbol(name);
        binding[name] = extent;
      }
    }
  }
  std::vector<Dim> extents;
  for (Dim extent : space.extents) {
    if (!extent->constant() && !symbols.count(extent)) return std::nullopt;
    extents.push_back(extent->constant() ? extent : symbols[extent]);
  }
  return extents;
}

/// Ops that end a group and are no more than where its stores go.
bool is_placement(Op* op) {
  graph::OpKind kind = graph::kind_of(op);
  return kind == graph::OpKind::Concat || kind == graph::OpKind::UpdateSlice;
}

/// The axis along which short rows lie: the one that programs have whole, or else the last. Nothing where its extent is
/// known, and where there are several.
std::optional<size_t> row_axis(const FusionGroup& group, const KernelSpace& space) {
  int64_t whole = std::ranges::count(space.whole, true);
  bool blocked = whole == 0 && space.rank() > 1 && !space.transposes && group.parts.empty() && !update_of(group);
  if (whole != 1 && !blocked) return std::nullopt;
  size_t axis = whole ? size_t(std::ranges::find(space.whole, true) - space.whole.begin()) : space.rank() - 1;
  return space.extents[axis]->constant() ? std::nullopt : std::optional(axis);
}

/// Whether a program takes several rows of at most so many elements.
bool takes_several(const FusionGroup& group, const KernelSpace& space, size_t axis, int64_t most) {
  ElementRegisters registers;
  for (const Op* op : group.members) registers.add(op);
  int64_t rows = 1;
  for (size_t k = 0; k < space.rank(); ++k) {
    if (k != axis) rows *= space.blocks[k]->constant().value_or(1);
  }
  return rows > 1 && rows * most * registers.count() <= GpuSchedule().most_elements();
}

/// Stores outputs; the parts of a concat go to the windows of one output.
void store_outputs(TileEmitter& emitter, const FusionGroup& group,
                   const std::vector<TileMemory>& memories) {
  size_t next = 0;
  for (Value* output : group.outputs) {
    if (output->def() == update_of(group)) {
      emitter.store_update(output->def(), memories[next++]);
      continue;
    }
    if (!is_placement(output->def())) {
      emitter.store(emitter.tile(output), memories[next++]);
      continue;
    }
    for (unsigned p = 0; p < group.parts.size(); ++p) {
      emitter.store(emitter.part(output->def(), p), memories[next++]);
    }
  }
}

}  // namespace

FusionGroup GraphLowering::with_elements(const FusionGroup& group) const {
  FusionGroup rest = group;
  std::erase_if(rest.outputs, [&](Value* output) { return is_empty(table_, output); });
  return rest;
}

Status GraphLowering::lower_generated(const FusionGroup& whole) {
  // Strides of memory without elements say nothing of axes.
  for (Value* output : whole.outputs) {
    if (is_empty(table_, output)) host_.define_empty(output);
  }
  FusionGroup group = with_elements(whole);
  return group.outputs.empty() ? success : lower_rows(group);
}

Status GraphLowering::lower_as_kernel(const FusionGroup& group) {
  GeneratedKernel general = *make_generated(group, std::nullopt);
  std::vector<Op*> variants = short_row_kernels(group, general);
  Op* kernel = keep_kernel(general.kernel);
  std::vector<Value*> places(group.outputs.size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (group.outputs[i]->def() == update_of(group)) places[i] = host_.copy(updated_buffer(group));
  }
  host_.launch(kernel, variants, general.operands, general.dims, group.outputs, places);
  return success;
}

std::optional<GeneratedKernel> GraphLowering::make_generated(const FusionGroup& group, std::optional<int64_t> most) {
  std::vector<BufferAccess> loads = group_loads(reads_, group);
  std::vector<BufferAccess> stores = group_stores(table_, group);
  KernelSpace space = plan_space(reads_, group, loads, stores, context_.machine, halvings(group), most);
  std::optional<size_t> row = row_axis(group, space);
  if (most && !(row && takes_several(group, space, *row, *most))) return std::nullopt;
  for (BufferAccess& access : loads) access = collapse(table_, space, group, access);
  for (BufferAccess& access : stores) access = collapse(table_, space, group, access);
  MemoryPlan inputs = plan_memory(table_, space, std::move(loads));
  MemoryPlan outputs = plan_memory(table_, space, std::move(stores));

  GeneratedKernel made;
  made.across = space.across;
  std::optional<std::vector<Dim>> own;
  if (inputs.all_direct() && outputs.all_direct() && !mentions_dims(group)) {
    own = own_extents(table_, space, inputs, outputs, made.dims);
  }
  const std::vector<Dim>& extents = own ? *own : space.extents;
  made.kernel = build_generated(group, space, inputs, outputs, extents);
  if (most) {
    Attr is_short = fact_attr(module_.context(), {Relation::LessEqual, extents[*row], table_.constant(*most)});
    made.kernel->set(common::Kernel::assume, std::vector{is_short});
    made.kernel->set_node(common::Function::symbol, variant_symbol(module_, next_symbol()));
  }
  for (const MemoryParameter& parameter : inputs.parameters) {
    made.operands.push_back(host_.under(host_.buffer(parameter.buffer),
                                        parameter_dims(table_, parameter, space.extents)));
  }
  if (!own) {
    add_carriers(made.kernel, made.operands);
    made.dims = canonicalize_dims(made.kernel);
  }
  return made;
}

/// Kernels for short rows, the shortest first, beside the one for all.
std::vector<Op*> GraphLowering::short_row_kernels(const FusionGroup& group, const GeneratedKernel& general) {
  std::vector<Op*> kernels;
  // Where rows are cut there are few, so that a program for several of them leaves the others idle.
  if (in_parts_ || !context_.machine || !context_.machine->is_gpu()) return kernels;
  auto is_whole = [&](int axis) { return axis >= 0 && group.whole[size_t(axis)]; };
  bool stores = std::ranges::any_of(group.outputs, [&](Value* output) {
    auto map = group.maps.find(output);
    return map == group.maps.end() || std::ranges::any_of(map->second, is_whole);
  });
  auto rows = stores ? short_rows() : short_combined_rows();
  auto extents = group.reduced.empty() ? short_lines() : general.across ? short_columns() : rows;
  for (int64_t most : extents) {
    std::optional<GeneratedKernel> made = make_generated(group, most);
    if (!made) break;
    TSR_CHECK(made->operands == general.operands && made->dims == general.dims,
              "kernels for short rows take other operands");
    kernels.push_back(keep_kernel(made->kernel));
  }
  return kernels;
}

/// The memory that the group's gir.update_slice writes to, as it was before.
Value* GraphLowering::updated_buffer(const FusionGroup& group) {
  Op* update = update_of(group);
  Value* buffer = host_.buffer(reads_.read(update, graph::in::UpdateSlice::buffer).base);
  return host_.under(buffer, update->result()->type()->dims);
}

Op* GraphLowering::build_generated(const FusionGroup& group, const KernelSpace& space,
                                   const MemoryPlan& inputs, const MemoryPlan& outputs,
                                   const std::vector<Dim>& extents) {
  Context& context = module_.context();
  std::vector<Dim> blocks = space.blocks;
  std::vector<Attr> grid;
  for (size_t k = 0; k < space.rank(); ++k) {
    if (space.whole[k]) blocks[k] = extents[k];
    if (!space.whole[k]) grid.push_back(context.string(axis_name(space, k)));
  }
  OpState state;
  state.info = schedule::info(ScheduleOp::Kernel);
  state.loc = group.members.back()->loc();
  state.attributes = {schedule::attr::Kernel::axes(axes_attr(context, space, extents, blocks)),
                      schedule::attr::Kernel::outputs(context, int64_t(outputs.parameters.size())),
                      schedule::attr::Kernel::schedule(schedule_attr(context, space)),
                      common::Function::symbol(context, next_symbol())};
  Op* kernel = module_.create(state);
  kernel->move_to_end(module_.body());
  Block* body = kernel->region()->add_block();
  auto add_parameter = [&](const MemoryParameter& parameter) {
    Type type =
        context.tensor(parameter_dims(table_, parameter, extents), parameter.buffer->type()->dtype);
    return body->add_arg(type, parameter.buffer->name());
  };
  std::vector<Value*> in_values, out_values;
  for (const MemoryParameter& parameter : inputs.parameters)
    in_values.push_back(add_parameter(parameter));
  for (const MemoryParameter& parameter : outputs.parameters)
    out_values.push_back(add_parameter(parameter));

  Builder builder(module_, body);
  builder.set_loc(state.loc);
  std::vector<TileMemory> memories, results;
  for (size_t i = 0; i < inputs.accesses.size(); ++i) {
    memories.push_back(open_memory(builder, inputs, i, extents, in_values[inputs.parameter_of[i]]));
  }
  for (size_t i = 0; i < outputs.accesses.size(); ++i) {
    results.push_back(
        open_memory(builder, outputs, i, extents, out_values[outputs.parameter_of[i]]));
  }
  Op* tile = builder.op(schedule::info(ScheduleOp::Tile), {}, {},
                        {schedule::attr::Tile::axes(context.array(grid))});
  builder.op(schedule::info(ScheduleOp::Return), {}, {});
  Block* program = tile->region()->add_block();
  std::vector<Value*> indices(space.rank(), nullptr);
  for (size_t k = 0; k < space.rank(); ++k) {
    if (!space.whole[k])
      indices[k] =
          program->add_arg(context.scalar(DType::I64), context.intern(axis_name(space, k)));
  }
  builder.set_end(program);
  TileEmitter emitter(builder, reads_, group, space, blocks, indices);
  for (size_t i = 0; i < memories.size(); ++i) emitter.set_memory(inputs.accesses[i], memories[i]);
  for (Op* member : group.members) {
    if (!is_placement(member)) emitter.emit(member);
  }
  store_outputs(emitter, group, results);
  builder.op(schedule::info(ScheduleOp::Yield), {{}}, {});
  return kernel;
}

}  // namespace tessera

// Anchors: instances of library kernels. Operands that are windows of buffers are read through
// sched.view, widening casts of operands are done after the loads, and the group's members are
// folded in before the store.

#include <algorithm>
#include <bit>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/numbers/elementwise.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/text/substitute.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/kernels.h"
#include "passes/analysis/row_tiles.h"
#include "passes/analysis/tile_halvings.h"
#include "passes/graph/to_schedule/epilogue.h"
#include "passes/graph/to_schedule/kernel_edit.h"
#include "passes/graph/to_schedule/lowering.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

/// The group of an anchor whose kernel takes no epilogue, as a generated one.
FusionGroup without_anchor(const FusionGroup& group) {
  FusionGroup rest = group;
  rest.anchor = nullptr;
  rest.maps.erase(group.anchor->result());
  return rest;
}

/// Tiles that were asked for, along the axes m, n and k of a matmul or m and n of attention; those not given stay as
/// they are.
void set_block(Context& context, const std::vector<int64_t>& extents, size_t rank, schedule::KernelRequest& request) {
  std::vector<NamedAttr> block;
  if (Attr known = schedule::given(request.schedule, schedule::key::block)) block = known->entries;
  constexpr std::string_view axes[] = {"m", "n", "k"};
  for (size_t i = 0; i < std::min(extents.size(), rank); ++i) {
    auto given = [&](const NamedAttr& axis) { return axis.first == axes[i]; };
    if (std::none_of(block.begin(), block.end(), given)) block.emplace_back(axes[i], context.integer(extents[i]));
  }
  if (!extents.empty()) schedule::give(request.schedule, schedule::key::block(context, std::move(block)));
}

}  // namespace

/// The request for a kernel of the anchor's operands.
schedule::KernelRequest GraphLowering::request_of(Op* anchor, const AnchorForm& form, int64_t halvings) const {
  schedule::KernelRequest request;
  request.kernel = form.kernel;
  request.arguments = form.arguments;
  request.sizes = form.sizes;
  request.schedule = form.schedule;
  bool is_matrix_product = anchor->is(graph::info(graph::OpKind::Gemm)) && form.kernel != "matmul_windows";
  bool is_attention = anchor->is(graph::info(graph::OpKind::FlashAttention));
  if (is_matrix_product || is_attention) {
    set_block(module_.context(), context_.list_option("block"), is_attention ? 2 : 3, request);
  }
  request.halvings = halvings;
  request.symbol = next_symbol();
  request.machine = context_.machine ? context_.machine->name : "";
  request.loc = anchor->loc();
  for (unsigned i = 0; i < anchor->operand_count(); ++i) {
    if (!form.parameters.empty()) request.operands.resize(form.parameters[i]);
    request.operands.push_back(
        module_.context().tensor(form.operands[i], anchor->operand(i)->type()->dtype));
  }
  return request;
}

Result<schedule::KernelInstance> GraphLowering::instantiate(const FusionGroup& group,
                                                            const AnchorForm& form, size_t choice,
                                                            int64_t halvings, Attr block) {
  Op* anchor = group.anchor;
  if (!context_.kernels) {
    context_.diagnostics.report(diag::no_kernel_library, anchor->loc(), anchor->name(),
                                form.kernel);
    return failure;
  }
  schedule::KernelRequest request = request_of(anchor, form, halvings);
  if (block) {
    schedule::give(request.schedule, schedule::key::block(block));
    schedule::give(request.schedule, schedule::key::warps(module_.context(), row_warps));
  }
  request.choice = choice;
  for (unsigned i = 0; i < anchor->result_count(); ++i) {
    request.results.push_back(anchor->result(i)->type()->dtype);
  }
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance) return failure;
  if (!check_instance(anchor, form, *instance)) return failure;
  return instance;
}

Status GraphLowering::check_instance(Op* anchor, const AnchorForm& form,
                                     const schedule::KernelInstance& instance) {
  Context& context = module_.context();
  std::string given, wanted;
  for (Type type : instance.results)
    given += (given.empty() ? "" : ", ") + context.tensor(type->dims, type->dtype)->text;
  for (size_t i = 0; i < form.results.size(); ++i) {
    Type type = context.tensor(form.results[i], anchor->result(unsigned(i))->type()->dtype);
    wanted += (wanted.empty() ? "" : ", ") + type->text;
  }
  if (given == wanted) return success;
  context_.diagnostics.report(diag::kernel_gives, anchor->loc(), form.kernel, given, wanted);
  return failure;
}

void GraphLowering::use_caller_symbols(AnchorKernel& anchor) {
  if (anchor.in_caller_symbols) return;
  substitute_dims(anchor.kernel, {anchor.dims.begin(), anchor.dims.end()});
  anchor.in_caller_symbols = true;
}

/// Parameter `position`, which is of `dims`, reads the buffer: itself, or through a window.
void GraphLowering::bind_operand(AnchorKernel& anchor, unsigned position, Value* buffer, const Access& access,
                                 const std::vector<Dim>& dims) {
  const std::vector<Dim>& stored = buffer->type()->dims;
  if (is_contiguous(table_, access, count_elements(table_, stored))) {
    anchor.operands.push_back(host_.under(buffer, dims));
    return;
  }
  use_caller_symbols(anchor);
  read_through_window(anchor.kernel, position, stored, access);
  anchor.operands.push_back(buffer);
}

void GraphLowering::bind_operands(AnchorKernel& anchor, Op* op, const AnchorForm& form, const PlacedOperands& placed) {
  // Regions that are only written are no parameters; they come last.
  auto unread = std::ranges::count_if(anchor.regions, [](const auto& region) { return !region.reads; });
  for (unsigned i = 0; i < op->operand_count() - unsigned(unread); ++i) {
    if (auto elsewhere = placed.find(i); elsewhere != placed.end()) {
      bind_operand(anchor, i, elsewhere->second.buffer, elsewhere->second.access, form.operands[i]);
      continue;
    }
    const Read& read = reads_.read(op, i);
    std::optional<Access> access = anchor_access(table_, form, i, read.access);
    TSR_CHECK(access, "an operand of an anchor is not strided");
    Value* buffer = host_.buffer(read.base);
    bind_operand(anchor, i, buffer, *access, form.operands[i]);
    if (!read.casts.empty())
      read_through_casts(anchor.kernel, i, buffer->type()->dtype, read.casts);
  }
}

void GraphLowering::fold_members(AnchorKernel& anchor, const FusionGroup& group,
                                 const AnchorForm& form, Op* store) {
  KernelSpace space = epilogue_space(group, form.result_axes, form.results[0], store);
  std::vector<BufferAccess> loads = group_loads(reads_, group);
  for (BufferAccess& access : loads) access = collapse(table_, space, group, access);
  MemoryPlan inputs = plan_memory(table_, space, std::move(loads));
  if (!inputs.all_direct() || mentions_dims(group)) use_caller_symbols(anchor);
  Type result = store->in(schedule::in::Store::memory)->type();
  fold_epilogue(anchor.kernel, store, reads_, group, space, inputs, result->dims);
  for (const MemoryParameter& parameter : inputs.parameters) {
    anchor.operands.push_back(host_.under(host_.buffer(parameter.buffer),
                                          parameter_dims(table_, parameter, space.extents)));
  }
}

/// Gives the kernel its operands and the ops that follow, and keeps it.
Op* GraphLowering::finish_anchor(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form,
                                 const PlacedOperands& placed) {
  bind_operands(anchor, group.anchor, form, placed);
  // No store of one program is the result of a region: it holds what was there before, or the parts of a sum.
  bool may_take = !group.members.empty() && anchor.regions.empty();
  return finish_kernel(anchor, group, form, may_take);
}

/// The same for a kernel that has its operands.
Op* GraphLowering::finish_kernel(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form,
                                 bool may_take) {
  Op* store = may_take ? find_result_store(anchor.kernel) : nullptr;
  if (store) fold_members(anchor, group, form, store);
  anchor.takes_members = store;
  erase_hooks(anchor.kernel);
  if (anchor.in_caller_symbols) {
    add_carriers(anchor.kernel, anchor.operands);
    anchor.dims = canonicalize_dims(anchor.kernel);
  } else {
    add_carriers(anchor.kernel, anchor.dims, anchor.operands);
  }
  return anchor.kernel = keep_kernel(anchor.kernel);
}

/// The total of the parts of a sum, added to what the region held.
Status GraphLowering::add_parts(Op* anchor, const AnchorForm& form, const schedule::KernelRegion& region, Op* launch) {
  Value* result = anchor->result(region.output);
  Dim parts = count_elements(table_, region.parts), elements = count_elements(table_, result->type()->dims);
  DType dtype = result->type()->dtype;
  schedule::KernelRequest request;
  request.kernel = "sum_parts";
  request.operands = {module_.context().tensor({parts, elements}, dtype), module_.context().tensor({elements}, dtype)};
  request.symbol = next_symbol();
  request.machine = context_.machine ? context_.machine->name : "";
  request.loc = anchor->loc();
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance) return failure;
  const Read& read = reads_.read(anchor, region.operand);
  std::optional<Access> access = anchor_access(table_, form, region.operand, read.access);
  Value* start = host_.buffer(read.base);
  bool plain = access && read.casts.empty() &&
               is_contiguous(table_, *access, count_elements(table_, start->type()->dims));
  TSR_CHECK(plain, "a region to add to is a window");
  std::vector<Value*> operands = {host_.under(launch->result(region.output), {parts, elements}),
                                  host_.under(start, {elements})};
  Op* kernel = keep_kernel(instance->kernel);
  Op* sum = host_.launch(kernel, {}, operands, instance->dims, {result});
  host_.define(result, host_.under(sum->result(0), result->type()->dims));
  return success;
}

namespace {

/// About how many instructions a thread of a GPU's program takes for what the kernel computes element by element.
int64_t work_of_thread(Op* kernel, const Machine& machine) {
  int64_t threads = 32 * gpu_schedule(kernel, machine).compute_warps, work = 0;
  walk(kernel, [&](Op* op) {
    if (op->info().elementwise == ElementwiseKind::None || op->result_count() != 1) return;
    Type type = op->result()->type();
    int64_t elements = 1;
    for (Dim extent : type->dims) elements *= extent->constant().value_or(1);
    work += elements / threads * element_cost(op->info().elementwise, type->dtype);
  });
  return work;
}

}  // namespace

/// Functions that are given to a kernel of the library (a score_mod) make its programs long: for a GPU's assembler,
/// which takes them in one piece, and for registers. Smaller tiles make them shorter.
Result<int64_t> GraphLowering::fitting_halvings(const FusionGroup& group, const AnchorForm& form) {
  constexpr int64_t most_work = 4096;
  int64_t times = halvings(group);
  if (!context_.machine || !context_.machine->is_gpu()) return times;
  for (; times < most_halvings; ++times) {
    Result<schedule::KernelInstance> instance = instantiate(group, form, 0, times);
    if (!instance) return failure;
    bool fits = instance->kernel->attr(schedule::attr::Kernel::own) ||
                work_of_thread(instance->kernel, *context_.machine) <= most_work;
    instance->kernel->erase();
    if (fits) break;
  }
  return times;
}

/// A copy of what the region held, to be written over.
Value* GraphLowering::kept_region(Op* anchor, const schedule::KernelRegion& region) {
  Value* buffer = host_.buffer(reads_.read(anchor, region.operand).base);
  return host_.copy(host_.under(buffer, anchor->result(region.output)->type()->dims));
}

namespace {

/// The axes of a kernel of the library whose programs take blocks of one axis and all of another: rows.
struct RowAxes {
  std::string_view rows;
  Dim count = nullptr;  ///< of rows
  Dim extent = nullptr;
};

std::optional<RowAxes> row_axes(Op* kernel) {
  using entry::Axis;
  RowAxes axes;
  Attr blocks = entry::node(kernel->attr(schedule::attr::Kernel::schedule), schedule::key::block);
  if (!blocks || kernel->attr(schedule::attr::Kernel::own)) return std::nullopt;
  for (Attr axis : kernel->attr(schedule::attr::Kernel::axes)) {
    Dim extent = entry::read(axis, Axis::extent);
    bool is_blocked = blocks->get(entry::read(axis, Axis::name));
    if ((is_blocked ? axes.count : axes.extent) || (!is_blocked && entry::read(axis, Axis::block) != extent))
      return std::nullopt;
    if (is_blocked) axes.rows = entry::read(axis, Axis::name);
    (is_blocked ? axes.count : axes.extent) = extent;
  }
  bool has_rows = axes.count && axes.extent && !axes.extent->is_constant(1);
  return has_rows ? std::optional(axes) : std::nullopt;
}

/// A block of as many rows as a program takes where none has more elements; null where that is one.
Attr row_block(Op* kernel, const RowAxes& axes, int64_t most, const Machine& machine) {
  ElementRegisters registers;
  walk(kernel, [&](Op* op) { registers.add(op); });
  int64_t rows = rows_of_program(machine, most, registers.count());
  if (std::optional<int64_t> known = axes.count->constant()) {
    rows = std::min(rows, int64_t(std::bit_floor(uint64_t(std::max<int64_t>(*known, 1)))));
  }
  Context& context = kernel->module()->context();
  return rows > 1 ? context.dict({{std::string(axes.rows), context.integer(rows)}}) : nullptr;
}

void assume_at_most(Op* kernel, Dim extent, int64_t most) {
  Context& context = kernel->module()->context();
  std::vector<Attr> facts = kernel->attr(common::Kernel::assume);
  facts.push_back(fact_attr(context, {Relation::LessEqual, extent, context.dims().constant(most)}));
  kernel->set(common::Kernel::assume, std::move(facts));
}

}  // namespace

/// Instances for short rows, of which a program takes several, the shortest first; where the extent is known, the one
/// for that extent takes the place of `general`.
Result<std::vector<schedule::KernelInstance>> GraphLowering::short_row_instances(const FusionGroup& group,
                                                                                 const AnchorForm& form, size_t choice,
                                                                                 schedule::KernelInstance& general) {
  std::vector<schedule::KernelInstance> all;
  std::optional<RowAxes> axes = row_axes(general.kernel);
  if (!axes || !context_.machine || !context_.machine->is_gpu()) return all;
  std::optional<int64_t> known = axes->extent->constant();
  for (int64_t most : short_rows()) {
    if (known && *known > most) continue;
    Attr block = row_block(general.kernel, *axes, known.value_or(most), *context_.machine);
    if (!block) break;
    Result<schedule::KernelInstance> made = instantiate(group, form, choice, 0, block);
    if (!made) return failure;
    if (known) {
      general.kernel->erase();
      general = *made;
      break;
    }
    assume_at_most(made->kernel, row_axes(made->kernel)->extent, most);
    made->kernel->set_node(common::Function::symbol, variant_symbol(module_, next_symbol()));
    all.push_back(std::move(*made));
  }
  return all;
}

// Where it depends on sizes which schedule is the one, there is a kernel for each that may be; the one that always
// may be is built last.
Status GraphLowering::lower_whole(const FusionGroup& group, const AnchorForm& form, const PlacedOperands& placed,
                                  bool only_general) {
  std::vector<Op*> variants;
  AnchorKernel anchor;
  Result<int64_t> halvings = fitting_halvings(group, form);
  if (!halvings) return failure;
  auto finish = [&](const schedule::KernelInstance& instance) {
    AnchorKernel built{instance.kernel, instance.dims, false, false, {}, instance.regions, instance.prints,
                       instance.grid};
    variants.push_back(finish_anchor(built, group, form, placed));
    TSR_CHECK(!anchor.kernel || (built.operands == anchor.operands && built.dims == anchor.dims),
              "variants of a kernel take different operands");
    anchor = std::move(built);
  };
  for (size_t choice = 0, choices = 1; choice < choices; ++choice) {
    Result<schedule::KernelInstance> instance = instantiate(group, form, choice, *halvings);
    if (!instance) return failure;
    choices = instance->choices;
    bool sums = std::ranges::any_of(instance->regions, [](const auto& region) { return region.sums; });
    bool is_last = choice + 1 == choices;
    if ((only_general || sums || !instance->prints.empty()) && !is_last) {
      // How many parts a sum has, and how many programs print, is the schedule's choice, and what follows takes those
      // of one schedule.
      instance->kernel->erase();
      continue;
    }
    if (!is_last) {
      instance->kernel->set_node(common::Function::symbol, variant_symbol(module_, next_symbol()));
    } else if (!sums && instance->prints.empty() && *halvings == 0) {
      Result<std::vector<schedule::KernelInstance>> rows = short_row_instances(group, form, choice, *instance);
      if (!rows) return failure;
      for (const schedule::KernelInstance& each : *rows) finish(each);
    }
    finish(*instance);
  }
  std::erase(variants, anchor.kernel);
  std::vector<Value*> outputs = group.outputs;
  if (!anchor.takes_members) {
    outputs.clear();
    for (unsigned i = 0; i < group.anchor->result_count(); ++i)
      outputs.push_back(group.anchor->result(i));
  }
  std::vector<Value*> places(outputs.size());
  for (const schedule::KernelRegion& region : anchor.regions) {
    if (region.keeps) places[region.output] = kept_region(group.anchor, region);
  }
  unsigned all = 0;
  for (const schedule::KernelPrint& print : anchor.prints) all = std::max({all, print.values + 1, print.shown + 1});
  if (all) outputs.resize(all);
  Op* launch = host_.launch(anchor.kernel, variants, anchor.operands, anchor.dims, outputs, places);
  if (all) host_.print(launch, anchor.prints, anchor.grid);
  for (const schedule::KernelRegion& region : anchor.regions) {
    if (region.sums && add_parts(group.anchor, form, region, launch).failed()) return failure;
  }
  if (!anchor.takes_members && !group.members.empty()) return lower_generated(without_anchor(group));
  return success;
}

}  // namespace tessera

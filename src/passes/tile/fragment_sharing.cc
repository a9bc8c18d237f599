#include "passes/tile/fragment_sharing.h"

#include <algorithm>
#include <set>

#include "ir/host/ops.h"
#include "passes/analysis/kernels.h"

namespace tessera {

using tile::OpKind;

namespace {

/// Steps of k that one program of a packing kernel copies; a multiple of every block.
constexpr int64_t steps_of_program = 256;
/// Panels of fewer elements are packed sooner than another kernel is launched.
constexpr int64_t least_elements = 32768;

void collect_grid_axes(Value* value, std::set<int64_t>& found, std::set<Value*>& seen) {
  Op* def = value ? value->def() : nullptr;
  if (!def || !seen.insert(value).second) return;
  if (def->is(tile::info(OpKind::ProgramId))) found.insert(def->int_attr("axis"));
  for (unsigned i = 0; i < def->operand_count(); ++i)
    collect_grid_axes(def->operand(i), found, seen);
}

/// The entries of a launch's binding for the free dims of another kernel.
Attr binding_for(Op* kernel, Attr dims) {
  std::vector<NamedAttr> entries;
  for (const std::string& name : free_dims(kernel)) entries.emplace_back(name, dims->get(name));
  return kernel->module()->context().dict(std::move(entries));
}

}  // namespace

PanelSharing::PanelSharing(Op* kernel, PassContext& context, const TileAxes& axes)
    : kernel_(kernel),
      context_(context),
      axes_(axes),
      inputs_(kernel->region()->front()->arg_count() - unsigned(kernel->int_attr("outputs"))) {
  for (Op* op : *kernel->module()->body()) {
    walk(op, [&](Op* inner) {
      bool launches = inner->is(host::info(host::OpKind::Launch)) &&
                      inner->string_attr("kernel") == symbol_name(kernel);
      if (launches) launches_.push_back(inner);
    });
  }
}

std::vector<int64_t> PanelSharing::grid_axes(const PanelForm& form) const {
  std::set<int64_t> found;
  std::set<Value*> seen;
  for (Value* value : {form.factor, form.limit, form.k_limit})
    collect_grid_axes(value, found, seen);
  return {found.begin(), found.end()};
}

/// Some other program would pack the same.
bool PanelSharing::pays(const PanelForm& form, const std::vector<int64_t>& grid) const {
  const std::vector<Attr>& extents = kernel_->attr("grid")->elements;
  bool repeats = false;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    bool chooses = std::find(grid.begin(), grid.end(), int64_t(axis)) != grid.end();
    repeats |= !chooses && !extents[axis]->dim->is_constant(1);
  }
  std::optional<int64_t> along = axes_.extent(form.axis)->constant();
  std::optional<int64_t> k = axes_.extent(form.k)->constant();
  bool small = along && k && *along * *k < least_elements;
  return repeats && !small && !launches_.empty();
}

Op* PanelSharing::declare(const PanelForm& form, const std::vector<int64_t>& grid) const {
  Context& context = kernel_->module()->context();
  DimTable& dims = context.dims();
  std::vector<Attr> extents;
  std::vector<Dim> shape;
  for (int64_t axis : grid) {
    extents.push_back(kernel_->attr("grid")->elements[size_t(axis)]);
    shape.push_back(extents.back()->dim);
  }
  extents.push_back(
      context.dim(dims.ceildiv(axes_.extent(form.k), dims.constant(steps_of_program))));
  shape.push_back(panel_elements(dims, axes_, form));
  std::string name(symbol_name(kernel_));
  name += (form.is_left ? ".a" : ".b") + (shared_.size() < 2 ? "" : std::to_string(shared_.size()));
  OpState state;
  state.info = &kernel_->info();
  state.loc = kernel_->loc();
  state.attributes = {{"grid", context.array(std::move(extents))},
                      {"outputs", context.integer(1)},
                      {"schedule", context.dict({})},
                      {"symbol", context.symbol(name)}};
  Op* packing = kernel_->module()->create(state);
  packing->move_before(kernel_);
  Block *body = packing->region()->add_block(), *old = kernel_->region()->front();
  for (unsigned i = 0; i < old->arg_count(); ++i)
    body->add_arg(old->arg(i)->type(), old->arg(i)->name());
  body->add_arg(context.tensor(std::move(shape), form.dtype),
                kernel_->module()->intern(form.is_left ? "left" : "right"));
  return packing;
}

void PanelSharing::write(Op* packing, const PanelForm& form,
                         const std::vector<int64_t>& grid) const {
  Block* body = packing->region()->front();
  std::vector<Value*> parameters;
  for (unsigned i = 0; i + 1 < body->arg_count(); ++i) parameters.push_back(body->arg(i));
  FragmentEmitter emitter(kernel_, context_, axes_, body, parameters);
  std::vector<Value*> leading;
  for (size_t i = 0; i < grid.size(); ++i)
    leading.push_back(tile::program_id(emitter.builder(), int64_t(i)));
  walk(kernel_, [&](Op* op) {
    if (!op->is(tile::info(OpKind::ProgramId))) return;
    auto at = std::find(grid.begin(), grid.end(), op->int_attr("axis"));
    if (at != grid.end()) emitter.remember(op->result(), leading[size_t(at - grid.begin())]);
  });
  Value* part = tile::program_id(emitter.builder(), int64_t(grid.size()));
  Value* steps = emitter.index(steps_of_program);
  Value* lo = tile::mul(emitter.builder(), part, steps);
  Value* hi = tile::add(emitter.builder(), lo, steps);
  hi = tile::min(emitter.builder(), hi, emitter.total(form.k, form.k_limit));
  hi = tile::elementwise(emitter.builder(), ElementwiseKind::Max, {lo, hi});
  Panels panels(emitter, form);
  panels.use(body->arg(body->arg_count() - 1), std::move(leading));
  panels.fill(lo, hi);
  emitter.builder().op(tile::info(OpKind::Return), {}, {});
}

void PanelSharing::add(const PanelForm& form) {
  for (const Shared& known : shared_) {
    if (known.factor == form.factor) return;
  }
  std::vector<int64_t> grid = grid_axes(form);
  if (!pays(form, grid)) return;
  Shared shared{form.factor, declare(form, grid), grid, {}};
  write(shared.packing, form, grid);
  Block* body = shared.packing->region()->front();
  unsigned count = body->arg_count() - 1;
  for (unsigned i = 0; i < count; ++i) {
    if (!body->arg(i)->unused()) shared.inputs.push_back(i);
  }
  for (unsigned i = count; i-- > 0;) {
    if (body->arg(i)->unused()) body->erase_arg(i);
  }
  // A size that only other parameters tell is not known here.
  std::vector<std::string> free = free_dims(shared.packing), used = mentioned_dims(shared.packing);
  bool known = std::all_of(used.begin(), used.end(), [&](const std::string& name) {
    return std::find(free.begin(), free.end(), name) != free.end();
  });
  if (known) {
    shared_.push_back(std::move(shared));
  } else {
    shared.packing->erase();
  }
}

std::vector<Value*> PanelSharing::add_parameters(Block* body) {
  Block* old = kernel_->region()->front();
  std::vector<Value*> parameters;
  for (unsigned i = 0; i < old->arg_count(); ++i) {
    for (size_t n = 0; i == inputs_ && n < shared_.size(); ++n) {
      Block* packing = shared_[n].packing->region()->front();
      Value* panels = packing->arg(packing->arg_count() - 1);
      shared_[n].parameter = body->add_arg(panels->type(), panels->name());
    }
    parameters.push_back(body->add_arg(old->arg(i)->type(), old->arg(i)->name()));
  }
  return parameters;
}

bool PanelSharing::find(Panels& panels, FragmentEmitter& emitter) {
  for (const Shared& shared : shared_) {
    if (shared.factor != panels.form().factor) continue;
    std::vector<Value*> leading;
    for (int64_t axis : shared.grid) leading.push_back(tile::program_id(emitter.builder(), axis));
    panels.use(shared.parameter, std::move(leading));
    return true;
  }
  return false;
}

/// The panels that a new launch of the packing kernel gives.
Value* PanelSharing::launch_packing(const Shared& shared, Op* launch) const {
  Module& module = *kernel_->module();
  DimTable& dims = module.context().dims();
  Attr binding = launch->attr("dims");
  std::vector<Value*> operands;
  for (unsigned input : shared.inputs) operands.push_back(launch->operand(input));
  Type panels = shared.parameter->type();
  std::vector<Dim> extents;
  for (Dim extent : panels->dims) {
    extents.push_back(
        dims.substitute(extent, [&](std::string_view name) { return binding->get(name)->dim; }));
  }
  Builder builder(module, launch->block());
  builder.set_before(launch);
  builder.set_loc(launch->loc());
  Op* packing = builder.op(host::info(host::OpKind::Launch), {operands},
                           {module.context().tensor(std::move(extents), panels->dtype)},
                           {{"dims", binding_for(shared.packing, binding)},
                            {"kernel", module.context().symbol(symbol_name(shared.packing))}});
  return packing->result();
}

void PanelSharing::launch(Op* kernel) {
  if (shared_.empty()) return;
  Block* body = kernel->region()->front();
  std::vector<unsigned> kept;
  for (unsigned i = 0; i < inputs_; ++i) {
    if (!body->arg(i)->unused()) kept.push_back(i);
  }
  for (unsigned i = inputs_; i-- > 0;) {
    if (body->arg(i)->unused()) body->erase_arg(i);
  }
  for (Op* launch : launches_) {
    std::vector<Value*> operands;
    for (unsigned input : kept) operands.push_back(launch->operand(input));
    for (const Shared& shared : shared_) operands.push_back(launch_packing(shared, launch));
    launch->set_slot(0, operands);
    launch->set_attr("dims", binding_for(kernel, launch->attr("dims")));
  }
}

}  // namespace tessera

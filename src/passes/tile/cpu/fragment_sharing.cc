#include "passes/tile/cpu/fragment_sharing.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/dim_facts.h"
#include "ir/host/ops.h"
#include "passes/analysis/kernels.h"
#include "support/check.h"

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
  if (def->is(tile::info(OpKind::ProgramId))) found.insert(def->attr(tile::attr::ProgramId::axis));
  for (unsigned i = 0; i < def->operand_count(); ++i)
    collect_grid_axes(def->operand(i), found, seen);
}

/// 1 where a relation of a dim with a number holds, else 0.
std::optional<Dim> holds_as_number(DimTable& dims, const DimFact& fact) {
  std::optional<int64_t> number = fact.right->constant();
  if (!number) return std::nullopt;
  Dim one = dims.constant(1);
  auto at_least = [&](int64_t least) {
    return least <= 0 ? one : dims.min(one, dims.floordiv(fact.left, dims.constant(least)));
  };
  Dim reaches = at_least(*number), exceeds = at_least(*number + 1);
  Dim equal = dims.mul(reaches, dims.sub(one, exceeds));
  switch (fact.relation) {
    case Relation::Equal:
      return equal;
    case Relation::NotEqual:
      return dims.sub(one, equal);
    case Relation::Less:
      return dims.sub(one, reaches);
    case Relation::LessEqual:
      return dims.sub(one, exceeds);
    case Relation::Greater:
      return exceeds;
    case Relation::GreaterEqual:
      return reaches;
  }
  TSR_UNREACHABLE("a relation");
}

/// Whether all of `asked` hold wherever the facts do.
bool follow(DimTable& dims, std::span<const DimFact> asked, std::span<const DimFact> facts) {
  return std::all_of(asked.begin(), asked.end(),
                     [&](const DimFact& fact) { return decide(dims, fact, facts).value_or(false); });
}

/// Inserts parameters before the results of a kernel, which does not use them.
void insert_parameters(Op* kernel, const std::vector<Value*>& like) {
  Block* body = kernel->region()->front();
  unsigned outputs = unsigned(kernel->attr(tile::attr::Kernel::outputs)),
           first = body->arg_count() - outputs;
  for (size_t i = 0; i < like.size(); ++i) body->add_arg(like[i]->type());
  for (unsigned i = outputs; i-- > 0;) {
    Value *from = body->arg(first + i), *to = body->arg(first + i + unsigned(like.size()));
    to->set_type(from->type());
    to->set_name(from->name());
    from->replace_all_uses(to);
  }
  for (unsigned i = 0; i < like.size(); ++i) {
    body->arg(first + i)->set_type(like[i]->type());
    body->arg(first + i)->set_name(like[i]->name());
  }
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
      inputs_(kernel->region()->front()->arg_count() -
              unsigned(kernel->attr(tile::attr::Kernel::outputs))),
      needed_(kernel->module()->context().dims().constant(1)) {
  find_launches();
  if (!launches_.empty()) find_need();
}

/// All launches of the kernel, none if some run it as a variant or do not agree on its variants.
void PanelSharing::find_launches() {
  std::vector<Op*> others;
  for (Op* function : *kernel_->module()->body()) {
    if (!function->is(host::info(host::OpKind::Func))) continue;
    walk(function, [&](Op* op) {
      if (!op->is(host::info(host::OpKind::Launch))) return;
      (op->attr(host::attr::Launch::kernel) == symbol_name(kernel_) ? launches_ : others)
          .push_back(op);
    });
  }
  bool agree = true;
  for (Op* launch : launches_) {
    std::vector<Op*> variants = host::choices(launch);
    variants.pop_back();
    agree &= std::ranges::find(variants, kernel_) == variants.end();
    agree &= launch == launches_.front() || variants == variants_;
    variants_ = std::move(variants);
  }
  for (Op* other : others) {
    agree &= !host::may_run(other, kernel_);
    agree &= std::ranges::none_of(variants_, [&](Op* variant) { return host::may_run(other, variant); });
  }
  if (!agree) launches_.clear();
}

/// The product over the variants of 1 less whether all that one assumes holds. A variant for some of the sizes of a
/// later one says nothing more.
void PanelSharing::find_need() {
  DimTable& dims = kernel_->module()->context().dims();
  Dim one = dims.constant(1);
  std::vector<std::vector<DimFact>> assumed;
  for (Op* variant : variants_)
    assumed.push_back(read_facts(variant->attr(tile::attr::Kernel::assume)));
  for (auto facts = assumed.begin(); facts != assumed.end(); ++facts) {
    auto covers = [&](const std::vector<DimFact>& later) { return follow(dims, later, *facts); };
    if (std::any_of(facts + 1, assumed.end(), covers)) continue;
    Dim runs = one;
    for (const DimFact& fact : *facts) {
      std::optional<Dim> is = holds_as_number(dims, fact);
      if (!is) return launches_.clear();
      runs = dims.mul(runs, *is);
    }
    needed_ = dims.mul(needed_, dims.sub(one, runs));
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
  AttrList extents = kernel_->attr(tile::attr::Kernel::grid);
  bool repeats = false;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    bool chooses = std::find(grid.begin(), grid.end(), int64_t(axis)) != grid.end();
    repeats |= !chooses && !extents[axis]->is_constant(1);
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
    extents.push_back(context.dim(kernel_->attr(tile::attr::Kernel::grid)[size_t(axis)]));
    shape.push_back(extents.back()->dim);
  }
  Dim parts = dims.ceildiv(axes_.extent(form.k), dims.constant(steps_of_program));
  extents.push_back(context.dim(dims.mul(parts, needed_)));
  shape.push_back(dims.mul(panel_elements(dims, axes_, form), needed_));
  std::string name = kernel_->module()->unique_symbol(std::string(symbol_name(kernel_)) + (form.is_left ? ".a" : ".b"));
  OpState state;
  state.info = &kernel_->info();
  state.loc = kernel_->loc();
  state.attributes = {tile::attr::Kernel::grid(context.array(std::move(extents))),
                      tile::attr::Kernel::outputs(context, 1),
                      tile::attr::Kernel::schedule(context.dict({})),
                      common::Function::symbol(context, name)};
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
    auto at = std::find(grid.begin(), grid.end(), op->attr(tile::attr::ProgramId::axis));
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
  shared.inputs = drop_unused_inputs(shared.packing);
  shared_.push_back(std::move(shared));
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
  Attr binding = launch->attr(host::attr::Launch::dims);
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
  Op* packing =
      builder.op(host::info(host::OpKind::Launch), {operands, {}},
                 {module.context().tensor(std::move(extents), panels->dtype)},
                 {host::attr::Launch::dims(binding_for(shared.packing, binding)),
                  host::attr::Launch::kernel(module.context(), symbol_name(shared.packing))});
  return packing->result();
}

void PanelSharing::launch(Op* kernel) {
  if (shared_.empty()) return;
  std::vector<unsigned> kept(inputs_ + shared_.size());
  std::iota(kept.begin(), kept.end(), 0u);
  // Variants read what the kernel itself may have in panels alone.
  if (variants_.empty()) kept = drop_unused_inputs(kernel);
  std::vector<Value*> panels;
  for (const Shared& shared : shared_) panels.push_back(shared.parameter);
  for (Op* variant : variants_) insert_parameters(variant, panels);
  for (Op* launch : launches_) {
    std::vector<Value*> operands;
    for (unsigned position : kept) {
      bool is_panel = position >= inputs_;
      operands.push_back(is_panel ? launch_packing(shared_[position - inputs_], launch) : launch->operand(position));
    }
    launch->set_slot(0, operands);
    launch->set(host::attr::Launch::dims,
                binding_for(kernel, launch->attr(host::attr::Launch::dims)));
  }
}

}  // namespace tessera

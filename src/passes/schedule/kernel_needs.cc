#include "passes/schedule/kernel_needs.h"

#include <algorithm>
#include <numeric>

#include "ir/core/common_attributes.h"
#include "ir/numbers/elementwise.h"
#include "ir/schedule/ops.h"
#include "passes/analysis/row_tiles.h"
#include "passes/tile/gpu/tensor_copies.h"

namespace tessera {

using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

namespace {

/// Elements that an axis that is taken whole is thought to have, and how many times as many elements as another access
/// moves make it worth no vectors: an index, or a number, for each row.
constexpr int64_t whole_row = 64, much_more = 16;

Dim product_of(DimTable& table, const DimTerm& term) {
  Dim product = table.constant(1);
  for (const DimAtom* atom : term.factors) product = table.mul(product, table.parse(atom->text));
  return product;
}

/// Adds what makes the dim a multiple; false when nothing does.
bool need_multiple(DimTable& table, const Divisibility& known, NeededMultiple need, Facts& facts) {
  for (const DimTerm& term : need.of->terms) {
    int64_t by = need.by / std::gcd(need.by, term.coefficient);
    if (by == 1) continue;
    if (term.factors.empty()) return false;
    Dim product = product_of(table, term);
    if (known.of(product) % by == 0) continue;
    facts.push_back({Relation::Equal, table.mod(product, table.constant(by)), table.constant(0)});
  }
  return true;
}

}  // namespace

std::optional<int64_t> extent_in(const Extents& extents, Dim dim) {
  for (auto [extent, elements] : extents) {
    if (extent == dim) return elements;
  }
  return dim->constant();
}

bool has_fact(const Facts& facts, const DimFact& wanted) {
  return std::ranges::any_of(facts, [&](const DimFact& fact) {
    return fact.relation == wanted.relation && fact.left == wanted.left && fact.right == wanted.right;
  });
}

void add_facts(Facts& facts, const Facts& more) {
  for (const DimFact& fact : more) {
    if (!has_fact(facts, fact)) facts.push_back(fact);
  }
}

std::optional<Facts> KernelNeeds::operand_copies() const {
  Facts facts;
  bool possible = true;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Dot))) return;
    for (Value* operand : {op->in(in::Dot::a), op->in(in::Dot::b)}) {
      std::set<Value*> seen;
      if (is_made_of_products(operand, seen)) continue;  // which the threads hold
      Value* window = turned(operand);
      Op* load = flat_load(window);
      bool loads =
          load && load->is(schedule::info(OpKind::Load)) && !load->has(common::Access::fill);
      possible &= loads && add_copy(load->in(in::Load::memory), window->type(), facts);
    }
  });
  return possible ? std::optional(facts) : std::nullopt;
}

Facts KernelNeeds::copies_beside() const {
  Facts facts;
  std::set<Op*> operands, loops;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Dot)) || !op->parent()->is(schedule::info(OpKind::Pipeline))) return;
    loops.insert(op->parent());
    for (Value* operand : {op->in(in::Dot::a), op->in(in::Dot::b)}) operands.insert(flat_load(turned(operand)));
  });
  walk(kernel_, [&](Op* op) {
    bool is_beside = op->is(schedule::info(OpKind::Load)) && loops.contains(op->parent()) && !operands.contains(op);
    if (!is_beside || op->has(common::Access::fill) || op->result()->type()->rank() < 2) return;
    Facts of_load;
    Type once = without_repeated_axes(context_, op->in(in::Load::memory)->type(), 2);
    if (add_copy(once, once, op->result()->type(), of_load)) add_facts(facts, of_load);
  });
  return facts;
}

Facts KernelNeeds::result_copies() const {
  Facts facts;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Store))) return;
    Facts of_store;
    Type tile = op->in(in::Store::value)->type();
    if (add_copy(op->in(in::Store::memory), tile, of_store)) add_facts(facts, of_store);
  });
  return facts;
}

Facts KernelNeeds::vectors(VectorSize size) const {
  struct Moved {
    Type memory, tile;
    int64_t elements;
  };
  std::vector<Moved> all;
  int64_t largest = 0;
  auto add = [&](Type memory, Type tile) {
    int64_t elements = 1;
    for (Dim dim : tile->dims) elements *= dim->constant().value_or(whole_row);
    all.push_back({memory, tile, elements});
    largest = std::max(largest, elements);
  };
  walk(kernel_, [&](Op* op) {
    if (op->is(schedule::info(OpKind::Load))) {
      add(op->in(in::Load::memory)->type(), op->result()->type());
    } else if (op->is(schedule::info(OpKind::Store))) {
      add(op->in(in::Store::memory)->type(), op->in(in::Store::value)->type());
    } else if (op->is(schedule::info(OpKind::Gather))) {
      add(op->in(in::Gather::table)->type(), op->result()->type());
    }
  });
  Facts facts;
  for (const Moved& each : all) {
    Facts of_access;
    bool is_much = each.elements * much_more > largest;
    if (is_much && add_vector(each.memory, each.tile, size, of_access)) add_facts(facts, of_access);
  }
  return facts;
}

int64_t KernelNeeds::elements_of_computed() const {
  int64_t elements = 0;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Dot))) return;
    for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
      Op* def = flat_load(turned(op->in(slot)));
      if (def && def->info().elementwise != ElementwiseKind::None) {
        elements = vector_bytes / byte_size(op->in(slot)->type()->dtype);
      }
    }
  });
  return elements;
}

Facts KernelNeeds::vectors_beside_computed() const {
  Facts facts;
  if (elements_of_computed() == 0) return facts;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Dot))) return;
    for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) {
      Op* load = flat_load(turned(op->in(slot)));
      if (!load || !load->is(schedule::info(OpKind::Load))) continue;
      Facts of_access;
      Type memory = load->in(in::Load::memory)->type(), tile = load->result()->type();
      if (add_vector(memory, tile, {}, of_access)) add_facts(facts, of_access);
    }
  });
  return facts;
}

std::vector<Dim> KernelNeeds::whole_extents() const {
  std::vector<Dim> found;
  for_each_tile([&](Value* tile) {
    for (Dim dim : tile->type()->dims) {
      if (!dim->constant() && std::ranges::count(found, dim) == 0) found.push_back(dim);
    }
  });
  return found;
}

bool KernelNeeds::has_depths() const {
  bool multiplies = false;
  walk(kernel_, [&](Op* op) { multiplies |= op->is(schedule::info(OpKind::Dot)); });
  return multiplies && !whole_extents().empty();
}

Dim KernelNeeds::row_extent() const {
  std::vector<Dim> found = whole_extents();
  if (found.size() != 1) return nullptr;
  bool ends = true;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Reduce)) && !op->is(schedule::info(OpKind::Scan))) return;
    Value* combined = op->operand(0);
    bool along = combined->type()->dims[size_t(op->attr(common::Along::axis))] == found[0];
    std::set<Value*> seen;
    ends &= !along || is_loaded(combined, found[0], seen);
  });
  return ends ? found[0] : nullptr;
}

int64_t KernelNeeds::loads_along(Dim extent) const {
  int64_t count = 0;
  walk(kernel_, [&](Op* op) {
    bool loads = op->is(schedule::info(OpKind::Load)) || op->is(schedule::info(OpKind::Gather));
    count += loads && std::ranges::count(op->result()->type()->dims, extent) > 0;
  });
  return count;
}

int64_t KernelNeeds::own_rows(Dim extent) const {
  int64_t count = 0;
  walk(kernel_, [&](Op* op) {
    if (!op->is(schedule::info(OpKind::Load)) || std::ranges::count(op->result()->type()->dims, extent) == 0) return;
    const std::vector<Dim>& dims = op->in(in::Load::memory)->type()->dims;
    count += std::ranges::any_of(dims, [&](Dim dim) { return dim != extent && !dim->is_constant(1); });
  });
  return count;
}

bool KernelNeeds::stores_along(Dim extent) const {
  bool found = false;
  walk(kernel_, [&](Op* op) {
    found |= op->is(schedule::info(OpKind::Store)) &&
             std::ranges::count(op->in(in::Store::value)->type()->dims, extent) > 0;
  });
  return found;
}

bool KernelNeeds::stores_reduced(Dim extent) const {
  bool reduces = false, scans = false;
  walk(kernel_, [&](Op* op) {
    reduces |= op->is(schedule::info(OpKind::Reduce));
    scans |= op->is(schedule::info(OpKind::Scan));
  });
  return reduces && !scans && stores_along(extent);
}

bool KernelNeeds::combines() const {
  bool found = false;
  walk(kernel_, [&](Op* op) {
    found |= op->is(schedule::info(OpKind::Reduce)) || op->is(schedule::info(OpKind::Scan));
  });
  return found;
}

bool KernelNeeds::returns_to_rows(Dim extent) const {
  bool is_short = true;
  auto runs_along = [&](Type type) { return std::ranges::count(type->dims, extent) > 0; };
  walk(kernel_, [&](Op* op) {
    is_short &= !op->is(schedule::info(OpKind::Scan));
    Type tile = op->result_count() == 1 ? op->result()->type() : nullptr;
    if (!tile || !tile->is(TypeKind::Tile) || !runs_along(tile)) return;
    DType dtype = tile->dtype;
    ElementwiseKind kind = op->info().elementwise;
    is_short &= byte_size(dtype) <= 4 && (kind == ElementwiseKind::None || element_cost(kind, dtype) == 1);
  });
  return stores_along(extent) && is_short && combines();
}

int64_t KernelNeeds::held_in_loops(int64_t threads) const {
  int64_t sums = 0, largest = 0;
  walk(kernel_, [&](Op* op) {
    if (!op->parent() || !op->parent()->is(schedule::info(OpKind::Pipeline)) || op->result_count() != 1) return;
    Type tile = op->result()->type();
    if (!tile->is(TypeKind::Tile) || tile->dtype == DType::Bool) return;
    int64_t registers = std::max<int64_t>(1, byte_size(tile->dtype) / 4);
    for (Dim dim : tile->dims) registers *= dim->constant().value_or(1);
    if (op->is(schedule::info(OpKind::Dot))) sums += registers;
    bool is_sum = is_accumulator(op->result());
    if (op->info().elementwise != ElementwiseKind::None && !is_sum) largest = std::max(largest, registers);
  });
  return (sums + largest) / threads;
}

int64_t KernelNeeds::largest_tile(const Extents& extents) const {
  int64_t largest = 0;
  ElementRegisters element;
  walk(kernel_, [&](Op* op) { element.add(op); });
  for_each_tile([&](Value* tile) {
    bool is_one_row = tile->type()->rank() < 2 || tile->type()->dims[0]->is_constant(1);
    bool is_narrow = is_one_row && is_place(tile);
    int64_t registers = is_narrow ? 1 : std::max<int64_t>(1, byte_size(tile->type()->dtype) / 4);
    for (Dim dim : tile->type()->dims) registers *= extent_in(extents, dim).value_or(1);
    largest = std::max(largest, registers);
  });
  return largest * element.held();
}

bool KernelNeeds::is_place(Value* value) {
  Op* def = value->def();
  if (value->type()->dtype != DType::I64 || !def) return false;
  auto is_of_places = [](Op* op) {
    switch (schedule::kind_of(op)) {
      case OpKind::Iota:
      case OpKind::Splat:
      case OpKind::Broadcast:
      case OpKind::Reshape: return true;
      default: return op->info().elementwise == ElementwiseKind::Select;
    }
  };
  bool fits = is_of_places(def);
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* user = use->owner();
    bool takes_extreme = user->is(schedule::info(OpKind::Reduce)) && user->attr(attr::Reduce::kind) != "sum";
    fits &= takes_extreme || is_of_places(user);
  }
  return fits;
}

bool KernelNeeds::is_made_of_products(Value* value, std::set<Value*>& seen) {
  Op* def = value->def();
  if (!def || !seen.insert(value).second) return false;
  if (def->is(schedule::info(OpKind::Dot))) return true;
  if (def->info().elementwise == ElementwiseKind::None) return false;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    bool same = def->operand(i)->type()->dims == value->type()->dims;
    if (same && is_made_of_products(def->operand(i), seen)) return true;
  }
  return false;
}

bool KernelNeeds::is_accumulator(Value* value) {
  for (Use* use = value->first_use(); use; use = use->next()) {
    if (use->owner()->is(schedule::info(OpKind::Dot)) && use->owner()->in(in::Dot::c) == value) return true;
  }
  return false;
}

Value* KernelNeeds::turned(Value* operand) {
  Op* def = operand->def();
  bool transposes = def && def->is(schedule::info(OpKind::Transpose)) && operand->type()->rank() == 2;
  return transposes ? def->operand(0) : operand;
}

Op* KernelNeeds::flat_load(Value* tile) {
  Op* def = tile->def();
  if (!def || !def->is(schedule::info(OpKind::Reshape))) return def;
  const std::vector<Dim>& from = def->operand(0)->type()->dims;
  const std::vector<Dim>& to = tile->type()->dims;
  bool ends = from.size() > to.size() && std::equal(to.rbegin(), to.rend(), from.rbegin());
  for (size_t i = 0; ends && i < from.size() - to.size(); ++i) ends = from[i]->is_constant(1);
  return ends ? def->operand(0)->def() : nullptr;
}

bool KernelNeeds::is_loaded(Value* value, Dim extent, std::set<Value*>& seen) {
  if (!seen.insert(value).second || !value->type()->is(TypeKind::Tile)) return false;
  if (std::ranges::count(value->type()->dims, extent) == 0) return false;
  Op* def = value->def();
  if (!def) return false;
  if (def->is(schedule::info(OpKind::Load)) || def->is(schedule::info(OpKind::Gather))) return true;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (is_loaded(def->operand(i), extent, seen)) return true;
  }
  return false;
}

bool KernelNeeds::add_copy(Value* place, Type tile, Facts& facts) const {
  Op* def = place->def();
  std::optional<WindowShape> windows =
      def && def->is(schedule::info(OpKind::View)) ? read_windows(def->attr(attr::View::windows)) : std::nullopt;
  return add_copy(place->type(), windows ? def->operand(0)->type() : place->type(), tile, facts, windows);
}

bool KernelNeeds::add_copy(Type memory, Type image, Type tile, Facts& facts,
                           const std::optional<WindowShape>& windows) const {
  bool constant = std::ranges::all_of(tile->dims, [](Dim dim) { return dim->constant().has_value(); });
  if (!constant) return false;
  std::vector<Dim> extents;
  for (Dim dim : tile->dims) {
    if (tile->rank() == 2 || !dim->is_constant(1)) extents.push_back(dim);
  }
  Type window = context_.tile(extents, tile->dtype);
  auto shared = staged_layout(context_, memory, window);
  if (!shared) return false;
  auto needs = windows ? window_copy_needs(*windows, image, window, *shared)
                       : tensor_copy_needs(context_, memory, window, *shared);
  if (!needs) return false;
  for (const NeededMultiple& need : *needs) {
    if (!need_multiple(table_, known_, need, facts)) return false;
  }
  for (Dim extent : image->dims) {
    if (extent->is_constant(0)) return false;
    if (!extent->constant()) add_facts(facts, {{Relation::GreaterEqual, extent, table_.constant(1)}});
  }
  return true;
}

bool KernelNeeds::add_vector(Type memory, Type tile, VectorSize size, Facts& facts) const {
  std::vector<Dim> strides = tile::strides_of(context_, memory);
  size_t lead = strides.size() - tile->rank();
  int64_t elements = std::min(std::max<int64_t>(1, size.bytes / byte_size(tile->dtype)), size.elements);
  int contiguous = -1;
  for (size_t i = 0; i < tile->rank(); ++i) {
    if (strides[lead + i]->is_constant(1) && !tile->dims[i]->is_constant(1)) contiguous = int(i);
  }
  if (contiguous < 0) return false;
  std::vector<NeededMultiple> needs;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (i != lead + size_t(contiguous)) needs.push_back({strides[i], elements});
  }
  if (memory->is(TypeKind::View)) needs.push_back({memory->offset, elements});
  Dim extent = memory->dims[lead + size_t(contiguous)];
  std::optional<int64_t> block = tile->dims[size_t(contiguous)]->constant();
  if (!block || !is_multiple_of(extent, *block)) needs.push_back({extent, elements});
  return std::ranges::all_of(needs, [&](NeededMultiple need) { return need_multiple(table_, known_, need, facts); });
}

}  // namespace tessera

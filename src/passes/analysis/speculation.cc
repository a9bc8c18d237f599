#include "passes/analysis/speculation.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/core/module.h"
#include "ir/graph/ops.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Questions about sizes under facts.
class Sizes {
 public:
  Sizes(DimTable& table, std::span<const DimFact> facts) : table_(table), facts_(facts) {}

  DimTable& table() const { return table_; }
  bool is_at_most(Dim a, Dim b) const { return decide(table_, {Relation::LessEqual, a, b}, facts_) == true; }
  bool is_at_least(Dim a, int64_t b) const { return is_at_most(table_.constant(b), a); }

  /// Whether the dim has a value: no divisor in it may be 0.
  bool has_value(Dim dim) const {
    return std::all_of(dim->terms.begin(), dim->terms.end(), [&](const DimTerm& term) {
      return std::all_of(term.factors.begin(), term.factors.end(), [&](const DimAtom* atom) {
        if (atom->kind == DimAtomKind::Symbol) return true;
        bool divides = atom->kind == DimAtomKind::FloorDiv || atom->kind == DimAtomKind::Mod;
        return has_value(atom->a) && has_value(atom->b) && (!divides || is_at_least(atom->b, 1));
      });
    });
  }

  /// Whether element first + (count - 1) * step is one of `extent`, or there is none.
  bool reaches_inside(Dim first, Dim count, int64_t step, Dim extent) const {
    Dim taken = table_.mul(table_.sub(count, table_.constant(1)), table_.constant(step));
    Dim end = table_.add(table_.add(first, taken), table_.constant(1));
    return is_at_least(first, 0) && is_at_most(end, extent);
  }

 private:
  DimTable& table_;
  std::span<const DimFact> facts_;
};

DimTable& dims_of(Op* op) { return op->module()->context().dims(); }

bool has_values(const Sizes& sizes, Attr attribute) {
  if (attribute->is(AttrKind::Dim)) return sizes.has_value(attribute->dim);
  return std::all_of(attribute->elements.begin(), attribute->elements.end(),
                     [&](Attr element) { return has_values(sizes, element); });
}

bool slice_inside(const Sizes& sizes, Op* slice) {
  const std::vector<Dim>& from = slice->operand(0)->type()->dims;
  const std::vector<Dim>& to = slice->result()->type()->dims;
  std::vector<Dim> starts = slice->attr(graph::attr::Slice::starts);
  std::vector<int64_t> steps = slice->attr(graph::attr::Slice::steps);
  for (size_t i = 0; i < to.size(); ++i) {
    if (!sizes.reaches_inside(starts[i], to[i], steps[i], from[i])) return false;
  }
  return true;
}

bool windows_inside(const Sizes& sizes, Op* windows) {
  DimTable& table = sizes.table();
  const std::vector<Dim>& to = windows->result()->type()->dims;
  size_t axis = size_t(windows->attr(common::Along::axis));
  Dim wide = table.mul(table.sub(to.back(), table.constant(1)),
                       table.constant(windows->attr(graph::attr::Windows::dilation)));
  Dim room = table.sub(windows->operand(0)->type()->dims[axis], wide);
  return sizes.reaches_inside(table.constant(0), to[axis],
                              windows->attr(graph::attr::Windows::step), room);
}

bool update_fits(const Sizes& sizes, Op* update) {
  const std::vector<Dim>& room = update->result()->type()->dims;
  const std::vector<Dim>& part = update->in(graph::in::UpdateSlice::update)->type()->dims;
  for (size_t i = 0; i < room.size(); ++i) {
    if (!sizes.is_at_most(part[i], room[i])) return false;
  }
  return true;
}

}  // namespace

bool stays_inside(Op* slice, std::span<const DimFact> facts) {
  return slice_inside(Sizes(dims_of(slice), facts), slice);
}

bool is_total(Op* op, std::span<const DimFact> facts) {
  Sizes sizes(dims_of(op), facts);
  for (unsigned r = 0; r < op->result_count(); ++r) {
    for (Dim extent : op->result(r)->type()->dims) {
      if (!sizes.has_value(extent) || !sizes.is_at_least(extent, 0)) return false;
    }
  }
  for (const OpAttr& attribute : op->attributes()) {
    if (!has_values(sizes, attribute.value)) return false;
  }
  switch (graph::kind_of(op)) {
    case OpKind::Slice:
      return slice_inside(sizes, op);
    case OpKind::Windows:
      return windows_inside(sizes, op);
    case OpKind::UpdateSlice:
      return update_fits(sizes, op);
    case OpKind::Full:
    case OpKind::Constant:
    case OpKind::Iota:
    case OpKind::Dim:
    case OpKind::Broadcast:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Concat:
    case OpKind::Reduce:
    case OpKind::Gemm:
    case OpKind::Softmax:
    case OpKind::Rmsnorm:
    case OpKind::FlashAttention:
    case OpKind::Embedding:
    case OpKind::CrossEntropy:
    case OpKind::PhiloxUniform:
    case OpKind::PhiloxNormal:
      return true;
    default:
      return op->info().has(Elementwise);  // what a user's kernel relies on is its own
  }
}

}  // namespace tessera

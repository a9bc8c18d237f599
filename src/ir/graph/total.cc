// What rows state of sizes: which ops mean something whatever the sizes are, and where the others do.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

namespace {

DimTable& dims_of(Op* op) { return op->module()->context().dims(); }

/// Questions about sizes under facts.
class Sizes {
 public:
  Sizes(DimTable& table, std::span<const DimFact> facts) : table_(table), facts_(facts) {}

  bool is_at_most(Dim a, Dim b) const { return decide(table_, {Relation::LessEqual, a, b}, facts_) == true; }

  /// Whether element first + (count - 1) * step is one of `extent`, or there is none.
  bool reaches_inside(Dim first, Dim count, int64_t step, Dim extent) const {
    Dim taken = table_.mul(table_.sub(count, table_.constant(1)), table_.constant(step));
    Dim end = table_.add(table_.add(first, taken), table_.constant(1));
    return is_at_most(table_.constant(0), first) && is_at_most(end, extent);
  }

 private:
  DimTable& table_;
  std::span<const DimFact> facts_;
};

}  // namespace

bool is_total_always(Op*, std::span<const DimFact>) { return true; }

bool slice_stays_inside(Op* slice, std::span<const DimFact> facts) {
  Sizes sizes(dims_of(slice), facts);
  const std::vector<Dim>& from = slice->operand(0)->type()->dims;
  const std::vector<Dim>& to = slice->result()->type()->dims;
  std::vector<Dim> starts = slice->attr(attr::Slice::starts);
  std::vector<int64_t> steps = slice->attr(attr::Slice::steps);
  for (size_t i = 0; i < to.size(); ++i) {
    if (!sizes.reaches_inside(starts[i], to[i], steps[i], from[i])) return false;
  }
  return true;
}

bool windows_stay_inside(Op* windows, std::span<const DimFact> facts) {
  DimTable& table = dims_of(windows);
  const std::vector<Dim>& to = windows->result()->type()->dims;
  size_t axis = size_t(windows->attr(common::Along::axis));
  Dim wide = table.mul(table.sub(to.back(), table.constant(1)), table.constant(windows->attr(attr::Windows::dilation)));
  Dim room = table.sub(windows->operand(0)->type()->dims[axis], wide);
  return Sizes(table, facts).reaches_inside(table.constant(0), to[axis], windows->attr(attr::Windows::step), room);
}

bool update_fits(Op* update, std::span<const DimFact> facts) {
  Sizes sizes(dims_of(update), facts);
  const std::vector<Dim>& room = update->result()->type()->dims;
  const std::vector<Dim>& part = update->in(in::UpdateSlice::update)->type()->dims;
  for (size_t i = 0; i < room.size(); ++i) {
    if (!sizes.is_at_most(part[i], room[i])) return false;
  }
  return true;
}

}  // namespace tessera::graph

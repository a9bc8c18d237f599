#include "ir/layout/reduction.h"

#include "ir/layout/f2.h"
#include "support/check.h"

namespace tessera::layout {

namespace {

/// The bases of a dim without `axis`, packed; the atom of a layout has at most 28 bits.
F2Span projected_span(const Layout& layout, InputDim dim, int axis) {
  F2Span span;
  for (const Point& basis : layout.bases(dim)) {
    uint32_t packed = 0;
    int shift = 0;
    for (int other = 0; other < layout.rank(); ++other) {
      if (other == axis) continue;
      packed |= uint32_t(basis[other]) << shift;
      shift += std::countr_zero(uint32_t(layout.atom_extents()[other]));
    }
    span.add(packed);
  }
  return span;
}

/// Masks that reach, from a lane, all lanes of its result but for those that replicate its element.
std::vector<int> combining_masks(const Layout& source, int axis) {
  F2Span reached;
  for (uint32_t mask : source.replica_masks(InputDim::Lane)) reached.add(mask);
  std::vector<int> masks;
  F2Span projected = projected_span(source, InputDim::Lane, axis);
  for (uint32_t mask : projected.dependencies()) {
    if (reached.add(mask)) masks.push_back(int(mask));
  }
  return masks;
}

std::vector<IndexField> combining_fields(const Layout& source, int axis) {
  uint32_t bits = projected_span(source, InputDim::Warp, axis).dependent();
  bits &= ~source.free_bits(InputDim::Warp);
  std::vector<IndexField> fields;
  for (; bits != 0; bits &= bits - 1) fields.push_back({int(bits & -bits), 2});
  for (const Repeat& repeat : source.repeats(InputDim::Warp)) {
    if (repeat.axis == axis) fields.push_back({repeat.divisor, repeat.count});
  }
  return fields;
}

bool is_canonical_register(const std::vector<IndexField>& free, int reg) {
  for (const IndexField& field : free) {
    if (field.of(reg) != 0) return false;
  }
  return true;
}

}  // namespace

int Reduction::slot_count() const {
  int count = 1;
  for (const IndexField& field : warp_fields) count *= field.count;
  return count;
}

int Reduction::slot_of(int warp) const {
  int slot = 0, radix = 1;
  for (const IndexField& field : warp_fields) {
    slot += field.of(warp) * radix;
    radix *= field.count;
  }
  return slot;
}

Reduction plan_reduction(const Layout& source, int axis, bool keep) {
  TSR_CHECK(axis >= 0 && axis < source.rank(), "a reduction along no axis");
  Slice slice = source.slice(axis, keep);
  Reduction plan{slice.layout, {}, combining_masks(source, axis), combining_fields(source, axis)};
  plan.registers.resize(size_t(slice.layout.registers_per_thread()));
  std::vector<IndexField> free = source.free_fields(InputDim::Register);
  for (int reg = 0; reg < source.registers_per_thread(); ++reg) {
    if (is_canonical_register(free, reg))
      plan.registers[size_t(slice.register_map[size_t(reg)])].push_back(reg);
  }
  return plan;
}

}  // namespace tessera::layout

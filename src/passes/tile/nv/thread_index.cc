// Where the elements of a thread are: the terms of a layout as integer arithmetic on lane and warp.

#include <bit>

#include "ir/layout/text.h"
#include "passes/tile/nv/nv_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
using layout::InputDim;

namespace {

bool is_power_of_two(int n) { return std::has_single_bit(unsigned(n)); }

}  // namespace

Value* NvLowering::field(Value* index, const layout::IndexField& field) {
  if (is_power_of_two(field.divisor) && is_power_of_two(field.count)) {
    Value* shifted = field.divisor > 1 ? b_.shr(index, std::countr_zero(unsigned(field.divisor))) : index;
    return b_.bit_and(shifted, i32(field.count - 1));
  }
  Value* quotient = field.divisor > 1 ? b_.op(Kind::FloorDiv, index, i32(field.divisor)) : index;
  return b_.op(Kind::Mod, quotient, i32(field.count));
}

Value* NvLowering::term(const layout::ThreadTerm& term) {
  Value* index = term.dim == InputDim::Lane ? threads_.lane : threads_.warp;
  Value* digit = nullptr;
  if (term.parity_mask == 0) {
    digit = field(index, term.field);
  } else {
    for (uint32_t mask = term.parity_mask; mask; mask &= mask - 1) {
      Value* bit = b_.shr(index, std::countr_zero(mask));
      digit = digit ? b_.bit_xor(digit, bit) : bit;
    }
    digit = b_.bit_and(digit, i32(1));
  }
  return term.step == 1 ? digit : b_.mul(digit, i32(term.step));
}

/// The thread's part of the coordinate along an axis (i32); null where it is 0.
Value* NvLowering::thread_coordinate(const layout::Layout& layout, int axis) {
  std::string_view key = b_.context().intern(layout::print(layout));
  auto [it, inserted] = threads_.coordinates.try_emplace({key, axis});
  if (!inserted) return it->second;
  Builder at = b_.at();
  b_.at().set_before(threads_.place);
  Value* sum = nullptr;
  for (const layout::ThreadTerm& summand : layout.thread_terms()) {
    if (summand.axis != axis) continue;
    Value* step = term(summand);
    sum = sum ? b_.add(sum, step) : step;
  }
  b_.at() = at;
  return it->second = sum;
}

/// True where the index is 0 in all of these fields; null for none.
Value* NvLowering::is_zero(Value* index, const std::vector<layout::IndexField>& fields) {
  int64_t mask = 0;
  Value* all = nullptr;
  auto require = [&](Value* condition) { all = all ? b_.bit_and(all, condition) : condition; };
  for (const layout::IndexField& part : fields) {
    if (is_power_of_two(part.divisor) && is_power_of_two(part.count)) {
      mask |= int64_t(part.count - 1) * part.divisor;
    } else {
      require(b_.op(Kind::Eq, field(index, part), i32(0)));
    }
  }
  if (mask) require(b_.op(Kind::Eq, b_.bit_and(index, i32(mask)), i32(0)));
  return all;
}

Value* NvLowering::is_canonical(const layout::Layout& layout) {
  Value* lane = is_zero(threads_.lane, layout.free_fields(InputDim::Lane));
  Value* warp = is_zero(threads_.warp, layout.free_fields(InputDim::Warp));
  return lane && warp ? b_.bit_and(lane, warp) : lane ? lane : warp;
}

}  // namespace tessera

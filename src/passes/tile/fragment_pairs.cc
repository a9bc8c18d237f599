#include "passes/tile/fragment_pairs.h"

#include "passes/tile/fragment_stages.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

bool is_zero(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(tile::info(OpKind::Full))) return false;
  Attr number = def->attr("value");
  return number->is(AttrKind::Int) ? number->integer == 0 : number->number == 0;
}

}  // namespace

bool is_pair_product(Op* dot, const TileAxes& axes) {
  Value *a = dot->in(in::Dot::a), *b = dot->in(in::Dot::b);
  return a->type()->dtype == DType::BF16 && b->type()->dtype == DType::BF16 &&
         dot->result()->type()->dtype == DType::F32 && axes.of(a, 1) >= 0 &&
         is_zero(dot->in(in::Dot::c)) && is_readable(a, axes) && is_readable(b, axes);
}

void PairProduct::allocate() {
  if (unit_ != PairUnit::Matrix) return;
  DimTable& dims = emitter_.context().dims();
  Dim unit = dims.constant(pair_block);
  Value* memory = emitter_.scratch(dims.mul(unit, unit), DType::F32);
  sum_ = emitter_.view(memory, {unit, unit}, {unit, dims.constant(1)}, dims.constant(0));
}

FragmentEmitter::Values PairProduct::multiply_block(const Values& sum) {
  Value *zero = emitter_.zero(), *k = emitter_.binding(k_).start;
  Value* row = emitter_.binding(left_.form().axis).start;
  Value* column = emitter_.binding(right_.form().axis).start;
  Value* a = left_.load(row, k, zero, zero, pair_block, pair_block);
  Value* b = right_.load(column, k, zero, zero, pair_block / 2, pair_block * 2);
  emitter_.builder().set_loc(dot_->loc());
  return {tile::dot_pairs(emitter_.builder(), a, b, sum[0], false)};
}

FragmentEmitter::Values PairProduct::multiply_pairs(const Values& sum) {
  return emitter_.subdivide(k_, 2, Reach::Whole, sum, [&](const Values& carried) {
    const AxisBinding& k = emitter_.binding(k_);
    Value* zero = emitter_.zero();
    Value* row = emitter_.binding(left_.form().axis).start;
    Value* column = emitter_.binding(right_.form().axis).start;
    Value* a = left_.load(row, k.block, zero, k.within, left_.form().width, 2);
    Value* b = right_.load(column, k.start, zero, zero, 1, 2 * right_.form().width);
    emitter_.builder().set_loc(dot_->loc());
    return Values{tile::dot_pairs(emitter_.builder(), a, b, carried[0], true)};
  });
}

void PairProduct::multiply() {
  DimTable& dims = emitter_.context().dims();
  bool matrix = unit_ == PairUnit::Matrix;
  Dim rows = dims.constant(left_.form().width), columns = dims.constant(right_.form().width);
  Type type = emitter_.context().tile({rows, columns}, DType::F32);
  Value* zeros = tile::full(emitter_.builder(), type, emitter_.context().number(0));
  // Panels are whole, so the last block along k needs no tail.
  Values sum = emitter_.whole_loop(
      k_, pair_block, dot_->in(in::Dot::limit), {zeros}, [&](const Values& carried) {
        return matrix ? multiply_block(carried) : multiply_pairs(carried);
      });
  if (matrix) return keep_in_scratch(sum[0]);
  emitter_.keep_in_panels(dot_->result(), [sum] { return sum[0]; });
}

void PairProduct::keep_in_scratch(Value* sum) {
  tile::store(emitter_.builder(), sum, sum_, {emitter_.zero(), emitter_.zero()}, {});
  emitter_.keep_in_panels(dot_->result(), [this] {
    const AxisBinding& row = emitter_.binding(left_.form().axis);
    DimTable& table = emitter_.context().dims();
    Type some = emitter_.context().tile({table.constant(row.extent), table.constant(pair_block)},
                                        DType::F32);
    return tile::load(emitter_.builder(), sum_, {row.within, emitter_.zero()}, {}, some);
  });
}

}  // namespace tessera

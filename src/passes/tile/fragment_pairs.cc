#include "passes/tile/fragment_pairs.h"

#include "passes/tile/fragment_stages.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

namespace {

using Values = FragmentEmitter::Values;

bool is_zero(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(tile::info(OpKind::Full))) return false;
  Attr number = def->attr("value");
  return number->is(AttrKind::Int) ? number->integer == 0 : number->number == 0;
}

/// Elements past an edge are zeros already: loads give them, and what only moves elements keeps
/// them.
bool pads_with_zeros(Value* value) {
  Op* def = value->def();
  if (!def) return false;
  if (def->is(tile::info(OpKind::Load))) return !def->has_attr("fill");
  bool moves = def->is(tile::info(OpKind::Transpose)) || def->is(tile::info(OpKind::Reshape));
  return moves && pads_with_zeros(def->operand(0));
}

}  // namespace

bool is_pair_product(Op* dot, const TileAxes& axes) {
  Value *a = dot->in(in::Dot::a), *b = dot->in(in::Dot::b);
  return a->type()->dtype == DType::BF16 && b->type()->dtype == DType::BF16 &&
         dot->result()->type()->dtype == DType::F32 && axes.of(a, 1) >= 0 &&
         is_zero(dot->in(in::Dot::c)) && is_readable(a, axes) && is_readable(b, axes);
}

/// Scratch memory for all of an axis and of k; a block starts at [element of the axis, element of
/// k].
Value* PairProduct::panels(int axis, const std::vector<Dim>& block) {
  DimTable& dims = emitter_.context().dims();
  Dim unit = dims.constant(pair_block), one = dims.constant(1);
  auto rounded = [&](int of) {
    return dims.mul(dims.ceildiv(emitter_.axes().extent(of), unit), unit);
  };
  Dim along = rounded(axis), k = rounded(k_);
  Value* memory = emitter_.scratch(dims.mul(along, k), DType::BF16);
  return emitter_.view(memory, {along, k, block[0], block[1]}, {k, unit, block[1], one},
                       dims.constant(0));
}

Value* PairProduct::without_padding(Value* fragment, Value* factor, bool pairs) {
  Value* rest = emitter_.binding(k_).rest;
  if (!rest || pads_with_zeros(factor)) return fragment;
  Value* all = emitter_.index(pair_block);
  Value* zeros = tile::full(emitter_.builder(), fragment->type(), emitter_.context().number(0));
  std::vector<Value*> limits = pairs ? std::vector{rest, all} : std::vector{all, rest};
  return tile::merge(emitter_.builder(), fragment, zeros, limits);
}

void PairProduct::fill(Value* factor, Value* panels, int outer, Value* limit, bool pairs) {
  emitter_.set_shape(pairs ? k_ : outer, pairs ? outer : k_);
  auto copy = [&](const Values&) {
    Value* fragment = without_padding(emitter_.demand(factor), factor, pairs);
    if (pairs) fragment = tile::pair_rows(emitter_.builder(), fragment);
    Value* zero = emitter_.zero();
    tile::store(emitter_.builder(), fragment, panels,
                {emitter_.binding(outer).start, emitter_.binding(k_).start, zero, zero}, {});
    return Values{};
  };
  emitter_.loop(outer, pair_block, limit, TailKind::Limited, {}, [&](const Values&) {
    return emitter_.loop(k_, pair_block, dot_->in(in::Dot::limit), TailKind::Limited, {}, copy);
  });
}

void PairProduct::pack() {
  DimTable& dims = emitter_.context().dims();
  Dim unit = dims.constant(pair_block), one = dims.constant(1);
  right_ = panels(shape_.column, {dims.constant(pair_block / 2), dims.constant(pair_block * 2)});
  left_ = panels(shape_.row, {unit, unit});
  fill(dot_->in(in::Dot::b), right_, shape_.column, shape_.column_limit, true);
  fill(dot_->in(in::Dot::a), left_, shape_.row, shape_.row_limit, false);
  Value* memory = emitter_.scratch(dims.constant(pair_block * pair_block), DType::F32);
  sum_ = emitter_.view(memory, {unit, unit}, {unit, one}, dims.constant(0));
}

Value* PairProduct::load_block(Value* panels, int axis, const std::vector<int64_t>& dims) {
  DimTable& table = emitter_.context().dims();
  Type type =
      emitter_.context().tile({table.constant(dims[0]), table.constant(dims[1])}, DType::BF16);
  Value* zero = emitter_.zero();
  return tile::load(emitter_.builder(), panels,
                    {emitter_.binding(axis).start, emitter_.binding(k_).start, zero, zero}, {},
                    type);
}

void PairProduct::multiply() {
  DimTable& dims = emitter_.context().dims();
  Dim unit = dims.constant(pair_block);
  Type type = emitter_.context().tile({unit, unit}, DType::F32);
  Value* zeros = tile::full(emitter_.builder(), type, emitter_.context().number(0));
  // Panels are whole, so the last block along k needs no tail.
  Values sum = emitter_.whole_loop(
      k_, pair_block, dot_->in(in::Dot::limit), {zeros}, [&](const Values& carried) {
        Value* a = load_block(left_, shape_.row, {pair_block, pair_block});
        Value* b = load_block(right_, shape_.column, {pair_block / 2, pair_block * 2});
        emitter_.builder().set_loc(dot_->loc());
        return Values{tile::dot_pairs(emitter_.builder(), a, b, carried[0])};
      });
  tile::store(emitter_.builder(), sum[0], sum_, {emitter_.zero(), emitter_.zero()}, {});
  emitter_.keep_in_panels(dot_->result(), [this] {
    const AxisBinding& row = emitter_.binding(shape_.row);
    DimTable& table = emitter_.context().dims();
    Type some = emitter_.context().tile({table.constant(row.extent), table.constant(pair_block)},
                                        DType::F32);
    return tile::load(emitter_.builder(), sum_, {row.within, emitter_.zero()}, {}, some);
  });
}

}  // namespace tessera

#include "passes/tile/cpu/fragment_pairs.h"

#include "passes/tile/cpu/fragment_stages.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

bool is_zero(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(tile::info(OpKind::Full))) return false;
  Attr number = def->attr(attr::Full::value);
  return number->is(AttrKind::Int) ? number->integer == 0 : number->number == 0;
}

}  // namespace

bool multiplies_pairs(Op* dot, const TileAxes& axes) {
  Value *a = dot->in(in::Dot::a), *b = dot->in(in::Dot::b);
  return a->type()->dtype == DType::BF16 && b->type()->dtype == DType::BF16 &&
         dot->result()->type()->dtype == DType::F32 && axes.of(a, 1) >= 0;
}

bool is_pair_dot(Op* dot, const TileAxes& axes) {
  return multiplies_pairs(dot, axes) && is_zero(dot->in(in::Dot::c)) &&
         is_readable(dot->in(in::Dot::a), axes) && is_readable(dot->in(in::Dot::b), axes);
}

namespace {

/// Whether a value is loaded from memory, and at most transposed.
bool is_loaded(Value* value) {
  Op* def = value->def();
  if (!def) return false;
  bool moves = def->is(tile::info(OpKind::Transpose)) || def->is(tile::info(OpKind::Reshape));
  return def->is(tile::info(OpKind::Load)) || (moves && is_loaded(def->operand(0)));
}

}  // namespace

std::optional<std::pair<PanelForm, PanelForm>> back_to_back_forms(Op* dot, int column, int64_t rows,
                                                             int64_t columns, const TileAxes& axes) {
  if (!multiplies_pairs(dot, axes)) return std::nullopt;
  Value *right = dot->in(in::Dot::a), *left = dot->in(in::Dot::b);
  int row = axes.of(left, 1);
  if (axes.of(right, 0) != column) {
    std::swap(left, right);
    row = axes.of(left, 0);
    if (axes.of(right, 1) != column) return std::nullopt;
  }
  if (row < 0 || row == column || !is_loaded(left)) return std::nullopt;
  int k = axes.of(dot->in(in::Dot::a), 1);
  Value* k_limit = dot->in(in::Dot::limit);
  PanelForm of_left{left, true, true, row, rows, nullptr, k, pair_block, k_limit, DType::BF16};
  PanelForm of_right{right, false, true, column, columns, nullptr, k, pair_block, k_limit, DType::BF16, true};
  return std::pair(of_left, of_right);
}

BackToBackDot::BackToBackDot(FragmentEmitter& emitter, Op* dot, const PanelForm& left, const PanelForm& right,
                               PairUnit unit)
    : emitter_(emitter),
      dot_(dot),
      unit_(unit),
      left_(emitter, left),
      right_(emitter, right),
      pair_dot_(emitter, dot, left_, right_, unit),
      is_early_(is_readable(right.factor, emitter.axes())) {
  left_.allocate();
  right_.allocate();
  pair_dot_.allocate();
}

void BackToBackDot::fill(Panels& panels) {
  int row = emitter_.row(), column = emitter_.column();
  panels.fill();
  emitter_.set_shape(row, column);
}

void BackToBackDot::fill_early() {
  if (is_early_) fill(right_);
}

void BackToBackDot::fill() {
  fill(left_);
  if (!is_early_) fill(right_);
}

void BackToBackDot::multiply(const std::function<void(Value*, Value*)>& store) {
  constexpr int64_t rows_of_vectors = 4;
  pair_dot_.leave();
  Value* added = dot_->in(in::Dot::c);
  emitter_.subdivide(left_.form().axis, rows_of_vectors, Reach::Present, {}, [&](const FragmentEmitter::Values&) {
    Value* before = is_zero(added) ? nullptr : emitter_.demand(added);
    store(pair_dot_.left(), before);
    return FragmentEmitter::Values{};
  });
}

void PairDot::allocate() {
  if (unit_ != PairUnit::Matrix) return;
  DimTable& dims = emitter_.context().dims();
  Dim unit = dims.constant(pair_block);
  Value* memory = emitter_.scratch(dims.mul(unit, unit), DType::F32);
  sum_ = emitter_.view(memory, {unit, unit}, {unit, dims.constant(1)}, dims.constant(0));
}

FragmentEmitter::Values PairDot::multiply_block(const Values& sum) {
  Value *zero = emitter_.zero(), *k = emitter_.binding(k_).start;
  Value* row = emitter_.binding(left_.form().axis).start;
  Value* column = emitter_.binding(right_.form().axis).start;
  Value* a = left_.load(row, k, zero, zero, pair_block, pair_block);
  Value* b = right_.load(column, k, zero, zero, pair_block / 2, pair_block * 2);
  emitter_.builder().set_loc(dot_->loc());
  return {tile::dot_pairs(emitter_.builder(), a, b, sum[0], false)};
}

FragmentEmitter::Values PairDot::multiply_pairs(const Values& sum) {
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

Value* PairDot::add_to(Value* from) {
  // Panels are whole, so the last block along k needs no tail.
  return emitter_.whole_loop(k_, pair_block, dot_->in(in::Dot::limit), {from},
                             [&](const Values& carried) {
                               return unit_ == PairUnit::Matrix ? multiply_block(carried)
                                                                : multiply_pairs(carried);
                             })[0];
}

Value* PairDot::zeros() {
  DimTable& dims = emitter_.context().dims();
  Dim rows = dims.constant(left_.form().width), columns = dims.constant(right_.form().width);
  Type type = emitter_.context().tile({rows, columns}, DType::F32);
  return tile::full(emitter_.builder(), type, emitter_.context().number(0));
}

void PairDot::multiply() {
  if (unit_ == PairUnit::Matrix) {
    leave();
    emitter_.keep_in_panels(dot_->result(), [this] { return left(); });
  } else {
    Value* sum = add_to(zeros());
    emitter_.keep_in_panels(dot_->result(), [sum] { return sum; });
  }
}

void PairDot::leave() {
  Value* sum = add_to(zeros());
  tile::store(emitter_.builder(), sum, sum_, {emitter_.zero(), emitter_.zero()}, {});
}

Value* PairDot::left() {
  const AxisBinding& row = emitter_.binding(left_.form().axis);
  DimTable& table = emitter_.context().dims();
  Type some = emitter_.context().tile({table.constant(row.extent), table.constant(pair_block)}, DType::F32);
  return tile::load(emitter_.builder(), sum_, {row.within, emitter_.zero()}, {}, some);
}

}  // namespace tessera

// Dots in tile registers.
//
// A loop along k carries the accumulator of such a dot, up to 2 x 2 tiles of 16 x 16, in tiles 0 to
// 3 from its first iteration to its last; tiles 4 and 5 hold the rows of a, 6 and 7 the columns of
// b. Tile registers are state, so an accumulator has no parts: the loop's entry zeroes it, each
// iteration loads and multiplies, and the code after the loop stores it to memory, where vectors
// read it.

#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using tile::OpKind;
using TargetKind = target::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr int64_t side = 16;   ///< rows of a tile, and columns of 4 bytes
constexpr int64_t depth = 32;  ///< elements of k of one dot
constexpr int64_t first_a = 4, first_b = 6;

int64_t extent(Value* tile, size_t axis) {
  return *tile->type()->dims[axis]->constant();
}
int64_t tiles_along(Value* tile, size_t axis, int64_t unit) {
  return extent(tile, axis) / unit;
}
bool is_one_or_two(int64_t extent, int64_t unit) {
  return extent == unit || extent == 2 * unit;
}

/// The loop that carries the dot's accumulator and does nothing else with it; null if there is
/// none.
Op* carrying_loop(Op* dot) {
  Value* sum = dot->in(in::DotPairs::c);
  Op* loop = dot->parent();
  if (sum->def() || sum->block() != dot->block() || !loop->is(tile::info(OpKind::For)))
    return nullptr;
  if (!sum->has_one_use() || !dot->result()->has_one_use()) return nullptr;
  Use* use = dot->result()->first_use();
  bool yields = use->owner() == dot->block()->terminator();
  return yields && dot->block()->arg(use->index() + 1) == sum ? loop : nullptr;
}

/// The accumulator as the loop leaves it.
Value* sum_of(Op* dot) {
  return carrying_loop(dot)->result(dot->result()->first_use()->index());
}

bool is_zero(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(tile::info(OpKind::Full))) return false;
  Attr number = def->attr(attr::Full::value);
  return number->is(AttrKind::Int) ? number->integer == 0 : number->number == 0;
}

bool is_only_stored(Value* value) {
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* store = use->owner();
    bool plain = store->is(tile::info(OpKind::Store)) && store->slot_size(in::Store::limits) == 0;
    if (!plain || !has_whole_rows(store->in(in::Store::memory))) return false;
  }
  return true;
}

bool multiplies_by(Op* op) {
  return op->is(tile::info(OpKind::DotPairs)) && !op->attr(attr::DotPairs::sequential);
}

}  // namespace

std::string matrix_unit_problem(Op* dot, const Machine& machine) {
  if (!machine.has_bf16_tiles) return "the machine has no tile registers";
  Value* c = dot->in(in::DotPairs::c);
  bool fits = is_one_or_two(extent(c, 0), side) && is_one_or_two(extent(c, 1), side) &&
              extent(dot->in(in::DotPairs::a), 1) == depth;
  if (!fits) return "tile registers take dots of 16 or 32 by 16 or 32, 32 along k";
  Op* loop = carrying_loop(dot);
  if (!loop) return "its sum must be carried by the loop around it and used nowhere else in it";
  unsigned dots = 0;
  for (Op* op : *loop->region()->front()) dots += multiplies_by(op);
  unsigned position = dot->result()->first_use()->index();
  if (dots != 1 || !is_zero(loop->in(in::For::inits, position)))
    return "the loop must carry one such sum, from zero";
  return is_only_stored(sum_of(dot)) ? ""
                                     : "the sum must be stored, in rows without gaps and limits";
}

void KernelLowering::find_tile_dots() {
  walk(kernel_, [&](Op* op) {
    if (!multiplies_by(op)) return;
    for (Value* value : {op->in(in::DotPairs::c), op->result(), sum_of(op)})
      accumulators_.insert(value);
  });
}

void KernelLowering::machine_op(TargetKind kind, std::vector<Value*> operands,
                                std::vector<OpAttr> attributes) {
  std::vector<std::vector<Value*>> slots;
  for (Value* operand : operands) slots.push_back({operand});
  b_.at().op(target::info(kind), std::move(slots), {}, std::move(attributes));
}

void KernelLowering::zero_accumulators(Value* sum) {
  int64_t count = tiles_along(sum, 0, side) * tiles_along(sum, 1, side);
  for (int64_t tile = 0; tile < count; ++tile) {
    machine_op(TargetKind::TileZero, {}, {target::attr::TileZero::tile(b_.context(), tile)});
  }
}

/// Loads or stores the tile whose first element is at that row and column.
void KernelLowering::move_tile(TargetKind kind, const Access& access, int64_t row, int64_t column,
                               int64_t tile) {
  DimTable& dims = b_.context().dims();
  Value* address = element_address(access, row_address(access, {row}), column);
  Value* stride = dim(dims.mul(access.strides[0], dims.constant(byte_size(access.dtype))));
  machine_op(kind, {address, stride}, {target::attr::TileLoad::tile(b_.context(), tile)});
}

void KernelLowering::multiply_tiles(Op* op) {
  Value *a = op->in(in::DotPairs::a), *b = op->in(in::DotPairs::b);
  int64_t rows = tiles_along(a, 0, side), columns = tiles_along(b, 1, depth);
  using Dot = target::attr::TileDotBf16;
  Context& context = b_.context();
  for (int64_t j = 0; j < columns; ++j)
    move_tile(TargetKind::TileLoad, pair_operands_[b], 0, j * depth, first_b + j);
  for (int64_t i = 0; i < rows; ++i) {
    move_tile(TargetKind::TileLoad, pair_operands_[a], i * side, 0, first_a + i);
    for (int64_t j = 0; j < columns; ++j) {
      machine_op(TargetKind::TileDotBf16, {},
                 {Dot::a(context, first_a + i), Dot::b(context, first_b + j),
                  Dot::tile(context, i * columns + j)});
    }
  }
  define(op->result(), {});
}

void KernelLowering::store_accumulators(Value* sum, const Access& access) {
  int64_t rows = tiles_along(sum, 0, side), columns = tiles_along(sum, 1, side);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      move_tile(TargetKind::TileStore, access, i * side, j * side, i * columns + j);
    }
  }
}

}  // namespace tessera

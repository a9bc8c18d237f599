// Dots of pairs, and the panels they read.
//
// The right factor of such a dot has its rows in pairs (tile.pair_rows). A matrix unit multiplies
// them (lower_tiles.cc), or a vector instruction that adds two products to each lane. The latter
// takes a pair of the left factor from memory and broadcasts it over the lanes, so that a row costs
// one register while it is used.

#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr int64_t sums = 16;   ///< lanes of one instruction's sums
constexpr int64_t pairs = 32;  ///< elements of its factors

bool is_operand(Value* value) {
  Op* def = value->def();
  return def && def->is(tile::info(OpKind::Load)) && value->has_one_use() &&
         def->slot_size(in::Load::limits) == 0 && has_whole_rows(def->in(in::Load::memory));
}

}  // namespace

bool has_whole_rows(Value* memory) {
  Type type = memory->type();
  return !type->is(TypeKind::View) || type->strides.back()->is_constant(1);
}

std::string pair_dot_problem(Op* dot, const Machine& machine) {
  if (!is_operand(dot->in(in::DotPairs::a)) || !is_operand(dot->in(in::DotPairs::b)))
    return "its factors must be loads of their own, of rows without gaps and limits";
  if (!dot->attr(attr::DotPairs::sequential)) return matrix_unit_problem(dot, machine);
  if (!machine.has_bf16_pairs) return "the machine has no dots of pairs in vector registers";
  bool fits = *dot->result()->type()->dims[1]->constant() % sums == 0;
  return fits ? "" : "vector registers take dots of 16 columns";
}

void KernelLowering::find_pair_operands() {
  walk(kernel_, [&](Op* op) {
    if (!op->is(tile::info(OpKind::DotPairs))) return;
    for (Value* factor : {op->in(in::DotPairs::a), op->in(in::DotPairs::b)}) pair_operands_[factor];
  });
}

void KernelLowering::lower_pair_operand(Op* load) {
  Value* result = load->result();
  pair_operands_[result] = access(memory(load->in(in::Load::memory)), result->type(),
                                  shape_of(result), load->ins(in::Load::offsets), {});
  define(result, {});
}

void KernelLowering::lower_dot_pairs(Op* op) {
  if (!op->attr(attr::DotPairs::sequential)) return multiply_tiles(op);
  const Access& a = pair_operands_[op->in(in::DotPairs::a)];
  const Access& b = pair_operands_[op->in(in::DotPairs::b)];
  Fragment sum = fragment(op->in(in::DotPairs::c));
  Type spread = b_.context().reg(DType::BF16, pairs);
  for (int64_t pair = 0; pair < b.shape.rows(); ++pair) {
    std::vector<Value*> row_of_b;
    Value* row = row_address(b, {pair});
    for (int64_t part = 0; part < sum.shape.parts_per_row(); ++part)
      row_of_b.push_back(b_.load(element_address(b, row, part * pairs), spread));
    for (int64_t i = 0; i < sum.shape.rows(); ++i) {
      Value* address = element_address(a, row_address(a, {i}), 2 * pair);
      Value* both = b_.splat(b_.load(address, b_.context().scalar(DType::U32)), sums);
      Value* factor = b_.bitcast(both, DType::BF16);
      for (size_t part = 0; part < row_of_b.size(); ++part) {
        Value*& into = sum.parts[size_t(i) * row_of_b.size() + part];
        into = b_.at().value(target::info(target::OpKind::DotBf16),
                             {{factor}, {row_of_b[part]}, {into}}, into->type());
      }
    }
  }
  define(op->result(), std::move(sum.parts));
}

void KernelLowering::lower_pair_rows(Op* op) {
  Value* from = op->operand(0);
  if (paired_.contains(from)) return define(op->result(), values_.at(from));
  Fragment rows = fragment(from);
  FragmentShape to = shape_of(op->result());
  std::vector<Value*> parts;
  for (int64_t row = 0; row < to.rows(); ++row) {
    for (int64_t part = 0; part < to.parts_per_row(); ++part) {
      std::vector<Place> places;
      for (int64_t lane = 0; lane < to.lanes(part); ++lane) {
        int64_t column = part * to.chunk + lane;
        places.push_back({2 * row + column % 2, column / 2});
      }
      parts.push_back(assemble(rows, op->result()->type()->dtype, places));
    }
  }
  define(op->result(), std::move(parts));
}

/// Where the elements of a column lie one after the other, two of them are one element of twice the
/// size.
bool KernelLowering::loads_pairs(Op* load, const Access& access) const {
  Value* result = load->result();
  return is_transposed(access) && byte_size(access.dtype) == 2 && result->has_one_use() &&
         result->first_use()->owner()->is(tile::info(OpKind::PairRows)) &&
         access.shape.extents[0] % pairs == 0 && access.shape.extents[1] % sums == 0;
}

/// The columns, read whole and transposed as pairs: the parts of the result of tile.pair_rows.
std::vector<Value*> KernelLowering::load_pairs(const Access& columns, Value* fill) {
  Access wide = columns;
  wide.shape.chunk = pairs;
  Fragment words{columns.shape, {}};
  words.shape.extents[1] /= 2;
  words.shape.chunk = sums;
  for (Value* part : load_parts(wide, fill)) words.parts.push_back(b_.bitcast(part, DType::U32));
  std::vector<Value*> parts;
  for (Value* part : transpose_last_two(words, DType::U32)) {
    Value* both = b_.bitcast(part, columns.dtype);
    if (lanes_ == pairs) {
      parts.push_back(both);
      continue;
    }
    for (int64_t half = 0; half < 2; ++half) {
      std::vector<int64_t> picks;
      for (int64_t i = 0; i < lanes_; ++i) picks.push_back(half * lanes_ + i);
      parts.push_back(b_.shuffle(both, both, picks));
    }
  }
  return parts;
}

}  // namespace tessera

// Lowers tile.mma to wgmma, mma.sync or fused multiply-adds, depending on the accumulator's layout.

#include <cmath>
#include <numeric>

#include "ir/layout/access.h"
#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/layout/wgmma_descriptor.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/tile/gpu/mma_unit.h"
#include "passes/tile/nv/nv_lowering.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using layout::InputDim;
using layout::Layout;
using target::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

void NvLowering::lower_mma(Op* op) {
  const MmaInstruction* instruction = instruction_of(op);
  if (instruction && !instruction->has(machine_)) {
    diagnostics_.report(diag::unsupported_operation, op->loc(), "mma", instruction->name, machine_.name);
    failed_ = true;
    return define(op->result(), value(op->in(in::Mma::c)));
  }
  if (instruction && instruction->unit == MmaUnit::Wgmma) return lower_wgmma(op, *instruction);
  Type left = op->in(in::Mma::a)->type(), right = op->in(in::Mma::b)->type();
  if (left->is(TypeKind::Tile) || left->layout.empty() || right->layout.empty()) {
    // Only wgmma reads its left operand from registers.
    diagnostics_.report(diag::unsupported_operation, op->loc(), "mma", left->text, machine_.name);
    failed_ = true;
    return define(op->result(), value(op->in(in::Mma::c)));
  }
  instruction ? lower_mma_sync(op, *instruction) : lower_fma(op);
}

namespace {

/// What a wgmma reads of an operand in shared memory.
struct SharedOperand {
  const layout::SharedLayout& layout;
  int k_axis;
  layout::WgmmaOperand facts;

  SharedOperand(const layout::SharedLayout& layout, int k_axis) : layout(layout), k_axis(k_axis), facts() {
    std::optional<layout::WgmmaOperand> found = layout::wgmma_operand(layout, k_axis);
    TSR_CHECK(found, "wgmma cannot read an operand of an MMA");
    facts = *found;
  }
  int64_t start(int32_t mn, int32_t k) const {
    std::optional<int64_t> bytes = layout::wgmma_start(layout, k_axis, mn, k);
    TSR_CHECK(bytes, "an operand of wgmma does not start here");
    return *bytes;
  }
  std::string_view major() const { return facts.k_major ? "k" : "mn"; }
};

bool is_full_of_zeros(Value* tile_value) {
  Op* def = tile_value->def();
  if (!def || !def->is(tile::info(tile::OpKind::Full))) return false;
  double number = def->attr(attr::Full::value)->number;
  return number == 0 && !std::signbit(number);
}

}  // namespace

/// The left factor of a wgmma for each 64 rows of the warpgroup and each step of k: descriptors of
/// shared memory, or the registers that hold it.
std::vector<Value*> NvLowering::left_factors(Op* mma, int32_t rows, int32_t steps) {
  std::vector<Value*> factors;
  Value* a = mma->in(in::Mma::a);
  if (a->type()->is(TypeKind::Tile)) {
    Value* held = value(a);
    int64_t count = held->type()->lanes / (rows * steps);
    for (int64_t i = 0; i < rows * steps; ++i) {
      std::vector<int64_t> lanes(static_cast<size_t>(count));
      std::iota(lanes.begin(), lanes.end(), i * count);
      factors.push_back(pick(held, lanes));
    }
    return factors;
  }
  Memory memory = memories_.at(a);
  SharedOperand operand(shared_layout_of(memory.type), 1);
  int32_t groups = int32_t(threads_.warps / 4), step = operand.layout.extents()[1] / steps;
  // Warpgroup g has rows 64 g … of each block of 64 * groups rows.
  Value* base = memory.base;
  if (groups > 1) base = b_.offset(base, b_.mul(b_.shr(threads_.warp, 2), i32(operand.start(64, 0))));
  for (int32_t row = 0; row < rows; ++row) {
    for (int32_t at = 0; at < steps; ++at) {
      factors.push_back(matrix_descriptor(base, operand.start(row * 64 * groups, at * step), operand.facts));
    }
  }
  return factors;
}

Value* NvLowering::matrix_descriptor(Value* base, int64_t bytes, const layout::WgmmaOperand& operand) {
  return b_.at().value(
      target::info(OpKind::MatrixDescriptor), {{base}}, b_.context().scalar(DType::I64),
      {target::attr::MatrixDescriptor::bits(b_.context(), int64_t(operand.descriptor())),
       target::attr::MatrixDescriptor::offset(b_.context(), bytes)});
}

/// One wgmma for each 64 rows of the warpgroup and each step of k, all in one group.
void NvLowering::lower_wgmma(Op* op, const MmaInstruction& instruction) {
  Context& context = b_.context();
  Value *left = op->in(in::Mma::a), *accumulate = op->in(in::Mma::accumulate);
  Memory b = memories_.at(op->in(in::Mma::b));
  SharedOperand right(shared_layout_of(b.type), 0);
  int32_t m = int32_t(*left->type()->dims[0]->constant());
  int32_t k = right.layout.extents()[0], n = right.layout.extents()[1];
  int32_t step = int32_t(instruction.k), steps = k / step;
  int32_t groups = int32_t(threads_.warps / 4), rows = m / (64 * groups);
  TSR_CHECK(n <= instruction.n && n % instruction.n_step == 0 && m % (64 * groups) == 0 && k % step == 0,
            "no wgmma has this shape");
  std::string_view a_major = "k";
  if (!left->type()->is(TypeKind::Tile)) a_major = SharedOperand(shared_layout_of(left->type()), 1).major();
  std::vector<Value*> factors = left_factors(op, rows, steps);
  Type flag = context.scalar(DType::Bool);
  Value* initial = value(op->in(in::Mma::c));
  // Sums that start from zero need no registers of zeros.
  bool starts_anew = is_full_of_zeros(op->in(in::Mma::c));
  b_.at().op(target::info(OpKind::WgmmaFence), {}, {});
  std::vector<Value*> blocks;
  for (int32_t row = 0; row < rows; ++row) {
    std::vector<int64_t> lanes;
    for (int32_t i = 0; i < n / 2; ++i) lanes.push_back(row * (n / 2) + i);
    Value* c = pick(initial, lanes);
    for (int32_t at = 0; at < steps; ++at) {
      Value* reads_c = at == 0 && accumulate ? value(accumulate) : b_.integer(flag, at > 0 || !starts_anew);
      c = b_.at().value(target::info(OpKind::Wgmma),
                        {{factors[size_t(row * steps + at)]},
                         {matrix_descriptor(b.base, right.start(0, at * step), right.facts)},
                         {c},
                         {reads_c}},
                        c->type(),
                        {target::attr::Wgmma::a_major(context, a_major),
                         target::attr::Wgmma::b_major(context, right.major()),
                         target::attr::Wgmma::dtype(context, b.type->dtype),
                         target::attr::Wgmma::k(context, step),
                         target::attr::Wgmma::m(context, instruction.m),
                         target::attr::Wgmma::n(context, n)});
    }
    blocks.push_back(c);
  }
  b_.at().op(target::info(OpKind::WgmmaCommit), {}, {});
  define(op->result(), concat(blocks));
}

void NvLowering::lower_mma_wait(Op* op) {
  std::vector<Value*> values;
  std::vector<Type> types;
  bool asynchronous = false;
  for (Value* waited : op->ins(in::MmaWait::values)) {
    values.push_back(value(waited));
    types.push_back(values.back()->type());
    Op* mma = mma_of(waited);
    const MmaInstruction* instruction = mma ? instruction_of(mma) : nullptr;
    asynchronous |= instruction && instruction->unit == MmaUnit::Wgmma;
  }
  if (!asynchronous) {
    for (unsigned i = 0; i < op->result_count(); ++i) define(op->result(i), values[i]);
    return;
  }
  // Registers of left factors are not written before either.
  for (Value* waited : op->ins(in::MmaWait::values)) {
    Op* mma = mma_of(waited);
    bool reads_registers = mma && mma->in(in::Mma::a)->type()->is(TypeKind::Tile);
    if (!reads_registers || mma->block() != op->block()) continue;
    values.push_back(value(mma->in(in::Mma::a)));
    types.push_back(values.back()->type());
  }
  Op* wait = b_.at().op(target::info(OpKind::WgmmaWait), {values}, types,
                         {target::attr::WgmmaWait::pending(op->node(attr::MmaWait::pending))});
  for (unsigned i = 0; i < op->result_count(); ++i) define(op->result(i), wait->result(i));
}

namespace {

/// The distributed layout of an operand whose fragments make those of an accumulator.
struct Operands {
  std::optional<Layout> a, b;
};

/// Warps along rows and columns of an mma.sync accumulator.
Operands mma_operands(const Layout& accumulator, int32_t k, int bits, int warps) {
  for (int rows = 1; rows <= warps; ++rows) {
    if (warps % rows) continue;
    int columns = warps / rows;
    int32_t m = accumulator.extent(0), n = accumulator.extent(1);
    if (layout::mma_accumulator(m, n, rows, columns) != accumulator) continue;
    return {layout::mma_operand_a(m, k, rows, columns, bits), layout::mma_operand_b(k, n, rows, columns, bits)};
  }
  return {};
}

}  // namespace

/// Fragments of 16 x 8 of the accumulator, each summed up along k in order.
void NvLowering::lower_mma_sync(Op* op, const MmaInstruction& instruction) {
  Memory a = memories_.at(op->in(in::Mma::a)), b = memories_.at(op->in(in::Mma::b));
  const Layout& accumulator = layout_of(op->result()->type());
  int32_t k = shared_layout_of(a.type).extents()[1];
  Operands operands = mma_operands(accumulator, k, 8 * byte_size(instruction.factors), int(threads_.warps));
  TSR_CHECK(operands.a && operands.b && k % instruction.k == 0, "no operands for " + op->result()->type()->text);
  Context& context = b_.context();
  auto operand_type = [&](Memory memory, const Layout& layout) {
    return context.with_layout(context.tile(memory.type->dims, memory.type->dtype),
                               context.intern(layout::print(layout)));
  };
  Value* a_reg = load_shared(a, operand_type(a, *operands.a));
  Value* b_reg = load_shared(b, operand_type(b, *operands.b));
  Value* c_reg = value(op->in(in::Mma::c));
  auto fragment = [&](Value* reg, int64_t index, int64_t size) {
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < size; ++i) lanes.push_back(index * size + i);
    return pick(reg, lanes);
  };
  // Fragments of an operand are numbered along its second axis first.
  int64_t steps = k / instruction.k, left = instruction.k / 2, right = instruction.k / 4;
  int64_t rows = a_reg->type()->lanes / left / steps, columns = b_reg->type()->lanes / right / steps;
  std::vector<Value*> results;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      Value* c = fragment(c_reg, i * columns + j, 4);
      for (int64_t at = 0; at < steps; ++at) {
        c = b_.at().value(target::info(OpKind::MmaSync),
                          {{fragment(a_reg, i * steps + at, left)}, {fragment(b_reg, at * columns + j, right)}, {c}},
                          c->type());
      }
      results.push_back(c);
    }
  }
  define(op->result(), concat(results));
}

namespace {

/// Tile [extent, k] (or [k, extent]) as the threads need it that hold an accumulator without the axis `reduced`: their
/// elements along the other axis for every k, of `steps` neighbouring k one after another.
Layout outer_operand(const Layout& accumulator, int reduced, int k_axis, int32_t k, int32_t steps) {
  Layout line = accumulator.slice(reduced, false).layout.insert_axis(k_axis);
  layout::LayoutSpec spec = line.spec();
  std::vector<layout::Point> first;
  for (int32_t step = 1; step < steps; step *= 2) first.emplace_back()[size_t(k_axis)] = step;
  std::vector<layout::Point>& registers = spec.of(InputDim::Register);
  registers.insert(registers.begin(), first.begin(), first.end());
  spec.repeats.push_back({InputDim::Register, k_axis, k / steps});
  std::optional<Layout> made = Layout::make(std::move(spec));
  TSR_CHECK(made, "no layout for an operand of an MMA");
  return *made;
}

/// How threads read an operand of multiply-adds from shared memory.
struct FmaOperand {
  Layout layout;
  int count = 0;      ///< elements of a thread for each k
  int32_t steps = 1;  ///< how many k are read at a time
  int width = 1;      ///< elements of an access
};

/// Accesses run along k where memory does, as far as what they read ahead has room in registers.
FmaOperand fma_operand(const Layout& accumulator, int reduced, int k_axis, int32_t k,
                       const layout::SharedLayout& shared) {
  constexpr int32_t most_ahead = 32, most_steps = 4;
  FmaOperand plain{outer_operand(accumulator, reduced, k_axis, k, 1)};
  plain.count = plain.layout.registers_per_thread() / k;
  plain.width = std::gcd(layout::shared_vector_width(plain.layout, shared), plain.count);
  for (int32_t steps = std::gcd(most_steps, k); steps > plain.width; steps /= 2) {
    if (steps * plain.count > most_ahead) continue;
    FmaOperand ahead{outer_operand(accumulator, reduced, k_axis, k, steps), plain.count, steps};
    ahead.width = std::gcd(layout::shared_vector_width(ahead.layout, shared), steps);
    if (ahead.width > plain.width) return ahead;
  }
  return plain;
}

}  // namespace

/// For each k the product of a column and a row, added by fused multiply-add; of integers nothing
/// is rounded, and two ops say the same.
void NvLowering::lower_fma(Op* op) {
  Memory a = memories_.at(op->in(in::Mma::a)), b = memories_.at(op->in(in::Mma::b));
  const Layout accumulator = layout_of(op->result()->type());
  Value* c = value(op->in(in::Mma::c));
  DType dtype = op->result()->type()->dtype;
  int32_t k = shared_layout_of(a.type).extents()[1];
  std::vector<int64_t> from_column =
      register_map(accumulator.slice(1, true).layout, accumulator, {0, -1});
  std::vector<int64_t> from_row = register_map(accumulator.slice(0, true).layout, accumulator, {-1, 1});
  FmaOperand columns = fma_operand(accumulator, 1, 1, k, shared_layout_of(a.type));
  FmaOperand rows = fma_operand(accumulator, 0, 0, k, shared_layout_of(b.type));
  std::vector<Value*> column_addresses = shared_addresses(a, columns.layout, columns.width, true);
  std::vector<Value*> row_addresses = shared_addresses(b, rows.layout, rows.width, true);
  auto load_lines = [&](Memory memory, const FmaOperand& from, const std::vector<Value*>& addresses, int32_t at) {
    std::vector<Value*> parts;
    Type part = b_.context().reg(memory.type->dtype, from.width);
    for (int r = 0; r < from.count * from.steps; r += from.width) {
      Op* load = b_.load(addresses[size_t((at * from.count + r) / from.width)], part)->def();
      load->set(target::attr::Load::align, from.width * byte_size(part->dtype));
      parts.push_back(load->result());
    }
    return b_.cast(concat(parts), dtype);
  };
  auto line = [&](Value* lines, const FmaOperand& from, const std::vector<int64_t>& map, int32_t at) {
    std::vector<int64_t> lanes;
    for (int64_t element : map) lanes.push_back(element * from.steps + at % from.steps);
    return pick(lines, lanes);
  };
  Value *column = nullptr, *row = nullptr;
  for (int32_t at = 0; at < k; ++at) {
    if (at % columns.steps == 0) column = load_lines(a, columns, column_addresses, at);
    if (at % rows.steps == 0) row = load_lines(b, rows, row_addresses, at);
    Value *left = line(column, columns, from_column, at), *right = line(row, rows, from_row, at);
    c = is_float(dtype) ? b_.fma(left, right, c) : b_.add(b_.mul(left, right), c);
  }
  define(op->result(), c);
}

}  // namespace tessera

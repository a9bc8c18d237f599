#include "passes/tile/gpu/mma_unit.h"

#include <set>

#include "ir/tile/ops.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

bool can_compute(const MmaInstruction& instruction, Op* dot, int64_t warps, const OperandLayout& operand) {
  Type a = dot->in(in::Dot::a)->type(), sum = dot->result()->type();
  int64_t m = *sum->dims[0]->constant(), n = *sum->dims[1]->constant(), k = *a->dims[1]->constant();
  bool steps = k % instruction.k == 0 && (!instruction.promotes || k <= instruction.promotes);
  if (!steps || !tile::sum_layout(instruction, m, n, warps)) return false;
  std::optional<SharedLayout> left = operand(in::Dot::a, &instruction), right = operand(in::Dot::b, &instruction);
  bool reads_left = left ? tile::reads_operand(instruction, *left, 1) : tile::reads_registers(instruction);
  return reads_left && right && tile::reads_operand(instruction, *right, 0);
}

}  // namespace

const MmaInstruction* choose_instruction(Op* dot, int64_t warps, const Machine& machine, const OperandLayout& operand) {
  DType factors = dot->in(in::Dot::a)->type()->dtype, sum = dot->result()->type()->dtype;
  for (const MmaInstruction& row : mma_instructions()) {
    if (row.factors != factors || row.sum != sum || !row.has(machine)) continue;
    if (can_compute(row, dot, warps, operand)) return &row;
  }
  return nullptr;
}

const MmaInstruction* instruction_of(Op* mma) {
  std::optional<std::string_view> name = mma->attr(attr::Mma::instruction);
  return name ? find_mma(*name) : nullptr;
}

Op* mma_of(Value* value) {
  std::set<Value*> seen;
  while (seen.insert(value).second) {
    Op* def = value->def();
    if (!def) {
      // What an iteration leaves for the next one.
      Op* loop = value->block()->parent_op();
      if (!loop->is(tile::info(OpKind::For)) || value->index() == 0) return nullptr;
      value = value->block()->terminator()->operand(value->index() - 1);
      continue;
    }
    if (def->is(tile::info(OpKind::Mma))) return def;
    if (def->is(tile::info(OpKind::MmaWait))) {
      value = def->operand(value->index());
    } else if (def->is(tile::info(OpKind::For))) {
      value = def->region()->front()->terminator()->operand(value->index());
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

}  // namespace tessera

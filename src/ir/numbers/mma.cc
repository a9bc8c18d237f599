#include "ir/numbers/mma.h"

#include <algorithm>

namespace tessera {

namespace {

constexpr MmaInstruction rows[] = {
#define MMA(name, unit, factors, sum, m, n, n_step, k, clocks, majors, promotes, fact)              \
  {name, MmaUnit::unit, DType::factors, DType::sum, m, n, n_step, k, clocks, MmaMajors::majors, promotes, \
   [](const Machine& machine) { return machine.fact; }},
#include "ir/numbers/mma.def"
#undef MMA
};

}  // namespace

std::span<const MmaInstruction> mma_instructions() { return rows; }

const MmaInstruction* find_mma(std::string_view name) {
  const auto* row = std::ranges::find(rows, name, &MmaInstruction::name);
  return row == std::end(rows) ? nullptr : row;
}

const MmaInstruction* find_mma(MmaUnit unit, DType factors) {
  const auto* row = std::ranges::find_if(
      rows, [&](const MmaInstruction& each) { return each.unit == unit && each.factors == factors; });
  return row == std::end(rows) ? nullptr : row;
}

bool reads_along_k(const Machine& machine, DType factors) {
  const auto* row = std::ranges::find_if(
      rows, [&](const MmaInstruction& each) { return each.factors == factors && each.has(machine); });
  return row != std::end(rows) && row->majors == MmaMajors::AlongK;
}

double mma_rate(MmaUnit unit, const Machine& machine) {
  // A warp alone does not keep the matrix units of a machine with wgmma busy: measurements of others say 62 to 65 %.
  if (unit == MmaUnit::MmaSync && machine.gpu.has_wgmma) return 0.63;
  // 128 operations a cycle, beside 1024 of the matrix unit.
  if (unit == MmaUnit::Pairs && machine.has_bf16_tiles) return 0.125;
  return 1;
}

std::string_view to_string(MmaUnit unit) {
  switch (unit) {
    case MmaUnit::Wgmma: return "wgmma";
    case MmaUnit::MmaSync: return "mma.sync";
    case MmaUnit::Amx: return "AMX";
    case MmaUnit::Pairs: return "AVX512_BF16";
  }
  return {};
}

}  // namespace tessera

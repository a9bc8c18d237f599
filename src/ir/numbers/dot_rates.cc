#include "ir/numbers/dot_rates.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/numbers/mma.h"

namespace tessera {

namespace {

/// The first instruction of that shape; null if there is none. Those of wgmma have any n.
const MmaInstruction* find(std::string_view shape) {
  auto has_shape = [&](const MmaInstruction& row) {
    if (row.unit != MmaUnit::Wgmma) return shape == fmt::format("{}x{}x{}", row.m, row.n, row.k);
    return shape.starts_with(fmt::format("{}x", row.m)) && shape.ends_with(fmt::format("x{}", row.k));
  };
  std::span<const MmaInstruction> all = mma_instructions();
  auto row = std::ranges::find_if(all, has_shape);
  return row == all.end() ? nullptr : &*row;
}

}  // namespace

double dot_rate(const Machine& machine, const PeakFigures& peak, std::string_view instruction, DType dtype) {
  if (const MmaInstruction* row = find(instruction)) return peak.dot(dtype) * mma_rate(row->unit, machine);
  return dtype == DType::F64 ? peak.f64 : peak.f32;
}

std::string_view dot_instruction(std::string_view instruction) {
  const MmaInstruction* row = find(instruction);
  return row ? to_string(row->unit) : std::string_view();
}

}  // namespace tessera

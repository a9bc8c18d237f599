#include "ir/numbers/dot_rates.h"

#include <algorithm>

namespace tessera {

namespace {

/// A row of the table: instructions whose shape begins so, and what part of the machine's best rate they reach.
struct Instruction {
  std::string_view shape;
  std::string_view name;
  double (*part)(const Machine&);
};

constexpr double whole(const Machine&) { return 1; }

constexpr Instruction instructions[] = {
    {"64x", "wgmma", whole},
    // A warp alone does not keep the matrix units of a machine with wgmma busy: measurements of others say 62 to 65 %.
    {"16x8x", "mma.sync", [](const Machine& machine) { return machine.gpu.has_wgmma ? 0.63 : 1; }},
    {"16x16x32", "AMX", whole},
    // 128 operations a cycle, beside 1024 of the matrix unit.
    {"1x16x2", "AVX512_BF16", [](const Machine& machine) { return machine.has_bf16_tiles ? 0.125 : 1; }},
};

const Instruction* find(std::string_view shape) {
  const auto* row = std::ranges::find_if(instructions, [&](const auto& each) { return shape.starts_with(each.shape); });
  return row == std::end(instructions) ? nullptr : row;
}

}  // namespace

double dot_rate(const Machine& machine, const PeakFigures& peak, std::string_view instruction, DType dtype) {
  if (const Instruction* row = find(instruction)) return peak.dot(dtype) * row->part(machine);
  return dtype == DType::F64 ? peak.f64 : peak.f32;
}

std::string_view dot_instruction(std::string_view instruction) {
  const Instruction* row = find(instruction);
  return row ? row->name : std::string_view();
}

}  // namespace tessera

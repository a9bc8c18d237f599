#include "ir/tile/mma_layouts.h"

#include <vector>

#include "ir/layout/families.h"
#include "ir/layout/wgmma_descriptor.h"
#include "ir/tile/ops.h"

namespace tessera::tile {

using layout::Layout;

bool is_by_threads(Op* mma) {
  std::optional<std::string_view> name = mma->attr(attr::Mma::instruction);
  const MmaInstruction* instruction = name ? find_mma(*name) : nullptr;
  return !instruction || instruction->unit != MmaUnit::Wgmma;
}

bool reads_operand(const MmaInstruction& instruction, const layout::SharedLayout& shared, int k_axis) {
  if (instruction.unit != MmaUnit::Wgmma) return true;
  std::optional<layout::WgmmaOperand> operand = layout::wgmma_operand(shared, k_axis);
  return operand && (operand->k_major || instruction.majors == MmaMajors::Any);
}

bool reads_registers(const MmaInstruction& instruction) {
  return instruction.unit == MmaUnit::Wgmma && byte_size(instruction.factors) == 2;
}

std::optional<Layout> sum_layout(const MmaInstruction& instruction, int64_t m, int64_t n, int64_t warps) {
  if (n % instruction.n_step) return std::nullopt;
  if (instruction.unit == MmaUnit::Wgmma) {
    bool fits = warps % 4 == 0 && n <= instruction.n;
    return fits ? layout::wgmma_accumulator(int(m), int(n), int(warps)) : std::nullopt;
  }
  // The squarest grid of warps that fits, rather high than wide, and wide only where there are few rows.
  int64_t squarest = 1;
  while (squarest * squarest < warps) squarest *= 2;
  std::vector<int64_t> grids;
  for (int64_t columns = squarest; columns >= 1; columns /= 2) grids.push_back(columns);
  for (int64_t columns = 2 * squarest; columns <= warps; columns *= 2) grids.push_back(columns);
  for (int64_t columns : grids) {
    if (warps % columns) continue;
    auto found = layout::mma_accumulator(int(m), int(n), int(warps / columns), int(columns));
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Layout> sum_layout_by_threads(const MmaInstruction& instruction, int64_t m, int64_t n, int64_t warps) {
  bool fits = instruction.unit == MmaUnit::Wgmma && n % instruction.n_step == 0 && n <= instruction.n;
  return fits ? layout::wgmma_accumulator_by_threads(int(m), int(n), int(warps)) : std::nullopt;
}

std::optional<Layout> factor_layout(const Layout& sums, int64_t k) {
  int m = sums.extent(0), warps = sums.warps();
  bool by_threads = sums == layout::wgmma_accumulator_by_threads(m, sums.extent(1), warps);
  return by_threads ? layout::wgmma_accumulator_by_threads(m, int(k), warps)
                    : layout::wgmma_accumulator(m, int(k), warps);
}

bool leaves_sums(const MmaInstruction& instruction, const Layout& sums) {
  if (sums.rank() != 2) return false;
  int m = sums.extent(0), n = sums.extent(1), warps = sums.warps();
  if (instruction.unit == MmaUnit::Wgmma) {
    return n <= instruction.n && (sums == layout::wgmma_accumulator(m, n, warps) ||
                                  sums == layout::wgmma_accumulator_by_threads(m, n, warps));
  }
  for (int rows = 1; rows <= warps; ++rows) {
    if (warps % rows == 0 && sums == layout::mma_accumulator(m, n, rows, warps / rows)) return true;
  }
  return false;
}

}  // namespace tessera::tile

#include "ir/layout/matrix_access.h"

#include <algorithm>
#include <map>

#include "ir/layout/access.h"

namespace tessera::layout {

namespace {

Point step(int axis, int32_t by) {
  Point result{};
  result[size_t(axis)] = by;
  return result;
}

/// True if a lane holds two neighbours along `pair` of those 8 x 8 of which each quad of lanes has a line.
bool holds_pairs(const Layout& layout, int pair, int line) {
  const Point quads[] = {step(pair, 2), step(pair, 4), step(line, 1), step(line, 2), step(line, 4)};
  return layout.bases(InputDim::Register)[0] == step(pair, 1) &&
         std::ranges::equal(layout.bases(InputDim::Lane), quads);
}

}  // namespace

std::optional<MatrixAccess> matrix_access(const Layout& layout, const SharedLayout& shared) {
  bool fits = layout.rank() == 2 && shared.element_bytes() == 2 && !layout.bases(InputDim::Register).empty();
  if (!fits) return std::nullopt;
  int contiguous = shared.contiguous_axis();
  bool transpose = !holds_pairs(layout, contiguous, 1 - contiguous);
  if (transpose && !holds_pairs(layout, 1 - contiguous, contiguous)) return std::nullopt;

  // The first steps from matrix to matrix go to the lanes that name their rows.
  LayoutSpec spec = layout.spec();
  std::vector<Point>& lanes = spec.of(InputDim::Lane);
  std::vector<Point>& registers = spec.of(InputDim::Register);
  lanes = {step(1 - contiguous, 1), step(1 - contiguous, 2), step(1 - contiguous, 4)};
  size_t taken = std::min<size_t>(2, registers.size() - 1);
  lanes.insert(lanes.end(), registers.begin() + 1, registers.begin() + 1 + long(taken));
  lanes.resize(5);
  registers.erase(registers.begin(), registers.begin() + 1 + long(taken));
  registers.insert(registers.begin(), {step(contiguous, 1), step(contiguous, 2), step(contiguous, 4)});
  std::optional<Layout> rows = Layout::make(std::move(spec));
  if (!rows || shared_vector_width(*rows, shared) != 8) return std::nullopt;

  MatrixAccess access{*rows, transpose, 1 << taken, {}};
  std::map<Point, int> holder;
  for (int reg = 0; reg < layout.registers_per_thread(); ++reg) holder[layout.register_offset(reg)] = reg;
  for (int row = 0; row < rows->registers_per_thread(); row += 8) {
    std::vector<int>& moved = access.registers.emplace_back();
    for (int matrix = 0; matrix < access.count; ++matrix) {
      int first = holder.at(rows->register_offset(row) + rows->part(InputDim::Lane, 8 * matrix));
      moved.insert(moved.end(), {first, first + 1});
    }
  }
  return access;
}

}  // namespace tessera::layout

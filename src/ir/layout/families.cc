#include "ir/layout/families.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tessera::layout {

namespace {

Point basis(int32_t a, int32_t b) {
  Point result{};
  result[0] = a;
  result[1] = b;
  return result;
}

/// The lanes of a tensor core fragment: `inner` along axis 1 per quad, lane / 4 along axis 0.
std::vector<Point> quad_lanes(int inner) {
  return {basis(0, inner), basis(0, 2 * inner), basis(1, 0), basis(2, 0), basis(4, 0)};
}

/// The registers of a 16-row A fragment: elements of a 32-bit register, rows + 8, the second half
/// of k.
std::vector<Point> a_registers(int per_register) {
  std::vector<Point> bases;
  for (int step = 1; step < per_register; step *= 2) bases.push_back(basis(0, step));
  bases.push_back(basis(8, 0));
  bases.push_back(basis(0, 4 * per_register));
  return bases;
}

bool is_element_size(int bits) {
  return bits == 8 || bits == 16 || bits == 32;
}

/// m x n from 64-row atoms of `columns` columns with these registers.
std::optional<Layout> wgmma(int m, int n, int warps, int columns, std::vector<Point> registers,
                            int inner) {
  bool fits = m > 0 && n > 0 && warps > 0 && warps <= max_warps && warps % 4 == 0 &&
              n % columns == 0 && m % (16 * warps) == 0;
  if (!fits) return std::nullopt;
  LayoutSpec spec{2, {std::move(registers), quad_lanes(inner), {basis(16, 0), basis(32, 0)}}, {}};
  spec.repeats = {{InputDim::Register, 1, n / columns},
                  {InputDim::Warp, 0, warps / 4},
                  {InputDim::Register, 0, m / (16 * warps)}};
  return Layout::make(std::move(spec));
}

struct MmaGrid {
  int rows, columns;            ///< extents of the tile
  int atom_rows, atom_columns;  ///< of the fragment
  int row_warps, column_warps;  ///< that share the rows, the columns
  int row_copies,
      column_copies;  ///< warps that hold the same: the digits of the warp index in between
};

std::optional<Layout> mma(const MmaGrid& grid, std::vector<Point> registers,
                          std::vector<Point> lanes) {
  auto fits = [](int extent, int atom, int warps) {
    return extent > 0 && warps > 0 && warps <= max_warps && extent % atom == 0 &&
           extent / atom % warps == 0;
  };
  bool good = fits(grid.rows, grid.atom_rows, grid.row_warps) &&
              fits(grid.columns, grid.atom_columns, grid.column_warps) && grid.row_copies > 0 &&
              grid.row_copies <= max_warps && grid.column_copies > 0 &&
              grid.column_copies <= max_warps;
  if (!good) return std::nullopt;
  LayoutSpec spec{2, {std::move(registers), std::move(lanes), {}}, {}};
  spec.repeats = {{InputDim::Register, 1, grid.columns / grid.atom_columns / grid.column_warps},
                  {InputDim::Register, 0, grid.rows / grid.atom_rows / grid.row_warps},
                  {InputDim::Warp, 0, grid.row_warps},
                  {InputDim::Warp, Repeat::replicate, grid.row_copies},
                  {InputDim::Warp, 1, grid.column_warps},
                  {InputDim::Warp, Repeat::replicate, grid.column_copies}};
  return Layout::make(std::move(spec));
}

/// Tile registers of 16 rows x 64 bytes whose elements follow the bases in order of memory.
std::optional<Layout> amx(int rows, int columns, std::vector<Point> registers) {
  int atom_rows = 1, atom_columns = 1;
  for (const Point& step : registers) {
    atom_rows = std::max(atom_rows, 2 * step[0]);
    atom_columns = std::max(atom_columns, 2 * step[1]);
  }
  if (rows <= 0 || columns <= 0 || rows % atom_rows || columns % atom_columns) return std::nullopt;
  LayoutSpec spec{2, {std::move(registers), {}, {}}, {}};
  spec.repeats = {{InputDim::Register, 1, columns / atom_columns},
                  {InputDim::Register, 0, rows / atom_rows}};
  return Layout::make(std::move(spec));
}

/// Deals powers of two, then odd factors, out to the axes that have room.
class Blocking {
 public:
  Blocking(std::span<const int32_t> extents, std::span<const int> order)
      : left_(extents.begin(), extents.end()), order_(order.begin(), order.end()) {
    spec_.rank = int(extents.size());
    taken_.fill(1);
  }

  bool vectors(int vector) {
    if (!std::has_single_bit(uint32_t(vector))) return false;
    if (order_.empty()) return vector == 1;
    if (left_[order_[0]] % vector != 0) return false;
    take_bits(InputDim::Register, order_[0], vector);
    return true;
  }

  void lanes(int lanes, int along_first) {
    for (int axis : order_) {
      bool is_first = axis == order_.front() && along_first > 0;
      lanes /= take_bits(InputDim::Lane, axis, is_first ? std::min(lanes, along_first) : lanes);
    }
    for (; lanes > 1; lanes /= 2) spec_.of(InputDim::Lane).push_back({});
  }

  void warps(int warps, std::span<const int> order) {
    for (int axis : order) {
      int count = std::gcd(warps, left_[axis]);
      repeat(InputDim::Warp, axis, count);
      warps /= count;
    }
    spec_.repeats.push_back({InputDim::Warp, Repeat::replicate, warps});
  }

  std::optional<Layout> rest() {
    for (int axis : order_) repeat(InputDim::Register, axis, left_[axis]);
    return Layout::make(std::move(spec_));
  }

 private:
  int take_bits(InputDim dim, int axis, int most) {
    int count = std::gcd(most, left_[axis]);
    for (int step = 1; step < count; step *= 2) {
      Point unit{};
      unit[axis] = step * taken_[axis];
      spec_.of(dim).push_back(unit);
    }
    taken_[axis] *= count;
    left_[axis] /= count;
    return count;
  }

  void repeat(InputDim dim, int axis, int count) {
    spec_.repeats.push_back({dim, axis, count});
    left_[axis] /= count;
  }

  LayoutSpec spec_;
  std::vector<int32_t> left_;
  std::vector<int> order_;
  Point taken_;
};

}  // namespace

std::optional<Layout> blocked(std::span<const int32_t> extents, int vector, int lanes, int warps,
                              std::span<const int> order, std::span<const int> warp_order, int lanes_along_first) {
  if (extents.size() > size_t(max_rank) || vector < 1 || lanes < 1 || warps < 1)
    return std::nullopt;
  if (lanes > max_lanes || warps > max_warps || !std::has_single_bit(uint32_t(lanes)))
    return std::nullopt;
  for (int32_t extent : extents) {
    if (extent < 1 || extent > max_extent) return std::nullopt;
  }
  std::vector<int> fastest_first(order.begin(), order.end());
  if (order.empty()) {
    for (size_t axis = extents.size(); axis-- > 0;) fastest_first.push_back(int(axis));
  }
  std::vector<int> sorted = fastest_first;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = sorted.size() == extents.size();
  for (size_t axis = 0; permutes && axis < sorted.size(); ++axis)
    permutes = sorted[axis] == int(axis);
  if (!permutes) return std::nullopt;
  Blocking blocking(extents, fastest_first);
  if (!blocking.vectors(vector)) return std::nullopt;
  blocking.lanes(lanes, lanes_along_first);
  blocking.warps(warps, warp_order.empty() ? std::span<const int>(fastest_first) : warp_order);
  return blocking.rest();
}

std::optional<Layout> outer_product(int m, int n, int row_vector, int column_vector, int warps, int row_warps,
                                    int column_warps) {
  constexpr int lanes_m = 4, lanes_n = 8;
  int rows = lanes_m * row_vector, columns = lanes_n * column_vector, best = 0;
  for (int along_m = 1; along_m <= std::min(warps, row_warps); ++along_m) {
    int along_n = warps / along_m;
    bool fits = warps % along_m == 0 && along_n <= column_warps && m % (rows * along_m) == 0 &&
                n % (columns * along_n) == 0;
    auto lines = [&](int count) { return m / lanes_m / count + n / lanes_n / (warps / count); };
    if (fits && (best == 0 || lines(along_m) < lines(best))) best = along_m;
  }
  if (best == 0) return std::nullopt;
  LayoutSpec spec{2, {}, {}};
  for (int step = 1; step < column_vector; step *= 2) spec.of(InputDim::Register).push_back(basis(0, step));
  for (int step = 1; step < row_vector; step *= 2) spec.of(InputDim::Register).push_back(basis(step, 0));
  for (int step = column_vector; step < columns; step *= 2) spec.of(InputDim::Lane).push_back(basis(0, step));
  for (int step = row_vector; step < rows; step *= 2) spec.of(InputDim::Lane).push_back(basis(step, 0));
  spec.repeats = {{InputDim::Warp, 1, warps / best},
                  {InputDim::Warp, 0, best},
                  {InputDim::Register, 1, n / columns / (warps / best)},
                  {InputDim::Register, 0, m / rows / best}};
  return Layout::make(std::move(spec));
}

std::optional<Layout> wgmma_accumulator(int m, int n, int warps) {
  return wgmma(m, n, warps, 8, {basis(0, 1), basis(8, 0)}, 2);
}

std::optional<Layout> wgmma_accumulator_by_threads(int m, int n, int warps) {
  bool fits = m > 0 && n >= 8 && warps > 0 && std::has_single_bit(uint32_t(m)) && std::has_single_bit(uint32_t(n)) &&
              std::has_single_bit(uint32_t(warps)) && warps % 4 == 0 && m % (16 * warps) == 0;
  if (!fits) return std::nullopt;
  // Each kind of index in the order of its bits: eight columns, then the rest of a row, then blocks of 64 rows.
  int held = m / (8 * warps), lanes = 8 * held;
  LayoutSpec spec{2, {}, {}};
  spec.of(InputDim::Register) = {basis(0, 1), basis(1, 0)};
  for (int step = 8; step < n; step *= 2) spec.of(InputDim::Register).push_back(basis(0, step));
  for (int step = 2; step < held; step *= 2) spec.of(InputDim::Register).push_back(basis(step, 0));
  spec.of(InputDim::Lane) = {basis(0, 2), basis(0, 4)};
  for (int step = held; step < lanes; step *= 2) spec.of(InputDim::Lane).push_back(basis(step, 0));
  for (int step = lanes; step < m; step *= 2) spec.of(InputDim::Warp).push_back(basis(step, 0));
  return Layout::make(std::move(spec));
}

std::optional<Layout> wgmma_operand_a(int m, int k, int warps, int element_bits) {
  if (!is_element_size(element_bits)) return std::nullopt;
  int per_register = 32 / element_bits;
  return wgmma(m, k, warps, 8 * per_register, a_registers(per_register), per_register);
}

std::optional<Layout> mma_accumulator(int m, int n, int warps_m, int warps_n) {
  return mma({m, n, 16, 8, warps_m, warps_n, 1, 1}, {basis(0, 1), basis(8, 0)}, quad_lanes(2));
}

std::optional<Layout> mma_operand_a(int m, int k, int warps_m, int warps_n, int element_bits) {
  if (!is_element_size(element_bits)) return std::nullopt;
  int per_register = 32 / element_bits;
  return mma({m, k, 16, 8 * per_register, warps_m, 1, 1, warps_n}, a_registers(per_register),
             quad_lanes(per_register));
}

std::optional<Layout> mma_operand_b(int k, int n, int warps_m, int warps_n, int element_bits) {
  if (!is_element_size(element_bits)) return std::nullopt;
  int per_register = 32 / element_bits;
  std::vector<Point> registers;
  for (int step = 1; step < per_register; step *= 2) registers.push_back(basis(step, 0));
  registers.push_back(basis(4 * per_register, 0));
  std::vector<Point> lanes = {basis(per_register, 0), basis(2 * per_register, 0), basis(0, 1), basis(0, 2),
                              basis(0, 4)};
  return mma({k, n, 8 * per_register, 8, 1, warps_n, warps_m, 1}, std::move(registers), std::move(lanes));
}

std::optional<Layout> amx_accumulator(int m, int n) {
  std::vector<Point> registers;
  for (int step = 1; step < 16; step *= 2) registers.push_back(basis(0, step));
  for (int step = 1; step < 16; step *= 2) registers.push_back(basis(step, 0));
  return amx(m, n, std::move(registers));
}

std::optional<Layout> amx_operand_a(int m, int k, int element_bits) {
  if (element_bits != 8 && element_bits != 16) return std::nullopt;
  std::vector<Point> registers;
  for (int step = 1; step < 512 / element_bits; step *= 2) registers.push_back(basis(0, step));
  for (int step = 1; step < 16; step *= 2) registers.push_back(basis(step, 0));
  return amx(m, k, std::move(registers));
}

std::optional<Layout> amx_operand_b(int k, int n, int element_bits) {
  if (element_bits != 8 && element_bits != 16) return std::nullopt;
  int group = 32 / element_bits;
  std::vector<Point> registers;
  for (int step = 1; step < group; step *= 2) registers.push_back(basis(step, 0));
  for (int step = 1; step < 16; step *= 2) registers.push_back(basis(0, step));
  for (int step = group; step < 16 * group; step *= 2) registers.push_back(basis(step, 0));
  return amx(k, n, std::move(registers));
}

}  // namespace tessera::layout

// What ldmatrix and stmatrix move, lane by lane.

#include <catch2/catch.hpp>
#include <set>

#include "ir/layout/access.h"
#include "ir/layout/matrix_access.h"
#include "unit/layout/samples.h"

using namespace tessera::layout;

namespace {

using Extents = std::vector<int32_t>;
using Order = std::vector<int>;

/// Every access as the instruction does it: each lane must find its elements, each register be moved once.
void check_moves(const Layout& layout, const SharedLayout& shared, const MatrixAccess& access) {
  std::set<int> moved;
  bool right = true;
  for (size_t i = 0; i < access.registers.size(); ++i) {
    const std::vector<int>& registers = access.registers[i];
    REQUIRE(registers.size() == size_t(2 * access.count));
    moved.insert(registers.begin(), registers.end());
    for (int warp = 0; warp < layout.warps(); ++warp) {
      for (int matrix = 0; matrix < access.count; ++matrix) {
        for (int lane = 0; lane < 32; ++lane) {
          for (int half = 0; half < 2; ++half) {
            int row = access.transpose ? lane % 4 * 2 + half : lane / 4;
            int column = access.transpose ? lane / 4 : lane % 4 * 2 + half;
            int64_t start = shared.offset(access.rows.coordinates(int(8 * i), 8 * matrix + row, warp));
            Point element = layout.coordinates(registers[size_t(2 * matrix + half)], lane, warp);
            right = right && start % 16 == 0 && shared.offset(element) == start + 2 * column;
          }
        }
      }
    }
  }
  CHECK(right);
  CHECK(int(moved.size()) == layout.registers_per_thread());
}

int count_of(const Layout& layout, const SharedLayout& shared, bool transpose) {
  std::optional<MatrixAccess> access = matrix_access(layout, shared);
  REQUIRE(access);
  CHECK(access->transpose == transpose);
  check_moves(layout, shared, *access);
  return access->count;
}

SharedLayout swizzled(Extents extents, Order order, Swizzle swizzle = Swizzle::B128) {
  return *SharedLayout::swizzled(extents, 2, swizzle, order);
}

}  // namespace

TEST_CASE("operands of mma.sync come by matrices, along either axis of memory") {
  for (Swizzle swizzle : {Swizzle::B64, Swizzle::B128}) {
    CHECK(count_of(*mma_operand_a(128, 32, 4, 2), swizzled({128, 32}, {1, 0}, swizzle), false) == 4);
    CHECK(count_of(*mma_operand_a(128, 32, 4, 2), swizzled({128, 32}, {0, 1}, swizzle), true) == 4);
    CHECK(count_of(*mma_operand_b(32, 128, 4, 2), swizzled({32, 128}, {1, 0}, swizzle), true) == 4);
    CHECK(count_of(*mma_operand_b(32, 128, 4, 2), swizzled({32, 128}, {0, 1}, swizzle), false) == 4);
  }
  CHECK(count_of(*mma_operand_b(16, 24, 1, 1), swizzled({16, 24}, {0, 1}, Swizzle::B32), false) == 2);
  CHECK(count_of(*mma_operand_a(48, 48, 3, 1), swizzled({48, 48}, {1, 0}, Swizzle::B32), false) == 4);
}

TEST_CASE("accumulators go by matrices when their elements have 16 bits") {
  CHECK(count_of(*wgmma_accumulator(128, 64, 8), swizzled({128, 64}, {1, 0}), false) == 4);
  CHECK(count_of(*wgmma_accumulator(128, 64, 4), swizzled({128, 64}, {0, 1}), true) == 4);
  CHECK(count_of(*wgmma_accumulator(64, 24, 4), *SharedLayout::rows(Extents{64, 24}, 2), false) == 2);
  CHECK(count_of(*mma_accumulator(16, 8, 1, 1), *SharedLayout::rows(Extents{16, 8}, 2), false) == 2);
  CHECK(count_of(*mma_accumulator(64, 64, 2, 2), *SharedLayout::rows(Extents{64, 64}, 2, {}, 16), false) == 4);
}

TEST_CASE("what is no matrices is not moved by them") {
  Layout accumulator = *wgmma_accumulator(64, 32, 4);
  CHECK(!matrix_access(accumulator, *SharedLayout::rows(Extents{64, 32}, 4)));
  CHECK(!matrix_access(accumulator, *SharedLayout::rows(Extents{64, 32}, 2, {}, 2)));
  CHECK(!matrix_access(*blocked(Extents{64, 32}, 2, 32, 4), *SharedLayout::rows(Extents{64, 32}, 2)));
  CHECK(!matrix_access(*wgmma_operand_a(64, 32, 4, 8), *SharedLayout::rows(Extents{64, 32}, 2)));
  CHECK(!matrix_access(*wgmma_accumulator(64, 12 * 2, 4), *SharedLayout::panels(64, 24, 2, 8)));
  for (const Layout& layout : samples::families()) {
    if (layout.rank() != 2) continue;
    std::vector<int32_t> extents = {layout.extent(0), layout.extent(1)};
    for (const Order& order : {Order{1, 0}, Order{0, 1}}) {
      SharedLayout shared = *SharedLayout::rows(extents, 2, order);
      if (std::optional<MatrixAccess> access = matrix_access(layout, shared)) check_moves(layout, shared, *access);
    }
  }
}

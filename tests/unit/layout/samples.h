#pragma once
// Layouts to test with: every family at sizes with and without powers of two, and random ones.

#include <numeric>
#include <random>
#include <vector>

#include "ir/layout/families.h"

namespace samples {

using namespace tessera::layout;

inline std::vector<Layout> families() {
  std::vector<std::optional<Layout>> made = {
      wgmma_accumulator(64, 8, 4),    wgmma_accumulator(64, 176, 4), wgmma_accumulator(128, 24, 8),
      wgmma_accumulator(192, 16, 12), wgmma_accumulator(128, 16, 4), wgmma_accumulator(384, 8, 12),
      wgmma_accumulator_by_threads(64, 16, 4), wgmma_accumulator_by_threads(256, 64, 8),
      wgmma_operand_a(64, 32, 4),     wgmma_operand_a(64, 96, 4, 8), wgmma_operand_a(128, 8, 8, 32),
      mma_accumulator(64, 48, 2, 3),  mma_accumulator(16, 8, 1, 1),  mma_operand_a(32, 48, 2, 3),
      mma_operand_b(48, 32, 3, 2),    amx_accumulator(16, 16),       amx_accumulator(48, 32),
      amx_operand_a(16, 64),          amx_operand_b(32, 48),         amx_operand_b(64, 16, 8)};
  const std::vector<std::vector<int32_t>> extents = {{64},   {7},      {1},        {32, 48},
                                                     {3, 5}, {2, 176}, {4, 6, 10}, {1, 8, 1, 4}};
  for (const auto& e : extents) {
    for (int warps : {1, 3, 4}) {
      made.push_back(blocked(e, std::gcd(e.back(), 4), 32, warps));
      std::vector<int> order(e.size());
      std::iota(order.begin(), order.end(), 0);
      made.push_back(blocked(e, std::gcd(e[0], 2), 8, warps, order));
    }
  }
  std::vector<Layout> layouts = {Layout()};
  for (const auto& layout : made) layouts.push_back(layout.value());
  return layouts;
}

/// A random layout of at most about 10 index bits, with bases that mix bits and axes.
inline Layout random_layout(std::mt19937& random) {
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  LayoutSpec spec;
  spec.rank = 1 + below(3);
  std::array<int, max_rank> bits{};
  for (InputDim dim : all_input_dims) {
    // The coordinate bits that this dim owns, in a random basis of their span.
    std::vector<Point> own;
    for (int count = below(4); count > 0; --count) {
      int axis = below(spec.rank);
      Point unit{};
      unit[axis] = 1 << bits[axis]++;
      own.push_back(unit);
    }
    for (int mixing = below(2) ? 0 : below(5); mixing > 0 && own.size() > 1; --mixing) {
      size_t a = random() % own.size(), b = random() % own.size();
      for (int axis = 0; a != b && axis < max_rank; ++axis) own[a][axis] ^= own[b][axis];
    }
    std::shuffle(own.begin(), own.end(), random);
    if (below(4) == 0) own.insert(own.begin() + below(int(own.size()) + 1), Point{});
    if (below(6) == 0 && own.size() > 1) {  // a replica that is no zero: the sum of two others
      Point sum{};
      for (int axis = 0; axis < max_rank; ++axis) sum[axis] = own[0][axis] ^ own[1][axis];
      own.push_back(sum);
    }
    spec.of(dim) = own;
  }
  for (int count = below(4); count > 0; --count) {
    InputDim dim = below(2) ? InputDim::Register : InputDim::Warp;
    spec.repeats.push_back(
        {dim, below(5) == 0 ? Repeat::replicate : below(spec.rank), 1 + below(4)});
  }
  std::string why;
  std::optional<Layout> layout = Layout::make(spec, &why);
  return layout ? *layout : random_layout(random);
}

inline std::vector<Layout> random_layouts(int count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<Layout> layouts;
  for (int i = 0; i < count; ++i) layouts.push_back(random_layout(random));
  return layouts;
}

inline std::vector<Layout> all(int random = 300) {
  std::vector<Layout> layouts = families();
  for (Layout& layout : random_layouts(random)) layouts.push_back(std::move(layout));
  return layouts;
}

/// Calls f(owner) for every place of the layout.
template <typename F>
void each_place(const Layout& layout, F f) {
  for (int warp = 0; warp < layout.warps(); ++warp) {
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      for (int reg = 0; reg < layout.registers_per_thread(); ++reg) f(Owner{reg, lane, warp});
    }
  }
}

inline Point at(const Layout& layout, const Owner& owner) {
  return layout.coordinates(owner.reg, owner.lane, owner.warp);
}

}  // namespace samples

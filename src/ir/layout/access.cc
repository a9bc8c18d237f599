#include "ir/layout/access.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "support/check.h"

namespace tessera::layout {

namespace {

/// What each index contributes to coordinates, computed once.
class Offsets {
 public:
  Offsets(const Layout& layout, const SharedLayout& shared) : layout_(layout), shared_(shared) {
    TSR_CHECK(layout.extents() == shared.extents() && layout.rank() == shared.rank(),
              "a tile is accessed with the extents of another");
    for (InputDim dim : all_input_dims) {
      for (int index = 0; index < layout.size(dim); ++index) {
        parts_[size_t(dim)].push_back(layout.part(dim, index));
      }
    }
  }

  int64_t of(int reg, int lane, int warp) const {
    return shared_.offset(parts_[0][reg] + parts_[1][lane] + parts_[2][warp]);
  }

  /// True if f(lane, warp) holds in all threads.
  template <typename F>
  bool all_threads(F f) const {
    for (int warp = 0; warp < layout_.warps(); ++warp) {
      for (int lane = 0; lane < layout_.lanes(); ++lane) {
        if (!f(lane, warp)) return false;
      }
    }
    return true;
  }

 private:
  const Layout& layout_;
  const SharedLayout& shared_;
  std::array<std::vector<Point>, 3> parts_;
};

bool moves_vectors(const Offsets& offsets, const Layout& layout, int bytes, int width) {
  return offsets.all_threads([&](int lane, int warp) {
    for (int reg = 0; reg < layout.registers_per_thread(); reg += width) {
      int64_t start = offsets.of(reg, lane, warp);
      if (start % (width * bytes) != 0) return false;
      for (int i = 1; i < width; ++i) {
        if (offsets.of(reg + i, lane, warp) != start + i * bytes) return false;
      }
    }
    return true;
  });
}

/// How many words of each bank lanes that access `bytes` bytes at these addresses ask for.
std::array<int, 32> words_of_banks(const std::vector<int64_t>& addresses, int bytes) {
  std::set<int64_t> words;
  for (int64_t address : addresses) {
    for (int64_t byte = 0; byte < bytes; byte += 4) words.insert((address + byte) / 4);
  }
  std::array<int, 32> per_bank{};
  for (int64_t word : words) ++per_bank[size_t(word % 32)];
  return per_bank;
}

/// Wavefronts beyond the least for lanes that are served at a time.
int excess(const std::array<int, 32>& words) {
  return *std::ranges::max_element(words) - (std::accumulate(words.begin(), words.end(), 0) + 31) / 32;
}

}  // namespace

int shared_vector_width(const Layout& layout, const SharedLayout& shared) {
  Offsets offsets(layout, shared);
  int bytes = shared.element_bytes(), width = 1;
  while (2 * width * bytes <= 16 && layout.registers_per_thread() % (2 * width) == 0 &&
         moves_vectors(offsets, layout, bytes, 2 * width)) {
    width *= 2;
  }
  return width;
}

namespace {

/// The accesses of `width` elements where registers are numbered along the axis first, the shortest steps before the
/// others; those of the layout as it is where these are no wider.
template <typename F>
VectorAccess widest_access(const Layout& layout, size_t along, F&& width) {
  VectorAccess plain{layout, width(layout), {}};
  LayoutSpec spec = layout.spec();
  std::ranges::stable_sort(spec.of(InputDim::Register), {}, [&](const Point& basis) {
    bool is_along = basis[along] != 0 && std::ranges::count(basis, 0) == max_rank - 1;
    return is_along ? basis[along] : std::numeric_limits<int32_t>::max();
  });
  if (std::ranges::equal(spec.of(InputDim::Register), layout.bases(InputDim::Register))) return plain;
  std::optional<Layout> made = Layout::make(std::move(spec));
  int wider = made ? width(*made) : 0;
  if (wider <= plain.width) return plain;
  std::map<Point, int64_t> places;
  for (int reg = 0; reg < made->registers_per_thread(); ++reg) places.emplace(made->register_offset(reg), reg);
  VectorAccess found{*made, wider, {}};
  for (int reg = 0; reg < layout.registers_per_thread(); ++reg) {
    found.registers.push_back(places.at(layout.register_offset(reg)));
  }
  return found;
}

}  // namespace

VectorAccess vector_access(const Layout& layout, const SharedLayout& shared) {
  return widest_access(layout, size_t(shared.contiguous_axis()),
                       [&](const Layout& each) { return shared_vector_width(each, shared); });
}

VectorAccess vector_access(const Layout& layout, int axis, int64_t alignment) {
  return widest_access(layout, size_t(axis), [&](const Layout& each) { return each.vector_width(axis, alignment); });
}

int bank_conflicts(const Layout& layout, const SharedLayout& shared, int width) {
  return worst_access(layout, shared, width).conflicts;
}

WorstAccess worst_access(const Layout& layout, const SharedLayout& shared, int width) {
  int bytes = shared.element_bytes() * width;
  TSR_CHECK(width >= 1 && bytes <= 16 && layout.registers_per_thread() % width == 0,
            "an access is not part of the registers");
  Offsets offsets(layout, shared);
  WorstAccess worst{.together = std::max(1, std::min(layout.lanes(), 32 / std::max(1, bytes / 4)))};
  for (int warp = 0; warp < layout.warps(); ++warp) {
    for (int reg = 0; reg < layout.registers_per_thread(); reg += width) {
      WorstAccess access{.warp = warp, .reg = reg, .together = worst.together};
      for (int first = 0; first < layout.lanes(); first += access.together) {
        std::vector<int64_t> addresses;
        for (int lane = first; lane < first + access.together; ++lane)
          addresses.push_back(offsets.of(reg, lane, warp));
        access.words.push_back(words_of_banks(addresses, bytes));
        access.conflicts += excess(access.words.back());
      }
      if (worst.words.empty() || access.conflicts > worst.conflicts) worst = std::move(access);
    }
  }
  return worst;
}

AddressStep register_address(const Layout& layout, const SharedLayout& shared, int reg) {
  Offsets offsets(layout, shared);
  int64_t from = offsets.of(0, 0, 0), to = offsets.of(reg, 0, 0);
  bool adds = offsets.all_threads([&](int lane, int warp) {
    return offsets.of(reg, lane, warp) - offsets.of(0, lane, warp) == to - from;
  });
  if (adds) return {AddressStep::Add, to - from};
  auto flips = [&](int64_t flipped) {
    return offsets.all_threads([&](int lane, int warp) {
      return offsets.of(reg, lane, warp) == (offsets.of(0, lane, warp) ^ flipped) + ((to ^ from) - flipped);
    });
  };
  // A swizzle flips bits of the 16 bytes within a line of 128. Registers that differ in lines have the same flips.
  constexpr int64_t within_line = 0x70;
  int64_t all = to ^ from, few = all & within_line;
  if (!flips(all)) return {AddressStep::None};
  return flips(few) ? AddressStep{AddressStep::Xor, few, all - few} : AddressStep{AddressStep::Xor, all};
}

}  // namespace tessera::layout

// From a spec to the normal form.
//
// Equal maps get equal contents by three rewrites, repeated until none applies: digits of one axis
// that follow each other become one digit; a leading digit that stands right on the atom gives its
// power of two to the atom as bases; digits of count 1 go. What is left of a map is then read off
// the map itself: the bases are its values at powers of two, and the digits begin where it stops
// being linear or starts to move by what is no power of two.

#include <fmt/format.h>

#include <algorithm>

#include "ir/layout/layout_data.h"
#include "support/hash.h"

namespace tessera::layout {

namespace {

constexpr std::array<const char*, 3> dim_names = {"register", "lane", "warp"};
constexpr std::array<int, 3> size_limits = {max_registers, max_lanes, max_warps};

class Build {
 public:
  Build(LayoutSpec spec, std::string& why) : spec_(std::move(spec)), why_(why) {}

  std::optional<LayoutData> build() {
    if (!check_bases() || !find_atom() || !place_repeats() || !check_repeats()) return std::nullopt;
    while (merge_once() || fold_once()) {
    }
    number_digits();
    if (!check_ownership()) return std::nullopt;
    data_.hash = hash();
    return std::move(data_);
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool check_bases() {
    if (spec_.rank < 0 || spec_.rank > max_rank)
      return fail(fmt::format("it has more than {} axes", max_rank));
    data_.rank = spec_.rank;
    for (size_t dim = 0; dim < 3; ++dim) {
      if (spec_.bases[dim].size() > 16 || (1 << spec_.bases[dim].size()) > size_limits[dim]) {
        return fail(fmt::format("it has more than {} {}s", size_limits[dim], dim_names[dim]));
      }
      data_.sizes[dim] = 1 << spec_.bases[dim].size();
      for (const Point& basis : spec_.bases[dim]) {
        for (int axis = 0; axis < max_rank; ++axis) {
          bool within = basis[axis] >= 0 && basis[axis] < (axis < spec_.rank ? max_extent : 1);
          if (!within) return fail("a basis is outside the tile");
        }
      }
    }
    data_.bases = spec_.bases;
    return true;
  }

  /// The atom spans the bits that any basis has.
  bool find_atom() {
    Point bits{};
    for (const auto& bases : data_.bases) {
      for (const Point& basis : bases) {
        for (int axis = 0; axis < max_rank; ++axis) bits[axis] |= basis[axis];
      }
    }
    for (int axis = 0; axis < max_rank; ++axis) {
      if (bits[axis] & (bits[axis] + 1)) {
        return fail(fmt::format("no basis reaches a bit of axis {} below its highest", axis));
      }
      data_.atom_extents[axis] = bits[axis] + 1;
    }
    data_.extents = data_.atom_extents;
    return true;
  }

  /// Sorts the repeats by dim and gives each its stride, where it has none.
  bool place_repeats() {
    for (Repeat& repeat : spec_.repeats) {
      int axis = repeat.axis;
      if (repeat.dim == InputDim::Lane) return fail("lanes do not repeat");
      if (axis < Repeat::replicate || axis >= data_.rank) return fail("a repeat has no axis");
      if (repeat.count < 1 || repeat.stride < 0) return fail("a repeat has no extent");
      int64_t size = int64_t(data_.sizes[size_t(repeat.dim)]) * repeat.count;
      if (size > size_limits[size_t(repeat.dim)]) {
        return fail(fmt::format("it has more than {} {}s", size_limits[size_t(repeat.dim)],
                                dim_names[size_t(repeat.dim)]));
      }
      data_.sizes[size_t(repeat.dim)] = int(size);
      if (axis != Repeat::replicate) {
        int64_t extent = int64_t(data_.extents[axis]) * repeat.count;
        if (extent > max_extent)
          return fail(fmt::format("axis {} is longer than {}", axis, max_extent));
        if (repeat.stride == 0) repeat.stride = data_.extents[axis];
        data_.extents[axis] = int32_t(extent);
      } else if (repeat.stride != 0) {
        return fail("a repeat that replicates has a stride");
      }
      repeat.divisor = 0;
      if (repeat.count > 1) data_.repeats[size_t(repeat.dim)].push_back(repeat);
    }
    return true;
  }

  /// Along each axis the digits must count on from the atom without gaps.
  bool check_repeats() {
    for (int axis = 0; axis < data_.rank; ++axis) {
      std::vector<Repeat> along;
      for (const auto& repeats : data_.repeats) {
        for (const Repeat& repeat : repeats) {
          if (repeat.axis == axis) along.push_back(repeat);
        }
      }
      std::sort(along.begin(), along.end(),
                [](const Repeat& a, const Repeat& b) { return a.stride < b.stride; });
      int64_t next = data_.atom_extents[axis];
      for (const Repeat& repeat : along) {
        if (repeat.stride != next)
          return fail(fmt::format("the repeats along axis {} leave gaps", axis));
        next *= repeat.count;
      }
    }
    return true;
  }

  bool merge_once() {
    for (auto& repeats : data_.repeats) {
      for (size_t i = 0; i + 1 < repeats.size(); ++i) {
        Repeat &low = repeats[i], &high = repeats[i + 1];
        bool follows = low.axis == high.axis && int64_t(low.stride) * low.count == high.stride;
        if (!follows) continue;
        low.count *= high.count;
        repeats.erase(repeats.begin() + i + 1);
        return true;
      }
    }
    return false;
  }

  bool fold_once() {
    for (size_t dim = 0; dim < 3; ++dim) {
      auto& repeats = data_.repeats[dim];
      if (repeats.empty() || repeats[0].count % 2 != 0) continue;
      Repeat& first = repeats[0];
      bool moves = first.axis != Repeat::replicate;
      if (moves && first.stride != data_.atom_extents[first.axis]) continue;
      Point basis{};
      if (moves) {
        basis[first.axis] = first.stride;
        first.stride *= 2;
        data_.atom_extents[first.axis] *= 2;
      }
      data_.bases[dim].push_back(basis);
      first.count /= 2;
      if (first.count == 1) repeats.erase(repeats.begin());
      return true;
    }
    return false;
  }

  void number_digits() {
    for (size_t dim = 0; dim < 3; ++dim) {
      int divisor = 1 << data_.bases[dim].size();
      for (Repeat& repeat : data_.repeats[dim]) {
        repeat.divisor = divisor;
        divisor *= repeat.count;
      }
    }
    int shift = 0;
    for (int axis = 0; axis < data_.rank; ++axis) {
      data_.packed_shift[axis] = shift;
      shift += std::countr_zero(uint32_t(data_.atom_extents[axis]));
    }
  }

  /// Each bit of the atom belongs to one dim, and each dim reaches all values of its bits. There
  /// are at most 28 index bits, so what passes has at most 28 coordinate bits; before that is
  /// known, nothing is packed.
  bool check_ownership() {
    int bits = 0, index_bits = 0;
    for (int32_t extent : data_.atom_extents) bits += std::countr_zero(uint32_t(extent));
    for (const auto& bases : data_.bases) index_bits += int(bases.size());
    if (bits > index_bits) return fail("some elements have no owner");
    uint32_t seen = 0;
    for (size_t dim = 0; dim < 3; ++dim) {
      for (const Point& basis : data_.bases[dim]) {
        uint32_t packed = data_.pack(basis);
        data_.support[dim] |= packed;
        data_.span[dim].add(packed);
      }
      if (seen & data_.support[dim]) {
        return fail(fmt::format("{}s share a coordinate bit with another index", dim_names[dim]));
      }
      seen |= data_.support[dim];
      if (data_.span[dim].rank() != std::popcount(data_.support[dim])) {
        return fail(
            fmt::format("the bases of {}s do not reach all their coordinates", dim_names[dim]));
      }
    }
    return true;
  }

  uint64_t hash() const {
    uint64_t hash = uint64_t(data_.rank);
    auto add = [&](int64_t value) { hash = hash_combine(hash, uint64_t(value)); };
    for (size_t dim = 0; dim < 3; ++dim) {
      add(int64_t(data_.bases[dim].size()));
      for (const Point& basis : data_.bases[dim]) {
        for (int axis = 0; axis < data_.rank; ++axis) add(basis[axis]);
      }
      for (const Repeat& repeat : data_.repeats[dim]) {
        add(repeat.axis);
        add(repeat.count);
        add(repeat.stride);
      }
    }
    return hash;
  }

  LayoutSpec spec_;
  std::string& why_;
  LayoutData data_;
};

}  // namespace

std::optional<LayoutData> build_layout(LayoutSpec spec, std::string& why) {
  return Build(std::move(spec), why).build();
}

}  // namespace tessera::layout

#include "ir/layout/layout.h"

#include <algorithm>
#include <numeric>

#include "ir/layout/layout_data.h"
#include "support/check.h"

namespace tessera::layout {

namespace {

Layout must_make(LayoutSpec spec) {
  std::string why;
  std::optional<Layout> made = Layout::make(std::move(spec), &why);
  TSR_CHECK(made.has_value(), "a layout derived from a layout is none: " + why);
  return *made;
}

/// The spec with every point and axis number sent through `move`; an axis sent to -1 goes.
LayoutSpec with_axes(LayoutSpec spec, int rank, const std::array<int, max_rank>& move) {
  for (auto& bases : spec.bases) {
    for (Point& basis : bases) {
      Point moved{};
      for (int axis = 0; axis < spec.rank; ++axis) {
        if (move[axis] >= 0) moved[move[axis]] = basis[axis];
      }
      basis = moved;
    }
  }
  for (Repeat& repeat : spec.repeats) {
    if (repeat.axis != Repeat::replicate) repeat.axis = move[repeat.axis];
  }
  spec.rank = rank;
  return spec;
}

std::array<int, max_rank> identity_axes() {
  std::array<int, max_rank> axes;
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

Point operator+(const Point& a, const Point& b) {
  Point sum;
  for (int axis = 0; axis < max_rank; ++axis) sum[axis] = a[axis] + b[axis];
  return sum;
}

Point point(std::span<const int32_t> values) {
  TSR_CHECK(values.size() <= size_t(max_rank), "a point has too many coordinates");
  Point result{};
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

int32_t ThreadTerm::of(int index) const {
  if (parity_mask != 0) return std::popcount(uint32_t(index) & parity_mask) % 2 * step;
  return field.of(index) * step;
}

Layout::Layout() : Layout(must_make({})) {}

std::optional<Layout> Layout::make(LayoutSpec spec, std::string* why) {
  std::string reason;
  std::optional<LayoutData> data = build_layout(std::move(spec), reason);
  if (!data && why) *why = reason;
  if (!data) return std::nullopt;
  return Layout(std::make_shared<const LayoutData>(std::move(*data)));
}

int Layout::rank() const {
  return data_->rank;
}
int32_t Layout::extent(int axis) const {
  return data_->extents.at(size_t(axis));
}
const Point& Layout::extents() const {
  return data_->extents;
}
int Layout::size(InputDim dim) const {
  return data_->sizes[size_t(dim)];
}
std::span<const Point> Layout::bases(InputDim dim) const {
  return data_->bases[size_t(dim)];
}
std::span<const Repeat> Layout::repeats(InputDim dim) const {
  return data_->repeats[size_t(dim)];
}
const Point& Layout::atom_extents() const {
  return data_->atom_extents;
}
uint64_t Layout::hash() const {
  return data_->hash;
}

int64_t Layout::element_count() const {
  int64_t count = 1;
  for (int32_t extent : data_->extents) count *= extent;
  return count;
}

bool operator==(const Layout& a, const Layout& b) {
  if (a.data_ == b.data_) return true;
  return a.data_->hash == b.data_->hash && a.data_->rank == b.data_->rank &&
         a.data_->bases == b.data_->bases && a.data_->repeats == b.data_->repeats;
}

LayoutSpec Layout::spec() const {
  LayoutSpec spec{data_->rank, data_->bases, {}};
  for (const auto& repeats : data_->repeats) {
    spec.repeats.insert(spec.repeats.end(), repeats.begin(), repeats.end());
  }
  return spec;
}

Point Layout::part(InputDim dim, int index) const {
  TSR_CHECK(index >= 0 && index < size(dim), "an index lies outside the layout");
  Point result{};
  const auto& bases = data_->bases[size_t(dim)];
  for (size_t bit = 0; bit < bases.size(); ++bit) {
    if (!(index >> bit & 1)) continue;
    for (int axis = 0; axis < data_->rank; ++axis) result[axis] ^= bases[bit][axis];
  }
  for (const Repeat& repeat : data_->repeats[size_t(dim)]) {
    if (repeat.axis == Repeat::replicate) continue;
    result[repeat.axis] += index / repeat.divisor % repeat.count * repeat.stride;
  }
  return result;
}

Point Layout::coordinates(int reg, int lane, int warp) const {
  return part(InputDim::Register, reg) + part(InputDim::Lane, lane) + part(InputDim::Warp, warp);
}

std::vector<ThreadTerm> Layout::thread_terms() const {
  std::vector<ThreadTerm> terms;
  for (InputDim dim : {InputDim::Lane, InputDim::Warp}) {
    const auto& bases = data_->bases[size_t(dim)];
    for (int axis = 0; axis < data_->rank; ++axis) {
      for (int32_t step = 1; step < data_->atom_extents[axis]; step *= 2) {
        uint32_t mask = 0;
        for (size_t bit = 0; bit < bases.size(); ++bit) {
          if (bases[bit][axis] & step) mask |= 1u << bit;
        }
        if (mask == 0) continue;
        if (!std::has_single_bit(mask)) {
          terms.push_back({dim, axis, step, {1, 1}, mask});
          continue;
        }
        // The next bit of the index for the next bit of the coordinate widens the field before.
        ThreadTerm* last = terms.empty() ? nullptr : &terms.back();
        bool widens = last && last->dim == dim && last->axis == axis && last->parity_mask == 0 &&
                      last->field.divisor * last->field.count == int(mask) &&
                      last->step * last->field.count == step;
        if (widens) {
          last->field.count *= 2;
        } else {
          terms.push_back({dim, axis, step, {int(mask), 2}});
        }
      }
    }
    for (const Repeat& repeat : data_->repeats[size_t(dim)]) {
      if (repeat.axis == Repeat::replicate) continue;
      terms.push_back({dim, repeat.axis, repeat.stride, {repeat.divisor, repeat.count}});
    }
  }
  return terms;
}

Owner Layout::canonical_owner(const Point& coordinates) const {
  Point in_atom{};
  for (int axis = 0; axis < max_rank; ++axis) {
    TSR_CHECK(coordinates[axis] >= 0 && coordinates[axis] < data_->extents[axis],
              "coordinates lie outside the layout");
    in_atom[axis] = coordinates[axis] % data_->atom_extents[axis];
  }
  uint32_t packed = data_->pack(in_atom);
  std::array<int, 3> index;
  for (size_t dim = 0; dim < 3; ++dim) {
    index[dim] = int(data_->span[dim].solve(packed & data_->support[dim]));
    for (const Repeat& repeat : data_->repeats[dim]) {
      if (repeat.axis == Repeat::replicate) continue;
      index[dim] += coordinates[repeat.axis] / repeat.stride % repeat.count * repeat.divisor;
    }
  }
  return {index[0], index[1], index[2]};
}

std::vector<Owner> Layout::owners(const Point& coordinates) const {
  Owner canonical = canonical_owner(coordinates);
  std::array<std::vector<int>, 3> indices = {
      std::vector{canonical.reg}, std::vector{canonical.lane}, std::vector{canonical.warp}};
  for (size_t dim = 0; dim < 3; ++dim) {
    std::vector<int>& all = indices[dim];
    for (uint32_t mask : data_->span[dim].dependencies()) {
      for (size_t i = 0, count = all.size(); i < count; ++i) all.push_back(all[i] ^ int(mask));
    }
    for (const Repeat& repeat : data_->repeats[dim]) {
      if (repeat.axis != Repeat::replicate) continue;
      for (size_t i = 0, count = all.size(); i < count; ++i) {
        for (int digit = 1; digit < repeat.count; ++digit)
          all.push_back(all[i] + digit * repeat.divisor);
      }
    }
    std::sort(all.begin(), all.end());
  }
  std::vector<Owner> owners = {canonical};
  for (int warp : indices[2]) {
    for (int lane : indices[1]) {
      for (int reg : indices[0]) {
        if (Owner owner{reg, lane, warp}; owner != canonical) owners.push_back(owner);
      }
    }
  }
  return owners;
}

bool Layout::is_canonical(const Owner& owner) const {
  std::array<int, 3> index = {owner.reg, owner.lane, owner.warp};
  for (InputDim dim : all_input_dims) {
    for (const IndexField& field : free_fields(dim)) {
      if (field.of(index[size_t(dim)]) != 0) return false;
    }
  }
  return true;
}

bool Layout::is_replicated() const {
  int64_t places = int64_t(registers_per_thread()) * lanes() * warps();
  return places != element_count();
}

uint32_t Layout::free_bits(InputDim dim) const {
  return data_->span[size_t(dim)].dependent();
}

std::vector<uint32_t> Layout::replica_masks(InputDim dim) const {
  return data_->span[size_t(dim)].dependencies();
}

std::vector<IndexField> Layout::free_fields(InputDim dim) const {
  std::vector<IndexField> fields;
  uint32_t free = free_bits(dim);
  for (size_t bit = 0; bit < data_->bases[size_t(dim)].size(); ++bit) {
    if (free >> bit & 1) fields.push_back({1 << bit, 2});
  }
  for (const Repeat& repeat : data_->repeats[size_t(dim)]) {
    if (repeat.axis == Repeat::replicate) fields.push_back({repeat.divisor, repeat.count});
  }
  return fields;
}

int Layout::vector_width(int axis, int64_t alignment) const {
  TSR_CHECK(axis >= 0 && axis < rank() && alignment > 0, "a vector along no axis");
  const auto& bases = data_->bases[0];
  int64_t limit = alignment & -alignment;
  int bits = 0;
  while (size_t(bits) < bases.size() && (int64_t(1) << bits) < limit) {
    Point unit{};
    unit[axis] = 1 << bits;
    if (bases[bits] != unit) break;
    ++bits;
  }
  // A later register bit that moves within the vector would start it elsewhere.
  for (size_t bit = bits; bit-- > 0;) {
    bool moved = std::any_of(bases.begin() + bit + 1, bases.end(),
                             [&](const Point& basis) { return basis[axis] & (1 << bit); });
    if (moved) bits = int(bit);
  }
  return 1 << bits;
}

Slice Layout::slice(int axis, bool keep) const {
  TSR_CHECK(axis >= 0 && axis < rank(), "a slice along no axis");
  LayoutSpec spec = this->spec();
  for (auto& bases : spec.bases) {
    for (Point& basis : bases) basis[axis] = 0;
  }
  F2Span registers;
  std::vector<Point> kept;
  for (const Point& basis : spec.of(InputDim::Register)) {
    if (registers.add(data_->pack(basis))) kept.push_back(basis);
  }
  spec.of(InputDim::Register) = std::move(kept);
  for (Repeat& repeat : spec.repeats) {
    if (repeat.axis == axis) repeat.axis = Repeat::replicate;
    if (repeat.axis == Repeat::replicate) repeat.stride = 0;
  }
  std::erase_if(spec.repeats, [](const Repeat& repeat) {
    return repeat.dim == InputDim::Register && repeat.axis == Repeat::replicate;
  });
  Slice slice{must_make(std::move(spec)), {}};
  for (int reg = 0; reg < registers_per_thread(); ++reg) {
    Point projected = register_offset(reg);
    projected[axis] = 0;
    slice.register_map.push_back(slice.layout.canonical_owner(projected).reg);
  }
  if (!keep) slice.layout = slice.layout.remove_axis(axis);
  return slice;
}

Layout Layout::insert_axis(int axis) const {
  TSR_CHECK(axis >= 0 && axis <= rank() && rank() < max_rank, "an axis is put in at no place");
  std::array<int, max_rank> move = identity_axes();
  for (int& to : move) to += to >= axis;
  return must_make(with_axes(spec(), rank() + 1, move));
}

Layout Layout::remove_axis(int axis) const {
  TSR_CHECK(axis >= 0 && axis < rank() && extent(axis) == 1, "only an axis of extent 1 is removed");
  std::array<int, max_rank> move = identity_axes();
  for (int& to : move) to = to == axis ? -1 : to - (to > axis);
  return must_make(with_axes(spec(), rank() - 1, move));
}

std::optional<Layout> Layout::reshape(std::span<const int32_t> extents) const {
  if (extents.size() > size_t(max_rank)) return std::nullopt;
  std::array<int, max_rank> move;
  move.fill(-1);
  int from = 0;
  for (size_t to = 0; to < extents.size(); ++to) {
    if (extents[to] == 1) continue;
    while (from < rank() && extent(from) == 1) ++from;
    if (from == rank() || extent(from) != extents[to]) return std::nullopt;
    move[from++] = int(to);
  }
  while (from < rank() && extent(from) == 1) ++from;
  if (from != rank()) return std::nullopt;
  return must_make(with_axes(spec(), int(extents.size()), move));
}

Layout Layout::transpose(std::span<const int> perm) const {
  TSR_CHECK(perm.size() == size_t(rank()), "a permutation of another rank");
  std::array<int, max_rank> move;
  move.fill(-1);
  for (size_t to = 0; to < perm.size(); ++to) {
    TSR_CHECK(perm[to] >= 0 && perm[to] < rank() && move[perm[to]] < 0,
              "no permutation of the axes");
    move[perm[to]] = int(to);
  }
  return must_make(with_axes(spec(), rank(), move));
}

}  // namespace tessera::layout

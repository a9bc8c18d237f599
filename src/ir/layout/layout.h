#pragma once
// Where the elements of a tile live in a machine: a map from (register, lane, warp) to coordinates.
//
// Hardware fixes small patterns: a wgmma accumulator is 64 x 8 elements over 128 threads, a vector
// load is 8 neighbours of a row. Such an *atom* has extents that are powers of two, and its map is
// linear over F2: every bit of an index contributes a fixed coordinate vector, its *basis*, and the
// contributions are combined by XOR (Zhou et al., "Linear Layouts", 2025). A zero basis replicates.
// Whole tiles repeat the atom by *strided* steps (as in CuTe): a repeat is a digit of the register
// or warp index that moves along one axis. Counts are any number, so 64 x 176 tiles and three
// warpgroups are ordinary.
//
// An index is read lowest part first: the bits of the atom, then the digits of the repeats.
//
// Three invariants hold for every Layout and make lowering simple:
//   1. The atom is covered: every coordinate below the extents has an owner.
//   2. Registers, lanes and warps own different bits of the atom's coordinates. So
//      coordinates(r, l, w) = register part(r) + lane part(l) + warp part(w), without carries, and
//      what replicates a value replicates it in each of the three alone.
//   3. Layouts are in normal form: equal maps are equal values, however they were made.
//
// A Layout is an immutable value; copies share their contents.

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::layout {

/// The inputs of a layout.
enum class InputDim : uint8_t { Register, Lane, Warp };
inline constexpr std::array all_input_dims = {InputDim::Register, InputDim::Lane, InputDim::Warp};

inline constexpr int max_rank = 8;
inline constexpr int max_registers = 1 << 16;  ///< of one thread
inline constexpr int max_lanes = 64;
inline constexpr int max_warps = 64;
inline constexpr int32_t max_extent = 1 << 24;

/// Coordinates, one number per axis; axes beyond the rank are 0 (extents: 1).
using Point = std::array<int32_t, max_rank>;
Point operator+(const Point& a, const Point& b);
/// The Point with these leading numbers.
Point point(std::span<const int32_t> values);

/// A digit of the register or warp index above the atom's bits: (index / divisor) % count steps of
/// `stride` elements along `axis`.
struct Repeat {
  static constexpr int replicate = -1;  ///< the axis of a digit that moves nowhere

  InputDim dim;
  int axis;
  int32_t count;
  int32_t stride = 0;   ///< 0 when building: right behind what lies along the axis so far
  int32_t divisor = 0;  ///< filled in by Layout::make

  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// What a layout is made from.
struct LayoutSpec {
  int rank = 0;
  std::array<std::vector<Point>, 3> bases;  ///< per InputDim, one basis per index bit
  std::vector<Repeat> repeats;              ///< fastest digit first within each dim and each axis

  std::vector<Point>& of(InputDim dim) { return bases[size_t(dim)]; }
};

/// One place where an element is held.
struct Owner {
  int reg = 0, lane = 0, warp = 0;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

/// A part of an index: (index / divisor) % count.
struct IndexField {
  int divisor;
  int count;
  int of(int index) const { return index / divisor % count; }
  friend bool operator==(const IndexField&, const IndexField&) = default;
};

/// One summand of the thread's part of a coordinate:
/// coordinate[axis] += step * field, where the field is (index / divisor) % count, or, when
/// `parity_mask` is not 0, the parity of (index & parity_mask).
struct ThreadTerm {
  InputDim dim;  ///< Lane or Warp
  int axis;
  int32_t step;
  IndexField field{1, 1};
  uint32_t parity_mask = 0;
  int32_t of(int index) const;
};

struct Slice;
struct LayoutData;

class Layout {
 public:
  /// The layout of rank 0: one element, in one register of one thread.
  Layout();
  /// Checks the invariants and the limits and brings the layout into normal form. Without a value,
  /// `why` gets the text of the diagnostic.
  static std::optional<Layout> make(LayoutSpec spec, std::string* why = nullptr);

  int rank() const;
  int32_t extent(int axis) const;
  /// Extents of all axes; 1 beyond the rank.
  const Point& extents() const;
  int64_t element_count() const;
  /// Number of registers of a thread, lanes of a warp, warps.
  int size(InputDim dim) const;
  int registers_per_thread() const { return size(InputDim::Register); }
  int lanes() const { return size(InputDim::Lane); }
  int warps() const { return size(InputDim::Warp); }

  /// The element that a place holds. Indices must be below size(dim).
  Point coordinates(int reg, int lane, int warp) const;
  /// What one index contributes; coordinates() is the sum of the three.
  Point part(InputDim dim, int index) const;
  /// The constant part of a register's coordinates.
  Point register_offset(int reg) const { return part(InputDim::Register, reg); }
  /// The part that depends on lane and warp, as summands that a lowering can emit.
  std::vector<ThreadTerm> thread_terms() const;

  /// The owner whose replicating bits and digits are all 0. Coordinates must be below the extents.
  Owner canonical_owner(const Point& coordinates) const;
  /// All owners, the canonical one first, then in order of (warp, lane, register).
  std::vector<Owner> owners(const Point& coordinates) const;
  bool is_canonical(const Owner& owner) const;

  /// True if some element has several owners.
  bool is_replicated() const;
  /// Bits of an index that replicate: of two indices that differ in a replica alone, the canonical
  /// one has 0 in these bits. A lane stores when (lane & free_bits(Lane)) == 0.
  uint32_t free_bits(InputDim dim) const;
  /// All fields of an index that are 0 in the canonical one: free_bits() and digits that replicate
  /// (lanes have none of those).
  std::vector<IndexField> free_fields(InputDim dim) const;
  /// XOR masks that span the replicas of an index within the atom.
  std::vector<uint32_t> replica_masks(InputDim dim) const;

  /// Elements along `axis` that a thread holds in neighbouring registers: the largest power of two
  /// v such that registers v*i .. v*i+v-1 are neighbours starting at a multiple of v. At most
  /// `alignment`, a number of elements, rounded down to the power of two that divides it.
  int vector_width(int axis, int64_t alignment = max_extent) const;

  /// The layout that a reduction along `axis` leaves, with the axis (extent 1) or without it:
  /// coordinates projected, duplicate registers dropped; lanes and warps replicate.
  Slice slice(int axis, bool keep) const;
  /// With an axis of extent 1 put in before `axis`, or an axis of extent 1 removed.
  Layout insert_axis(int axis) const;
  Layout remove_axis(int axis) const;
  /// With extents of 1 put in and removed: the others must be the same in the same order.
  std::optional<Layout> reshape(std::span<const int32_t> extents) const;
  /// Axis i of the result is axis perm[i] of this one.
  Layout transpose(std::span<const int> perm) const;

  /// The atom's bases, one per bit of the index within the atom.
  std::span<const Point> bases(InputDim dim) const;
  /// The repeats of a dim, fastest digit first, with strides and divisors.
  std::span<const Repeat> repeats(InputDim dim) const;
  const Point& atom_extents() const;
  /// What make() needs to give this layout again.
  LayoutSpec spec() const;

  uint64_t hash() const;
  friend bool operator==(const Layout& a, const Layout& b);

 private:
  explicit Layout(std::shared_ptr<const LayoutData> data) : data_(std::move(data)) {}
  std::shared_ptr<const LayoutData> data_;
};

/// A layout with an axis projected away, and where each register of the original went.
struct Slice {
  Layout layout;
  std::vector<int> register_map;  ///< register of the original -> register of `layout`
};

}  // namespace tessera::layout

#pragma once
// What happens when threads that hold a tile in a Layout access it in a SharedLayout.

#include <array>
#include <vector>

#include "ir/layout/layout.h"
#include "ir/layout/shared_layout.h"

namespace tessera::layout {

/// The most elements, up to 16 bytes, that each thread can move by one access: registers
/// v*i .. v*i+v-1 lie at neighbouring addresses, from a multiple of their size.
int shared_vector_width(const Layout& layout, const SharedLayout& shared);

/// The widest accesses of a layout whose registers may be numbered anew.
struct VectorAccess {
  Layout layout;  ///< the same elements in each thread, those one after another that memory has so
  int width;      ///< elements of an access: registers v*i .. v*i+v-1 of `layout`
  std::vector<int64_t> registers;  ///< of `layout`, for each register of the layout asked for; empty: the same
};
VectorAccess vector_access(const Layout& layout, const SharedLayout& shared);
/// The same of memory that runs along that axis, with `alignment` as for Layout::vector_width.
VectorAccess vector_access(const Layout& layout, int axis, int64_t alignment);

/// Wavefronts of 128 bytes that the worst access of a warp takes beyond the least possible, when
/// every thread moves `width` elements at a time (at most shared_vector_width). A warp's access of
/// 8 or 16 bytes a lane is served in halves or quarters of the warp. Counted over all accesses.
int bank_conflicts(const Layout& layout, const SharedLayout& shared, int width);

/// The access of a warp that has the most conflicts, the first of those.
struct WorstAccess {
  int warp = 0;
  int reg = 0;        ///< the first of the `width` registers
  int together = 32;  ///< lanes that are served at a time
  int conflicts = 0;  ///< of all lanes
  /// For each group of lanes that is served at a time: how many words it asks of each bank.
  std::vector<std::array<int, 32>> words{};
};
WorstAccess worst_access(const Layout& layout, const SharedLayout& shared, int width);

/// How a register's address follows from the address of the thread's register 0.
struct AddressStep {
  enum Kind : uint8_t {
    Add,   ///< offset(r) = offset(0) + value, in all threads: an immediate of the access
    Xor,   ///< offset(r) = (offset(0) ^ value) + add, and as well offset(0) ^ (value | add), in all threads
    None,  ///< neither
  };
  Kind kind;
  int64_t value = 0;
  int64_t add = 0;
};
AddressStep register_address(const Layout& layout, const SharedLayout& shared, int reg);

}  // namespace tessera::layout

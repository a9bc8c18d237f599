#pragma once
// Finds where a tile lies along one of its axes, by following the ops that compute it.
//
// A load, a gather or coordinates refer to a tile of an axis that ends somewhere; the elements past
// that end are masked. A load from memory has the position of the tile that was stored there. A
// tile filled with one number has no position; at most the axis of its extent is known.

#include <map>
#include <set>
#include <vector>

#include "frontend/lower/kernel/kernel_objects.h"

namespace tessera::frontend {

/// Tile `index`, of `tile` elements, of an axis of `extent`.
struct TilePlace {
  Value* index = nullptr;
  Dim tile = nullptr;
  Dim extent = nullptr;
  bool loaded = false;  ///< by an op that masks what lies past the end
  const KernelAxis* asked = nullptr;  ///< of which the source asked the extent of the tile
  bool yielded = false;  ///< by an iteration or a branch: it may be another tile
  bool stale = false;    ///< an iteration before yielded it, and its index differs from one to the next

  /// Whether the axis may end within a tile. A whole axis may be run in tiles that are larger.
  bool is_cut() const;
};

/// Facts about tiles from their construction that their ops do not have.
struct TileOrigins {
  std::map<const Value*, TilePlace> numbered;                   ///< coordinates of elements
  std::map<const Value*, std::vector<const KernelAxis*>> made;  ///< tiles of a number: axes of the kernel, by dimension
  /// The one element, or its coordinates, that a program has of axes that have no extent: those axes, by dimension.
  std::map<const Value*, std::vector<const KernelAxis*>> single;
  /// Reshapes that insert axes of one element: the operand's axis that each one is, -1 for a new one.
  std::map<const Value*, std::vector<int>> inserted;
  std::map<const Op*, std::vector<const KernelAxis*>> asked;  ///< of loads and copies: axes whose extents are asked
  std::map<const Value*, std::vector<const KernelAxis*>> allocated;  ///< of memory: the same
  /// Numbers of elements that begin at 0 in each tile of an axis.
  std::map<const Value*, const KernelAxis*> within_block;
  std::set<const Op*> displaced;  ///< loads of slots that were filled by another number, as slots are counted modulo
};

class EdgeSearch {
 public:
  /// `single`: looks for the axes of which the dimension has one element, and not for where tiles lie.
  EdgeSearch(const TileOrigins& origins, Op* kernel, bool single = false)
      : origins_(&origins), kernel_(kernel), single_(single) {}

  void visit(Value* tile, size_t axis);

  struct Found {
    std::vector<TilePlace> places;
    std::vector<const KernelAxis*> axes;
    std::vector<const KernelAxis*> stated;  ///< those of `axes` that the source gave as extents
    Op* unplaced = nullptr;
  };
  /// What is found of this tile alone. It is kept: searches that come by it later go no further.
  const Found& find(Value* tile, size_t axis);

  const std::vector<TilePlace>& places() const { return found_.places; }
  /// Of tiles of one number, or of single elements.
  const std::vector<const KernelAxis*>& axes() const { return found_.axes; }
  /// A load from memory that may hold one tile of a cut axis or another; null where there is none.
  Op* unplaced() const { return found_.unplaced; }

 private:
  bool is_known(Value* tile, size_t axis);
  void visit_result(Op* op, unsigned n, size_t axis);
  void visit_operands(Op* op, size_t axis);
  void visit_reshaped(Op* op, size_t axis);
  void visit_maker(Op* op, unsigned n, size_t axis);
  void visit_yields(Op* op, unsigned n, size_t axis, bool carried = false);
  void visit_memory(Op* load, size_t axis);
  const Found& written_by(Op* write, size_t back);
  void add(const TilePlace& place);
  void add(const Found& found);

  const TileOrigins* origins_;
  Op* kernel_;
  bool single_;
  std::set<std::pair<Value*, size_t>> seen_;
  Found found_;
  std::map<std::pair<Op*, size_t>, Found> written_;
  std::map<std::pair<Value*, size_t>, Found> kept_;
};

/// Whether both compute the same from the same, wherever they stand.
bool is_same_index(const Value* a, const Value* b);

/// Whether all of the tile, or some of its axes in another order, is what memory was filled with by copies, which are 0
/// past an edge.
bool is_copied(Op* kernel, Value* tile);

}  // namespace tessera::frontend

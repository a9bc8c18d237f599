#pragma once
// What would make a kernel of the schedule level fast on a GPU, as facts of its sizes.

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/core/context.h"
#include "ir/core/dim_facts.h"
#include "ir/core/op.h"
#include "ir/text/window_shape.h"
#include "passes/analysis/divisibility.h"

namespace tessera {

using Facts = std::vector<DimFact>;
/// Numbers for symbolic extents.
using Extents = std::vector<std::pair<Dim, int64_t>>;

/// The number for that extent; its own where it is one.
std::optional<int64_t> extent_in(const Extents& extents, Dim dim);
bool has_fact(const Facts& facts, const DimFact& wanted);
/// Adds those that are not there yet.
void add_facts(Facts& facts, const Facts& more);

/// A kernel and what would make it fast.
class KernelNeeds {
 public:
  explicit KernelNeeds(Op* kernel)
      : kernel_(kernel), context_(kernel->module()->context()), table_(context_.dims()), known_(kernel) {}

  /// What loads of operands of dots need to be tensor copies; nothing if they cannot be.
  std::optional<Facts> operand_copies() const;
  /// The same of what loops with dots load beside operands, and of no other loads, as far as they can be.
  Facts copies_beside() const;
  /// The same of stores, as far as they can be.
  Facts result_copies() const;
  static constexpr int64_t vector_bytes = 16;
  /// Of so many bytes, or of so many elements where those are less.
  struct VectorSize {
    int64_t bytes = vector_bytes;
    int64_t elements = INT64_MAX;
  };
  /// What lets accesses be vectors of that size, as far as they can be; not those that move few of the elements.
  Facts vectors(VectorSize size) const;
  Facts vectors() const { return vectors({}); }
  /// Elements of a vector of 16 bytes of an operand of a dot that is computed of what is loaded; 0 where none is.
  int64_t elements_of_computed() const;
  /// The same of operands of dots that are loaded as they are, beside ones that are computed of what is loaded; nothing
  /// where all are loaded so.
  Facts vectors_beside_computed() const;
  /// The symbolic extents that tiles have.
  std::vector<Dim> whole_extents() const;
  /// Whether there are dots, and tiles with symbolic extents.
  bool has_depths() const;
  /// The one symbolic extent that tiles have; null when there is none, or several, or when something is combined along
  /// it that no load tells where it ends.
  Dim row_extent() const;
  /// How many tiles with that extent are loaded.
  int64_t loads_along(Dim extent) const;
  /// The same of those that are rows of the program's own, not the same for all programs.
  int64_t own_rows(Dim extent) const;
  /// Whether some elements are combined.
  bool combines() const;
  /// Whether what is stored has that extent.
  bool stores_along(Dim extent) const;
  /// Whether rows of that extent are reduced, and what is computed of the results has it, too.
  bool stores_reduced(Dim extent) const;
  /// Whether rows of that extent are read to combine them and again for what is stored, and are a register for each
  /// element and short to compute: a thread may hold many of them.
  bool returns_to_rows(Dim extent) const;
  /// Registers that so many threads hold each at once in a loop of dots, at least: all sums, and the largest tile
  /// that is computed from them and takes the place of none. What stands for coordinates alone counts as computed
  /// where it is read.
  int64_t held_in_loops(int64_t threads) const;
  /// Registers of the largest tile with those extents, as often as threads hold an element.
  int64_t largest_tile(const Extents& extents) const;

 private:
  /// Whether the integers of 64 bits are places of extremes alone, of which narrow_integers makes such of 32 bits.
  static bool is_place(Value* value);
  /// Whether a dot's result is among what the tile is computed from, element by element.
  static bool is_made_of_products(Value* value, std::set<Value*>& seen);
  /// Whether a dot adds to the value, in its place.
  static bool is_accumulator(Value* value);
  /// The tile of which the operand is the transposed one, or the operand itself.
  static Value* turned(Value* operand);
  /// What loads the tile, as it is or with further axes of one element before its own (plan_pipeline drops those).
  static Op* flat_load(Value* tile);
  /// True if a load that has the extent is among what the value is computed from, element by element along it.
  static bool is_loaded(Value* value, Dim extent, std::set<Value*>& seen);

  template <typename F>
  void for_each_tile(F&& visit) const {
    walk(kernel_, [&](Op* op) {
      for (unsigned i = 0; i < op->result_count(); ++i) {
        if (op->result(i)->type()->is(TypeKind::Tile)) visit(op->result(i));
      }
    });
  }

  bool add_copy(Value* place, Type tile, Facts& facts) const;
  bool add_copy(Type memory, Type image, Type tile, Facts& facts,
                const std::optional<WindowShape>& windows = std::nullopt) const;
  bool add_vector(Type memory, Type tile, VectorSize size, Facts& facts) const;

  Op* kernel_;
  Context& context_;
  DimTable& table_;
  Divisibility known_;
};

}  // namespace tessera

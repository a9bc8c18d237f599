#pragma once
// Panels: copies of a dot's factors in the order in which its innermost loop reads them.
//
// A panel holds as many rows of the left factor, or columns of the right one, as a fragment of the
// sum has. Its k is cut into blocks. Of a left factor a block is [rows][steps of k]: it is filled
// by whole vectors along k, without a transposition, and within a block every element is at a
// constant distance from its start. Of a right factor it is [steps of k][columns], so that a step
// of k reads one run of memory; for dots of pairs it is [pairs of k][columns][2]. Elements past
// an edge are whatever the loads gave there: they only reach elements of the result that are not
// stored. In panels of pairs, whose blocks are multiplied whole, they are zeros along k. Where a
// loop around binds the rows or columns, there is one panel, of those at hand.
//
// A view on panels counts elements of the factor in its first two dims: their offsets are multiples
// of the panel's extents, so that the product with the stride is exact. Panels lie in a program's
// scratch memory, or in a tensor that a kernel of its own fills for all programs
// (fragment_sharing.h).

#include "passes/tile/cpu/fragment_emitter.h"

namespace tessera {

/// What multiplies pairs of bf16, if anything.
enum class PairUnit { None, Vectors, Matrix };

/// Steps of k of a block of pairs.
constexpr int64_t pair_block = 32;

struct PanelShape {
  int row;     ///< program axis of the result's rows; -1 for one row
  int column;  ///< program axis of its columns
  int64_t rows;
  int64_t columns;
  int64_t run;          ///< steps of k of a block of the left factor
  Value* row_limit;     ///< old; null: the whole extent
  Value* column_limit;  ///< old
};

/// How one factor is packed.
struct PanelForm {
  Value* factor;  ///< old
  bool is_left;
  bool is_pairs;
  int axis;        ///< program axis of its rows or columns
  int64_t width;   ///< how many of them a panel has
  Value* limit;    ///< of that axis, old; null: the whole extent
  int k;           ///< program axis of k
  int64_t run;     ///< steps of k of a block
  Value* k_limit;  ///< old
  DType dtype;
  bool is_bound = false;  ///< a loop around binds `axis`
};

/// The factors of `dot` that are packed: those for which it pays, or which the schedule's `packing`
/// names; both where pairs are multiplied.
std::vector<PanelForm> panel_forms(Op* dot, const PanelShape& shape, Attr schedule, PairUnit unit,
                                   const TileAxes& axes);

/// Whether the elements along program axis `axis` of what `value` is loaded from lie one after the
/// other.
bool lies_along(Value* value, int axis, const TileAxes& axes);

/// Elements of the panels of one program.
Dim panel_elements(DimTable& dims, const TileAxes& axes, const PanelForm& form);

/// Panels of one form in some memory.
class Panels {
 public:
  Panels(FragmentEmitter& emitter, PanelForm form) : emitter_(emitter), form_(form) {}

  const PanelForm& form() const { return form_; }
  /// Makes room in scratch memory.
  void allocate();
  /// Uses a parameter: panels of all programs, found by its leading indices.
  void use(Value* tensor, std::vector<Value*> leading);
  /// Writes the loops that fill them with the steps of k from lo up to hi; null: all.
  void fill(Value* lo = nullptr, Value* hi = nullptr);
  /// A part of the block at hand, from its element [row, column] on.
  Value* load(Value* start, Value* k, Value* row, Value* column, int64_t rows,
              int64_t columns) const;
  /// From now on demand(factor) loads the step of k at hand.
  void keep();

 private:
  using Values = FragmentEmitter::Values;
  std::vector<int64_t> block() const;
  Value* view(Value* memory, const std::vector<Dim>& leading) const;
  void fill_panels(const FragmentEmitter::LoopBody& body);
  void fill_steps(Value* lo, Value* hi, const FragmentEmitter::LoopBody& body);
  void copy();
  Value* start_of(Value* element) const { return form_.is_bound ? emitter_.zero() : element; }
  Value* without_padding(Value* fragment) const;

  FragmentEmitter& emitter_;
  PanelForm form_;
  Value* memory_ = nullptr;
  std::vector<Value*> leading_;
};

}  // namespace tessera

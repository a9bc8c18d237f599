#pragma once
// Panels: copies of a product's operands in the order in which its innermost loop reads them.
//
// The right operand lies in panels of `columns` columns: [k][columns], so that a step of k reads
// one run of memory. The left one lies in panels of `rows` rows, cut along k into runs: [k /
// run][rows][run]. It is filled by whole vectors along k, without a transposition, and within a run
// every element is at a constant distance from the panel's start. Both hold the accumulator's
// dtype. Elements past an edge are whatever the loads gave there: they only reach elements of the
// result that are not stored.
//
// A view on a panel counts elements of the operand in its first dims: their offsets are multiples
// of the panel's extents, so that the product with the stride is exact.

#include "passes/tile/fragment_emitter.h"

namespace tessera {

struct PanelShape {
  int row;     ///< program axis of the result's rows; -1 for one row
  int column;  ///< program axis of its columns
  int64_t rows;
  int64_t columns;
  int64_t run;
  Value* row_limit;     ///< old; null: the whole extent
  Value* column_limit;  ///< old
};

/// Packs the operands of `dot` where that pays, or where the schedule's `packing` says so, before
/// the loops that follow; demand() then reads the panels.
void pack_operands(FragmentEmitter& emitter, Op* dot, const PanelShape& shape, Attr schedule);

}  // namespace tessera

#pragma once
// Products for a matrix unit: both factors in panels of whole tiles, sums in 32 x 32 fragments.
//
// The left factor lies in panels of 32 rows, the right one in panels of 32 columns, both cut along
// k into blocks of 32 and kept in bf16: [k / 32][32 rows][32] and [k / 32][16 pairs of k][32
// columns][2]. A block is then four tiles of 1 KB, and a turn of the loop along k multiplies one
// block of each. What lies past an edge is zero in both, so that it adds nothing, whatever the
// other factor has there. The sum stays in the unit for all of k and goes to scratch memory once;
// what follows the product takes it from there a few rows at a time, in vector registers.

#include "passes/tile/fragment_emitter.h"
#include "passes/tile/fragment_panels.h"

namespace tessera {

/// Rows and columns of a fragment, and steps of k of a block.
constexpr int64_t pair_block = 32;

/// Whether `dot` can be one of these products: bf16 factors that can be read at any time, summed
/// from zero in f32.
bool is_pair_product(Op* dot, const TileAxes& axes);

/// The panels of one product.
class PairProduct {
 public:
  PairProduct(FragmentEmitter& emitter, Op* dot, const PanelShape& shape)
      : emitter_(emitter),
        dot_(dot),
        shape_(shape),
        k_(emitter.axes().of(dot->in(tile::in::Dot::a), 1)) {}

  /// Writes the loops that fill the panels, and makes room for the sum.
  void pack();
  /// Writes the loop along k for the rows and columns at hand; demand() then loads the sum from
  /// scratch memory, where its rows are found by their number within the fragment.
  void multiply();

 private:
  Value* panels(int axis, const std::vector<Dim>& block);
  void fill(Value* factor, Value* panels, int outer, Value* limit, bool pairs);
  Value* without_padding(Value* fragment, Value* factor, bool pairs);
  Value* load_block(Value* panels, int axis, const std::vector<int64_t>& dims);

  FragmentEmitter& emitter_;
  Op* dot_;
  PanelShape shape_;
  int k_;
  Value* left_ = nullptr;
  Value* right_ = nullptr;
  Value* sum_ = nullptr;
};

}  // namespace tessera

#pragma once
// Products of pairs of bf16, from panels in which the right factor has its rows in pairs.
//
// A matrix unit takes fragments of 32 x 32: a block of a panel is then four tiles of 1 KB, and a
// turn of the loop along k multiplies one block of each factor. The sum stays in the unit for all
// of k and goes to scratch memory once; what follows the product takes it from there a few rows at
// a time, in vector registers. Where vector registers multiply pairs the sum is a register block
// like that of any product, and a turn of the innermost loop is one pair.

#include "passes/tile/fragment_emitter.h"
#include "passes/tile/fragment_panels.h"

namespace tessera {

/// Whether `dot` can be one of these products: bf16 factors that can be read at any time, summed
/// from zero in f32.
bool is_pair_product(Op* dot, const TileAxes& axes);

class PairProduct {
 public:
  PairProduct(FragmentEmitter& emitter, Op* dot, const Panels& left, const Panels& right,
              PairUnit unit)
      : emitter_(emitter), dot_(dot), left_(left), right_(right), unit_(unit), k_(left.form().k) {}

  /// Makes room for the sum of a matrix unit.
  void allocate();
  /// Writes the loop along k for the rows and columns at hand. demand() then gives the sum; that of
  /// the matrix unit it loads from scratch memory, where its rows are found by their number within
  /// the fragment.
  void multiply();

 private:
  using Values = FragmentEmitter::Values;
  Values multiply_block(const Values& sum);
  Values multiply_pairs(const Values& sum);
  void keep_in_scratch(Value* sum);

  FragmentEmitter& emitter_;
  Op* dot_;
  const Panels& left_;
  const Panels& right_;
  PairUnit unit_;
  int k_;
  Value* sum_ = nullptr;
};

}  // namespace tessera

#pragma once
// Products of pairs of bf16, from panels in which the right factor has its rows in pairs.
//
// A matrix unit takes fragments of 32 x 32: a block of a panel is then four tiles of 1 KB, and a
// turn of the loop along k multiplies one block of each factor. The sum stays in the unit for all
// of k and goes to scratch memory once; what follows the product takes it from there a few rows at
// a time, in vector registers. Where vector registers multiply pairs the sum is a register block
// like that of any product, and a turn of the innermost loop is one pair.

#include "passes/tile/cpu/fragment_emitter.h"
#include "passes/tile/cpu/fragment_panels.h"

namespace tessera {

/// Whether `dot` multiplies bf16 and adds up in f32.
bool multiplies_pairs(Op* dot, const TileAxes& axes);

/// Whether `dot` can be one of these products by itself: its factors can be read at any time, and it
/// is summed from zero.
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
  /// The same of products in vector registers, added to `from`; gives the sum.
  Value* add_to(Value* from);
  /// Writes the loop along k for a matrix unit, which leaves the sum in scratch memory.
  void leave();
  /// The rows at hand of what `leave` left.
  Value* left();

 private:
  using Values = FragmentEmitter::Values;
  Value* zeros();
  Values multiply_block(const Values& sum);
  Values multiply_pairs(const Values& sum);

  FragmentEmitter& emitter_;
  Op* dot_;
  const Panels& left_;
  const Panels& right_;
  PairUnit unit_;
  int k_;
  Value* sum_ = nullptr;
};

/// A product of pairs in a chain of products, of which a loop around binds the columns. What its
/// factors are computed from changes from turn to turn, and so they are packed where it stands.
class ChainedProduct {
 public:
  /// Makes room for its panels.
  ChainedProduct(FragmentEmitter& emitter, Op* dot, const PanelForm& left, const PanelForm& right, PairUnit unit);

  /// Packs the factor with the columns at hand before all loops of the program, if that can be.
  void fill_early();
  /// Packs the factors that are not packed yet.
  void fill();
  /// In vector registers: the product of the rows and columns at hand, added to `from`.
  Value* add_to(Value* from) { return product_.add_to(from); }
  /// In a matrix unit: the product of `rows_at_once` rows and the columns at hand, which are those of the unit. `store`
  /// is called for a few rows of it at a time, with the product and what it is added to, null for zeros.
  bool is_matrix() const { return unit_ == PairUnit::Matrix; }
  int64_t rows_at_once() const { return left_.form().width; }
  void multiply(const std::function<void(Value* product, Value* added)>& store);

 private:
  void fill(Panels& panels);

  FragmentEmitter& emitter_;
  Op* dot_;
  PairUnit unit_;
  Panels left_, right_;
  PairProduct product_;
  bool is_early_;  ///< the right factor is packed before all loops
};

/// How the factors of a chained product are packed, left and right, `rows` x `columns` of it being at
/// hand at a time; nothing where it cannot be one.
std::optional<std::pair<PanelForm, PanelForm>> chained_forms(Op* dot, int column, int64_t rows,
                                                             int64_t columns, const TileAxes& axes);

}  // namespace tessera

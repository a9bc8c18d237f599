#pragma once
// Dots of pairs of bf16, from panels in which the right factor has its rows in pairs.
//
// A matrix unit takes fragments of 32 x 32: a block of a panel is then four tiles of 1 KB, and an
// iteration of the loop along k multiplies one block of each factor. The sum stays in the unit for
// all of k and goes to scratch memory once; the ops after the dot read it from there a few rows at
// a time, in vector registers. Where vector registers multiply pairs the sum is a register block
// like that of any dot, and an iteration of the innermost loop is one pair.

#include "passes/tile/cpu/fragment_emitter.h"
#include "passes/tile/cpu/fragment_panels.h"

namespace tessera {

/// Whether `dot` multiplies bf16 and adds up in f32.
bool multiplies_pairs(Op* dot, const TileAxes& axes);

/// Whether `dot` can be a dot of pairs by itself: its factors can be read at any time, and its sum
/// starts from zero.
bool is_pair_dot(Op* dot, const TileAxes& axes);

class PairDot {
 public:
  PairDot(FragmentEmitter& emitter, Op* dot, const Panels& left, const Panels& right,
          PairUnit unit)
      : emitter_(emitter), dot_(dot), left_(left), right_(right), unit_(unit), k_(left.form().k) {}

  /// Makes room for the sum of a matrix unit.
  void allocate();
  /// Writes the loop along k for the rows and columns at hand. demand() then gives the sum; that of
  /// the matrix unit it loads from scratch memory, where its rows are found by their number within
  /// the fragment.
  void multiply();
  /// The same in vector registers, added to `from`; returns the sum.
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

/// A dot of pairs among back-to-back dots, whose columns a loop around binds. Its factors are
/// computed from values that change with each iteration, so they are packed where the dot stands.
class BackToBackDot {
 public:
  /// Makes room for its panels.
  BackToBackDot(FragmentEmitter& emitter, Op* dot, const PanelForm& left, const PanelForm& right, PairUnit unit);

  /// Packs the factor with the columns at hand before all loops of the program, if that can be.
  void fill_early();
  /// Packs the factors that are not packed yet.
  void fill();
  /// In vector registers: the dot of the rows and columns at hand, added to `from`.
  Value* add_to(Value* from) { return pair_dot_.add_to(from); }
  /// In a matrix unit: the dot of `rows_at_once` rows and the columns at hand, which are as many as
  /// the unit takes. Calls `store` for a few rows of it at a time, with the dot and the value that
  /// it is added to, null for zeros.
  bool is_matrix() const { return unit_ == PairUnit::Matrix; }
  int64_t rows_at_once() const { return left_.form().width; }
  void multiply(const std::function<void(Value* sum, Value* added)>& store);

 private:
  void fill(Panels& panels);

  FragmentEmitter& emitter_;
  Op* dot_;
  PairUnit unit_;
  Panels left_, right_;
  PairDot pair_dot_;
  bool is_early_;  ///< the right factor is packed before all loops
};

/// How the factors of a back-to-back dot are packed, left and right, with `rows` x `columns` of it
/// at hand at a time; nothing where the dot cannot be one.
std::optional<std::pair<PanelForm, PanelForm>> back_to_back_forms(Op* dot, int column, int64_t rows,
                                                             int64_t columns, const TileAxes& axes);

}  // namespace tessera

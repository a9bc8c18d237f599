#pragma once
// How a tile's integers follow each other along an axis: accesses by coordinates move neighbours as vectors.

#include <cstdint>
#include <map>
#include <utility>

#include "ir/core/module.h"
#include "passes/analysis/divisibility.h"

namespace tessera {

/// The answers are powers of two up to `widest`.
class Neighbours {
 public:
  static constexpr int64_t widest = 16;

  explicit Neighbours(Divisibility& divisibility) : divisibility_(divisibility) {}

  /// As many elements from each multiple of it on are equal.
  int64_t equal(Value* tile, int axis) { return of(tile, axis).equal; }
  /// As many elements from each multiple of it on count up by one, from a multiple of it.
  int64_t counting(Value* tile, int axis) { return of(tile, axis).counting; }

 private:
  struct Facts {
    int64_t equal = 1, counting = 1;
    int64_t multiple = 1;  ///< of which all elements are multiples
  };
  Facts of(Value* tile, int axis);
  Facts compute(Value* tile, int axis);
  Facts of_view(Op* op, int axis);
  Facts of_elementwise(Op* op, int axis);

  Divisibility& divisibility_;
  std::map<std::pair<Value*, int>, Facts> known_;
};

}  // namespace tessera

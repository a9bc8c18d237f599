#pragma once
// Sizes and program indices as scalar arithmetic: what every lowering to a machine starts with.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "passes/target/target_builder.h"

namespace tessera {

/// The values of dimension expressions, each computed once at the end of what the entry block computes.
class Sizes {
 public:
  explicit Sizes(TargetBuilder& builder) : b_(builder) {}

  /// The value (i64) of a free dim.
  void bind(std::string_view symbol, Value* value) { symbols_[symbol] = value; }
  /// From here on sizes are computed before `op`, which ends the entry block; until then where the builder stands.
  void compute_before(Op* op) { place_ = op; }
  Value* of(Dim dim);

 private:
  Value* make(Dim dim);
  Value* make_atom(const DimAtom& atom);

  TargetBuilder& b_;
  Op* place_ = nullptr;
  std::unordered_map<std::string_view, Value*> symbols_;
  std::unordered_map<Dim, Value*> made_;
};

/// Indices along the axes of a grid from a program's number; the last axis runs fastest.
std::vector<Value*> decode_program(TargetBuilder& builder, Sizes& sizes,
                                   const std::vector<Dim>& grid, Value* program);

}  // namespace tessera

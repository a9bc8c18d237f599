#pragma once
// What numbers are known to be multiples of: the widths of vector accesses follow from it.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "ir/core/module.h"

namespace tessera {

class Divisibility {
 public:
  /// Takes what the kernel's `assume` attribute states of multiples (`N % 8 == 0`) as given.
  explicit Divisibility(Op* kernel);

  /// The greatest number that the dim is known to be a multiple of; 0 for a dim that is zero.
  int64_t of(Dim dim) const;
  /// The same of an i64 value of the tile level.
  int64_t of(Value* index);

 private:
  int64_t of_product(const DimTerm& term) const;
  int64_t of(const DimAtom& atom) const;
  int64_t compute(Value* index);

  std::map<std::string, int64_t, std::less<>> assumed_;  ///< by product of atoms: "M*N"
  std::unordered_map<Value*, int64_t> known_;
};

}  // namespace tessera

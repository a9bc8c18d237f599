#pragma once
// Kernels of one elementwise op, for comparing compiled values with evaluate_elementwise.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/numbers/elementwise.h"
#include "unit/codegen/kernel_runner.h"

namespace tessera::test {

/// One op on tensors of N elements.
struct ElementwiseCase {
  ElementwiseKind kind;
  DType from;
  DType to;
};

/// The dtype of operand `n` of an op on `dtype`.
DType operand_dtype(ElementwiseKind kind, DType dtype, unsigned n);

/// Kernels of several ops, compiled as one object.
class ElementwiseKernels {
 public:
  ElementwiseKernels(const std::vector<ElementwiseCase>& cases, const Machine& machine);
  size_t size() const { return cases_.size(); }
  const ElementwiseCase& at(size_t n) const { return cases_[n]; }
  std::string messages() const { return module_.messages(); }

  /// Case `n`: stored elements in, stored elements out. The outputs' memory is poisoned before.
  std::vector<uint8_t> run(size_t n, const std::vector<std::vector<uint8_t>>& operands, int64_t count);
  /// Compares case `n` with evaluate_elementwise on all given elements; any NaN equals any other. Returns a
  /// description of the first difference, or nothing.
  std::string first_difference(size_t n, const std::vector<std::vector<uint8_t>>& operands, int64_t count);

 private:
  std::vector<ElementwiseCase> cases_;
  LoweredModule module_;
};

/// All bit patterns of a dtype of up to 16 bits.
std::vector<uint8_t> all_patterns(DType dtype);
/// Elements that are worth trying: limits, special values and random ones. Deterministic in `seed`.
std::vector<uint8_t> sample(DType dtype, int64_t count, uint32_t seed);

}  // namespace tessera::test

#pragma once
// Kernels of one elementwise op, for comparing compiled values with evaluate_elementwise.

#include <cstdint>
#include <string>
#include <vector>

#include "ir/core/elementwise.h"
#include "unit/codegen/kernel_runner.h"

namespace tessera::test {

/// One op on tensors of N elements: operand dtypes by the op's class, result `to`.
class ElementwiseKernel {
 public:
  ElementwiseKernel(ElementwiseKind kind, DType from, DType to, const Machine& machine);
  /// Stored elements in, stored elements out. The outputs' memory is poisoned before.
  std::vector<uint8_t> run(const std::vector<std::vector<uint8_t>>& operands, int64_t count);
  std::string messages() const { return module_.messages(); }

 private:
  DType to_;
  LoweredModule module_;
};

/// The dtype of operand `n` of an op on `dtype`.
DType operand_dtype(ElementwiseKind kind, DType dtype, unsigned n);

/// Compares the compiled op with evaluate_elementwise on all given elements; any NaN equals any other. Returns a
/// description of the first difference, or nothing.
std::string first_difference(ElementwiseKind kind, DType from, DType to, const Machine& machine,
                             const std::vector<std::vector<uint8_t>>& operands, int64_t count);

/// All bit patterns of a dtype of up to 16 bits.
std::vector<uint8_t> all_patterns(DType dtype);
/// Elements that are worth trying: limits, special values and random ones. Deterministic in `seed`.
std::vector<uint8_t> sample(DType dtype, int64_t count, uint32_t seed);

}  // namespace tessera::test

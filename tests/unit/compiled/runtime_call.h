#pragma once
// A call of libtessera on memory of its own: every tensor ends at a page that may not be touched.

#include <vector>

#include "ir/numbers/tensor.h"
#include "runtime/include/tessera.h"

namespace tessera::test {

/// Throws std::runtime_error with the library's text unless a call succeeded.
void require(tsr_status_t status);

/// Calls a function. Arguments beyond its inputs are its params, which are bound in `module`. `wanted` have the dtypes
/// and extents of the results, which are given back. Throws std::runtime_error when the call fails, or when an argument
/// that is not donated or memory beside a tensor was written to.
std::vector<TensorValue> call_function(tsr_function_t function, const std::vector<TensorValue>& arguments,
                                       const std::vector<TensorValue>& wanted, tsr_module_t module = nullptr);

}  // namespace tessera::test

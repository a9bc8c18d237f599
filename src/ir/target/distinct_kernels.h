#pragma once
// Kernels whose code is the same: they differ in names and other metadata, such as the sizes that they are for.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/module.h"

namespace tessera::target {

/// A target.func and those that have its code.
struct DistinctKernel {
  Op* function;
  std::vector<Op*> twins;
  std::string text;  ///< without what makes no code; its size is about what compiling the kernel costs
};

/// The kernels of modules of level target that have code, in their order.
std::vector<DistinctKernel> distinct_kernels(std::span<Module* const> modules);

/// The name of each twin, and that of the kernel whose code it has.
std::map<std::string, std::string, std::less<>> twin_names(std::span<Module* const> modules);

}  // namespace tessera::target

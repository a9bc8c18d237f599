#pragma once
// The initial values of a bundle's parameters. The bundle's graph has functions for them, from the seed alone; Philox
// numbers are keyed by parameter and element, so that a seed gives the same values on every machine.

#include <string>
#include <vector>

#include "runtime/tsr/graph_ir.h"

namespace tessera::tool {

/// A parameter's name and the value that its declaration gives it.
struct InitialValue {
  std::string name;
  TensorValue value;
};

/// Computes the values of all parameters that have an initial one; returns 0, or the exit code after saying what is
/// wrong.
int initial_values(GraphIr& graph, uint64_t seed, std::vector<InitialValue>& out);

}  // namespace tessera::tool

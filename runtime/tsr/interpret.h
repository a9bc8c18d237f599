#pragma once
// Runs an entry with the graph interpreter: the reference for what compiled code gives.

#include <string>
#include <vector>

#include "runtime/tsr/session.h"

namespace tessera::tool {

struct NamedTensor {
  std::string name;
  const OwnedTensor* tensor;
};

struct InterpretRequest {
  std::string bundle;
  std::string entry;
  std::string mode;    ///< "exact" or "f64"
  DeviceOptions limits;  ///< those of time, steps (here ops) and memory
};

/// Computes `results`, whose memory is there, from inputs and parameters by name; a seed that is
/// not given is 0. Returns 0, or the exit code after saying what is wrong.
int interpret_entry(const InterpretRequest& request, const std::vector<NamedTensor>& arguments,
                    const std::vector<NamedTensor>& results);

}  // namespace tessera::tool

#pragma once
// The CUDA targets: "cuda:sm_90a" is code for compute capability 9.0 exactly, "cuda:sm_80" for 8.0
// and all above.

#include <optional>
#include <string_view>

namespace tessera::runtime::cuda {

struct CudaTarget {
  int capability;  ///< 90 for 9.0
  bool is_exact;   ///< code that later GPUs do not run
  /// A later architecture is better, and its exact code better still.
  int rank() const { return 2 * capability + is_exact; }
  bool runs_on(int machine) const {
    return is_exact ? machine == capability : machine >= capability;
  }
};

/// Nothing when the name is not one of a CUDA target.
std::optional<CudaTarget> parse_cuda_target(std::string_view target);

}  // namespace tessera::runtime::cuda

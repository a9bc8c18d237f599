#pragma once
// Following the steps of a plan.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/device.h"
#include "runtime/core/placement.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

struct tsr_function;

namespace tessera::runtime {

/// A kernel of a plan, found in the code and checked against its metadata.
struct BoundKernel {
  const format::KernelMeta* meta = nullptr;
  void* code = nullptr;
  std::atomic<float>* cost = nullptr;
};

class CallChecks;
struct Trace;

/// One call: the dims are bound and every buffer that is no view has its memory.
struct Frame {
  const format::Plan& plan;
  std::span<const BoundKernel> kernels;
  const Placement& placement;
  std::vector<int64_t> dims;
  std::vector<void*> buffers;
  const tsr_function& function;
  MemorySource& memory;          ///< of the device, for logs
  CallChecks* checks = nullptr;  ///< in a context with checks
  const Trace* trace = nullptr;  ///< where somebody watches
};

/// Puts all steps into the queue. The plan has been checked, so indices are not; what depends on
/// the values of dims is.
Status interpret(Frame& frame, Queue& queue);

/// Evaluates grid and scratch of a kernel for its dims. `programs` is 0 when an extent is 0.
Status size_launch(const format::KernelMeta& meta, std::span<const int64_t> dims, int64_t& programs,
                   size_t& scratch_bytes);

}  // namespace tessera::runtime

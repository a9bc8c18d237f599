#pragma once
// Following the steps of a plan.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/device.h"
#include "runtime/core/launches.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

namespace tessera::runtime {

/// A kernel of a plan, found in the code and checked against its metadata.
struct BoundKernel {
  const format::KernelMeta* meta = nullptr;
  void* code = nullptr;
  std::atomic<float>* cost = nullptr;
};

struct Function;
class CallChecks;
class CallLimits;
struct Trace;

/// What the interpreter needs for its steps, kept from call to call.
struct InterpretScratch {
  std::vector<SizedLaunch> varying_launches;  ///< beside the known launches: those of the iteration
  std::vector<void*> pointers;                ///< of a launch
  std::vector<size_t> bytes;                  ///< beside pointers
};

/// One call: the dims are bound and every buffer that is no view has its memory.
struct Frame {
  const format::Plan& plan;
  std::span<const BoundKernel> kernels;
  const SizedPlan& placement;
  std::vector<int64_t> dims;
  std::vector<void*> buffers;
  const Function& function;
  InterpretScratch& scratch;
  MemorySource& memory;          ///< of the device, for logs
  CallChecks* checks = nullptr;  ///< in a context with checks
  const Trace* trace = nullptr;  ///< where somebody watches
  CallLimits* limits = nullptr;  ///< where there are some
  Cancellation cancellation{};
};

/// Puts all steps into the queue. The plan and its launches have been checked, so indices are not;
/// what depends on the values of dims is, and nothing outside of the frame's buffers is reached.
Status interpret(Frame& frame, Queue& queue);

}  // namespace tessera::runtime

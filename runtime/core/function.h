#pragma once
// An entry of a module, ready to be called.

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/bind.h"
#include "runtime/core/interpret.h"
#include "runtime/core/limits.h"
#include "runtime/core/replays.h"
#include "runtime/core/tensor.h"
#include "runtime/core/trace.h"
#include "runtime/format/manifest.h"
#include "runtime/format/plan.h"
#include "runtime/handles/handles.h"

namespace tessera::runtime {

struct Function {
  Module* module = nullptr;
  const format::ManifestEntry* entry = nullptr;
  format::Plan plan;
  std::vector<BoundKernel> kernels;                    ///< beside plan.kernels
  Memory constants;                                    ///< plan.data, aligned
  std::vector<uint32_t> inputs;                        ///< buffers, in the signature's order
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> params;           ///< buffers
  std::vector<uint32_t> param_slots;      ///< beside params: in the module's parameters
  std::vector<uint32_t> donors;           ///< beside outputs: donated input, or no_index
  std::vector<bool> is_view;              ///< beside plan.buffers
  std::vector<uint32_t> launch_numbers;   ///< beside plan.steps: of launches, how many are before
  std::vector<bool> varying_exprs;        ///< beside plan.exprs: those that change with the iterations of a loop
  std::vector<std::string> input_shapes;  ///< texts, beside inputs
  std::vector<std::string> output_shapes;
  format::StepSources sources;  ///< beside plan.steps, where they are known
  DeclaredPlaces places;

  bool is_replayed = false;  ///< whether its calls may be recorded
  Replays replays;

  std::mutex mutex;  ///< guards the cache
  std::map<std::vector<int64_t>, std::shared_ptr<const SizedPlan>> placements;
  const Handle<tsr_function_t> handle{this};
};

/// The value of a rank-0 input that is in memory of the host, for a device that cannot read it
/// there.
struct HostScalar {
  uint32_t buffer;
  uint64_t bits;
};

/// A call whose arguments have been checked and which can run at any time.
struct Call {
  Function* function = nullptr;
  tsr_limits_t limits{};  ///< and a trace, as they were when the call was made
  Trace trace;
  std::vector<int64_t> dims;
  std::shared_ptr<const SizedPlan> placement;
  CallLimits::Clock::duration sized_in{};  ///< of the call's time, spent before it runs
  std::vector<void*> buffers;
  std::vector<HostScalar> scalars;
  char* workspace = nullptr;  ///< the caller's memory for temporaries; null: the queue's
};

/// Checks the inputs and binds the dims; `arguments` receives one element per buffer of the plan.
Status bind_inputs(Function& function, std::span<const tsr_tensor_t* const> inputs, Need need,
                   std::vector<Argument>& arguments, Call& call);

/// Checks everything and prepares the call. Donated outputs receive their pointer.
Status prepare_call(Function& function, std::span<const tsr_tensor_t* const> inputs,
                    std::span<tsr_tensor_t* const> outputs, Call& call);

/// Finds the arguments that are values in memory of the host, which get a place in the workspace.
void find_scalars(const std::vector<Argument>& arguments, Call& call);
/// Bytes that the call needs for temporaries; its scalars and its placement are known.
size_t workspace_bytes(const Call& call);

/// "mlp: step 3 at mlp.tsr:7:12, kernel 'mlp.0'".
std::string step_title(const Function& function, size_t step, const format::KernelMeta& meta);

/// Puts a prepared call into the queue.
Status run_call(Call& call, Queue& queue);

}  // namespace tessera::runtime

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

struct Function;

/// The value of a rank-0 input that is in memory of the host, for a device that cannot read it
/// there.
struct HostScalar {
  uint32_t buffer;
  uint64_t bits;
};

/// A call whose arguments have been checked and which can run at any time. Its memory serves one call after the other.
struct Call {
  Function* function = nullptr;
  tsr_limits_t limits{};  ///< and a trace, as they were when the call was made
  Trace trace;
  Cancellation cancellation;
  std::vector<Argument> arguments;  ///< one for each buffer of the plan
  std::vector<int64_t> dims;
  std::shared_ptr<const SizedPlan> placement;
  CallLimits::Clock::duration sized_in{};  ///< of the call's time, spent before it runs
  std::vector<void*> buffers;
  std::vector<HostScalar> scalars;
  std::vector<DimOrigin> origins;
  InterpretScratch scratch;
  char* workspace = nullptr;  ///< the caller's memory for temporaries; null: the queue's
};

/// The calls of a function that are not being made. May be used from several threads.
class CallPool {
 public:
  /// A call for as long as this lives.
  class Lease {
   public:
    explicit Lease(CallPool& pool) : pool_(pool), call_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give(std::move(call_)); }
    Call& operator*() const { return *call_; }

   private:
    CallPool& pool_;
    std::unique_ptr<Call> call_;
  };

 private:
  std::unique_ptr<Call> take();
  void give(std::unique_ptr<Call> call) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Call>> free_;
};

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
  std::vector<std::string> titles;  ///< beside plan.buffers: "mlp: input 'x'"
  format::StepSources sources;  ///< beside plan.steps, where they are known
  DeclaredPlaces places;

  bool is_replayed = false;  ///< whether its calls may be recorded
  Replays replays;

  std::mutex mutex;  ///< guards the cache
  std::map<std::vector<int64_t>, std::shared_ptr<const SizedPlan>> placements;
  CallPool calls;
  const Handle<tsr_function_t> handle{this};
};

/// Checks the inputs and binds the dims.
Status bind_inputs(Function& function, std::span<const tsr_tensor_t* const> inputs, Need need, Call& call);

/// Checks everything and prepares the call. Donated outputs receive their pointer.
Status prepare_call(Function& function, std::span<const tsr_tensor_t* const> inputs,
                    std::span<tsr_tensor_t* const> outputs, Call& call);

/// Finds the arguments that are values in memory of the host, which get a place in the workspace.
void find_scalars(Call& call);
/// Bytes that the call needs for temporaries; its scalars and its placement are known.
size_t workspace_bytes(const Call& call);

/// Fails where memory for temporaries shares a byte with an input, parameter or output of the prepared call.
Status check_workspace(const Call& call, const void* workspace, size_t bytes);

/// "mlp: input 'x'", as errors name a buffer of the plan.
std::string title_of(const format::Plan& plan, uint32_t buffer);

/// "mlp: step 3 at mlp.tsr:7:12, kernel 'mlp.0'".
std::string step_title(const Function& function, size_t step, const format::KernelMeta& meta);

/// Puts a prepared call into the queue.
Status run_call(Call& call, Queue& queue);

}  // namespace tessera::runtime

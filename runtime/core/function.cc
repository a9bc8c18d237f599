#include "runtime/core/function.h"

#include <algorithm>

#include "runtime/core/call_checks.h"
#include "runtime/core/context.h"
#include "runtime/core/limits.h"
#include "runtime/core/tensor.h"

namespace tessera::runtime {

namespace {

using format::BufferKind;
using format::PlanBuffer;

/// Placements kept per function; a server sees few distinct shapes at a time.
constexpr size_t max_placements = 64;

/// What an omitted seed reads as.
alignas(memory_alignment) char zero_seed[memory_alignment];

const Device& device_of(const Function& function) {
  return *function.module->context->device;
}

const std::string& title_of(const Function& function, uint32_t buffer) {
  return function.titles[buffer];
}

void omit_seed(const Function& function, Argument& argument) {
  if (device_of(function).facts().is_host) {
    argument.data = zero_seed;
  } else {
    argument.bits = 0;
  }
}

Status read_inputs(Function& function, std::span<const tsr_tensor_t* const> inputs, Need need,
                   std::vector<Argument>& arguments) {
  if (inputs.size() != function.inputs.size()) {
    return invalid(function.plan.entry, ": expected ", function.inputs.size(), " inputs, got ",
                   inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t index = function.inputs[i];
    const PlanBuffer& buffer = function.plan.buffers[index];
    const std::string& title = title_of(function, index);
    if (!inputs[i] && function.entry->inputs[i].seed) {
      omit_seed(function, arguments[index]);
    } else if (!inputs[i]) {
      return invalid(title, " is missing");
    } else {
      TensorRules rules{device_of(function).facts(), buffer.dtype, buffer.alignment, need, true};
      Status status = read_tensor(*inputs[i], rules, title, arguments[index]);
      if (status.failed()) return status;
    }
  }
  return ok();
}

Status read_params(Function& function, std::vector<Argument>& arguments) {
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Parameter& parameter = function.module->parameters[function.param_slots[i]];
    const PlanBuffer& buffer = function.plan.buffers[function.params[i]];
    const std::string& title = title_of(function, function.params[i]);
    if (!parameter.is_bound) {
      return invalid(title, " has no value; tsrBindParameters gives it one");
    }
    const Argument& value = parameter.value;
    if (value.data && reinterpret_cast<uintptr_t>(value.data) % buffer.alignment != 0) {
      return invalid(title, ": its data must be at a multiple of ", buffer.alignment,
                     " bytes; tsrAlloc gives such memory");
    }
    arguments[function.params[i]] = value;
  }
  return ok();
}

/// Fetches the scalars that dims are bound to, where the host cannot read them.
Status fetch_scalars(Function& function, std::vector<Argument>& arguments) {
  Device& device = *function.module->context->device;
  if (device.facts().is_host) return ok();
  for (const format::PlanDim& dim : function.plan.dims) {
    if (dim.source != format::DimSource::Scalar) continue;
    Argument& argument = arguments[dim.buffer];
    if (argument.bits || !argument.data) continue;
    uint64_t bits = 0;
    size_t bytes = size_t(*format::bytes_of(function.plan.buffers[dim.buffer].dtype, 1));
    Status status = device.copy(&bits, argument.data, bytes);
    if (status.failed()) {
      return fail(status.code, title_of(function, dim.buffer), ": ", status.text);
    }
    argument.bits = bits;
  }
  return ok();
}

Status find_placement(Function& function, Call& call) {
  {
    std::lock_guard lock(function.mutex);
    auto found = function.placements.find(call.dims);
    if (found != function.placements.end()) {
      call.placement = found->second;
      return ok();
    }
  }
  auto begin = CallLimits::Clock::now();
  auto made = std::make_shared<SizedPlan>();
  const Context& context = *function.module->context;
  CallLimits limits(call.limits, function.plan.entry);
  bool has_canaries = context.checks & TSR_CHECK_CANARIES;
  Status status = place_buffers(function.plan, call.dims, *made, has_canaries ? canary_zone : 0, &limits);
  if (status.failed()) return status;
  std::vector<const format::KernelMeta*> metas;
  for (const BoundKernel& kernel : function.kernels) metas.push_back(kernel.meta);
  status = size_launches(function.plan, metas, function.varying_exprs, call.dims, limits, *made);
  if (status.failed()) return status;
  call.sized_in = CallLimits::Clock::now() - begin;
  call.placement = made;
  std::lock_guard lock(function.mutex);
  if (function.placements.size() >= max_placements) function.placements.clear();
  function.placements.emplace(call.dims, std::move(made));
  return ok();
}

Status check_output_shape(const Function& function, uint32_t index, const std::vector<int64_t>& actual,
                          const std::vector<int64_t>& expected) {
  if (actual == expected) return ok();
  std::string title = title_of(function, index);
  std::string declared = declared_shape(function.plan, function.plan.buffers[index]);
  if (actual.size() != expected.size()) {
    return invalid(title, " has rank ", actual.size(), "; expected rank ", expected.size(), ", ",
                   declared);
  }
  size_t axis = 0;
  while (actual[axis] == expected[axis]) ++axis;
  return invalid(title, ", axis ", axis, ": expected ", expected[axis], ", got ", actual[axis],
                 "; the shape is ", declared, " = ", format::shape_text(expected));
}

Status read_outputs(Function& function, std::span<tsr_tensor_t* const> outputs, std::vector<Argument>& arguments,
                    const Call& call) {
  if (outputs.size() != function.outputs.size()) {
    return invalid(function.plan.entry, ": expected ", function.outputs.size(), " outputs, got ",
                   outputs.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t index = function.outputs[i];
    const PlanBuffer& buffer = function.plan.buffers[index];
    const std::string& title = title_of(function, index);
    if (!outputs[i]) return invalid(title, " is missing");
    tsr_tensor_t tensor = *outputs[i];
    if (function.donors[i] != format::no_index) {
      const Argument& donor = arguments[function.donors[i]];
      if (donor.bits && !donor.data) {
        return invalid(title_of(function, function.donors[i]), " is donated: it must be memory of ",
                       device_of(function).facts().name);
      }
      bool is_given = tensor.data != nullptr;
      if (is_given && static_cast<char*>(tensor.data) + tensor.byte_offset != donor.data) {
        return invalid(title, " is the donated input ",
                       format::in_quotes(function.entry->outputs[i].alias_of),
                       "; its data must be NULL or that input's");
      }
      tensor.data = donor.data;
      tensor.byte_offset = 0;
      tensor.device = {device_of(function).facts().tensor_type,
                       device_of(function).facts().tensor_id};
    }
    TensorRules rules{device_of(function).facts(), buffer.dtype, buffer.alignment};
    Status status = read_tensor(tensor, rules, title, arguments[index]);
    if (status.failed()) return status;
    status =
        check_output_shape(function, index, arguments[index].shape, call.placement->shapes[index]);
    if (status.failed()) return status;
  }
  return ok();
}

/// Outputs share no byte with inputs, parameters or each other, except with their donor.
Status check_overlaps(const Function& function, const std::vector<Argument>& arguments, const Placement& placement) {
  const format::Plan& plan = function.plan;
  // As numbers: a donated output has no address.
  auto begin_of = [&](uint32_t buffer) { return reinterpret_cast<uintptr_t>(arguments[buffer].data); };
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    uint32_t output = function.outputs[i];
    uintptr_t begin = begin_of(output), end = begin + placement.bytes[output];
    for (uint32_t other = 0; other < plan.buffers.size(); ++other) {
      bool is_argument = plan.buffers[other].kind <= BufferKind::Output;
      if (!is_argument || other == output || other == function.donors[i]) continue;
      uintptr_t other_begin = begin_of(other), other_end = other_begin + placement.bytes[other];
      if (begin == end || other_begin == other_end) continue;
      bool overlap = begin < other_end && other_begin < end;
      if (!overlap) continue;
      return invalid(title_of(function, output), " overlaps ", buffer_title(plan.buffers[other]));
    }
  }
  return ok();
}

}  // namespace

Status check_workspace(const Call& call, const void* workspace, size_t bytes) {
  const Function& function = *call.function;
  auto begin = reinterpret_cast<uintptr_t>(workspace);
  if (bytes > UINTPTR_MAX - begin) return invalid(function.plan.entry, ": the workspace leads out of memory");
  for (uint32_t buffer = 0; buffer < function.plan.buffers.size(); ++buffer) {
    if (function.plan.buffers[buffer].kind > BufferKind::Output || !call.arguments[buffer].data) continue;
    auto other = reinterpret_cast<uintptr_t>(call.arguments[buffer].data);
    uintptr_t end = other + size_t(call.placement->bytes[buffer]);
    if (other == end || bytes == 0 || begin >= end || other >= begin + bytes) continue;
    return invalid(function.plan.entry, ": the workspace overlaps ", buffer_title(function.plan.buffers[buffer]));
  }
  return ok();
}

namespace {

/// All-ones bytes are a NaN in every floating dtype and stand out in integers.
Status poison(const Call& call, char* arena, Queue& queue) {
  constexpr uint64_t pattern = 0xff;
  const Function& function = *call.function;
  Status status = ok();
  if (arena) status = queue.fill(arena, pattern, 1, size_t(call.placement->arena_bytes));
  for (size_t i = 0; i < function.outputs.size() && !status.failed(); ++i) {
    size_t bytes = size_t(call.placement->bytes[function.outputs[i]]);
    if (function.donors[i] != format::no_index || bytes == 0) continue;
    status = queue.fill(call.buffers[function.outputs[i]], pattern, 1, bytes);
  }
  return status;
}

/// Whether the buffer lies in the arena.
bool is_placed(const Function& function, size_t buffer) {
  return function.plan.buffers[buffer].kind == BufferKind::Temp && !function.is_view[buffer];
}

/// Gives the scalars of the host their places. A fill carries a value without memory of the host
/// that would have to stay.
Status place_scalars(Call& call, char* arena, Queue& queue) {
  char* at = arena + call.placement->arena_bytes;
  for (const HostScalar& scalar : call.scalars) {
    size_t bytes = size_t(call.placement->bytes[scalar.buffer]);
    if (Status status = queue.fill(at, scalar.bits, bytes, bytes); status.failed()) return status;
    call.buffers[scalar.buffer] = at;
    at += memory_alignment;
  }
  return ok();
}

void place_temps(Call& call, char* arena) {
  for (size_t i = 0; i < call.function->plan.buffers.size(); ++i) {
    if (is_placed(*call.function, i)) call.buffers[i] = arena + call.placement->offsets[i];
  }
}

}  // namespace

/// The temps, then a place for each scalar of the host. Temps without elements have an address, too; a call without
/// temps has no arena.
size_t workspace_bytes(const Call& call) {
  size_t bytes = size_t(call.placement->arena_bytes) + call.scalars.size() * memory_alignment;
  if (bytes > 0) return bytes;
  const Function& function = *call.function;
  for (size_t i = 0; i < function.plan.buffers.size(); ++i) {
    if (is_placed(function, i)) return memory_alignment;
  }
  return 0;
}

void find_scalars(Call& call) {
  call.scalars.clear();
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    if (argument.bits && !argument.data) call.scalars.push_back({uint32_t(i), *argument.bits});
  }
}

Status bind_inputs(Function& function, std::span<const tsr_tensor_t* const> inputs, Need need, Call& call) {
  call.function = &function;
  call.limits = function.module->context->call_limits();
  call.trace = function.module->context->trace;
  call.workspace = nullptr;
  call.sized_in = {};
  std::vector<Argument>& arguments = call.arguments;
  arguments.resize(function.plan.buffers.size());
  for (Argument& argument : arguments) argument.clear();
  if (Status status = read_inputs(function, inputs, need, arguments); status.failed()) return status;
  if (Status status = read_params(function, arguments); status.failed()) return status;
  if (Status status = fetch_scalars(function, arguments); status.failed()) return status;
  Status status = bind_dims(function.plan, function.places, arguments, call.dims, call.origins);
  return status.failed() ? status : find_placement(function, call);
}

Status prepare_call(Function& function, std::span<const tsr_tensor_t* const> inputs,
                    std::span<tsr_tensor_t* const> outputs, Call& call) {
  Status status = bind_inputs(function, inputs, Need::Content, call);
  if (status.failed()) return status;
  std::vector<Argument>& arguments = call.arguments;
  status = read_outputs(function, outputs, arguments, call);
  if (status.failed()) return status;
  status = check_overlaps(function, arguments, *call.placement);
  if (status.failed()) return status;
  const format::Plan& plan = function.plan;
  call.buffers.assign(plan.buffers.size(), nullptr);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    call.buffers[i] = plan.buffers[i].kind == BufferKind::Constant
                          ? function.constants.data() + plan.buffers[i].offset
                          : arguments[i].data;
  }
  find_scalars(call);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (function.donors[i] == format::no_index) continue;
    outputs[i]->data = arguments[function.donors[i]].data;
    outputs[i]->byte_offset = 0;
  }
  return ok();
}

std::string title_of(const format::Plan& plan, uint32_t buffer) {
  return format::cat(plan.entry, ": ", buffer_title(plan.buffers[buffer]));
}

std::unique_ptr<Call> CallPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Call> call = std::move(free_.back());
      free_.pop_back();
      return call;
    }
  }
  return std::make_unique<Call>();
}

void CallPool::give(std::unique_ptr<Call> call) noexcept {
  call->placement.reset();
  std::lock_guard lock(mutex_);
  try {
    free_.push_back(std::move(call));
  } catch (const std::bad_alloc&) {
    // The next call makes another one.
  }
}

std::string step_title(const Function& function, size_t step, const format::KernelMeta& meta) {
  bool is_known = step < function.sources.size() && !function.sources[step].empty();
  return format::cat(function.plan.entry, ": step ", step, is_known ? " at " : "",
                     is_known ? function.sources[step] : "", ", kernel ",
                     format::in_quotes(meta.name));
}

namespace {

Status interpret_checked(const Context& context, Frame& frame, Queue& queue) {
  CallChecks checks(frame.function, frame, queue, *context.debug, context.checks);
  frame.checks = &checks;
  Status status = checks.begin();
  if (!status.failed()) status = interpret(frame, queue);
  return status.failed() ? status : checks.end();
}

}  // namespace

Status run_call(Call& call, Queue& queue) {
  Function& function = *call.function;
  Memory memory;
  MemorySource& source = function.module->context->device->memory();
  Status status = ok();
  size_t bytes = call.workspace ? 0 : workspace_bytes(call);
  if (bytes > 0) status = queue.arenas.acquire(source, bytes, memory);
  char* arena = call.workspace ? call.workspace : memory.data();
  if (status.failed()) {
    return fail(status.code, function.plan.entry, ": its temporaries: ", status.text);
  }
  place_temps(call, arena);
  if (function.module->context->poisons) status = poison(call, arena, queue);
  if (!status.failed()) status = place_scalars(call, arena, queue);
  if (!status.failed()) {
    Frame frame{function.plan,           function.kernels, *call.placement,
                std::move(call.dims), std::move(call.buffers), function, call.scratch, source};
    const Context& context = *function.module->context;
    CallLimits limits(call.limits, function.plan.entry, call.sized_in);
    if (call.limits.steps || call.limits.milliseconds) frame.limits = &limits;
    frame.cancellation = call.cancellation;
    if (call.trace.function) {
      frame.trace = &call.trace;
      trace_arguments(call.trace, frame);
    }
    if (context.checks) {
      status = interpret_checked(context, frame, queue);
    } else if (function.is_replayed && !frame.limits && !frame.trace) {
      status = function.replays.run(frame, call.placement, queue);
    } else {
      status = interpret(frame, queue);
    }
    if (frame.trace && !status.failed()) trace_outputs(call.trace, frame);
    call.dims = std::move(frame.dims);
    call.buffers = std::move(frame.buffers);
  }
  if (memory.data()) queue.arenas.release(std::move(memory));
  return status;
}

}  // namespace tessera::runtime

// The C interface: the entries of a module.

#include <algorithm>

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"
#include "runtime/core/tensor.h"

using namespace tessera::runtime;
using tessera::format::in_quotes;

namespace {

Status find_function(Module& module, std::string_view name, tsr_function_t* function) {
  *function = nullptr;
  for (const auto& candidate : module.functions) {
    if (candidate->entry->name == name) {
      *function = candidate->handle.get();
      return ok();
    }
  }
  std::string names;
  for (const auto& candidate : module.functions) {
    names += tessera::format::cat(names.empty() ? "" : ", ", candidate->entry->name);
  }
  if (names.empty()) {
    return fail(TSR_ENOTFOUND, "the bundle has no entries, only kernels, which tsrGetKernel gives");
  }
  return fail(TSR_ENOTFOUND, "the bundle has no entry ", in_quotes(name), "; it has ", names);
}

tsr_tensor_info_t describe(const tessera::format::ManifestTensor& tensor,
                           const std::string& shape) {
  uint32_t flags = tensor.seed ? TSR_TENSOR_SEED : 0;
  if (!tensor.alias_of.empty()) flags |= TSR_TENSOR_DONATED;
  tsr_tensor_info_t info{};
  info.size = sizeof info;
  info.name = tensor.name.c_str();
  info.dtype = tessera::format::dtype_name(tensor.dtype).data();
  info.shape = shape.c_str();
  info.alias_of = tensor.alias_of.c_str();
  info.ndim = int32_t(tensor.shape.size());
  info.element = dlpack_dtype(tensor.dtype);
  info.flags = flags;
  return info;
}

Status output_shape(Function& function, size_t index, std::span<const tsr_tensor_t* const> inputs, int64_t* shape,
                    int32_t capacity, int32_t* ndim) {
  if (index >= function.outputs.size()) {
    return fail(TSR_ENOTFOUND, function.plan.entry, " has ", function.outputs.size(), " outputs");
  }
  CallPool::Lease lease(function.calls);
  Call& call = *lease;
  Status status = bind_inputs(function, inputs, Need::ShapeOnly, call);
  if (status.failed()) return status;
  const std::vector<int64_t>& extents = call.placement->shapes[function.outputs[index]];
  *ndim = int32_t(extents.size());
  if (capacity < *ndim) {
    return invalid(function.plan.entry, ": output ", index, " has rank ", *ndim,
                   "; there is room for ", capacity, " extents");
  }
  std::copy(extents.begin(), extents.end(), shape);
  return ok();
}

Status workspace_size(Function& function, std::span<const tsr_tensor_t* const> inputs, size_t& bytes) {
  CallPool::Lease lease(function.calls);
  Call& call = *lease;
  Status status = bind_inputs(function, inputs, Need::ShapeOnly, call);
  if (status.failed()) return status;
  find_scalars(call);
  bytes = workspace_bytes(call);
  return ok();
}

/// The caller's memory for temporaries.
Status take_workspace(const tsr_call_options_t* given, Call& call) {
  tsr_call_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  if (!options.workspace) return ok();
  const std::string& entry = call.function->plan.entry;
  if (reinterpret_cast<uintptr_t>(options.workspace) % memory_alignment != 0) {
    return invalid(entry, ": the workspace must be at a multiple of ", memory_alignment, " bytes");
  }
  size_t needed = workspace_bytes(call);
  if (options.workspace_size < needed) {
    return invalid(entry, ": the workspace has ", options.workspace_size, " bytes; the call needs ", needed);
  }
  call.workspace = static_cast<char*>(options.workspace);
  return check_workspace(call, options.workspace, needed);
}

Status call_function(Function& function, tsr_stream_t handle, std::span<const tsr_tensor_t* const> inputs,
                     std::span<tsr_tensor_t* const> outputs, const tsr_call_options_t* options) {
  Stream* stream = nullptr;
  if (Status status = find_stream(*function.module->context, handle, &stream); status.failed()) return status;
  if (!function.module->has_code()) return invalid(function.plan.entry, ": the module was loaded without code");
  auto prepare = [&](Call& call) {
    Status status = prepare_call(function, inputs, outputs, call);
    call.cancellation = stream->cancellation();
    return status.failed() || !options ? status : take_workspace(options, call);
  };
  if (stream->is_beside()) {
    auto lease = std::make_shared<CallPool::Lease>(function.calls);
    Status status = prepare(**lease);
    return status.failed() ? status : stream->submit([lease](Queue& queue) { return run_call(**lease, queue); });
  }
  CallPool::Lease lease(function.calls);
  Call& call = *lease;
  Status status = prepare(call);
  return status.failed() ? status : stream->submit([&call](Queue& queue) { return run_call(call, queue); });
}

}  // namespace

extern "C" {

tsr_status_t tsrGetFunctionCount(tsr_module_t module, size_t* count) {
  return with(module, [&](Module& found) {
    if (!count) return invalid("the place for the count is NULL");
    *count = found.functions.size();
    return ok();
  });
}

tsr_status_t tsrGetFunctionName(tsr_module_t module, size_t index, const char** name) {
  return with(module, [&](Module& found) {
    if (!name) return invalid("the place for the name is NULL");
    if (index >= found.functions.size()) {
      return fail(TSR_ENOTFOUND, "the bundle has ", found.functions.size(), " entries");
    }
    *name = found.functions[index]->entry->name.c_str();
    return ok();
  });
}

tsr_status_t tsrGetFunction(tsr_module_t module, const char* name, tsr_function_t* function) {
  return with(module, [&](Module& found) {
    if (!name || !function) return invalid("the name or the place for the function is NULL");
    return find_function(found, name, function);
  });
}

tsr_status_t tsrGetSignature(tsr_function_t function, size_t* inputs, size_t* outputs) {
  return with(function, [&](Function& found) {
    if (inputs) *inputs = found.inputs.size();
    if (outputs) *outputs = found.outputs.size();
    return ok();
  });
}

tsr_status_t tsrGetInputInfo(tsr_function_t function, size_t index, tsr_tensor_info_t* info) {
  return with(function, [&](Function& found) {
    if (index >= found.inputs.size()) {
      return fail(TSR_ENOTFOUND, found.plan.entry, " has ", found.inputs.size(), " inputs");
    }
    return write_sized(info, describe(found.entry->inputs[index], found.input_shapes[index]));
  });
}

tsr_status_t tsrGetOutputInfo(tsr_function_t function, size_t index, tsr_tensor_info_t* info) {
  return with(function, [&](Function& found) {
    if (index >= found.outputs.size()) {
      return fail(TSR_ENOTFOUND, found.plan.entry, " has ", found.outputs.size(), " outputs");
    }
    return write_sized(info, describe(found.entry->outputs[index], found.output_shapes[index]));
  });
}

tsr_status_t tsrGetFunctionParameterCount(tsr_function_t function, size_t* count) {
  return with(function, [&](Function& found) {
    if (!count) return invalid("the place for the count is NULL");
    *count = found.param_slots.size();
    return ok();
  });
}

tsr_status_t tsrGetFunctionParameterInfo(tsr_function_t function, size_t index,
                                         tsr_tensor_info_t* info) {
  return with(function, [&](Function& found) {
    if (index >= found.param_slots.size()) {
      return fail(TSR_ENOTFOUND, found.plan.entry, " reads ", found.param_slots.size(), " parameters");
    }
    return write_sized(info, describe_parameter(found.module->parameters[found.param_slots[index]]));
  });
}

tsr_status_t tsrGetOutputShape(tsr_function_t function, size_t index, const tsr_tensor_t* const* inputs,
                               size_t ninputs, int64_t* shape, int32_t capacity, int32_t* ndim) {
  return with_waiting(function, [&](Function& found) {
    if (!ndim) return invalid("the place for the rank is NULL");
    if (ninputs != 0 && !inputs) return invalid("the inputs are NULL");
    if (capacity > 0 && !shape) return invalid("the place for the shape is NULL");
    return output_shape(found, index, {inputs, ninputs}, shape, capacity, ndim);
  });
}

tsr_status_t tsrGetWorkspaceSize(tsr_function_t function, const tsr_tensor_t* const* inputs, size_t ninputs,
                                 size_t* bytes) {
  return with_waiting(function, [&](Function& found) {
    if (!bytes) return invalid("the place for the bytes is NULL");
    if (ninputs != 0 && !inputs) return invalid("the inputs are NULL");
    return workspace_size(found, {inputs, ninputs}, *bytes);
  });
}

tsr_status_t tsrCall(tsr_function_t function, tsr_stream_t stream, const tsr_tensor_t* const* inputs, size_t ninputs,
                     tsr_tensor_t* const* outputs, size_t noutputs, const tsr_call_options_t* options) {
  return with_waiting(function, [&](Function& found) {
    if (ninputs != 0 && !inputs) return invalid("the inputs are NULL");
    if (noutputs != 0 && !outputs) return invalid("the outputs are NULL");
    return call_function(found, stream, {inputs, ninputs}, {outputs, noutputs}, options);
  });
}

}  // extern "C"

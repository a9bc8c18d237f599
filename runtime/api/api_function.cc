// The C interface: the entries of a module.

#include <algorithm>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"

using namespace tessera::runtime;
using tessera::format::in_quotes;

namespace {

Status find_function(tsr_module& module, std::string_view name, tsr_function_t* function) {
  *function = nullptr;
  for (const auto& candidate : module.functions) {
    if (candidate->entry->name == name) {
      *function = candidate.get();
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
  return {tensor.name.c_str(),
          tessera::format::dtype_name(tensor.dtype).data(),
          shape.c_str(),
          int32_t(tensor.shape.size()),
          dlpack_dtype(tensor.dtype),
          flags,
          tensor.alias_of.c_str()};
}

Status output_shape(tsr_function& function, std::span<const tsr_tensor_t* const> inputs,
                    size_t index, int64_t* shape, int32_t capacity, int32_t* ndim) {
  if (index >= function.outputs.size()) {
    return fail(TSR_ENOTFOUND, function.plan.entry, " has ", function.outputs.size(), " outputs");
  }
  std::vector<Argument> arguments;
  Call call;
  Status status = bind_inputs(function, inputs, Need::ShapeOnly, arguments, call);
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

Status call_function(tsr_function& function, tsr_stream_t stream,
                     std::span<const tsr_tensor_t* const> inputs,
                     std::span<tsr_tensor_t* const> outputs) {
  if (!function.module->has_code()) return invalid(function.plan.entry, ": the module was loaded without code");
  auto call = std::make_shared<Call>();
  Status status = prepare_call(function, inputs, outputs, *call);
  if (status.failed()) return status;
  return function.module->context->enqueue(stream,
                                           [call](Queue& queue) { return run_call(*call, queue); });
}

}  // namespace

extern "C" {

tsr_status_t tsrGetFunctionCount(tsr_module_t module, size_t* count) {
  return at_boundary([&] {
    if (!module || !count) return invalid("the module or the place for the count is NULL");
    *count = module->functions.size();
    return ok();
  });
}

tsr_status_t tsrGetFunctionName(tsr_module_t module, size_t index, const char** name) {
  return at_boundary([&] {
    if (!module || !name) return invalid("the module or the place for the name is NULL");
    if (index >= module->functions.size()) {
      return fail(TSR_ENOTFOUND, "the bundle has ", module->functions.size(), " entries");
    }
    *name = module->functions[index]->entry->name.c_str();
    return ok();
  });
}

tsr_status_t tsrGetFunction(tsr_module_t module, const char* name, tsr_function_t* function) {
  return at_boundary([&] {
    if (!module || !name || !function) return invalid("the module, name or place is NULL");
    return find_function(*module, name, function);
  });
}

tsr_status_t tsrGetSignature(tsr_function_t function, size_t* inputs, size_t* outputs) {
  return at_boundary([&] {
    if (!function) return invalid("the function is NULL");
    if (inputs) *inputs = function->inputs.size();
    if (outputs) *outputs = function->outputs.size();
    return ok();
  });
}

tsr_status_t tsrGetInputInfo(tsr_function_t function, size_t index, tsr_tensor_info_t* info) {
  return at_boundary([&] {
    if (!function || !info) return invalid("the function or the place for the facts is NULL");
    if (index >= function->inputs.size()) {
      return fail(TSR_ENOTFOUND, function->plan.entry, " has ", function->inputs.size(), " inputs");
    }
    *info = describe(function->entry->inputs[index], function->input_shapes[index]);
    return ok();
  });
}

tsr_status_t tsrGetOutputInfo(tsr_function_t function, size_t index, tsr_tensor_info_t* info) {
  return at_boundary([&] {
    if (!function || !info) return invalid("the function or the place for the facts is NULL");
    if (index >= function->outputs.size()) {
      return fail(TSR_ENOTFOUND, function->plan.entry, " has ", function->outputs.size(),
                  " outputs");
    }
    *info = describe(function->entry->outputs[index], function->output_shapes[index]);
    return ok();
  });
}

tsr_status_t tsrGetFunctionParameterCount(tsr_function_t function, size_t* count) {
  return at_boundary([&] {
    if (!function || !count) return invalid("the function or the place for the count is NULL");
    *count = function->param_slots.size();
    return ok();
  });
}

tsr_status_t tsrGetFunctionParameterInfo(tsr_function_t function, size_t index,
                                         tsr_tensor_info_t* info) {
  return at_boundary([&] {
    if (!function || !info) return invalid("the function or the place for the facts is NULL");
    if (index >= function->param_slots.size()) {
      return fail(TSR_ENOTFOUND, function->plan.entry, " reads ", function->param_slots.size(),
                  " parameters");
    }
    *info = describe_parameter(function->module->parameters[function->param_slots[index]]);
    return ok();
  });
}

tsr_status_t tsrGetOutputShape(tsr_function_t function, const tsr_tensor_t* const* inputs,
                               size_t ninputs, size_t index, int64_t* shape, int32_t capacity,
                               int32_t* ndim) {
  return at_boundary([&] {
    if (!function || !ndim) return invalid("the function or the place for the rank is NULL");
    if (ninputs != 0 && !inputs) return invalid("the inputs are NULL");
    if (capacity > 0 && !shape) return invalid("the place for the shape is NULL");
    return output_shape(*function, {inputs, ninputs}, index, shape, capacity, ndim);
  });
}

tsr_status_t tsrCall(tsr_function_t function, tsr_stream_t stream,
                     const tsr_tensor_t* const* inputs, size_t ninputs,
                     tsr_tensor_t* const* outputs, size_t noutputs) {
  return at_boundary([&] {
    if (!function) return invalid("the function is NULL");
    if (ninputs != 0 && !inputs) return invalid("the inputs are NULL");
    if (noutputs != 0 && !outputs) return invalid("the outputs are NULL");
    return call_function(*function, stream, {inputs, ninputs}, {outputs, noutputs});
  });
}

}  // extern "C"

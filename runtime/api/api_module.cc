// The C interface: modules, kernels and parameters.

#include <cstring>

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"
#include "runtime/core/guard_pages.h"
#include "runtime/core/kernel_log.h"
#include "runtime/core/launches.h"
#include "runtime/core/tensor.h"
#include "runtime/format/launch_check.h"

using namespace tessera::runtime;
using tessera::format::in_quotes;

namespace {

Status check_load(const tsr_module_options_t* given, tsr_module_t* module, uint32_t& flags) {
  if (!module) return invalid("the place for the module is NULL");
  *module = nullptr;
  tsr_module_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  flags = options.flags;
  if (flags & ~(TSR_ALLOW_JIT | TSR_NO_CODE)) {
    return invalid("the flags ", flags, " are other than TSR_ALLOW_JIT and TSR_NO_CODE");
  }
  return check_reserved<tsr_module_options_t>(options.reserved);
}

/// Adds a loaded module to its context.
Status adopt(Context& context, std::unique_ptr<Module> made, tsr_module_t* module) {
  tsr_module_t handle = made->handle.get();
  context.log.tell(TSR_LOG_INFO,
                   tessera::format::cat("a module was loaded; of its targets ", made->target, " was chosen"));
  context.adopt<Module>(context.modules, std::move(made));
  *module = handle;
  return ok();
}

Status load_image(Context& context, const void* image, size_t size, const tsr_module_options_t* options,
                  tsr_module_t* module) {
  uint32_t flags = 0;
  if (Status status = check_load(options, module, flags); status.failed()) return status;
  if (!image) return invalid("the image is NULL");
  std::unique_ptr<Module> made;
  std::string_view bytes(static_cast<const char*>(image), size);
  Status status = load_module(context, bytes, std::nullopt, flags, made);
  return status.failed() ? status : adopt(context, std::move(made), module);
}

Status load_file(Context& context, const char* path, const tsr_module_options_t* options, tsr_module_t* module) {
  uint32_t flags = 0;
  if (Status status = check_load(options, module, flags); status.failed()) return status;
  if (!path) return invalid("the path is NULL");
  auto file = tessera::format::MappedFile::open(path);
  if (!file) return fail(TSR_ENOTFOUND, file.error().text);
  std::string_view image = file->bytes();
  std::unique_ptr<Module> made;
  Status status = load_module(context, image, std::move(*file), flags, made);
  if (status.failed()) return fail(status.code, path, ": ", status.text);
  return adopt(context, std::move(made), module);
}

/// What a launch needs once its arguments have been read.
struct LaunchWork {
  Launch launch;
  std::vector<void*> buffers;
  std::vector<int64_t> dims;
};

Status read_buffers(const Kernel& kernel, void** args, LaunchWork& work) {
  for (size_t i = 0; i < kernel.meta->buffers.size(); ++i) {
    const tessera::format::KernelBuffer& buffer = kernel.meta->buffers[i];
    if (!args[i]) return invalid(kernel.meta->name, ": argument ", i, " is NULL");
    void* data = nullptr;
    std::memcpy(&data, args[i], sizeof data);
    if (reinterpret_cast<uintptr_t>(data) % buffer.alignment != 0) {
      return invalid(kernel.meta->name, ": ", in_quotes(buffer.name), " must be at a multiple of ",
                     buffer.alignment, " bytes; tsrAlloc gives such memory");
    }
    work.buffers.push_back(data);
  }
  return ok();
}

Status read_dims(const Kernel& kernel, void** args, LaunchWork& work) {
  size_t first = kernel.meta->buffers.size();
  for (size_t i = 0; i < kernel.meta->dims.size(); ++i) {
    if (!args[first + i]) return invalid(kernel.meta->name, ": argument ", first + i, " is NULL");
    uint32_t value = 0;
    std::memcpy(&value, args[first + i], sizeof value);
    work.dims.push_back(value);
  }
  return ok();
}

/// A NULL pointer is right for an empty buffer only, and memory of tsrAlloc holds the whole buffer.
Status check_room(Context& context, const Kernel& kernel, const LaunchWork& work) {
  std::lock_guard lock(context.mutex);
  for (size_t i = 0; i < work.buffers.size(); ++i) {
    const std::string& name = kernel.meta->buffers[i].name;
    auto bytes = tessera::format::kernel_buffer_bytes(*kernel.meta, i, work.dims);
    if (!bytes) return invalid(kernel.meta->name, ": ", bytes.error().text);
    char* data = static_cast<char*>(work.buffers[i]);
    if (*bytes == 0) continue;
    if (!data) return invalid(kernel.meta->name, ": the pointer for ", in_quotes(name), " is NULL");
    auto after = context.memory.upper_bound(data);
    if (after == context.memory.begin()) continue;
    const Memory& memory = std::prev(after)->second;
    size_t offset = size_t(data - memory.data());
    if (offset >= memory.size() || size_t(*bytes) <= memory.size() - offset) continue;
    return invalid(kernel.meta->name, ": ", in_quotes(name), " has ", *bytes,
                   " bytes for these dims, and the memory it is in ends after ", memory.size() - offset);
  }
  return ok();
}

/// A GPU's block and shared memory are fixed by the code; a caller may leave them 0.
Status check_block(const Kernel& kernel, const tsr_launch_t& launch) {
  const tessera::format::KernelMeta& meta = *kernel.meta;
  const uint32_t given[] = {launch.block_x, launch.block_y, launch.block_z};
  for (size_t axis = 0; axis < 3; ++axis) {
    if (given[axis] == 0 || given[axis] == meta.block[axis]) continue;
    return invalid(meta.name, ": the block has ", given[axis], " threads along axis ", axis,
                   "; the kernel was compiled for ", meta.block[axis]);
  }
  if (launch.smem_bytes == 0 || launch.smem_bytes == meta.smem_per_cta) return ok();
  return invalid(meta.name, ": ", launch.smem_bytes, " bytes of shared memory; the kernel uses ",
                 meta.smem_per_cta);
}

Status choose_grid(const Kernel& kernel, const tsr_launch_t& launch, LaunchWork& work) {
  int64_t programs = 0;
  Status status = size_launch(*kernel.meta, work.dims, programs, work.launch.scratch_bytes);
  if (status.failed()) return status;
  if (launch.grid_x == 0 && launch.grid_y == 0 && launch.grid_z == 0) {
    work.launch.programs = programs;
    return ok();
  }
  int64_t given = 0;
  bool fits = !__builtin_mul_overflow(int64_t(launch.grid_x), int64_t(launch.grid_y), &given) &&
              !__builtin_mul_overflow(given, int64_t(launch.grid_z), &given);
  if (!fits || given > programs) {
    return invalid(kernel.meta->name, ": the grid ", launch.grid_x, " x ", launch.grid_y, " x ",
                   launch.grid_z, " has more than the ", programs,
                   " programs of the kernel for these dims");
  }
  if (given != programs && kernel.meta->persistent) {
    return invalid(kernel.meta->name, ": a persistent kernel runs all of its ", programs,
                   " programs; the grid has ", given);
  }
  work.launch.programs = given;
  return ok();
}

/// Launches; a checked kernel, or one in a context with checks, is waited for.
Status run_launch(Context& context, const Kernel& kernel, LaunchWork& work, Queue& queue) {
  const tessera::format::KernelMeta& meta = *kernel.meta;
  std::string where = tessera::format::cat("kernel ", in_quotes(meta.name));
  RunningLaunch running(where.c_str());
  bool has_canaries = context.checks & TSR_CHECK_CANARIES;
  if (meta.checks.empty() && !has_canaries) return queue.launch(work.launch);
  KernelLog log;
  Status status = log.clear(context.device->memory(), queue);
  if (!meta.checks.empty()) work.buffers.push_back(log.data());
  work.launch.buffers = work.buffers.data();
  if (!status.failed()) status = queue.launch(work.launch);
  auto title = [&](size_t i) { return in_quotes(meta.buffers[i].name); };
  if (!status.failed()) status = log.read(queue, meta, work.dims, where, title);
  if (status.failed() || !has_canaries) return status;
  auto nameless = [](const void*) { return std::string(); };
  return context.debug->check_memory(where, nameless);
}

/// Of code without metadata, for which the program says everything.
Status launch_bare(Kernel& kernel, Stream& stream, const tsr_launch_t& launch, void** args, size_t nargs) {
  const std::pair<const char*, uint32_t> wanted[] = {{"grid_x", launch.grid_x},   {"grid_y", launch.grid_y},
                                                     {"grid_z", launch.grid_z},   {"block_x", launch.block_x},
                                                     {"block_y", launch.block_y}, {"block_z", launch.block_z}};
  for (auto [name, value] : wanted) {
    if (value > 0) continue;
    return invalid(kernel.meta->name, ": ", name, " is 0; code without a bundle does not say what it is to be");
  }
  if (!args && nargs != 0) return invalid(kernel.meta->name, ": the arguments are NULL");
  for (size_t i = 0; i < nargs; ++i) {
    if (!args[i]) return invalid(kernel.meta->name, ": argument ", i, " is NULL");
  }
  return stream.submit([&](Queue& queue) { return queue.launch_bare(kernel.code, launch, args, nargs); });
}

Status launch_kernel(Kernel& kernel, tsr_stream_t handle, const tsr_launch_t& launch, void** args, size_t nargs) {
  Context* context = kernel.module->context;
  Stream* stream = nullptr;
  if (Status status = find_stream(*context, handle, &stream); status.failed()) return status;
  if (!kernel.module->has_code()) return invalid(kernel.meta->name, ": the module was loaded without code");
  if (kernel.module->is_bare) return launch_bare(kernel, *stream, launch, args, nargs);
  size_t buffers = kernel.meta->buffers.size();
  size_t dims = kernel.meta->dims.size();
  if (nargs != buffers + dims) {
    return invalid(kernel.meta->name, ": expected ", buffers + dims, " arguments (", buffers,
                   " pointers and ", dims, " dims), got ", nargs);
  }
  if (!args && nargs != 0) return invalid(kernel.meta->name, ": the arguments are NULL");
  auto work = std::make_shared<LaunchWork>();
  if (Status status = read_buffers(kernel, args, *work); status.failed()) return status;
  if (Status status = read_dims(kernel, args, *work); status.failed()) return status;
  if (Status status = check_room(*context, kernel, *work); status.failed()) return status;
  if (!context->device->facts().is_host) {
    if (Status status = check_block(kernel, launch); status.failed()) return status;
  }
  if (Status status = choose_grid(kernel, launch, *work); status.failed()) return status;
  if (work->launch.programs == 0) return ok();
  work->launch.kernel = kernel.code;
  work->launch.cost = &kernel.cost;
  work->launch.buffers = work->buffers.data();
  work->launch.dims = work->dims.data();
  return stream->submit([=, &kernel](Queue& queue) { return run_launch(*context, kernel, *work, queue); });
}

Status read_parameter(Module& module, const char* name, const tsr_tensor_t* tensor, Argument& value) {
  if (!name || !tensor) return invalid("a parameter's name or tensor is NULL");
  const Parameter* parameter = module.find_parameter(name);
  if (!parameter) return fail(TSR_ENOTFOUND, "the bundle has no parameter ", in_quotes(name));
  std::string title = tessera::format::cat("parameter ", in_quotes(name));
  TensorRules rules{module.context->device->facts(), parameter->declared->dtype};
  Status status = read_tensor(*tensor, rules, title, value);
  if (status.failed()) return status;
  if (value.shape.size() != parameter->declared->shape.size()) {
    return invalid(title, " has rank ", value.shape.size(), "; expected rank ",
                   parameter->declared->shape.size(), ", ", parameter->shape_text);
  }
  for (size_t axis = 0; axis < value.shape.size(); ++axis) {
    auto extent = tessera::format::parse_expr(parameter->declared->shape[axis], {});
    int64_t expected = 0;
    if (!extent ||
        tessera::format::evaluate(*extent, {}, expected) != tessera::format::EvalStatus::Ok ||
        expected == value.shape[axis]) {
      continue;  // a symbolic extent is checked at the call
    }
    return invalid(title, ", axis ", axis, ": expected ", expected, ", got ", value.shape[axis]);
  }
  return ok();
}

Status bind_parameters(Module& module, const char* const* names, const tsr_tensor_t* const* tensors, size_t count) {
  if (count != 0 && (!names || !tensors)) return invalid("the names or tensors are NULL");
  std::vector<Argument> values(count);
  for (size_t i = 0; i < count; ++i) {
    Status status = read_parameter(module, names[i], tensors[i], values[i]);
    if (status.failed()) return status;
  }
  for (size_t i = 0; i < count; ++i) {
    Parameter& parameter = *module.find_parameter(names[i]);
    parameter.value = std::move(values[i]);
    parameter.is_bound = true;
  }
  return ok();
}

Status unlisted(const Module& module) {
  return fail(TSR_EUNSUPPORTED, "the module is ", module.target, " without a bundle, which does not list its kernels");
}

tsr_kernel_info_t describe_kernel(const Kernel& kernel) {
  const tessera::format::KernelMeta& meta = *kernel.meta;
  tsr_kernel_info_t info{};
  info.size = sizeof info;
  info.name = meta.name.c_str();
  info.source = meta.source.c_str();
  info.buffers = kernel.buffer_names.data();
  info.dims = kernel.dim_names.data();
  for (const tessera::format::KernelBuffer& buffer : meta.buffers) ++(buffer.result ? info.results : info.parameters);
  info.free_dims = uint32_t(meta.dims.size());
  info.block_x = uint32_t(meta.block[0]);
  info.block_y = uint32_t(meta.block[1]);
  info.block_z = uint32_t(meta.block[2]);
  info.smem_bytes = uint32_t(meta.smem_per_cta);
  info.registers = uint32_t(meta.regs_per_thread);
  return info;
}

}  // namespace

extern "C" {

tsr_status_t tsrLoadModule(tsr_context_t context, const void* image, size_t size,
                           tsr_module_t* module) {
  return tsrLoadModuleWith(context, image, size, nullptr, module);
}

tsr_status_t tsrLoadModuleWith(tsr_context_t context, const void* image, size_t size,
                               const tsr_module_options_t* options, tsr_module_t* module) {
  return with_waiting(context, [&](Context& found) { return load_image(found, image, size, options, module); });
}

tsr_status_t tsrLoadModuleFile(tsr_context_t context, const char* path, const tsr_module_options_t* options,
                               tsr_module_t* module) {
  return with_waiting(context, [&](Context& found) { return load_file(found, path, options, module); });
}

tsr_status_t tsrUnloadModule(tsr_module_t module) {
  return destroy(module, [](Module& ended) {
    // Work in flight may use the module; it ends first.
    Context& context = *ended.context;
    context.drain();
    context.drop(context.modules, ended);
  });
}

tsr_status_t tsrGetModuleTarget(tsr_module_t module, const char** target) {
  return with(module, [&](Module& found) {
    if (!target) return invalid("the place for the target is NULL");
    *target = found.target.c_str();
    return ok();
  });
}

tsr_status_t tsrGetKernel(tsr_module_t module, const char* name, tsr_kernel_t* kernel) {
  return with(module, [&](Module& found) {
    if (!name || !kernel) return invalid("the name or the place for the kernel is NULL");
    Kernel* of_name = nullptr;
    *kernel = nullptr;
    if (found.is_bare) {
      Status status = found.find_bare_kernel(name, &of_name);
      if (!status.failed()) *kernel = of_name->handle.get();
      return status;
    }
    of_name = found.find_kernel(name);
    *kernel = of_name ? of_name->handle.get() : nullptr;
    if (of_name) return ok();
    return fail(TSR_ENOTFOUND, "the bundle has no kernel ", in_quotes(name), " for ", found.target);
  });
}

tsr_status_t tsrGetKernelCount(tsr_module_t module, size_t* count) {
  return with(module, [&](Module& found) {
    if (!count) return invalid("the place for the count is NULL");
    if (found.is_bare) return unlisted(found);
    *count = found.kernels.size();
    return ok();
  });
}

tsr_status_t tsrGetKernelName(tsr_module_t module, size_t index, const char** name) {
  return with(module, [&](Module& found) {
    if (!name) return invalid("the place for the name is NULL");
    if (found.is_bare) return unlisted(found);
    if (index >= found.kernels.size()) {
      return fail(TSR_ENOTFOUND, "the bundle has ", found.kernels.size(), " kernels for ", found.target);
    }
    *name = found.kernels[index].meta->name.c_str();
    return ok();
  });
}

tsr_status_t tsrGetKernelInfo(tsr_kernel_t kernel, tsr_kernel_info_t* info) {
  return with(kernel, [&](Kernel& found) { return write_sized(info, describe_kernel(found)); });
}

tsr_status_t tsrLaunch(tsr_kernel_t kernel, tsr_stream_t stream, tsr_launch_t launch, void** args,
                       size_t nargs) {
  return with_waiting(kernel, [&](Kernel& found) { return launch_kernel(found, stream, launch, args, nargs); });
}

tsr_status_t tsrGetParameterCount(tsr_module_t module, size_t* count) {
  return with(module, [&](Module& found) {
    if (!count) return invalid("the place for the count is NULL");
    *count = found.parameters.size();
    return ok();
  });
}

tsr_status_t tsrGetParameterInfo(tsr_module_t module, size_t index, tsr_tensor_info_t* info) {
  return with(module, [&](Module& found) {
    if (index >= found.parameters.size()) {
      return fail(TSR_ENOTFOUND, "there are ", found.parameters.size(), " parameters");
    }
    return write_sized(info, describe_parameter(found.parameters[index]));
  });
}

tsr_status_t tsrBindParameters(tsr_module_t module, const char* const* names, const tsr_tensor_t* const* tensors,
                               size_t count) {
  return with_waiting(module, [&](Module& found) { return bind_parameters(found, names, tensors, count); });
}

}  // extern "C"

// A module is what is left of a bundle whose parts have been checked against each other
// (runtime/format/bundle_check.h), so that a call cannot run a plan that disagrees with the manifest
// or launches a kernel with arguments it does not have.

#include "runtime/core/module.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/files/safetensors.h"
#include "runtime/format/bundle_check.h"
#include "runtime/format/launch_check.h"
#include "runtime/format/plan_opcodes.h"
#include "runtime/format/plan_views.h"
#include "runtime/format/replay.h"

namespace tessera::runtime {

namespace {

using format::in_quotes;
using format::ManifestTensor;

template <typename... Pieces>
Status damaged(const Pieces&... pieces) {
  return fail(TSR_EIMAGE, pieces...);
}

std::string shape_text(const std::vector<std::string>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += format::cat(i ? ", " : "", shape[i]);
  return out + "]";
}

class ModuleLoader {
 public:
  ModuleLoader(Module& module, const format::BundleView& bundle, uint32_t flags)
      : module_(module), bundle_(bundle), flags_(flags), device_(*module.context->device) {}

  Status load() {
    module_.flags = flags_;
    using Stage = Status (ModuleLoader::*)();
    for (Stage stage : {&ModuleLoader::check_abi, &ModuleLoader::choose_target,
                        &ModuleLoader::read_target, &ModuleLoader::load_kernels,
                        &ModuleLoader::declare_parameters, &ModuleLoader::load_functions,
                        &ModuleLoader::load_weights}) {
      if (Status status = (this->*stage)(); status.failed()) return status;
    }
    return ok();
  }

 private:
  Status check_abi() {
    format::Outcome checked = format::check_abi(module_.manifest);
    return checked ? ok() : damaged(checked.error().text);
  }

  /// The best target that this machine can run, or the one that TSR_TARGET asks for.
  Status choose_target() {
    const char* wanted = std::getenv("TSR_TARGET");
    std::string reasons;
    for (const std::string& target : module_.manifest.targets) {
      if (wanted && target != wanted) continue;
      std::string missing;
      if (!device_.can_run(target, missing)) {
        reasons += format::cat(reasons.empty() ? "" : "; ", target, " needs ", missing);
      } else if (module_.target.empty() || device_.is_better(target, module_.target)) {
        module_.target = target;
      }
    }
    if (!module_.target.empty()) return ok();
    if (!module_.has_code() && !module_.manifest.targets.empty()) {
      module_.target = module_.manifest.targets.front();
      return ok();
    }
    if (wanted && reasons.empty()) {
      return fail(TSR_EUNSUPPORTED, "the bundle has no code for the target ", in_quotes(wanted),
                  " of TSR_TARGET");
    }
    if (reasons.empty()) return fail(TSR_EUNSUPPORTED, "the bundle has code for no target");
    return fail(TSR_EUNSUPPORTED, "this device can run none of the bundle's targets: ", reasons,
                "; take another device, or compile for this one (tesserac --help lists targets)");
  }

  Status read_target() {
    auto contents = format::read_target(bundle_, module_.target);
    if (!contents) return damaged(contents.error().text);
    module_.metas = std::move(contents->kernels);
    entries_ = std::move(contents->entries);
    return ok();
  }

  Status load_kernels() {
    if (module_.metas.empty()) return ok();
    Status status;
    if (module_.has_code()) status = device_.load(bundle_, module_.target, flags_, module_.code);
    for (size_t i = 0; i < module_.metas.size() && !status.failed(); ++i) {
      void* code = nullptr;
      if (module_.has_code()) status = module_.code->find(module_.metas[i], &code);
      module_.kernels.emplace_back(&module_, &module_.metas[i], code);
    }
    return status;
  }

  Status declare_parameters() {
    for (const ManifestTensor& declared : module_.manifest.params) {
      module_.parameters.push_back({&declared, shape_text(declared.shape), false, false, {}});
    }
    return ok();
  }

  Status load_functions() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      auto function = std::make_unique<Function>();
      function->module = &module_;
      function->entry = &module_.manifest.entries[i];
      if (Status status = load_function(*function, entries_[i]); status.failed()) return status;
      module_.functions.push_back(std::move(function));
    }
    return ok();
  }

  Status load_function(Function& function, format::EntryPlan& checked) {
    function.plan = std::move(checked.plan);
    if (std::string what = format::not_run(function.plan); !what.empty()) {
      return damaged("the plan of ", in_quotes(function.plan.entry), " cannot be run: ", what,
                  ", which this library does not run yet");
    }
    function.sources = std::move(checked.sources);
    function.inputs = std::move(checked.inputs);
    function.outputs = std::move(checked.outputs);
    function.params = std::move(checked.params);
    function.param_slots = std::move(checked.param_slots);
    function.donors = std::move(checked.donors);
    for (size_t i = 0; i < function.params.size(); ++i) {
      bool is_updated = std::ranges::find(function.donors, function.params[i]) != function.donors.end();
      if (is_updated) module_.parameters[function.param_slots[i]].is_updated = true;
    }
    function.is_view = format::find_views(function.plan);
    function.varying_exprs = format::varying_exprs(function.plan);
    for (uint32_t number : checked.kernels) {
      Kernel& kernel = module_.kernels[number];
      function.kernels.push_back({kernel.meta, kernel.code, &kernel.cost});
    }
    uint32_t launches = 0;
    for (const format::PlanStep& step : function.plan.steps) {
      function.launch_numbers.push_back(launches);
      launches += std::holds_alternative<format::LaunchStep>(step);
    }
    function.is_replayed = may_be_replayed(function);
    find_places(function);
    for (uint32_t i = 0; i < function.plan.buffers.size(); ++i) function.titles.push_back(title_of(function.plan, i));
    function.input_shapes = declared_shapes(function.plan, function.inputs);
    function.output_shapes = declared_shapes(function.plan, function.outputs);
    const std::string& data = function.plan.data;
    bool has_constants = std::ranges::any_of(function.plan.buffers, [](const format::PlanBuffer& buffer) {
      return buffer.kind == format::BufferKind::Constant;
    });
    if (!has_constants) return ok();
    Status status = function.constants.allocate(device_.memory(), data.size());
    if (status.failed() || data.empty()) return status;
    return device_.copy(function.constants.data(), data.data(), data.size());
  }

  /// Recordings are for devices that work beside the host.
  bool may_be_replayed(const Function& function) const {
    if (device_.facts().is_host || !format::replays_calls()) return false;
    std::vector<const format::KernelMeta*> metas;
    for (const BoundKernel& kernel : function.kernels) metas.push_back(kernel.meta);
    return format::replay_obstacle(function.plan, metas).empty();
  }

  /// Where the source declares the extents that bind_dims checks.
  void find_places(Function& function) {
    tessera::runtime::DeclaredPlaces& places = function.places;
    places.extents.resize(function.plan.buffers.size());
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      places.extents[function.inputs[i]] = function.entry->inputs[i].places;
    }
    for (size_t i = 0; i < function.params.size(); ++i) {
      places.extents[function.params[i]] = module_.parameters[function.param_slots[i]].declared->places;
    }
  }

  Status load_weights() {
    for (const format::BundleEntry& entry : bundle_.entries()) {
      if (!entry.name.starts_with("weights/")) continue;
      auto weights = format::SafetensorsView::open(entry.bytes);
      if (!weights) return damaged("the bundle's ", entry.name, ": ", weights.error().text);
      for (const format::TensorView& tensor : weights->tensors()) {
        if (Status status = bind_weight(entry.name, tensor); status.failed()) return status;
      }
    }
    return ok();
  }

  Status bind_weight(std::string_view file, const format::TensorView& tensor) {
    Parameter* parameter = module_.find_parameter(tensor.name);
    if (!parameter || parameter->is_bound ||
        !format::is_value_of(*parameter->declared, tensor.dtype, tensor.shape.size())) {
      return damaged("the bundle's ", file, " has the tensor ", in_quotes(tensor.name),
                     ", which fits no parameter");
    }
    parameter->is_bound = true;
    parameter->value.shape = tensor.shape;
    bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % memory_alignment == 0;
    if (module_.file && is_aligned && device_.facts().is_host && !parameter->is_updated) {
      parameter->value.data = const_cast<char*>(tensor.bytes.data());
      return ok();
    }
    Memory& copy = module_.parameter_memory.emplace_back();
    if (Status status = copy.allocate(device_.memory(), tensor.bytes.size()); status.failed()) {
      return status;
    }
    parameter->value.data = copy.data();
    if (tensor.bytes.empty()) return ok();
    return device_.copy(copy.data(), tensor.bytes.data(), tensor.bytes.size());
  }

  Module& module_;
  const format::BundleView& bundle_;
  uint32_t flags_;
  Device& device_;
  std::vector<format::EntryPlan> entries_;  ///< beside the manifest's, until functions have them
};

bool is_elf(std::string_view image) {
  return image.starts_with("\x7f"
                           "ELF");
}

/// Text whose first word is a comment or the directive that PTX begins with.
bool is_ptx(std::string_view image) {
  size_t first = image.find_first_not_of(" \t\r\n");
  std::string_view text = image.substr(std::min(first, image.size()));
  return text.starts_with("//") || text.starts_with("/*") || text.starts_with(".version");
}

Status load_bare_module(Context& context, std::string_view image, uint32_t flags, std::unique_ptr<Module>& module) {
  if (flags & TSR_NO_CODE) return invalid("the image has nothing but code, and TSR_NO_CODE loads none");
  auto made = std::make_unique<Module>();
  made->context = &context;
  made->flags = flags;
  made->is_bare = true;
  made->target = is_ptx(image) ? "PTX" : "cubin";
  if (Status status = context.device->load_bare(image, flags, made->code); status.failed()) return status;
  module = std::move(made);
  return ok();
}

}  // namespace

tsr_tensor_info_t describe_parameter(const Parameter& parameter) {
  format::Dtype dtype = parameter.declared->dtype;
  tsr_tensor_info_t info{};
  info.size = sizeof info;
  info.name = parameter.declared->name.c_str();
  info.dtype = format::dtype_name(dtype).data();
  info.shape = parameter.shape_text.c_str();
  info.alias_of = "";
  info.ndim = int32_t(parameter.declared->shape.size());
  info.element = dlpack_dtype(dtype);
  info.flags = (parameter.is_bound ? TSR_TENSOR_BOUND : 0u) | (parameter.is_updated ? TSR_TENSOR_UPDATED : 0u);
  return info;
}

Status load_module(Context& context, std::string_view image, std::optional<format::MappedFile> file, uint32_t flags,
                   std::unique_ptr<Module>& module) {
  if (is_elf(image) || is_ptx(image)) return load_bare_module(context, image, flags, module);
  auto bundle = format::BundleView::open(image);
  if (!bundle) return fail(TSR_EIMAGE, bundle.error().text);
  auto made = std::make_unique<Module>();
  made->context = &context;
  made->file = std::move(file);
  made->manifest = bundle->manifest();
  if (Status status = ModuleLoader(*made, *bundle, flags).load(); status.failed()) return status;
  module = std::move(made);
  return ok();
}

Status Device::load_bare(std::string_view image, uint32_t, std::unique_ptr<Code>&) {
  return fail(TSR_EUNSUPPORTED, "the image is ", is_ptx(image) ? "PTX" : "an ELF object",
              ", which has no kernel metadata; load the bundle it belongs to");
}

Status Module::find_bare_kernel(const std::string& name, Kernel** kernel) {
  std::lock_guard lock(bare_mutex);
  for (Kernel& known : kernels) {
    if (known.meta->name == name) {
      *kernel = &known;
      return ok();
    }
  }
  void* found = nullptr;
  if (Status status = this->code->find_bare(name, &found); status.failed()) return status;
  format::KernelMeta& meta = bare_metas.emplace_back();
  meta.name = name;
  meta.block = {0, 0, 0};
  *kernel = &kernels.emplace_back(this, &meta, found);
  return ok();
}

Kernel* Module::find_kernel(std::string_view name) {
  auto at = std::lower_bound(kernels.begin(), kernels.end(), name,
                             [](const Kernel& kernel, std::string_view key) { return kernel.meta->name < key; });
  return at != kernels.end() && at->meta->name == name ? &*at : nullptr;
}

Parameter* Module::find_parameter(std::string_view name) {
  auto at =
      std::lower_bound(parameters.begin(), parameters.end(), name,
                       [](const Parameter& parameter, std::string_view key) { return parameter.declared->name < key; });
  return at != parameters.end() && at->declared->name == name ? &*at : nullptr;
}

}  // namespace tessera::runtime

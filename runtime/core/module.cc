// Loading checks the parts of a bundle against each other, so that a call cannot meet a plan that
// disagrees with the manifest or launches a kernel with arguments it does not have.

#include "runtime/core/module.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/format/launch_check.h"
#include "runtime/format/plan_views.h"
#include "runtime/format/safetensors.h"

namespace tessera::runtime {

namespace {

using format::BufferKind;
using format::in_quotes;
using format::ManifestTensor;
using format::Plan;
using format::PlanBuffer;

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
  ModuleLoader(tsr_module& module, const format::BundleView& bundle, uint32_t flags)
      : module_(module), bundle_(bundle), flags_(flags), device_(*module.context->device) {}

  Status load() {
    module_.flags = flags_;
    using Stage = Status (ModuleLoader::*)();
    for (Stage stage : {&ModuleLoader::check_abi, &ModuleLoader::choose_target,
                        &ModuleLoader::load_kernels, &ModuleLoader::declare_parameters,
                        &ModuleLoader::load_functions, &ModuleLoader::load_weights}) {
      if (Status status = (this->*stage)(); status.failed()) return status;
    }
    return ok();
  }

 private:
  Status check_abi() {
    const format::Manifest& manifest = module_.manifest;
    if (manifest.abi_major == TSR_ABI_MAJOR && manifest.abi_minor <= TSR_ABI_MINOR) return ok();
    return damaged("the bundle was built for ABI ", manifest.abi_major, ".", manifest.abi_minor,
                   "; this library has ", TSR_ABI_MAJOR, ".", TSR_ABI_MINOR);
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

  Status load_kernels() {
    const format::BundleEntry* reflection = bundle_.find(format::reflection_name);
    if (!reflection) return damaged("the bundle has no ", format::reflection_name);
    auto read = format::read_reflection(reflection->bytes);
    if (!read) return damaged("the bundle's ", read.error().text);
    if (auto steps = read->steps.find(module_.target); steps != read->steps.end()) {
      steps_ = std::move(steps->second);
    }
    auto found = read->kernels.find(module_.target);
    if (found == read->kernels.end() || found->second.empty()) return ok();
    module_.metas = std::move(found->second);
    Status status;
    if (module_.has_code()) status = device_.load(bundle_, module_.target, flags_, module_.code);
    for (size_t i = 0; i < module_.metas.size() && !status.failed(); ++i) {
      void* code = nullptr;
      if (module_.has_code()) status = module_.code->find(module_.metas[i], &code);
      module_.kernels.emplace_back(&module_, &module_.metas[i], code);
    }
    if (status.failed()) return status;
    return ok();
  }

  Status declare_parameters() {
    for (const ManifestTensor& declared : module_.manifest.params) {
      module_.parameters.push_back({&declared, shape_text(declared.shape), false, {}});
    }
    return ok();
  }

  Status load_functions() {
    for (const format::ManifestEntry& entry : module_.manifest.entries) {
      auto function = std::make_unique<tsr_function>();
      function->module = &module_;
      function->entry = &entry;
      if (Status status = load_function(*function); status.failed()) return status;
      module_.functions.push_back(std::move(function));
    }
    return ok();
  }

  Status load_function(tsr_function& function) {
    std::string path = format::plan_path(function.entry->name, module_.target);
    const format::BundleEntry* bytes = bundle_.find(path);
    if (!bytes) return damaged("the bundle has no ", path);
    auto plan = format::decode_plan(bytes->bytes);
    if (!plan) return damaged("the bundle's ", path, ": ", plan.error().text);
    function.plan = std::move(*plan);
    if (auto known = steps_.find(function.entry->name); known != steps_.end()) {
      function.sources = known->second;
    }
    function.is_view = format::find_views(function.plan);
    if (function.plan.entry != function.entry->name || function.plan.target != module_.target) {
      return damaged("the bundle's ", path, " is the plan of another entry or target");
    }
    if (Status status = match_signature(function); status.failed()) return status;
    if (Status status = match_donations(function); status.failed()) return status;
    if (Status status = match_kernels(function); status.failed()) return status;
    Status status = function.constants.allocate(device_.memory(), function.plan.data.size());
    if (status.failed() || function.plan.data.empty()) return status;
    return device_.copy(function.constants.data(), function.plan.data.data(),
                        function.plan.data.size());
  }

  Status match_signature(tsr_function& function) {
    const format::ManifestEntry& entry = *function.entry;
    for (uint32_t i = 0; i < function.plan.buffers.size(); ++i) {
      switch (function.plan.buffers[i].kind) {
        case BufferKind::Input:
          function.inputs.push_back(i);
          break;
        case BufferKind::Output:
          function.outputs.push_back(i);
          break;
        case BufferKind::Param:
          function.params.push_back(i);
          break;
        case BufferKind::Temp:
        case BufferKind::Constant:
          break;
      }
    }
    if (Status status = match_tensors(function, function.inputs, entry.inputs); status.failed()) {
      return status;
    }
    if (Status status = match_tensors(function, function.outputs, entry.outputs); status.failed()) {
      return status;
    }
    return match_params(function);
  }

  Status match_tensors(const tsr_function& function, const std::vector<uint32_t>& buffers,
                       const std::vector<ManifestTensor>& declared) const {
    bool same = buffers.size() == declared.size();
    for (size_t i = 0; same && i < buffers.size(); ++i) {
      same = matches(function.plan.buffers[buffers[i]], declared[i]);
    }
    if (same) return ok();
    return damaged("the manifest and the plan of ", in_quotes(function.entry->name),
                   " disagree about its signature");
  }

  static bool matches(const PlanBuffer& buffer, const ManifestTensor& declared) {
    bool is_seed = buffer.dtype == format::Dtype::U64 && buffer.shape.empty();
    return buffer.name == declared.name && buffer.dtype == declared.dtype &&
           buffer.shape.size() == declared.shape.size() && (!declared.seed || is_seed);
  }

  Status match_params(tsr_function& function) {
    for (uint32_t buffer : function.params) {
      const PlanBuffer& used = function.plan.buffers[buffer];
      Parameter* parameter = module_.find_parameter(used.name);
      if (!parameter || !matches(used, *parameter->declared)) {
        return damaged("the manifest and the plan of ", in_quotes(function.entry->name),
                       " disagree about the parameter ", in_quotes(used.name));
      }
      function.param_slots.push_back(uint32_t(parameter - module_.parameters.data()));
    }
    return ok();
  }

  /// An output is a view in the plan exactly when the manifest says whose memory it is.
  Status match_donations(tsr_function& function) {
    const Plan& plan = function.plan;
    std::vector<uint32_t> donor(plan.buffers.size(), format::no_index);
    for (const format::PlanStep& step : plan.steps) {
      const auto* alias = std::get_if<format::AliasStep>(&step);
      if (!alias || plan.buffers[alias->view].kind != BufferKind::Output) continue;
      if (donor[alias->view] != format::no_index && donor[alias->view] != alias->of) {
        return damaged("the plan of ", in_quotes(plan.entry), " has an output with two donors");
      }
      donor[alias->view] = alias->of;
    }
    for (size_t i = 0; i < function.outputs.size(); ++i) {
      uint32_t input = donor[function.outputs[i]];
      const std::string& declared_donor = function.entry->outputs[i].alias_of;
      bool agrees = input == format::no_index ? declared_donor.empty()
                                              : declared_donor == plan.buffers[input].name;
      if (!agrees) {
        return damaged("the manifest and the plan of ", in_quotes(plan.entry),
                       " disagree about donated memory");
      }
      if (input != format::no_index && is_seed(function, input)) {
        return damaged("the plan of ", in_quotes(plan.entry), " takes over the memory of a seed, ",
                       "which a call may leave out");
      }
      function.donors.push_back(input);
    }
    find_places(function);
    for (uint32_t i : function.inputs) function.input_shapes.push_back(declared(plan, i));
    for (uint32_t i : function.outputs) function.output_shapes.push_back(declared(plan, i));
    return ok();
  }

  static bool is_seed(const tsr_function& function, uint32_t buffer) {
    auto input = std::ranges::find(function.inputs, buffer);
    return function.entry->inputs[size_t(input - function.inputs.begin())].seed;
  }

  /// Where the source declares the extents that bind_dims checks.
  void find_places(tsr_function& function) {
    tessera::runtime::DeclaredPlaces& places = function.places;
    places.extents.resize(function.plan.buffers.size());
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      places.extents[function.inputs[i]] = function.entry->inputs[i].places;
    }
    for (size_t i = 0; i < function.params.size(); ++i) {
      places.extents[function.params[i]] = module_.parameters[function.param_slots[i]].declared->places;
    }
  }

  static std::string declared(const Plan& plan, uint32_t buffer) {
    return declared_shape(plan, plan.buffers[buffer]);
  }

  Status match_kernels(tsr_function& function) {
    const Plan& plan = function.plan;
    for (const std::string& name : plan.kernels) {
      tsr_kernel* kernel = module_.find_kernel(name);
      if (!kernel) {
        return damaged("the plan of ", in_quotes(plan.entry), " launches the unknown kernel ",
                       in_quotes(name));
      }
      function.kernels.push_back({kernel->meta, kernel->code, &kernel->cost});
    }
    std::vector<const format::KernelMeta*> metas;
    for (const BoundKernel& kernel : function.kernels) metas.push_back(kernel.meta);
    if (format::Outcome checked = format::check_launches(plan, metas); !checked) {
      return damaged("the plan of ", in_quotes(plan.entry), ": ", checked.error().text);
    }
    uint32_t launches = 0;
    for (const format::PlanStep& step : plan.steps) {
      function.launch_numbers.push_back(launches);
      launches += std::holds_alternative<format::LaunchStep>(step);
    }
    return ok();
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
        dlpack_dtype(parameter->declared->dtype).code != dlpack_dtype(tensor.dtype).code ||
        dtype_bits(parameter->declared->dtype) != dtype_bits(tensor.dtype) ||
        parameter->declared->shape.size() != tensor.shape.size()) {
      return damaged("the bundle's ", file, " has the tensor ", in_quotes(tensor.name),
                     ", which fits no parameter");
    }
    parameter->is_bound = true;
    parameter->value.shape = tensor.shape;
    bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % memory_alignment == 0;
    if (module_.file && is_aligned && device_.facts().is_host) {
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

  tsr_module& module_;
  const format::BundleView& bundle_;
  uint32_t flags_;
  Device& device_;
  std::map<std::string, format::StepSources> steps_;  ///< by entry
};

Status check_image_kind(std::string_view image) {
  if (image.starts_with("\x7f"
                        "ELF")) {
    return fail(TSR_EUNSUPPORTED,
                "the image is an ELF object, which has no kernel metadata; "
                "load the bundle it belongs to");
  }
  if (image.starts_with("//") || image.starts_with(".version")) {
    return fail(TSR_EUNSUPPORTED,
                "the image is PTX, which has no kernel metadata; "
                "load the bundle it belongs to");
  }
  return ok();
}

}  // namespace

tsr_tensor_info_t describe_parameter(const Parameter& parameter) {
  format::Dtype dtype = parameter.declared->dtype;
  return {parameter.declared->name.c_str(),
          format::dtype_name(dtype).data(),
          parameter.shape_text.c_str(),
          int32_t(parameter.declared->shape.size()),
          dlpack_dtype(dtype),
          parameter.is_bound ? TSR_TENSOR_BOUND : 0u,
          ""};
}

Status load_module(tsr_context& context, std::string_view image,
                   std::optional<format::MappedFile> file, uint32_t flags,
                   std::unique_ptr<tsr_module>& module) {
  if (Status status = check_image_kind(image); status.failed()) return status;
  auto bundle = format::BundleView::open(image);
  if (!bundle) return fail(TSR_EIMAGE, bundle.error().text);
  auto made = std::make_unique<tsr_module>();
  made->context = &context;
  made->file = std::move(file);
  made->manifest = bundle->manifest();
  if (Status status = ModuleLoader(*made, *bundle, flags).load(); status.failed()) return status;
  module = std::move(made);
  return ok();
}

}  // namespace tessera::runtime

tsr_kernel* tsr_module::find_kernel(std::string_view name) {
  auto at = std::lower_bound(
      kernels.begin(), kernels.end(), name,
      [](const tsr_kernel& kernel, std::string_view key) { return kernel.meta->name < key; });
  return at != kernels.end() && at->meta->name == name ? &*at : nullptr;
}

tessera::runtime::Parameter* tsr_module::find_parameter(std::string_view name) {
  auto at = std::lower_bound(parameters.begin(), parameters.end(), name,
                             [](const tessera::runtime::Parameter& parameter,
                                std::string_view key) { return parameter.declared->name < key; });
  return at != parameters.end() && at->declared->name == name ? &*at : nullptr;
}

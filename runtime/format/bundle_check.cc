#include "runtime/format/bundle_check.h"

#include <algorithm>
#include <set>

#include "runtime/files/json.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/text.h"
#include "runtime/format/cuda_image.h"
#include "runtime/format/kernel_image.h"
#include "runtime/format/launch_check.h"
#include "runtime/include/tessera.h"

namespace tessera::format {

namespace {

Result<const BundleEntry*> entry_named(const BundleView& bundle, std::string_view name) {
  if (const BundleEntry* found = bundle.find(name)) return found;
  return error("the bundle has no ", name);
}

Result<Reflection> reflection_of(const BundleView& bundle) {
  Result<const BundleEntry*> entry = entry_named(bundle, reflection_name);
  if (!entry) return entry.error();
  Result<Reflection> read = read_reflection((*entry)->bytes);
  if (!read) return error("the bundle's ", read.error().text);
  return read;
}

template <typename Item>
auto find_by_name(const std::vector<Item>& items, std::string_view name) {
  auto at = std::lower_bound(items.begin(), items.end(), name,
                             [](const Item& item, std::string_view key) { return item.name < key; });
  return at != items.end() && at->name == name ? at : items.end();
}

/// One entry's plan against the manifest and the kernels.
class PlanReader {
 public:
  PlanReader(const BundleView& bundle, std::string_view target, const std::vector<KernelMeta>& kernels)
      : manifest_(bundle.manifest()), bundle_(bundle), target_(target), kernels_(kernels) {}

  Result<EntryPlan> read(const ManifestEntry& entry) {
    EntryPlan out;
    out.entry = &entry;
    std::string path = plan_path(entry.name, target_);
    Result<const BundleEntry*> bytes = entry_named(bundle_, path);
    if (!bytes) return bytes.error();
    Result<Plan> plan = decode_plan((*bytes)->bytes);
    if (!plan) return error("the bundle's ", path, ": ", plan.error().text);
    if (plan->entry != entry.name || plan->target != target_) {
      return error("the bundle's ", path, " is the plan of another entry or target");
    }
    out.plan = std::move(*plan);
    for (auto match : {&PlanReader::match_signature, &PlanReader::match_params, &PlanReader::match_donations,
                       &PlanReader::match_kernels}) {
      if (Outcome matched = (this->*match)(out); !matched) return matched.error();
    }
    return out;
  }

 private:
  Outcome match_signature(EntryPlan& out) {
    dims_.clear();
    for (const PlanDim& dim : out.plan.dims) dims_.push_back(dim.name);
    for (uint32_t i = 0; i < out.plan.buffers.size(); ++i) {
      switch (out.plan.buffers[i].kind) {
        case BufferKind::Input:
          out.inputs.push_back(i);
          break;
        case BufferKind::Output:
          out.outputs.push_back(i);
          break;
        case BufferKind::Param:
          out.params.push_back(i);
          break;
        case BufferKind::Temp:
        case BufferKind::Constant:
          break;
      }
    }
    bool same = match(out.plan, out.inputs, out.entry->inputs) && match(out.plan, out.outputs, out.entry->outputs);
    if (same) return {};
    return error("the manifest and the plan of ", in_quotes(out.entry->name), " disagree about its signature");
  }

  bool match(const Plan& plan, const std::vector<uint32_t>& buffers,
             const std::vector<ManifestTensor>& declared) const {
    bool same = buffers.size() == declared.size();
    for (size_t i = 0; same && i < buffers.size(); ++i) same = match(plan, plan.buffers[buffers[i]], declared[i]);
    return same;
  }

  bool match(const Plan& plan, const PlanBuffer& buffer, const ManifestTensor& declared) const {
    bool is_seed = buffer.dtype == Dtype::U64 && buffer.shape.empty();
    bool same = buffer.name == declared.name && buffer.dtype == declared.dtype &&
                buffer.shape.size() == declared.shape.size() && (!declared.seed || is_seed);
    for (size_t i = 0; same && i < buffer.shape.size(); ++i) {
      same = expr_text(plan.exprs[buffer.shape[i]], dims_) == declared.shape[i];
    }
    return same;
  }

  Outcome match_params(EntryPlan& out) {
    for (uint32_t buffer : out.params) {
      const PlanBuffer& used = out.plan.buffers[buffer];
      auto declared = find_by_name(manifest_.params, used.name);
      if (declared == manifest_.params.end() || !match(out.plan, used, *declared)) {
        return error("the manifest and the plan of ", in_quotes(out.entry->name),
                     " disagree about the parameter ", in_quotes(used.name));
      }
      out.param_slots.push_back(uint32_t(declared - manifest_.params.begin()));
    }
    return {};
  }

  /// An output is a view in the plan exactly when the manifest says whose memory it is.
  Outcome match_donations(EntryPlan& out) {
    const Plan& plan = out.plan;
    std::vector<uint32_t> donor(plan.buffers.size(), no_index);
    for (const PlanStep& step : plan.steps) {
      const auto* alias = std::get_if<AliasStep>(&step);
      if (!alias || plan.buffers[alias->view].kind != BufferKind::Output) continue;
      if (donor[alias->view] != no_index && donor[alias->view] != alias->of) {
        return error("the plan of ", in_quotes(plan.entry), " has an output with two donors");
      }
      donor[alias->view] = alias->of;
    }
    std::vector<bool> is_seed(plan.buffers.size());
    for (size_t i = 0; i < out.inputs.size(); ++i) is_seed[out.inputs[i]] = out.entry->inputs[i].seed;
    for (size_t i = 0; i < out.outputs.size(); ++i) {
      uint32_t input = donor[out.outputs[i]];
      const std::string& declared = out.entry->outputs[i].alias_of;
      bool agrees = input == no_index ? declared.empty() : declared == plan.buffers[input].name;
      if (!agrees) {
        return error("the manifest and the plan of ", in_quotes(plan.entry), " disagree about donated memory");
      }
      if (input != no_index && is_seed[input]) {
        return error("the plan of ", in_quotes(plan.entry), " takes over the memory of a seed, ",
                     "which a call may leave out");
      }
      out.donors.push_back(input);
    }
    return {};
  }

  Outcome match_kernels(EntryPlan& out) {
    std::vector<const KernelMeta*> metas;
    for (const std::string& name : out.plan.kernels) {
      auto kernel = find_by_name(kernels_, name);
      if (kernel == kernels_.end()) {
        return error("the plan of ", in_quotes(out.plan.entry), " launches the unknown kernel ", in_quotes(name));
      }
      out.kernels.push_back(uint32_t(kernel - kernels_.begin()));
      metas.push_back(&*kernel);
    }
    if (Outcome checked = check_launches(out.plan, metas); !checked) {
      return error("the plan of ", in_quotes(out.plan.entry), ": ", checked.error().text);
    }
    return {};
  }

  const Manifest& manifest_;
  const BundleView& bundle_;
  std::string_view target_;
  const std::vector<KernelMeta>& kernels_;
  std::vector<std::string> dims_;  ///< the names of the plan that is read
};

Result<TargetContents> contents_of(const BundleView& bundle, Reflection& reflection, std::string_view target) {
  TargetContents out;
  std::string name(target);
  out.kernels = std::move(reflection.kernels[name]);
  PlanReader plans(bundle, target, out.kernels);
  for (const ManifestEntry& entry : bundle.manifest().entries) {
    Result<EntryPlan> plan = plans.read(entry);
    if (!plan) return plan.error();
    plan->sources = std::move(reflection.steps[name][entry.name]);
    size_t told = plan->sources.size(), steps = plan->plan.steps.size();
    if (told != 0 && told != steps) {
      return error("the bundle's ", reflection_name, " tells of ", told, " steps of ", in_quotes(entry.name),
                   ", which has ", steps);
    }
    out.entries.push_back(std::move(*plan));
  }
  return out;
}

Outcome check_code_file(const BundleView& bundle, std::string_view target, std::string_view form,
                        const std::vector<KernelMeta>& kernels) {
  Result<const BundleEntry*> code = entry_named(bundle, kernels_path(target, form));
  if (!code) return code.error();
  std::string_view bytes = (*code)->bytes;
  Outcome checked;
  if (form == "ptx") {
    checked = check_ptx(bytes, kernels);
  } else if (form == "cubin") {
    checked = check_cubin(bytes, kernels);
  } else {
    Result<KernelImage> image = read_kernel_image(bytes);
    if (!image) checked = image.error();
    for (const KernelMeta& kernel : kernels) {
      bool is_there = image && image->find(kernel.code_name());
      if (image && !is_there) checked = error("it has no kernel ", in_quotes(kernel.code_name()));
    }
  }
  if (!checked) return error("the bundle's ", (*code)->name, ": ", checked.error().text);
  return {};
}

Outcome check_code(const BundleView& bundle, std::string_view target, const std::vector<KernelMeta>& kernels) {
  if (target.starts_with("cpu:")) return check_code_file(bundle, target, "so", kernels);
  if (!target.starts_with("cuda:")) return error("the target ", in_quotes(target), " is not known");
  if (Outcome checked = check_code_file(bundle, target, "ptx", kernels); !checked) return checked;
  bool has_cubin = bundle.find(kernels_path(target, "cubin"));
  return has_cubin ? check_code_file(bundle, target, "cubin", kernels) : Outcome();
}

Outcome check_targets(const BundleView& bundle) {
  const std::vector<std::string>& targets = bundle.manifest().targets;
  if (targets.empty()) return error("the bundle has code for no target");
  Result<Reflection> reflection = reflection_of(bundle);
  if (!reflection) return reflection.error();
  std::set<std::string> rest;
  for (const auto& [target, kernels] : reflection->kernels) rest.insert(target);
  for (const auto& [target, steps] : reflection->steps) rest.insert(target);
  for (const std::string& target : targets) {
    Result<TargetContents> contents = contents_of(bundle, *reflection, target);
    if (!contents) return contents.error();
    if (Outcome checked = check_code(bundle, target, contents->kernels); !checked) return checked;
    rest.erase(target);
  }
  if (rest.empty()) return {};
  return error("the bundle's ", reflection_name, " tells of the target ", in_quotes(*rest.begin()),
               ", which the manifest does not list");
}

Outcome check_weights(const BundleView& bundle) {
  const std::vector<ManifestTensor>& params = bundle.manifest().params;
  std::set<std::string> bound;
  for (const BundleEntry& entry : bundle.entries()) {
    if (!entry.name.starts_with("weights/")) continue;
    Result<SafetensorsView> weights = SafetensorsView::open(entry.bytes);
    if (!weights) return error("the bundle's ", entry.name, ": ", weights.error().text);
    for (const TensorView& tensor : weights->tensors()) {
      auto declared = find_by_name(params, tensor.name);
      if (declared != params.end() && is_value_of(*declared, tensor.dtype, tensor.shape.size()) &&
          bound.insert(tensor.name).second) {
        continue;
      }
      return error("the bundle's ", entry.name, " has the tensor ", in_quotes(tensor.name),
                   ", which fits no parameter");
    }
  }
  return {};
}

}  // namespace

Outcome check_abi(const Manifest& manifest) {
  if (manifest.abi_major == TSR_ABI_MAJOR && manifest.abi_minor >= 0 && manifest.abi_minor <= TSR_ABI_MINOR) return {};
  return error("the bundle was built for ABI ", manifest.abi_major, ".", manifest.abi_minor,
               "; this library has ", TSR_ABI_MAJOR, ".", TSR_ABI_MINOR);
}

Result<TargetContents> read_target(const BundleView& bundle, std::string_view target) {
  Result<Reflection> reflection = reflection_of(bundle);
  if (!reflection) return reflection.error();
  return contents_of(bundle, *reflection, target);
}

bool is_value_of(const ManifestTensor& parameter, Dtype dtype, size_t rank) {
  const DtypeInfo& declared = dtype_info(parameter.dtype);
  const DtypeInfo& given = dtype_info(dtype);
  return declared.dlpack_code == given.dlpack_code && declared.bits == given.bits && parameter.shape.size() == rank;
}

Outcome check_bundle(const BundleView& bundle) {
  if (Outcome checked = check_abi(bundle.manifest()); !checked) return checked;
  if (Outcome checked = check_targets(bundle); !checked) return checked;
  if (const BundleEntry* schedules = bundle.find(schedules_name)) {
    if (Result<Json> read = parse_json(schedules->bytes); !read) {
      return error("the bundle's ", schedules_name, ": ", read.error().text);
    }
  }
  return check_weights(bundle);
}

}  // namespace tessera::format

#pragma once
// What the parts of a bundle must agree on. BundleView has checked every byte against its hash; here
// is read what the bytes say. Whoever loads a target reads it by read_target; check_bundle is all of
// it, for `tsr verify` and for the compiler, which checks what it has written.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/bundle.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

namespace tessera::format {

/// A plan, and where it has what manifest and metadata say of its entry.
struct EntryPlan {
  const ManifestEntry* entry = nullptr;
  Plan plan;
  std::vector<uint32_t> inputs;  ///< buffers, in the signature's order
  std::vector<uint32_t> outputs;
  std::vector<uint32_t> params;       ///< buffers
  std::vector<uint32_t> param_slots;  ///< beside params: in Manifest::params
  std::vector<uint32_t> donors;       ///< beside outputs: donated input, or no_index
  std::vector<uint32_t> kernels;      ///< beside Plan::kernels: in TargetContents::kernels
  StepSources sources;                ///< beside Plan::steps, where they are known
};

/// What a bundle holds for one target.
struct TargetContents {
  std::vector<KernelMeta> kernels;  ///< in order of name
  std::vector<EntryPlan> entries;   ///< beside Manifest::entries
};

/// Whether this build's library runs bundles of that ABI.
Outcome check_abi(const Manifest& manifest);

/// Reads metadata and plans of a target and checks them against the manifest and each other. What is
/// read refers to the bundle.
Result<TargetContents> read_target(const BundleView& bundle, std::string_view target);

/// Whether a tensor of the weights is a value of the parameter.
bool is_value_of(const ManifestTensor& parameter, Dtype dtype, size_t rank);

/// Everything but the IR, which this layer cannot read: ABI, targets with metadata, plans and code of
/// each, schedules and weights.
Outcome check_bundle(const BundleView& bundle);

}  // namespace tessera::format

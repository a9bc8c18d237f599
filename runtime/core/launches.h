#pragma once
// The launches of a plan for given values of its dims: found and checked once, then only followed.

#include <span>
#include <vector>

#include "runtime/core/limits.h"
#include "runtime/core/status.h"
#include "runtime/format/placement.h"
#include "runtime/format/reflection.h"

namespace tessera::runtime {

using format::Placement;

/// format::place_buffers, within the time of a call where there is one; memory that cannot be had is TSR_EOOM.
Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement,
                     int64_t zone = 0, const CallLimits* limits = nullptr);

/// A launch as far as it is known before a call runs.
struct SizedLaunch {
  std::vector<int64_t> dims;       ///< of the kernel, in the order of its metadata
  std::vector<uint32_t> varying;   ///< those of them that change with the iterations of a loop
  bool is_resized = false;         ///< sizes change with them, too, and are checked in every iteration
  int64_t programs = 0;            ///< 0: nothing runs
  size_t scratch_bytes = 0;
  Status failure;                  ///< what the launch ends with, should it be reached
};

/// Where buffers lie, and how kernels are launched.
struct SizedPlan : Placement {
  std::vector<SizedLaunch> launches;  ///< in the order of their steps
};

/// Sizes all launches, within the time of the call; those that branches keep from running may fail without harm.
/// `kernels` are beside Plan::kernels, `varying` is format::varying_exprs of the plan.
Status size_launches(const format::Plan& plan, std::span<const format::KernelMeta* const> kernels,
                     const std::vector<bool>& varying, std::span<const int64_t> dims, const CallLimits& limits,
                     SizedPlan& sized);

/// Sizes a launch again in an iteration of a loop, where its dims are known.
Status resize_launch(const format::Plan& plan, const format::LaunchStep& step,
                     const format::KernelMeta& kernel, const Placement& placement, SizedLaunch& launch);

/// Grid and scratch of a kernel that is launched by itself.
Status size_launch(const format::KernelMeta& kernel, std::span<const int64_t> dims, int64_t& programs,
                   size_t& scratch_bytes);

}  // namespace tessera::runtime

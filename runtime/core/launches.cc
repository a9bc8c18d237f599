#include "runtime/core/launches.h"

#include <algorithm>

#include "runtime/format/launch_check.h"

namespace tessera::runtime {

namespace {

using format::in_quotes;
using format::KernelMeta;
using format::LaunchStep;
using format::Plan;

/// Everything but what iterations of loops change, which is 0 here.
SizedLaunch size_step(const Plan& plan, const LaunchStep& step, const KernelMeta& kernel,
                      const std::vector<bool>& varying_exprs, std::span<const int64_t> dims,
                      const Placement& placement) {
  SizedLaunch launch;
  std::vector<bool> varying;
  for (uint32_t dim : step.dims) varying.push_back(varying_exprs[dim]);
  for (size_t i = 0; i < step.dims.size(); ++i) {
    int64_t& value = launch.dims.emplace_back(0);
    if (varying[i]) {
      launch.varying.push_back(uint32_t(i));
      continue;
    }
    auto status = format::evaluate(plan.exprs[step.dims[i]], dims, value);
    if (status == format::EvalStatus::Ok) continue;
    launch.failure = invalid("the dim ", kernel.dims[i], " cannot be found: ", eval_status_text(status));
    return launch;
  }
  launch.is_resized = format::sizes_read(kernel, varying);
  if (!launch.is_resized) launch.failure = resize_launch(plan, step, kernel, placement, launch);
  return launch;
}

}  // namespace

Status size_launches(const Plan& plan, std::span<const KernelMeta* const> kernels, const std::vector<bool>& varying,
                     std::span<const int64_t> dims, const CallLimits& limits, SizedPlan& sized) {
  for (const format::PlanStep& any : plan.steps) {
    const auto* step = std::get_if<LaunchStep>(&any);
    if (!step) continue;
    if (Status within = limits.check_time(); within.failed()) return within;
    sized.launches.push_back(size_step(plan, *step, *kernels[step->kernel], varying, dims, sized));
  }
  return ok();
}

Status resize_launch(const Plan& plan, const LaunchStep& step, const KernelMeta& kernel,
                     const Placement& placement, SizedLaunch& launch) {
  Status status = size_launch(kernel, launch.dims, launch.programs, launch.scratch_bytes);
  if (status.failed()) return status;
  auto fits = format::fit_launch(plan, step, kernel, launch.dims, placement.bytes);
  if (fits) return ok();
  return fail(TSR_EIMAGE, "kernel ", in_quotes(kernel.name), ": ", fits.error().text);
}

Status size_launch(const KernelMeta& kernel, std::span<const int64_t> dims, int64_t& programs,
                   size_t& scratch_bytes) {
  int64_t scratch = 0;
  auto sized = format::size_kernel(kernel, dims, programs, scratch);
  scratch_bytes = size_t(scratch);
  if (sized) return ok();
  return invalid("kernel ", in_quotes(kernel.name), ": ", sized.error().text);
}

Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement,
                     int64_t zone, const CallLimits* limits) {
  auto until = limits ? limits->until() : CallLimits::Clock::time_point::max();
  format::PlaceOutcome outcome = format::place_buffers(plan, dims, zone, placement, until);
  if (!outcome.failed()) return ok();
  if (outcome.status == format::PlaceStatus::Late) return limits->over();
  bool too_large = outcome.status == format::PlaceStatus::TooLarge;
  return fail(too_large ? TSR_EOOM : TSR_EINVAL, outcome.text);
}

}  // namespace tessera::runtime

#include "runtime/core/placement.h"

#include <algorithm>
#include <numeric>

#include "runtime/core/device.h"

namespace tessera::runtime {

namespace {

using format::BufferKind;
using format::PlanBuffer;

/// Beyond this an arena is refused before its size can overflow.
constexpr int64_t max_arena_bytes = int64_t(1) << 56;

int64_t round_up(int64_t bytes) {
  return (bytes + int64_t(memory_alignment) - 1) / int64_t(memory_alignment) *
         int64_t(memory_alignment);
}

Status evaluate_shape(const format::Plan& plan, const PlanBuffer& buffer,
                      std::span<const int64_t> dims, std::vector<int64_t>& shape) {
  for (uint32_t index : buffer.shape) {
    int64_t extent = 0;
    format::EvalStatus status = format::evaluate(plan.exprs[index], dims, extent);
    if (status == format::EvalStatus::Ok && extent >= 0) {
      shape.push_back(extent);
      continue;
    }
    std::vector<std::string> names;
    for (const format::PlanDim& dim : plan.dims) names.push_back(dim.name);
    std::string text = format::expr_text(plan.exprs[index], names);
    if (status != format::EvalStatus::Ok) {
      return invalid(plan.entry, ": an extent of ", format::in_quotes(buffer.name), " is ", text,
                     ", and ", format::eval_status_text(status));
    }
    return invalid(plan.entry, ": an extent of ", format::in_quotes(buffer.name), " is ", text,
                   " = ", extent, ", which is negative");
  }
  return ok();
}

bool overlaps(const PlanBuffer& a, const PlanBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

/// The lowest offset for `bytes` bytes between the placed temps, which are in order of offset.
int64_t first_gap(const format::Plan& plan, const Placement& placement,
                  const std::vector<size_t>& placed, size_t buffer) {
  int64_t at = 0;
  for (size_t other : placed) {
    if (!overlaps(plan.buffers[other], plan.buffers[buffer])) continue;
    if (placement.offsets[other] >= at + placement.bytes[buffer]) break;
    at = std::max(at, placement.offsets[other] + round_up(placement.bytes[other]));
  }
  return at;
}

Status pack_temps(const format::Plan& plan, Placement& placement) {
  std::vector<bool> is_view = find_views(plan);
  std::vector<size_t> temps;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    bool is_placed = plan.buffers[i].kind == BufferKind::Temp && !is_view[i];
    if (is_placed && placement.bytes[i] > 0) temps.push_back(i);
  }
  std::sort(temps.begin(), temps.end(), [&](size_t a, size_t b) {
    return std::pair(-placement.bytes[a], a) < std::pair(-placement.bytes[b], b);
  });
  std::vector<size_t> placed;
  for (size_t temp : temps) {
    if (placement.bytes[temp] > max_arena_bytes) {
      return fail(TSR_EOOM, plan.entry, ": ", format::in_quotes(plan.buffers[temp].name), " has ",
                  placement.bytes[temp], " bytes");
    }
    int64_t offset = first_gap(plan, placement, placed, temp);
    placement.offsets[temp] = offset;
    placement.arena_bytes =
        std::max(placement.arena_bytes, offset + round_up(placement.bytes[temp]));
    if (placement.arena_bytes > max_arena_bytes) {
      return fail(TSR_EOOM, plan.entry, ": the temporaries need more than ", max_arena_bytes,
                  " bytes");
    }
    auto at = std::lower_bound(placed.begin(), placed.end(), offset,
                               [&](size_t a, int64_t b) { return placement.offsets[a] < b; });
    placed.insert(at, temp);
  }
  return ok();
}

}  // namespace

std::vector<bool> find_views(const format::Plan& plan) {
  std::vector<bool> is_view(plan.buffers.size());
  for (const format::PlanStep& step : plan.steps) {
    if (const auto* alias = std::get_if<format::AliasStep>(&step)) is_view[alias->view] = true;
  }
  return is_view;
}

Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims,
                     Placement& placement) {
  placement.offsets.assign(plan.buffers.size(), 0);
  for (const PlanBuffer& buffer : plan.buffers) {
    std::vector<int64_t>& shape = placement.shapes.emplace_back();
    if (Status status = evaluate_shape(plan, buffer, dims, shape); status.failed()) return status;
    auto count = format::element_count(shape);
    auto bytes = count ? format::bytes_of(buffer.dtype, *count) : std::nullopt;
    if (!bytes) {
      return fail(TSR_EOOM, plan.entry, ": the size of ", format::in_quotes(buffer.name),
                  ", shape ", format::shape_text(shape), ", overflows 64 bits");
    }
    placement.bytes.push_back(*bytes);
  }
  return pack_temps(plan, placement);
}

}  // namespace tessera::runtime

#include "runtime/format/placement.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/files/text.h"
#include "runtime/format/launch_check.h"
#include "runtime/format/plan_views.h"

namespace tessera::format {

namespace {

using Clock = std::chrono::steady_clock;

/// Beyond this an arena is refused before its size can overflow.
constexpr int64_t max_arena_bytes = int64_t(1) << 56;

int64_t round_up(int64_t bytes) {
  return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
}

PlaceOutcome ok() {
  return {};
}

template <typename... Pieces>
PlaceOutcome invalid(const Pieces&... pieces) {
  return {PlaceStatus::Invalid, cat(pieces...)};
}

template <typename... Pieces>
PlaceOutcome too_large(const Pieces&... pieces) {
  return {PlaceStatus::TooLarge, cat(pieces...)};
}

PlaceOutcome evaluate_shape(const Plan& plan, const PlanBuffer& buffer,
                      std::span<const int64_t> dims, std::vector<int64_t>& shape) {
  for (uint32_t index : buffer.shape) {
    int64_t extent = 0;
    EvalStatus status = evaluate(plan.exprs[index], dims, extent);
    if (status == EvalStatus::Ok && extent >= 0) {
      shape.push_back(extent);
      continue;
    }
    std::vector<std::string> names;
    for (const PlanDim& dim : plan.dims) names.push_back(dim.name);
    std::string text = expr_text(plan.exprs[index], names);
    if (status != EvalStatus::Ok) {
      return invalid(plan.entry, ": an extent of ", in_quotes(buffer.name), " is ", text,
                     ", and ", eval_status_text(status));
    }
    return invalid(plan.entry, ": an extent of ", in_quotes(buffer.name), " is ", text,
                   " = ", extent, ", which is negative");
  }
  return ok();
}

/// Whether steps run for the dims of a call. Iterations of a loop choose where a condition has their number.
enum class Runs : uint8_t { Never, InSomeIterations, Perhaps };

class StepReader {
 public:
  StepReader(const Plan& plan, std::span<const int64_t> dims)
      : plan_(plan), dims_(dims), varying_(varying_exprs(plan)), runs_(plan.steps.size(), Runs::Never) {
    read(0, plan.steps.size(), Runs::Perhaps);
    for (Runs each : {Runs::InSomeIterations, Runs::Perhaps}) {
      std::vector<size_t>& before = each == Runs::Perhaps ? sure_ : some_;
      before.push_back(0);
      for (Runs step : runs_) before.push_back(before.back() + (step >= each));
    }
  }

  /// Whether a step runs while the temp lives.
  Runs needs(const PlanBuffer& temp) const {
    if (temp.last_step >= runs_.size()) return Runs::Perhaps;
    auto any = [&](const std::vector<size_t>& before) {
      return before[size_t(temp.last_step) + 1] != before[temp.first_step];
    };
    return any(sure_) ? Runs::Perhaps : any(some_) ? Runs::InSomeIterations : Runs::Never;
  }

 private:
  void read(size_t begin, size_t end, Runs runs) {
    for (size_t at = begin; at < end;) {
      runs_[at] = runs;
      size_t next = at + 1;
      if (const auto* select = std::get_if<SelectStep>(&plan_.steps[at])) {
        std::optional<int64_t> holds = value(select->condition);
        size_t otherwise = next + select->then_steps;
        Runs chosen = holds ? runs : std::min(runs, Runs::InSomeIterations);
        if (!holds || *holds) read(next, otherwise, chosen);
        next = otherwise + select->else_steps;
        if (!holds || !*holds) read(otherwise, next, chosen);
      } else if (const auto* loop = std::get_if<ForStep>(&plan_.steps[at])) {
        std::optional<int64_t> lo = value(loop->lo), hi = value(loop->hi);
        next += loop->body_steps;
        if (!lo || !hi || *lo < *hi) read(at + 1, next, runs);
      }
      at = next;  // steps that data chooses among follow
    }
  }

  /// Nothing where iterations change it, or where it cannot be found, which the step itself reports.
  std::optional<int64_t> value(uint32_t expr) const {
    int64_t number = 0;
    bool is_known = !varying_[expr] && evaluate(plan_.exprs[expr], dims_, number) == EvalStatus::Ok;
    return is_known ? std::optional(number) : std::nullopt;
  }

  const Plan& plan_;
  std::span<const int64_t> dims_;
  std::vector<bool> varying_;
  std::vector<Runs> runs_;
  std::vector<size_t> sure_, some_;  ///< how many of the first steps run: perhaps; at least in some iterations
};

bool overlaps(const PlanBuffer& a, const PlanBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

/// The lowest offset for `bytes` bytes between the placed temps, which are in order of offset.
int64_t first_gap(const Plan& plan, const Placement& placement, int64_t zone,
                  const std::vector<size_t>& placed, size_t buffer) {
  int64_t at = 0;
  for (size_t other : placed) {
    if (!overlaps(plan.buffers[other], plan.buffers[buffer])) continue;
    if (placement.offsets[other] >= at + round_up(placement.bytes[buffer]) + zone) break;
    at = std::max(at, placement.offsets[other] + round_up(placement.bytes[other]) + zone);
  }
  return at;
}

PlaceOutcome pack_temps(const Plan& plan, int64_t zone, Placement& placement, Clock::time_point until) {
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
    if (until != Clock::time_point::max() && Clock::now() >= until) return {PlaceStatus::Late, "the time is over"};
    if (placement.bytes[temp] > max_arena_bytes) {
      return too_large(plan.entry, ": ", in_quotes(plan.buffers[temp].name), " has ",
                  placement.bytes[temp], " bytes");
    }
    int64_t offset = first_gap(plan, placement, zone, placed, temp);
    placement.offsets[temp] = offset;
    placement.arena_bytes =
        std::max(placement.arena_bytes, offset + round_up(placement.bytes[temp]) + zone);
    if (placement.arena_bytes > max_arena_bytes) {
      return too_large(plan.entry, ": the temporaries need more than ", max_arena_bytes,
                  " bytes");
    }
    auto at = std::lower_bound(placed.begin(), placed.end(), offset,
                               [&](size_t a, int64_t b) { return placement.offsets[a] < b; });
    placed.insert(at, temp);
  }
  return ok();
}

}  // namespace

PlaceOutcome place_buffers(const Plan& plan, std::span<const int64_t> dims, int64_t zone, Placement& placement,
                           Clock::time_point until) {
  placement.offsets.assign(plan.buffers.size(), 0);
  StepReader steps(plan, dims);
  for (const PlanBuffer& buffer : plan.buffers) {
    std::vector<int64_t>& shape = placement.shapes.emplace_back();
    Runs needs = buffer.kind == BufferKind::Temp ? steps.needs(buffer) : Runs::Perhaps;
    PlaceOutcome outcome;
    if (needs != Runs::Never) outcome = evaluate_shape(plan, buffer, dims, shape);
    // The shape of what no step needs may have no meaning for these dims.
    if (needs == Runs::Never || (outcome.failed() && needs == Runs::InSomeIterations)) {
      shape.assign(buffer.shape.size(), 0);
      placement.bytes.push_back(0);
      continue;
    }
    if (outcome.failed()) return outcome;
    auto count = element_count(shape);
    auto bytes = count ? bytes_of(buffer.dtype, *count) : std::nullopt;
    if (!bytes) {
      return too_large(plan.entry, ": the size of ", in_quotes(buffer.name),
                  ", shape ", shape_text(shape), ", overflows 64 bits");
    }
    placement.bytes.push_back(*bytes);
  }
  return pack_temps(plan, zone, placement, until);
}

}  // namespace tessera::format

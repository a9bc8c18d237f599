#include "ir/layout/scan.h"

#include <algorithm>
#include <bit>
#include <set>

#include "support/check.h"

namespace tessera::layout {

namespace {

class Planner {
 public:
  Planner(const Layout& source, int axis) : source_(source), axis_(size_t(axis)) {}

  bool find_steps() {
    for (InputDim dim : all_input_dims) {
      if (!add_bits(dim)) return false;
      for (const Repeat& repeat : source_.repeats(dim)) {
        if (repeat.axis != int(axis_)) continue;
        ScanStep step{dim, repeat.stride, repeat.count};
        step.warp_fields = {{repeat.divisor, repeat.count}};
        steps_.push_back(std::move(step));
      }
    }
    std::ranges::sort(steps_, {}, &ScanStep::stride);
    join_warps();
    number_groups();
    return true;
  }

  std::vector<ScanStep> take() { return std::move(steps_); }

 private:
  bool add_bits(InputDim dim) {
    std::span<const Point> bases = source_.bases(dim);
    for (size_t bit = 0; bit < bases.size(); ++bit) {
      int32_t along = bases[bit][axis_];
      if (along == 0) continue;
      int moved = 0;
      for (int other = 0; other < source_.rank(); ++other) moved += bases[bit][size_t(other)] != 0;
      if (moved > 1 || !std::has_single_bit(uint32_t(along)) || !taken_.insert(along).second)
        return false;
      ScanStep step{dim, along, 2};
      if (dim == InputDim::Lane) step.lane_mask = 1 << bit;
      step.warp_fields = {{1 << bit, 2}};
      steps_.push_back(std::move(step));
    }
    return true;
  }

  /// Digits of the warp index that follow each other are one.
  void join_warps() {
    std::vector<ScanStep> joined;
    for (ScanStep& step : steps_) {
      bool continues = step.dim == InputDim::Warp && !joined.empty() && joined.back().dim == step.dim;
      if (!continues) {
        joined.push_back(std::move(step));
        continue;
      }
      joined.back().count *= step.count;
      joined.back().warp_fields.push_back(step.warp_fields[0]);
    }
    steps_ = std::move(joined);
  }

  void number_groups() {
    std::set<Point> points;
    for (int r = 0; r < source_.registers_per_thread(); ++r) points.insert(source_.register_offset(r));
    int groups = int(points.size());
    uint32_t lanes = 0;
    std::span<const Point> bases = source_.bases(InputDim::Lane);
    for (size_t bit = 0; bit < bases.size(); ++bit) {
      if (bases[bit] != Point{}) lanes |= uint32_t(1) << bit;
    }
    for (ScanStep& step : steps_) {
      step.groups = groups;
      step.other_lanes = lanes;
      if (step.dim != InputDim::Warp) step.warp_fields.clear();
      if (step.dim == InputDim::Register) groups /= step.count;
      lanes &= ~uint32_t(step.lane_mask);
    }
  }

  const Layout& source_;
  size_t axis_;
  std::set<int32_t> taken_;
  std::vector<ScanStep> steps_;
};

}  // namespace

int64_t Scan::exchanged() const {
  int64_t most = 0;
  for (const ScanStep& step : steps) {
    if (step.dim != InputDim::Warp) continue;
    most = std::max(most, int64_t(total.warps()) * step.groups << std::popcount(step.other_lanes));
  }
  return most;
}

std::optional<Scan> plan_scan(const Layout& source, int axis) {
  TSR_CHECK(axis >= 0 && axis < source.rank(), "a scan along no axis");
  Planner planner(source, axis);
  if (!planner.find_steps()) return std::nullopt;
  Slice slice = source.slice(axis, true);
  return Scan{planner.take(), slice.layout, slice.register_map};
}

}  // namespace tessera::layout

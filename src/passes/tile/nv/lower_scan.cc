// Scans: step by step, as layout::plan_scan has them, the totals of the groups before one come before its elements.
// Groups that lie in registers are joined by the thread itself, those of two lanes by one shuffle, those of warps
// through shared memory.

#include <bit>

#include "ir/layout/scan.h"
#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using layout::InputDim;
using layout::Point;
using layout::ScanStep;
namespace attr = tile::attr;
namespace in = tile::in;

/// The state of one scan. A group of a thread's registers is known by the first of them.
struct NvLowering::ScanState {
  Kind kind;
  size_t axis;
  bool reverse;
  bool repeats;  ///< the scan is in a loop
  Value* shared = nullptr;
  std::vector<Point> points;         ///< of each register
  std::map<Point, int> holders;      ///< the first register at each
  std::vector<Value*> line;          ///< per register, its new value
  std::vector<int> group;            ///< per register
  std::map<int, Value*> totals;      ///< per group
  std::map<int, Value*> before;      ///< per group of the last step; empty where nothing is
};

namespace {

std::vector<int> groups_of(const std::map<int, Value*>& totals) {
  std::vector<int> groups;
  for (const auto& [group, total] : totals) groups.push_back(group);
  return groups;
}

}  // namespace

void NvLowering::put_before(ScanState& scan, int group, Value* running, Value* where) {
  for (size_t r = 0; r < scan.line.size(); ++r) {
    if (scan.group[r] != group) continue;
    Value* joined = b_.op(scan.kind, running, scan.line[r]);
    scan.line[r] = where ? b_.select(where, joined, scan.line[r]) : joined;
  }
}

void NvLowering::scan_registers(ScanState& scan, const ScanStep& step) {
  std::map<int, Value*> joined;
  for (int group : groups_of(scan.totals)) {
    if (scan.points[size_t(group)][scan.axis] / step.stride % step.count != 0) continue;
    Value* running = scan.before.empty() ? nullptr : scan.before.at(group);
    for (int n = 0; n < step.count; ++n) {
      Point point = scan.points[size_t(group)];
      point[scan.axis] += (scan.reverse ? step.count - 1 - n : n) * step.stride;
      int member = scan.holders.at(point);
      Value* total = scan.totals.at(member);
      if (running) put_before(scan, member, running, nullptr);
      running = running ? b_.op(scan.kind, running, total) : total;
    }
    joined[group] = running;
  }
  for (int& group : scan.group) {
    Point point = scan.points[size_t(group)];
    point[scan.axis] -= point[scan.axis] / step.stride % step.count * step.stride;
    group = scan.holders.at(point);
  }
  scan.totals = std::move(joined);
}

void NvLowering::scan_lanes(ScanState& scan, const ScanStep& step) {
  std::vector<int> groups = groups_of(scan.totals);
  std::vector<Value*> own;
  for (int group : groups) own.push_back(scan.totals.at(group));
  Value* offered = concat(own);
  Value* received = b_.at().value(target::info(target::OpKind::ShuffleXor), {{offered}}, offered->type(),
                                  {target::attr::ShuffleXor::mask(b_.context(), step.lane_mask)});
  Kind test = scan.reverse ? Kind::Eq : Kind::Ne;
  Value* follows = b_.op(test, b_.bit_and(threads_.lane, i32(step.lane_mask)), i32(0));
  for (size_t g = 0; g < groups.size(); ++g) {
    Value* other = b_.extract(received, int64_t(g));
    Value*& total = scan.totals.at(groups[g]);
    if (scan.before.empty()) {
      put_before(scan, groups[g], other, follows);
      total = b_.op(scan.kind, total, other);
      continue;
    }
    Value* before = scan.before.at(groups[g]);
    Value* first = b_.op(scan.kind, before, b_.select(follows, other, total));
    put_before(scan, groups[g], b_.select(follows, first, before), nullptr);
    total = b_.op(scan.kind, first, b_.select(follows, total, other));
  }
}

/// Every thread reads the totals of all warps that are joined.
void NvLowering::scan_warps(ScanState& scan, const ScanStep& step) {
  std::vector<int> groups = groups_of(scan.totals);
  Type element = b_.context().reg(scan.totals.begin()->second->type()->dtype, 1);
  int64_t bytes = byte_size(element->dtype);
  Value* lane = nullptr;
  int64_t weight = 1;
  for (uint32_t bits = step.other_lanes; bits; bits &= bits - 1, weight *= 2) {
    Value* digit = field(threads_.lane, {int(bits & -bits), 2});
    digit = b_.mul(digit, i32(weight * bytes));
    lane = lane ? b_.add(lane, digit) : digit;
  }
  int64_t group_bytes = weight * bytes, warp_bytes = group_bytes * int64_t(groups.size());
  Value* base = lane ? b_.offset(scan.shared, lane) : scan.shared;
  uint32_t copies = 31u & ~step.other_lanes;
  Value* writes = copies ? b_.op(Kind::Eq, b_.bit_and(threads_.lane, i32(copies)), i32(0)) : nullptr;
  if (scan.repeats) lower_barrier();  // all warps have read the previous exchange
  where(writes, [&] {
    Value* mine = b_.offset(base, b_.mul(threads_.warp, i32(warp_bytes)));
    for (size_t g = 0; g < groups.size(); ++g) {
      b_.store(concat({scan.totals.at(groups[g])}), b_.offset(mine, i32(int64_t(g) * group_bytes)));
    }
  });
  lower_barrier();
  scan.repeats = true;

  Value* slot = nullptr;
  Value* first = threads_.warp;
  int64_t radix = 1;
  for (const layout::IndexField& part : step.warp_fields) {
    Value* digit = field(threads_.warp, part);
    first = b_.sub(first, b_.mul(digit, i32(part.divisor)));
    digit = b_.mul(digit, i32(radix));
    slot = slot ? b_.add(slot, digit) : digit;
    radix *= part.count;
  }
  Value* read = b_.offset(base, b_.mul(first, i32(warp_bytes)));
  for (size_t g = 0; g < groups.size(); ++g) {
    Value* running = scan.before.empty() ? nullptr : scan.before.at(groups[g]);
    Value* own = nullptr;
    for (int n = 0; n < step.count; ++n) {
      int which = scan.reverse ? step.count - 1 - n : n;
      int64_t warp = 0;
      for (int rest = which; const layout::IndexField& part : step.warp_fields) {
        warp += int64_t(rest % part.count) * part.divisor;
        rest /= part.count;
      }
      if (running) own = own ? b_.select(b_.op(Kind::Eq, slot, i32(which)), running, own) : running;
      Value* total = b_.load(b_.offset(read, i32(warp * warp_bytes + int64_t(g) * group_bytes)), element);
      total = b_.extract(total, 0);
      running = running ? b_.op(scan.kind, running, total) : total;
    }
    Value* follows = nullptr;
    if (scan.before.empty()) follows = b_.op(Kind::Ne, slot, i32(scan.reverse ? step.count - 1 : 0));
    if (own) put_before(scan, groups[g], own, follows);
    scan.totals.at(groups[g]) = running;
  }
}

void NvLowering::lower_scan(Op* op) {
  Type tile = op->operand(0)->type();
  const layout::Layout& from = layout_of(tile);
  std::optional<layout::Scan> plan = layout::plan_scan(from, int(op->attr(attr::Scan::axis)));
  TSR_CHECK(plan, "a scan of a tile whose layout has no plan for it");
  bool reverse = op->attr(attr::Scan::reverse);
  Value* limit = op->in(in::Scan::limit);
  // Elements past the end come after all others, unless one starts there.
  if (!reverse && op->result(1)->unused()) limit = nullptr;
  Value* reg = mask_past_limit(op, limit, value(op->in(in::Scan::a)));
  ScanState scan{tile::reduction_op(op->attr(attr::Scan::kind)), size_t(op->attr(attr::Scan::axis)),
                 reverse, is_in_loop(op)};
  if (plan->exchanged())
    scan.shared = b_.offset(shared_base_, i32(op->required(attr::Scan::shared_offset)));
  Attr identity = tile::reduction_identity(b_.context(), op->attr(attr::Scan::kind), tile->dtype);
  for (int r = 0; r < from.registers_per_thread(); ++r) {
    scan.points.push_back(from.register_offset(r));
    scan.group.push_back(scan.holders.try_emplace(scan.points.back(), r).first->second);
    Value* element = b_.extract(reg, r);
    if (scan.group.back() == r) scan.totals[r] = element;
    scan.line.push_back(op->attr(attr::Scan::exclusive) ? b_.full(element->type(), identity)
                                                        : element);
  }
  auto start = [&] {
    Value* before = op->in(in::Scan::before);
    for (const auto& [group, total] : scan.totals) {
      if (before) scan.before[group] = b_.extract(value(before), plan->register_map[size_t(group)]);
    }
  };
  if (plan->steps.empty()) plan->steps.push_back({InputDim::Register, 1, 1});
  for (const ScanStep& step : plan->steps) {
    if (&step == &plan->steps.back()) start();
    if (step.dim == InputDim::Register) scan_registers(scan, step);
    if (step.dim == InputDim::Lane) scan_lanes(scan, step);
    if (step.dim == InputDim::Warp) scan_warps(scan, step);
  }
  define(op->result(0), concat(scan.line));
  std::vector<Value*> totals(size_t(plan->total.registers_per_thread()));
  for (size_t r = 0; r < scan.group.size(); ++r) totals[size_t(plan->register_map[r])] = scan.totals.at(scan.group[r]);
  define(op->result(1), concat(totals));
}

}  // namespace tessera

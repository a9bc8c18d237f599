// Scans. Groups of 2, 4, 8 and 16 elements come from their halves: the total of the first half is
// combined into each element of the second, by one shuffle where both are in one register. Then the
// groups of 16 follow each other. A scan from the end is the same with the halves exchanged.

#include "ir/tile/build.h"
#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr int64_t group = 16;

/// Where an element finds the total of the half of 2 * half elements that comes before its own; -1 where it is in the
/// first half, or alone.
int64_t source_of(int64_t element, int64_t half, int64_t count, bool reverse) {
  int64_t begin = element / (2 * half) * (2 * half);
  bool second = element - begin >= half;
  if (!reverse) return second ? begin + half - 1 : -1;
  return second || begin + half >= count ? -1 : begin + half;
}

}  // namespace

/// One line of elements along the axis: `count` of them in parts, one element or `chunk` to a part.
struct KernelLowering::ScanLine {
  Kind kind;
  bool reverse;
  int64_t count;
  int64_t chunk;                  ///< elements of a part; 1: whole parts follow each other
  std::vector<Value*> inclusive;  ///< per part
  std::vector<Value*> exclusive;  ///< per part; empty where it is not asked for
  Value* neutral;                 ///< changes nothing, bit for bit
};

void KernelLowering::put_before(ScanLine& line, size_t part, Value* prefix) {
  line.inclusive[part] = b_.op(line.kind, prefix, line.inclusive[part]);
  if (!line.exclusive.empty()) line.exclusive[part] = b_.op(line.kind, prefix, line.exclusive[part]);
}

Value* KernelLowering::scan_element(const ScanLine& line, const std::vector<Value*>& parts, int64_t element) {
  Value* part = parts[size_t(element / line.chunk)];
  return line.chunk > 1 && part->type()->is(TypeKind::Reg) ? b_.extract(part, element % line.chunk) : part;
}

/// An element in every lane that the part has.
Value* KernelLowering::scan_spread(const ScanLine& line, Value* element, size_t part) {
  Type type = line.inclusive[part]->type();
  return line.chunk > 1 && type->is(TypeKind::Reg) ? b_.splat(element, type->lanes) : element;
}

void KernelLowering::join_halves(ScanLine& line, int64_t half) {
  const std::vector<Value*> totals = line.inclusive;
  for (size_t part = 0; part < totals.size(); ++part) {
    int64_t first = int64_t(part) * line.chunk, lanes = std::min(line.chunk, line.count - first);
    std::vector<int64_t> picks;
    int64_t outside = -1;
    bool some = false;
    for (int64_t i = 0; i < lanes; ++i) {
      int64_t source = source_of(first + i, half, line.count, line.reverse);
      bool here = source / line.chunk == int64_t(part);
      if (source >= 0 && !here) outside = source;
      some |= source >= 0;
      picks.push_back(source < 0 ? lanes : source % line.chunk);
    }
    if (!some) continue;
    if (outside >= 0) {
      put_before(line, part, scan_spread(line, scan_element(line, totals, outside), part));
    } else {
      put_before(line, part, b_.shuffle(totals[part], b_.splat(line.neutral, lanes), picks));
    }
  }
}

/// Puts the groups of 16 behind each other and returns the total of all, null for none.
Value* KernelLowering::join_runs(ScanLine& line, Value* running) {
  int64_t runs = (line.count + group - 1) / group;
  for (int64_t n = 0; n < runs; ++n) {
    int64_t first = (line.reverse ? runs - 1 - n : n) * group, last = std::min(first + group, line.count) - 1;
    Value* total = scan_element(line, line.inclusive, line.reverse ? first : last);
    for (int64_t part = first / line.chunk; running && part <= last / line.chunk; ++part) {
      put_before(line, size_t(part), scan_spread(line, running, size_t(part)));
    }
    running = running ? b_.op(line.kind, running, total) : total;
  }
  return running;
}

Value* KernelLowering::scan_line(ScanLine& line, Value* before) {
  for (int64_t half = 1; half < group && half < line.count; half *= 2) join_halves(line, half);
  return join_runs(line, before);
}

void KernelLowering::lower_scan(Op* op) {
  Fragment from = fragment(op->in(in::Scan::a));
  size_t axis = size_t(op->attr(attr::Scan::axis));
  DType dtype = op->result(0)->type()->dtype;
  Type scalar_type = b_.context().scalar(dtype);
  std::string_view kind = op->attr(attr::Scan::kind);
  Value* none = b_.full(scalar_type, tile::reduction_identity(b_.context(), kind, dtype));
  mask_past(from, axis, op->in(in::Scan::limit), none);
  bool along_lanes = axis + 1 == from.shape.extents.size();
  int64_t per_row = from.shape.parts_per_row();
  TSR_CHECK(group % from.shape.chunk == 0, "parts of a scan are not aligned with its groups");
  FragmentShape kept = from.shape;
  kept.extents[axis] = 1;
  Fragment result{from.shape, std::vector<Value*>(from.parts.size())}, total{kept, {}};
  std::vector<Value*> before;
  if (Value* given = op->in(in::Scan::before)) before = values_.at(given);
  for (int64_t row = 0; row < kept.rows(); ++row) {
    std::vector<int64_t> index = kept.row_index(row);
    for (int64_t part = 0; part < kept.parts_per_row(); ++part) {
      std::vector<size_t> places;
      for (int64_t i = 0; i < (along_lanes ? per_row : from.shape.extents[axis]); ++i) {
        if (!along_lanes) index[axis] = i;
        places.push_back(size_t(from.shape.row_of(index) * per_row + (along_lanes ? i : part)));
      }
      ScanLine line{tile::reduction_op(kind),
                    op->attr(attr::Scan::reverse),
                    from.shape.extents[axis],
                    along_lanes ? from.shape.chunk : 1,
                    {},
                    {},
                    nullptr};
      line.neutral = neutral_of(line.kind, dtype);
      for (size_t place : places) line.inclusive.push_back(from.parts[place]);
      if (op->attr(attr::Scan::exclusive)) {
        for (Value* each : line.inclusive) {
          line.exclusive.push_back(each->type()->is(TypeKind::Reg) ? b_.splat(none, each->type()->lanes) : none);
        }
      }
      Value* sum = scan_line(line, before.empty() ? nullptr : before[total.parts.size()]);
      total.parts.push_back(sum);
      const std::vector<Value*>& made = line.exclusive.empty() ? line.inclusive : line.exclusive;
      for (size_t i = 0; i < places.size(); ++i) result.parts[places[i]] = made[i];
    }
  }
  define(op->result(0), std::move(result.parts));
  define(op->result(1), std::move(total.parts));
}

}  // namespace tessera

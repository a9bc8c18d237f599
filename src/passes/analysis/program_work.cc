#include "passes/analysis/program_work.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/core/context.h"
#include "ir/tile/build.h"

namespace tessera {

using tile::OpKind;
using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

Trend opposite(Trend trend) {
  switch (trend) {
    case Trend::Rising: return Trend::Falling;
    case Trend::Falling: return Trend::Rising;
    case Trend::Even:
    case Trend::Unknown: break;
  }
  return trend;
}

/// Of a sum, a minimum or a maximum.
Trend together(Trend a, Trend b) {
  if (a == Trend::Even) return b;
  if (b == Trend::Even || a == b) return a;
  return Trend::Unknown;
}

class WorkTrend {
 public:
  explicit WorkTrend(int64_t axis) : axis_(axis) {}

  Trend of(Value* value) {
    auto [known, is_new] = known_.try_emplace(value, Trend::Unknown);
    if (is_new) known->second = found(value);
    return known_.at(value);
  }

 private:
  Trend found(Value* value) {
    Op* def = value->def();
    if (!def) return value->parent_block()->parent_op()->is(tile::info(OpKind::For)) ? Trend::Unknown : Trend::Even;
    if (def->is(tile::info(OpKind::ProgramId))) {
      return def->attr(attr::ProgramId::axis) == axis_ ? Trend::Rising : Trend::Even;
    }
    std::vector<Trend> operands;
    for (unsigned i = 0; i < def->operand_count(); ++i) operands.push_back(of(def->operand(i)));
    bool is_even = std::ranges::all_of(operands, [](Trend each) { return each == Trend::Even; });
    if (is_even && def->region_count() == 0) return Trend::Even;
    return computed(def->info().elementwise, def, operands);
  }

  static Trend computed(Kind kind, Op* op, const std::vector<Trend>& operands) {
    switch (kind) {
      case Kind::Cast: return operands[0];
      case Kind::Add:
      case Kind::Min:
      case Kind::Max: return together(operands[0], operands[1]);
      case Kind::Sub: return together(operands[0], opposite(operands[1]));
      case Kind::Mul:
        if (is_natural(op->operand(1))) return operands[0];
        return is_natural(op->operand(0)) ? operands[1] : Trend::Unknown;
      case Kind::FloorDiv: return is_natural(op->operand(1)) ? operands[0] : Trend::Unknown;
      default: return Trend::Unknown;
    }
  }

  /// A number that is no program's own, and not negative: sizes are not.
  static bool is_natural(Value* value) {
    if (std::optional<int64_t> known = tile::known_index(value)) return *known >= 0;
    Op* def = value->def();
    if (!def || !def->is(tile::info(OpKind::Dim))) return false;
    Dim size = def->attr(attr::Dim::value);
    DimTable& dims = def->module()->context().dims();
    return proves_le(dims, dims.constant(0), size);
  }

  int64_t axis_;
  std::map<Value*, Trend> known_;
};

}  // namespace

Trend trips_along(Op* loop, int64_t axis) {
  WorkTrend trend(axis);
  return together(trend.of(loop->in(in::For::hi)), opposite(trend.of(loop->in(in::For::lo))));
}

Trend work_along(Op* kernel, int64_t axis) {
  Trend all = Trend::Even;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::For))) all = together(all, trips_along(op, axis));
  });
  return all;
}

}  // namespace tessera

// Divisions of many elements by one number share its reciprocal.
//
// A correctly rounded division is a dozen instructions where the machine has none. With r = 1 / b, rounded, two fused
// multiply-adds correct the product q = a r to the same bits:
//
//   d = fma(q, b, -a)           which is exact, or loses one bit
//   quotient = fma(-d, r, q)
//
// (Markstein 1990; Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the
// divisor is known in advance", 2004.) That a rounding goes the wrong way takes a quotient within 2.5 * 2^-24 units of
// the middle between two numbers; the unit test enumerates the significands for which that is so. It holds while
// nothing underflows or overflows on the way:
//
//   - b is from 2^-24 to 2^24;
//   - each a is less than about 2^100, and at least 2^-100 or zero, whose sign then comes out right.
//
// That is checked once for all elements of a thread. Where it fails the same steps in f64 give the quotient to 2^-53 of
// itself, or exactly if f64 has it. No quotient of two f32 that f64 does not have is that near to where f32 rounds the
// other way, also where the result is denormal, so rounding to f32 is right. The steps give NaN for divisors of 0 and
// for what is infinite or NaN; there the product with the reciprocal is the quotient.

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/target/ops.h"
#include "passes/pass.h"
#include "passes/target/math/math.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using target::OpKind;

namespace {

constexpr int64_t smallest_dividend_bits = int64_t(127 - 100) << 23;
/// Makes dividends that are too large, and sums of a few that are not, infinite.
constexpr double dividend_scale = 0x1p27;
constexpr double smallest_divisor = 0x1p-24, largest_divisor = 0x1p24;
/// Elements of one divisor that make up for its reciprocal and the check.
constexpr int64_t worthwhile = 4;

/// The different numbers among the lanes of a register: lane i is that of `from` with number lanes[i].
struct Few {
  Value* from;
  std::vector<int64_t> lanes;
};

/// Divisors of which each divides several elements.
std::optional<Few> few_divisors(TargetBuilder& b, Value* divisor) {
  Op* def = divisor->def();
  if (!def || !divisor->type()->is(TypeKind::Reg)) return std::nullopt;
  int64_t count = divisor->type()->lanes;
  Few few;
  if (def->is(target::info(OpKind::Constant))) {
    few.from = b.full(b.context().reg(DType::F32, 1), def->attr(target::attr::Constant::value));
    few.lanes.assign(size_t(count), 0);
  } else if (def->is(target::info(OpKind::Splat))) {
    few.from = b.splat(def->operand(0), 1);
    few.lanes.assign(size_t(count), 0);
  } else if (def->is(target::info(OpKind::Shuffle)) && def->operand(0) == def->operand(1)) {
    // Some of the source's lanes may not be among them.
    std::vector<int64_t> used;
    for (int64_t lane : def->attr(target::attr::Shuffle::lanes)) {
      lane %= def->operand(0)->type()->lanes;
      auto at = std::find(used.begin(), used.end(), lane);
      few.lanes.push_back(at - used.begin());
      if (at == used.end()) used.push_back(lane);
    }
    few.from = b.shuffle(def->operand(0), def->operand(0), used);
  }
  if (few.lanes.empty() || count < worthwhile * few.from->type()->lanes) return std::nullopt;
  return few;
}

/// True if no element has its sign bit set, NaN aside.
bool is_positive(Value* value) {
  Op* def = value->def();
  if (!def) return false;
  switch (def->info().elementwise) {
    case Kind::Exp:
    case Kind::Exp2:
    case Kind::Abs:
    case Kind::Sigmoid: return true;
    default: return false;
  }
}

class SharedReciprocal {
 public:
  SharedReciprocal(Op* division, TargetBuilder& builder)
      : division_(division), b_(builder), m_(builder, division->result()->type()) {}

  bool run() {
    b_.at().set_before(division_);
    b_.at().set_loc(division_->loc());
    Value* a = division_->operand(0);
    Value* divisor = division_->operand(1);
    std::optional<Few> few = few_divisors(b_, divisor);
    if (!few) return false;
    Value* result = b_.choose(
        b_.bit_and(divisors_hold(few->from), dividends_hold(a)),
        [&] { return std::vector{quotient(a, divisor, spread(reciprocals(few->from), *few))}; },
        [&] { return std::vector{wide_quotient(a, *few)}; })[0];
    result->set_name(division_->result()->name());
    division_->result()->replace_all_uses(result);
    division_->erase();
    return true;
  }

 private:
  Value* reciprocals(Value* divisors) { return b_.div(b_.number(divisors->type(), 1), divisors); }
  Value* spread(Value* few, const Few& map) { return b_.shuffle(few, few, map.lanes); }

  Value* quotient(Value* a, Value* b, Value* r) {
    Value* q = b_.mul(a, r);
    Value* difference = b_.fma(q, b, b_.op(Kind::Neg, a));
    return b_.fma(b_.op(Kind::Neg, difference), r, q);
  }

  /// By positive divisors, so that zeros get their sign. A few elements at a time, since those of f64 fill registers.
  Value* wide_quotient(Value* a, const Few& few) {
    math::Arithmetic of_few(b_, few.from->type());
    Value* sign = of_few.with_sign_of(of_few.number(1), few.from);
    Value* magnitudes = of_few.abs(few.from);
    Value* divisors = b_.cast(magnitudes, DType::F64);
    auto [narrow, inverses] = wide_reciprocals(of_few, magnitudes, divisors);
    int64_t lanes = a->type()->lanes, width = std::gcd<int64_t>(lanes, 4);
    std::vector<Value*> parts;
    for (int64_t at = 0; at < lanes; at += width) {
      Few map{few.from, {few.lanes.begin() + at, few.lanes.begin() + at + width}};
      Value* dividend = b_.mul(part(a, at, width), spread(sign, map));
      Value* wide = quotient(b_.cast(dividend, DType::F64), spread(divisors, map), spread(inverses, map));
      Value* result = b_.cast(wide, DType::F32);
      Value* product = b_.mul(dividend, spread(narrow, map));
      parts.push_back(b_.select(b_.op(Kind::Ne, result, result), product, result));
    }
    return b_.at().value(target::info(OpKind::Concat), {parts}, a->type());
  }

  /// 1 / b in f32, roughly, and in f64 by two of Newton's steps. The rough one comes from b times a power of two, so
  /// that neither it nor b is too large or small for the unit.
  std::pair<Value*, Value*> wide_reciprocals(math::Arithmetic& of_few, Value* magnitudes, Value* divisors) {
    Value* scale = b_.select(of_few.less(magnitudes, 0x1p-60), of_few.number(0x1p80), of_few.number(1));
    scale = b_.select(of_few.greater(magnitudes, 0x1p60), of_few.number(0x1p-60), scale);
    Value* scaled = b_.mul(magnitudes, scale);
    Value* rough = b_.at().value(target::info(OpKind::ApproxReciprocal), {{scaled}}, scaled->type());
    Value* inverse = b_.mul(b_.cast(rough, DType::F64), b_.cast(scale, DType::F64));
    for (int step = 0; step < 2; ++step) {
      Value* error = b_.fma(b_.op(Kind::Neg, divisors), inverse, b_.number(divisors->type(), 1));
      inverse = b_.fma(inverse, error, inverse);
    }
    return {b_.mul(rough, scale), inverse};
  }

  /// Combines the lanes of a register, a few chains at a time, each step taking the next lanes.
  template <typename F>
  Value* fold(Value* reg, Value* start, F&& step) {
    int64_t lanes = reg->type()->lanes, width = start->type()->lanes;
    Value* all = start;
    for (int64_t at = 0; at < lanes; at += width) all = step(all, part(reg, at, width));
    return all;
  }
  Value* part(Value* reg, int64_t first, int64_t count) {
    std::vector<int64_t> lanes(static_cast<size_t>(count));
    std::iota(lanes.begin(), lanes.end(), first);
    return b_.shuffle(reg, reg, lanes);
  }
  /// Chains that a fold over all lanes may have.
  int64_t width() const { return std::gcd<int64_t>(division_->result()->type()->lanes, 2); }
  Value* all_lanes(Value* conditions) {
    Value* all = b_.extract(conditions, 0);
    for (int64_t i = 1; i < conditions->type()->lanes; ++i) all = b_.bit_and(all, b_.extract(conditions, i));
    return all;
  }

  Value* divisors_hold(Value* divisors) {
    Type type = divisors->type();
    return all_lanes(b_.bit_and(b_.op(Kind::Ge, divisors, b_.number(type, smallest_divisor)),
                                b_.op(Kind::Le, divisors, b_.number(type, largest_divisor))));
  }

  /// The bits of a zero less one are the largest number there is.
  Value* dividends_hold(Value* a) {
    Type bits = b_.context().reg(DType::U32, width()), numbers = b_.context().reg(DType::F32, width());
    Value* one = b_.integer(bits, 1);
    Value* least = b_.integer(bits, UINT32_MAX);
    least = fold(b_.bitcast(is_positive(a) ? a : m_.abs(a), DType::U32), least, [&](Value* all, Value* next) {
      return b_.min(b_.sub(next, one), all);
    });
    Value* scale = b_.number(numbers, dividend_scale);
    Value* sum = fold(a, b_.number(numbers, 0), [&](Value* all, Value* next) { return b_.fma(next, scale, all); });
    Value* infinity = b_.number(numbers, std::numeric_limits<double>::infinity());
    return all_lanes(b_.bit_and(b_.op(Kind::Ge, least, b_.integer(bits, smallest_dividend_bits - 1)),
                                b_.op(Kind::Lt, b_.op(Kind::Abs, sum), infinity)));
  }

  Op* division_;
  TargetBuilder& b_;
  math::Arithmetic m_;
};

void share_reciprocals(Op* func) {
  std::vector<Op*> divisions;
  for (Block* block = func->region()->front(); block; block = block->next()) {
    for (Op* op : *block) {
      if (op->info().elementwise == Kind::Div && op->result()->type()->dtype == DType::F32) divisions.push_back(op);
    }
  }
  TargetBuilder builder(*func->module(), func);
  for (Op* division : divisions) SharedReciprocal(division, builder).run();
}

}  // namespace

Status share_reciprocals(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "share_reciprocals needs a machine");
  if (!context.machine->divides_by_steps) return success;
  for (Op* op : *module.body()) {
    if (op->is(target::info(OpKind::Func)) && !op->region()->empty()) share_reciprocals(op);
  }
  return success;
}

}  // namespace tessera

// Writes every elementwise op that the machine has no instruction for as ops that it has:
//
//   - functions (exp, log, tanh, gelu, …) as polynomials: math/, one file per family;
//   - integer division, remainder and shifts with guards where the instruction traps or is undefined: integer_ops.cc;
//   - arithmetic and comparisons of dtypes narrower than f32 in f32, rounded once. That is exact for all of them:
//     f32 has more than twice the digits of f16 and bf16, so that rounding twice is rounding once.
//
// What the machine has stays: min and max of f32 that pass NaN on, shifts by any amount; and the functions of f32 that
// decay are made of its approximate ones (passes ask the facts of the machine, ir/numbers/machine.h).
//
// What is left on any machine: of f32 and f64 neg abs sqrt floor ceil round trunc add sub mul div fma and comparisons;
// of integers neg abs not add sub mul min max and or xor and comparisons, and div and shifts whose second operands are
// safe; of bool and or xor not and comparisons; select of anything; casts, which are legalize_casts' matter.

#include <algorithm>

#include "ir/target/ops.h"
#include "passes/pass.h"
#include "passes/target/integer_ops.h"
#include "passes/target/math/math.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using Kind = ElementwiseKind;

namespace {

/// Whether a value is only ever rounded to 11 digits or fewer, alone or as a factor.
bool is_rounded(Value* value, int depth = 0) {
  constexpr int deepest = 4;
  if (!value->first_use() || depth > deepest) return false;
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* op = use->owner();
    switch (op->info().elementwise) {
      case Kind::Cast:
        if (!is_float(op->result()->type()->dtype) || byte_size(op->result()->type()->dtype) > 2) return false;
        continue;
      case Kind::Mul:
      case Kind::Neg:
        if (!is_rounded(op->result(), depth + 1)) return false;
        continue;
      default: return false;
    }
  }
  return true;
}

class Expansion {
 public:
  Expansion(Op* func, PassContext& context)
      : context_(context), func_(func), b_(*func->module(), func), integers_(b_, safe_, *context.machine) {}

  Status run() {
    bool ok = true;
    for (Block* block = func_->region()->front(); block; block = block->next()) {
      for (Op* op = block->front(); op;) {
        if (op->info().elementwise == Kind::None || is_safe(op)) {
          op = op->next();
          continue;
        }
        Op* before = op->prev();
        b_.at().set_before(op);
        b_.at().set_loc(op->loc());
        Value* value = expand(op);
        if (!value) {
          ok = ok && supported_;
          op = op->next();
          continue;
        }
        op->result()->replace_all_uses(value);
        op->erase();
        // What was made may have to be expanded in turn.
        op = before ? before->next() : block->front();
      }
    }
    return ok ? success : Status(failure);
  }

 private:
  bool is_safe(Op* op) const { return std::find(safe_.begin(), safe_.end(), op) != safe_.end(); }

  /// The op in other ops; null where it stays.
  Value* expand(Op* op) {
    Type data = op->operand(op->operand_count() == 3 && op->info().elementwise == Kind::Select ? 1 : 0)->type();
    DType dtype = data->dtype;
    if (dtype == DType::I4 || op->result()->type()->dtype == DType::I4) return unsupported(op);
    switch (elementwise_info(op->info().elementwise).cls) {
      case ElementwiseClass::Convert:
      case ElementwiseClass::Choose: return nullptr;
      case ElementwiseClass::Arithmetic:
      case ElementwiseClass::Real:
      case ElementwiseClass::Logical:
      case ElementwiseClass::Compare: break;
    }
    if (dtype == DType::Bool) return expand_bool(op);
    if (!is_float(dtype)) return expand_integer(op);
    return is_native_float(dtype) ? expand_float(op, data) : expand_narrow(op, dtype);
  }

  Value* unsupported(Op* op) {
    supported_ = false;
    context_.diagnostics.report(diag::unsupported_operation, op->loc(),
                                std::string(op->name().substr(op->name().find('.') + 1)),
                                to_string(op->operand(0)->type()->dtype), context_.machine->name);
    return nullptr;
  }

  bool is_supported(Op* op, Type type) { return has_code(op->info().elementwise, type->dtype) || unsupported(op); }

  /// A shift of the one bit there is: any amount but 0 moves it out.
  Value* expand_bool(Op* op) {
    Kind kind = op->info().elementwise;
    if (kind != Kind::Shl && kind != Kind::Shr) return nullptr;
    return b_.bit_and(op->operand(0), b_.op(Kind::Not, op->operand(1)));
  }

  Value* expand_integer(Op* op) {
    Value* a = op->operand(0);
    switch (op->info().elementwise) {
      case Kind::Sign: return integers_.sign(a);
      case Kind::Relu: return integers_.relu(a);
      case Kind::Div: return integers_.divide(a, op->operand(1));
      case Kind::FloorDiv: return integers_.floor_divide(a, op->operand(1));
      case Kind::Mod: return integers_.modulo(a, op->operand(1));
      case Kind::Shl: return stays(op) ? nullptr : integers_.shift_left(a, op->operand(1));
      case Kind::Shr: return stays(op) ? nullptr : integers_.shift_right(a, op->operand(1));
      default: return nullptr;
    }
  }

  /// Of a shift: the machine does what it means.
  bool stays(Op* op) const { return context_.machine->has_saturating_shifts || has_safe_amount(op); }

  static bool has_safe_amount(Op* op) {
    std::optional<int64_t> amount = constant_lanes(op->operand(1));
    return amount && *amount >= 0 && *amount < dtype_info(op->operand(0)->type()->dtype).bits;
  }

  Value* expand_narrow(Op* op, DType dtype) {
    std::vector<std::vector<Value*>> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back({b_.cast(op->operand(i), DType::F32)});
    Kind kind = op->info().elementwise;
    if (elementwise_info(kind).cls == ElementwiseClass::Compare) {
      return b_.at().value(target::info(kind), std::move(operands), op->result()->type());
    }
    if (kind == Kind::FloorDiv) {
      // The quotient is rounded to the dtype before its floor is taken.
      Value* quotient = b_.cast(b_.div(operands[0][0], operands[1][0]), dtype);
      return b_.cast(b_.op(Kind::Floor, b_.cast(quotient, DType::F32)), dtype);
    }
    Type wide = operands[0][0]->type();
    return b_.cast(b_.at().value(target::info(kind), std::move(operands), wide), dtype);
  }

  /// Zeros compare equal and differ in the sign bit: of equal operands the smaller has the bits of either, the larger
  /// those of both. A comparison with NaN is false, which gives b; that leaves a NaN in a.
  Value* extreme(math::Arithmetic& m, Kind kind, Value* a, Value* b) {
    bool smaller = kind == Kind::Min;
    Value* result = b_.select(b_.op(smaller ? Kind::Lt : Kind::Gt, a, b), a, b);
    Value* bits = b_.op(smaller ? Kind::Or : Kind::And, m.bits(a), m.bits(b));
    result = b_.select(b_.op(Kind::Eq, a, b), m.from_bits(bits), result);
    return b_.select(b_.op(Kind::Ne, a, a), a, result);
  }

  Value* expand_float(Op* op, Type type) {
    const Machine& machine = *context_.machine;
    bool approximates = machine.has_approximate_functions && machine.has_nan_propagating_extremes;
    bool flushes = op->info().elementwise == Kind::Exp2 && op->attr(target::attr::Exp2::flush);
    approximates = approximates && type->dtype == DType::F32;
    math::Arithmetic m(b_, type, approximates, flushes, approximates && is_rounded(op->result()));
    Value* a = op->operand(0);
    switch (op->info().elementwise) {
      case Kind::Sign: {
        Value* negative = b_.select(m.less(a, 0), m.number(-1), a);
        return b_.select(m.greater(a, 0), m.number(1), negative);
      }
      case Kind::Min:
      case Kind::Max:
        if (!m.is_double() && machine.has_nan_propagating_extremes) return nullptr;
        return extreme(m, op->info().elementwise, a, op->operand(1));
      case Kind::Relu: return b_.select(b_.op(Kind::Le, a, m.number(0)), m.number(0), a);
      case Kind::Reciprocal: return b_.div(m.number(1), a);
      case Kind::Rsqrt: return b_.div(m.number(1), b_.op(Kind::Sqrt, a));
      case Kind::FloorDiv: return b_.op(Kind::Floor, b_.div(a, op->operand(1)));
#define MATH(Name, name, ...) \
  case Kind::Name: return is_supported(op, type) ? math::name(m, a) : nullptr;
#include "ir/numbers/elementwise.def"
      case Kind::Pow: return is_supported(op, type) ? math::pow(m, a, op->operand(1)) : nullptr;
      case Kind::Mod: return is_supported(op, type) ? math::mod(m, a, op->operand(1)) : nullptr;
      default: return nullptr;
    }
  }

  PassContext& context_;
  Op* func_;
  TargetBuilder b_;
  std::vector<Op*> safe_;
  IntegerOps integers_;
  bool supported_ = true;
};

}  // namespace

Status expand_math(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "expand_math needs a machine");
  bool ok = true;
  for (Op* op : *module.body()) {
    bool kernel = op->is(target::info(target::OpKind::Func)) && !op->region()->empty();
    if (kernel && Expansion(op, context).run().failed()) ok = false;
  }
  return ok ? success : Status(failure);
}

}  // namespace tessera

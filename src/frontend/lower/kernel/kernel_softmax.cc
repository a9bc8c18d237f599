// Softmax over blocks of a row, one block after the other.
//
// `softmax_online(s, scale=c)` means weights, maximum and sum of each row of one block, and is not computed where it is
// called: what `softmax_accumulate` does with it needs other weights. A block's weights are exp(s - m) with the
// maximum m of all blocks so far (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
// al., FlashAttention, 2022), so that they are added to the accumulator as they come out of the
// dot:
//
//   m'   = max(m, rows' max of s)           p    = exp(s - m')       alpha = exp(m - m')
//   l'   = l * alpha + rows' sum of p       acc' = acc * alpha + p x v
//
// Exponentials are of base 2: exp(c * (s - m')) is exp2(s * k - m' * k) with k = c * log2(e), one fma and one exp2, so
// that a scale costs nothing. The rounding of m' * k multiplies all weights of a row by one factor, which goes when
// acc is divided by l; alpha is the quotient of two such numbers, rounded as they were, and keeps that so. Where c *
// m' is so large that scaled scores beside it are 2 and more apart, the factor could become 0 or inf: there k is a
// power of 2 near c, which leaves differences exact. (Rows that a mask of large finite numbers hides are of this kind:
// their scores are equal.) A row of which nothing has been seen has m' = -inf; 0 stands in its place, so that its
// weights are exp2(-inf) = 0. Then l is 0, and a division by such an l gives 0. Beside the largest weight, 1, those
// below 2^-126 count for nothing: they may be 0 (`flush`).
//
// Dropout of weights stays with them until then; the sum is of all weights. Weights that the kernel changes otherwise
// before they are accumulated are those of the block alone, exp(s - max of s), and are brought to the common maximum
// there.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/tile_builtins.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
using Kind = ElementwiseKind;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// From where on the numbers of a dtype are 2 and more apart.
double sparse_from(DType dtype) {
  switch (dtype) {
    case DType::F64: return 0x1p53;
    case DType::F32: return 0x1p24;
    case DType::F16: return 0x1p11;
    case DType::BF16: return 0x1p8;
    case DType::F8E4M3: return 0x1p4;
    default: return 0x1p3;
  }
}

/// The nearest positive number that a dtype has, of those that are not denormal.
double held_by(DType dtype, double value) {
  switch (dtype) {
    case DType::F64: return std::clamp(value, 0x1p-1022, std::numeric_limits<double>::max());
    case DType::F16: return std::clamp(value, 0x1p-14, 65504.0);
    case DType::F8E4M3: return std::clamp(value, 0x1p-6, 448.0);
    case DType::F8E5M2: return std::clamp(value, 0x1p-14, 57344.0);
    default: return std::clamp(value, 0x1p-126, 0x1.fep127);  // bf16 has no greater one
  }
}

}  // namespace

Datum KernelBuilder::apply_kind(Kind kind, std::initializer_list<Datum> operands, Loc loc) {
  for (const Datum& operand : operands) {
    if (operand.is_poison()) return operand;
  }
  return ops_.elementwise(kind, {operands.begin(), operands.size()}, loc);
}

Datum KernelBuilder::as_column(const Datum& rows) {
  if (rows.is_poison()) return rows;
  Value* value = rows.as_ir().value;
  return ops_.handle(ops_.reshape(value, {value->type()->dims[0], dims().constant(1)}),
                     rows.as_ir().origin);
}

/// The value used for a maximum in differences, in units of log(2) / scale.
KernelBuilder::SoftmaxBase KernelBuilder::softmax_base(const Datum& most, const Datum& scale, Loc loc) {
  if (most.is_poison()) return {most, most};
  Type type = most.as_ir().value->type();
  double limit = sparse_from(type->dtype);
  Datum factor, power;  // the scale in units of log(2), and a power of 2 near it that is 1 for 1
  if (scale.is_ir()) {
    factor = apply_kind(Kind::Mul, {scale, Datum::number(std::numbers::log2e)}, loc);
    Datum whole = apply_kind(Kind::Floor, {apply_kind(Kind::Log2, {scale}, loc)}, loc);
    power = apply_kind(Kind::Exp2, {whole}, loc);
  } else {
    factor = Datum::number(held_by(type->dtype, scale.as_double() * std::numbers::log2e));
    power = Datum::number(held_by(type->dtype, std::exp2(std::floor(std::log2(scale.as_double())))));
  }
  Datum none = apply_kind(Kind::Eq, {most, Datum::number(-infinity)}, loc);
  Datum finite = apply_kind(Kind::Select, {none, Datum::number(0), most}, loc);
  Datum size = apply_kind(Kind::Abs, {finite}, loc);
  Datum scaled = scale.is_ir() ? apply_kind(Kind::Mul, {size, scale}, loc) : size;
  Datum most_exact = Datum::number(scale.is_ir() ? limit : held_by(type->dtype, limit / scale.as_double()));
  Datum sparse = apply_kind(Kind::Ge, {scaled, most_exact}, loc);
  Datum apart = apply_kind(Kind::Mul, {ops_.full(type->dims, Datum::number(1), type->dtype, loc), power}, loc);
  Datum units = apply_kind(Kind::Select, {sparse, apart, factor}, loc);
  return {units, apply_kind(Kind::Mul, {finite, units}, loc)};
}

Datum KernelBuilder::softmax_power(const Datum& exponent, Loc loc) {
  Datum power = apply_kind(Kind::Exp2, {exponent}, loc);
  Op* op = power.is_ir() ? power.as_ir().value->def() : nullptr;
  if (op && op->info().elementwise == Kind::Exp2) op->set(schedule::attr::Exp2::flush, true);
  return power;
}

/// exp(scale * (scores - most)) for each row, where `base` belongs to `most`.
Datum KernelBuilder::softmax_weights(const Datum& scores, const SoftmaxBase& base, Loc loc) {
  Datum minus = as_column(apply_kind(Kind::Neg, {base.exponent}, loc));
  return softmax_power(apply_kind(Kind::Fma, {scores, as_column(base.scale), minus}, loc), loc);
}

/// What sums of weights that belong to the maximum `most` of less are multiplied by where `base` takes its place.
Datum KernelBuilder::softmax_factor(const Datum& most, const SoftmaxBase& base, Loc loc) {
  Datum scaled = apply_kind(Kind::Mul, {most, base.scale}, loc);
  return softmax_power(apply_kind(Kind::Sub, {scaled, base.exponent}, loc), loc);
}

Datum KernelBuilder::softmax_online(const BoundArguments& arguments) {
  Value* scores = ops_.expect_tile(arguments[0], arguments.locs[0], "the argument of 'tile.softmax_online'");
  if (!scores) return Datum::poison();
  if (scores->type()->rank() != 2 || !is_float(scores->type()->dtype)) {
    report(diag::wrong_kind, arguments.locs[0], "the argument of 'tile.softmax_online'",
           describe(arguments[0]), "a tile of floats of rank 2");
    return Datum::poison();
  }
  Datum scale = arguments[1];
  bool is_number = scale.is_number() && scale.as_double() > 0 && std::isfinite(scale.as_double());
  bool is_of_call = scale.is_ir() && scale.as_ir().value->type()->rank() == 0 &&
                    is_float(scale.as_ir().value->type()->dtype);
  if (!is_number && !is_of_call) {
    if (scale.is_poison()) return scale;
    report(diag::wrong_kind, arguments.locs[1], "the scale of 'tile.softmax_online'", describe_given(scale),
           "a positive number");
    return Datum::poison();
  }
  if (is_of_call) scale = ops_.cast(scale, scores->type()->dtype, arguments.call);
  kernel_.has_scaled_softmax |= is_of_call || scale.as_double() != 1;
  Datum seen = past_length(arguments[0], arguments.call);
  if (seen.is_poison()) return seen;
  std::vector<Datum> parts;
  for (SoftmaxPart part : {SoftmaxPart::Weights, SoftmaxPart::Maximum, SoftmaxPart::Sum}) {
    parts.push_back(Datum::object(std::make_shared<OnlineSoftmax>(seen, scale, part, arguments.call)));
  }
  return Datum::tuple(std::move(parts));
}

/// A deferred part of a softmax as the tile that it is for its block alone; anything else as it is.
Datum KernelBuilder::materialised(const Datum& datum) {
  const auto* deferred = datum.object_as<OnlineSoftmax>();
  if (!deferred) return datum;
  Loc loc = deferred->loc;
  Datum axis = Datum::integer(1);
  Datum most = ops_.reduce("max", deferred->scores, axis, false, loc);
  if (deferred->part == SoftmaxPart::Maximum || most.is_poison()) return most;
  Datum weights = softmax_weights(deferred->scores, softmax_base(most, deferred->scale, loc), loc);
  if (weights.is_poison()) return weights;
  if (deferred->part == SoftmaxPart::Weights)
    return deferred->kept.is_none() ? weights : dropped(weights, deferred->kept, deferred->factor, loc);
  return ops_.reduce("sum", weights, axis, false, loc);
}

/// acc, m and l after one more block.
Datum KernelBuilder::softmax_accumulate(const BoundArguments& arguments) {
  enum : size_t { Acc, M, L, P, V, MBlock, LBlock };
  Loc loc = arguments.call;
  std::vector<Datum> given = arguments.values;
  const auto* deferred = given[P].object_as<OnlineSoftmax>();
  bool whole = deferred && deferred->part == SoftmaxPart::Weights;
  const auto* scaled_by = whole ? deferred : given[MBlock].object_as<OnlineSoftmax>();
  if (!scaled_by && kernel_.has_scaled_softmax) {
    report(diag::wrong_kind, arguments.locs[MBlock], "the maximum of the block", describe(given[MBlock]),
           "the one that 'tile.softmax_online' gave with its scale");
    return Datum::poison();
  }
  Datum scale = scaled_by ? scaled_by->scale : Datum::number(1);
  for (size_t i = Acc; i <= LBlock; ++i) {
    if (whole && (i == P || i > V)) continue;
    given[i] = materialised(given[i]);
    if (!ops_.expect_tile(given[i], arguments.locs[i], "an argument of 'tile.softmax_accumulate'"))
      return Datum::poison();
  }
  Datum axis = Datum::integer(1);
  Datum block = whole ? ops_.reduce("max", deferred->scores, axis, false, loc) : given[MBlock];
  Datum most = apply_kind(Kind::Max, {given[M], block}, loc);
  if (most.is_poison()) return most;
  SoftmaxBase base = softmax_base(most, scale, loc);
  Datum alpha = softmax_factor(given[M], base, loc);
  Datum weights, added;
  if (whole) {
    weights = softmax_weights(deferred->scores, base, loc);
    if (weights.is_poison()) return weights;
    added = ops_.reduce("sum", weights, axis, false, loc);
    if (!deferred->kept.is_none()) weights = dropped(weights, deferred->kept, deferred->factor, loc);
  } else {
    Datum beta = softmax_factor(block, base, loc);
    if (beta.is_poison()) return beta;
    weights = apply_kind(Kind::Mul, {given[P], as_column(beta)}, loc);
    added = apply_kind(Kind::Mul, {given[LBlock], beta}, loc);
  }
  Datum sum = apply_kind(Kind::Add, {apply_kind(Kind::Mul, {given[L], alpha}, loc), added}, loc);
  if (sum.is_poison() || weights.is_poison() || alpha.is_poison()) return Datum::poison();
  kernel_.softmax_sums.insert(sum.as_ir().value);
  Datum scaled = apply_kind(Kind::Mul, {given[Acc], as_column(alpha)}, loc);
  Datum rounded = ops_.cast(weights, given[V].as_ir().value->type()->dtype, loc);
  if (scaled.is_poison()) return scaled;
  return Datum::tuple({ops_.dot(rounded, given[V], scaled, loc), most, sum});
}

/// The scores, -inf where the column's number is greater than the row's.
Datum KernelBuilder::mask_causal(const BoundArguments& arguments) {
  Datum scores = materialised(arguments[0]);
  if (!ops_.expect_tile(scores, arguments.locs[0], "the scores of 'tile.mask_causal'")) return Datum::poison();
  Datum seen = apply_kind(Kind::Le, {arguments[2], arguments[1]}, arguments.call);
  return apply_kind(Kind::Select, {seen, scores, Datum::number(-infinity)}, arguments.call);
}

/// The sum of a softmax by which something is divided: 1 where it is 0, since then there is nothing to divide.
Datum KernelBuilder::divisor(const Datum& by, Loc loc) {
  if (!by.is_ir()) return by;
  const Value* value = by.as_ir().value;
  while (const Op* def = value->def()) {
    if (kernel_.softmax_sums.count(value) || !(def->is(info(OpKind::Reshape)) || def->is(info(OpKind::Broadcast))))
      break;
    value = def->operand(0);
  }
  if (!kernel_.softmax_sums.count(value)) return by;
  Datum none = apply_kind(Kind::Eq, {by, Datum::number(0)}, loc);
  return apply_kind(Kind::Select, {none, Datum::number(1), by}, loc);
}

namespace {

bool is_mask(const Datum& callee) {
  if (!callee.is(DatumKind::Builtin)) return false;
  const Builtin& builtin = callee.as_builtin();
  return builtin.table == tile_table && TileBuiltin(builtin.id) == TileBuiltin::MaskCausal;
}

}  // namespace

/// A call of `tile.mask_causal(s, …)` as a statement gives s its new value.
bool KernelBuilder::expression_statement(const ast::Expr& expr, const Datum& value, Scope& scope) {
  const auto* call = ast::as<ast::Call>(&expr);
  bool has_target = call && value.is_ir() && !call->arguments.empty();
  if (!has_target || !is_mask(evaluator_.evaluate(*call->callee, scope))) return false;
  const ast::Expr* target = call->arguments[0].value;
  for (const ast::Argument& argument : call->arguments) {
    if (argument.name.text == "s") target = argument.value;
  }
  evaluator_.assign(*target, value, scope);
  return true;
}

}  // namespace tessera::frontend

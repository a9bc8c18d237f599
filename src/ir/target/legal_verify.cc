// Checks a module's claims "math-expanded" and "legal" about its ops: a dump may claim them
// wrongly.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/numbers/machine.h"
#include "ir/target/ops.h"
#include "ir/target/verify.h"

namespace tessera::target {

namespace {

using Kind = ElementwiseKind;

bool claims(const Module& module, std::string_view property) {
  return std::ranges::count(module.attr(common::Module::properties), property);
}

bool is_narrow_float(DType dtype) {
  return is_float(dtype) && dtype != DType::F32 && dtype != DType::F64;
}

bool has_float_instruction(const Machine& machine, Kind kind, DType dtype) {
  if (is_narrow_float(dtype)) return false;
  switch (kind) {
    case Kind::Neg:
    case Kind::Abs:
    case Kind::Sqrt:
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Round:
    case Kind::Trunc:
    case Kind::Add:
    case Kind::Sub:
    case Kind::Mul:
    case Kind::Div:
    case Kind::Fma: return true;
    case Kind::Min:
    case Kind::Max: return dtype == DType::F32 && machine.has_nan_propagating_extremes;
    default: return elementwise_info(kind).cls == ElementwiseClass::Compare;
  }
}

bool has_integer_instruction(Kind kind) {
  switch (kind) {
    case Kind::Neg:
    case Kind::Abs:
    case Kind::Not:
    case Kind::Add:
    case Kind::Sub:
    case Kind::Mul:
    case Kind::Div:
    case Kind::Min:
    case Kind::Max:
    case Kind::And:
    case Kind::Or:
    case Kind::Xor:
    case Kind::Shl:
    case Kind::Shr: return true;
    default: return elementwise_info(kind).cls == ElementwiseClass::Compare;
  }
}

bool has_cast(const Machine& machine, DType from, DType to) {
  if (from == to) return true;
  auto converts = [&](DType narrow) {
    return narrow == DType::F16 || (narrow == DType::BF16 && machine.has_bf16_conversion);
  };
  if (converts(from)) return to == DType::F32;
  if (converts(to)) return from == DType::F32;
  return !is_narrow_float(from) && !is_narrow_float(to) && to != DType::Bool;
}

}  // namespace

void verify_legal(Op* func, OpVerifier& verifier) {
  std::optional<std::string_view> target = func->module()->attr(common::Module::target);
  const Machine* machine = target ? find_machine(*target) : nullptr;
  bool expanded = claims(*func->module(), "math-expanded"), legal = claims(*func->module(), "legal");
  if (!machine) return;
  walk(func, [&](Op* op) {
    Kind kind = op->info().elementwise;
    if (kind == Kind::None || kind == Kind::Select || verifier.failed()) return;
    DType from = op->operand(0)->type()->dtype, to = op->result()->type()->dtype;
    bool is_cast = kind == Kind::Cast;
    if (is_cast ? !legal : !expanded) return;
    bool holds = is_cast          ? has_cast(*machine, from, to)
                 : is_float(from) ? has_float_instruction(*machine, kind, from)
                                  : has_integer_instruction(kind);
    if (holds) return;
    verifier.of(op).error("{} has no instruction for it with {} and {}, and the module says '{}'", machine->name,
                          to_string(from), to_string(to), is_cast ? "legal" : "math-expanded");
    verifier.fail();
  });
}

}  // namespace tessera::target

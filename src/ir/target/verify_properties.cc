// What machines have: each op of a machine's own table is of the module's target, and how ops contradict the properties
// of Target IR, by which the target has an instruction for each op that is left.

#include "ir/core/common_attributes.h"
#include "ir/numbers/machine.h"
#include "ir/target/ops.h"
#include "ir/target/verify.h"
#include "ir/text/properties.h"

namespace tessera::target {

namespace {

using Kind = ElementwiseKind;

bool is_narrow_float(DType dtype) {
  return is_float(dtype) && dtype != DType::F32 && dtype != DType::F64;
}

bool has_float_instruction(const Machine& machine, Kind kind, DType dtype) {
  bool is_half = dtype == DType::BF16 || dtype == DType::F16;
  bool adds = kind == Kind::Add || kind == Kind::Sub;
  if (is_narrow_float(dtype)) return is_half && adds && machine.is_gpu();
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
  if (from == DType::I4 || to == DType::I4) return false;
  if (from == to) return true;
  auto converts = [&](DType narrow) {
    return narrow == DType::F16 || (narrow == DType::BF16 && machine.has_bf16_conversion);
  };
  if (converts(from)) return to == DType::F32;
  if (converts(to)) return from == DType::F32;
  return !is_narrow_float(from) && !is_narrow_float(to) && to != DType::Bool;
}

/// Null for a machine that is not known, for which no code is made.
const Machine* machine_of(const Module& module) {
  std::optional<std::string_view> target = module.attr(common::Module::target);
  return target ? find_machine(*target) : nullptr;
}

/// Whether a machine has an op of a table of its own; it has all ops of the common one.
bool has_op(const Machine& machine, Op* op) {
  if (op->is(info(OpKind::ReduceAdd)) && op->operand(0)->type()->lanes > 1) return machine.gpu.has_vector_reduction;
  if (op->name().starts_with("nv.")) return machine.is_gpu();
  if (!op->name().starts_with("x86.")) return true;
  if (op->is(info(OpKind::DotBf16))) return machine.has_bf16_pairs;
  return op->is(info(OpKind::Prefetch)) ? !machine.is_gpu() : machine.has_bf16_tiles;
}

/// That the function and its ops are for the module's target.
void verify_machine(Op* func, OpVerifier& verifier) {
  const Machine* machine = machine_of(*func->module());
  if (!machine || !func->region()->front()) return;
  if (func->has(attr::Func::threads) != machine->is_gpu()) {
    return verifier.error("a kernel {} 'threads' is not for {}", machine->is_gpu() ? "without" : "with", machine->name);
  }
  walk(func, [&](Op* op) {
    if (verifier.failed() || has_op(*machine, op)) return;
    verifier.of(op).error("{} does not have it", machine->name);
    verifier.fail();
  });
}

/// How an elementwise op is none that its machine has an instruction for; empty where it is one.
std::string no_instruction(Op* op) {
  Kind kind = op->info().elementwise;
  if (kind == Kind::None || kind == Kind::Select) return {};
  const Machine* machine = machine_of(*op->module());
  if (!machine) return {};
  DType from = op->operand(0)->type()->dtype, to = op->result()->type()->dtype;
  bool holds = kind == Kind::Cast ? has_cast(*machine, from, to)
               : is_float(from)   ? has_float_instruction(*machine, kind, from)
                                  : has_integer_instruction(kind) && from != DType::I4;
  if (holds) return {};
  return fmt::format("{} has no instruction for it with {} and {}", machine->name, to_string(from), to_string(to));
}

std::string is_not_expanded(Op* op) {
  return op->info().elementwise == Kind::Cast ? std::string() : no_instruction(op);
}

std::string is_not_legal(Op* op) { return no_instruction(op); }

constexpr PropertyInfo properties[] = {
#define PROPERTY(Name, text, problem) {text, problem},
#include "ir/target/properties.def"
#undef PROPERTY
};
const LevelProperties level_properties(Level::Target, properties);

}  // namespace

void verify_legal(Op* func, OpVerifier& verifier) {
  verify_machine(func, verifier);
  if (!verifier.failed()) verify_properties(func, verifier);
}

}  // namespace tessera::target

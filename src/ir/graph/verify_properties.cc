// How ops contradict the properties of Graph IR.

#include "ir/core/common_attributes.h"
#include "ir/graph/attention.h"
#include "ir/graph/empty.h"
#include "ir/graph/verify.h"
#include "ir/text/properties.h"

namespace tessera::graph {

namespace {

/// Functions of role "init" are run by the interpreter as they are.
bool is_interpreted(Op* op) { return function_of(op)->attr(attr::Func::role) == "init"; }

std::string not_canonical(Op* op) {
  return is_needless(op) ? "it computes without elements" : std::string();
}

std::string draws_random(Op* op) {
  bool draws = op->is(info(OpKind::PhiloxUniform)) || op->is(info(OpKind::PhiloxNormal));
  return draws && !is_interpreted(op) ? "it draws random numbers" : std::string();
}

bool has_int4(Op* op) {
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (op->operand(i)->type()->dtype == DType::I4) return true;
  }
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (op->result(i)->type()->dtype == DType::I4) return true;
  }
  return false;
}

std::string computes_in_int4(Op* op) {
  ElementwiseKind kind = op->info().elementwise;
  bool is_arithmetic = kind != ElementwiseKind::None && kind != ElementwiseKind::Cast;
  bool computes = is_arithmetic || op->is(info(OpKind::Reduce)) || op->is(info(OpKind::Gemm));
  return computes && has_int4(op) && !is_interpreted(op) ? "it computes with i4" : std::string();
}

std::string has_no_attention_kernel(Op* op) {
  if (!op->is(info(OpKind::FlashAttention)) || is_interpreted(op)) return {};
  return has_attention_kernel(op) ? std::string() : "no kernel of the target computes it";
}

constexpr PropertyInfo properties[] = {
#define PROPERTY(Name, text, problem) {text, problem},
#include "ir/graph/properties.def"
#undef PROPERTY
};
const LevelProperties level_properties(Level::Graph, properties);

}  // namespace

void verify_func_properties(Op* func, OpVerifier& verifier) { verify_properties(func, verifier); }

}  // namespace tessera::graph

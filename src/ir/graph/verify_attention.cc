#include <cmath>

#include "ir/core/common_attributes.h"
#include "ir/graph/attention.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"
#include "ir/numbers/machine.h"

namespace tessera::graph {

/// On a GPU one program's threads hold whole rows, which those of f64 and of great depth are too long for; of a
/// symbolic depth specialise_kernels makes some that they can hold.
bool has_attention_kernel(Op* op) {
  using slot = in::FlashAttention;
  std::optional<std::string_view> target = op->module()->attr(common::Module::target);
  const Machine* machine = target ? find_machine(*target) : nullptr;
  if (!machine || !machine->is_gpu()) return true;
  constexpr int64_t most = 256;
  auto fits = [](Value* value) {
    std::optional<int64_t> depth = value->type()->dims[3]->constant();
    return !depth || (*depth > 0 && *depth <= most);
  };
  return op->in(slot::q)->type()->dtype != DType::F64 && fits(op->in(slot::q)) && fits(op->in(slot::v));
}

std::optional<int64_t> heads_per_group(Dim heads, Dim groups) {
  if (heads == groups) return 1;
  auto all = heads->constant(), shared = groups->constant();
  if (all && shared) {
    if (*shared <= 0 || *all % *shared != 0) return std::nullopt;
    return *all / *shared;
  }
  // One term each, of the same factors: 4*G of G.
  if (heads->terms.size() != 1 || groups->terms.size() != 1) return std::nullopt;
  const DimTerm& a = heads->terms[0];
  const DimTerm& b = groups->terms[0];
  if (a.factors != b.factors || b.coefficient <= 0 || a.coefficient % b.coefficient != 0)
    return std::nullopt;
  return a.coefficient / b.coefficient;
}

std::vector<Dim> attention_weights(Op* op) {
  const std::vector<Dim>& q = op->in(in::FlashAttention::q)->type()->dims;
  return {q[0], q[1], q[2], op->in(in::FlashAttention::k)->type()->dims[2]};
}

namespace {

bool expect_operands(Op* op, OpVerifier& verifier) {
  Type q = op->in(in::FlashAttention::q)->type();
  Type k = op->in(in::FlashAttention::k)->type();
  Type v = op->in(in::FlashAttention::v)->type();
  bool same = q->dtype == k->dtype && q->dtype == v->dtype;
  if (!same || !is_float(q->dtype)) {
    verifier.error("q, k and v are {}, {} and {}, where one float dtype is needed",
                   to_string(q->dtype), to_string(k->dtype), to_string(v->dtype));
    return false;
  }
  bool fits = q->rank() == 4 && k->rank() == 4 && v->rank() == 4 && k->dims[0] == q->dims[0] &&
              v->dims[0] == q->dims[0] && k->dims[3] == q->dims[3] && k->dims[1] == v->dims[1] &&
              k->dims[2] == v->dims[2];
  if (!fits) {
    verifier.error("{}, {} and {} do not fit as [B, H, S, D], [B, G, T, D] and [B, G, T, E]",
                   to_text(q->dims), to_text(k->dims), to_text(v->dims));
    return false;
  }
  if (heads_per_group(q->dims[1], k->dims[1])) return true;
  verifier.error("{} heads are not known to be a multiple of {}", q->dims[1]->text,
                 k->dims[1]->text);
  return false;
}

void expect_scalar(Value* value, DType dtype, std::string_view what, OpVerifier& verifier) {
  if (!value || (value->type()->dtype == dtype && value->type()->rank() == 0)) return;
  verifier.error("{} must be tensor<{}>, not {}", what, to_string(dtype), value->type()->text);
}

void check_numbers(Op* op, OpVerifier& verifier) {
  if (!std::isfinite(op->attr(attr::FlashAttention::scale).value_or(1)))
    verifier.error("the scale must be finite");
  if (op->attr(attr::FlashAttention::window).value_or(1) < 1)
    verifier.error("the window must be at least 1");
  if (op->attr(attr::FlashAttention::rolling) && !op->in(in::FlashAttention::length))
    verifier.error("keys that roll need a length");
  std::optional<double> dropout = op->attr(attr::FlashAttention::dropout);
  if (dropout && !(*dropout >= 0 && *dropout < 1))
    verifier.error("dropout must be at least 0 and below 1");
  bool draws = op->in(in::FlashAttention::seed) && op->has(attr::FlashAttention::stream);
  if (dropout && !draws) verifier.error("dropout needs a seed and a stream");
}

}  // namespace

void verify_flash_attention(Op* op, OpVerifier& verifier) {
  if (!expect_operands(op, verifier)) return;
  std::vector<Dim> weights = attention_weights(op);
  if (Value* bias = op->in(in::FlashAttention::bias)) {
    if (!is_float(bias->type()->dtype) || bias->type()->dims != weights)
      verifier.error("the bias is {}, not floats of {}", bias->type()->text, to_text(weights));
  }
  expect_scalar(op->in(in::FlashAttention::length), DType::I64, "the length", verifier);
  expect_scalar(op->in(in::FlashAttention::seed), DType::U64, "the seed", verifier);
  check_numbers(op, verifier);
  if (op->result_count() < 1 || op->result_count() > 2)
    return verifier.error("it gives one or two results");
  for (unsigned i = op->result_count(); i-- > 0;) {
    Type type = op->result(i)->type(), wanted = facts(op).infer(op, i);
    if (type->dims != wanted->dims || type->dtype != wanted->dtype) {
      verifier.error("result {} is {}, not {} of {}", i, type->text, to_string(wanted->dtype), to_text(wanted->dims));
    }
  }
}

}  // namespace tessera::graph

#include <cmath>

#include "ir/graph/build.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

namespace {

bool expect_float(Value* value, std::string_view what, OpVerifier& verifier) {
  if (is_float(value->type()->dtype)) return true;
  verifier.error("{} must be of a float dtype, not {}", what, to_string(value->type()->dtype));
  return false;
}

bool expect_integers(Value* value, std::string_view what, OpVerifier& verifier) {
  if (is_integer(value->type()->dtype)) return true;
  verifier.error("{} must be of an integer dtype, not {}", what, to_string(value->type()->dtype));
  return false;
}

bool expect_last_axis(Value* value, std::string_view what, OpVerifier& verifier) {
  if (value->type()->rank() > 0) return true;
  verifier.error("{} must have at least one axis", what);
  return false;
}

/// An accumulator holds what the product of two operands can be: floats for floats, not narrower
/// than they are.
bool accumulates(DType accum, DType operand) {
  if (accum == DType::Bool || operand == DType::Bool) return false;
  if (is_float(accum) != is_float(operand)) return false;
  if (is_float(accum) && (accum == DType::TF32 || dtype_info(accum).bits < 16)) return false;
  // tf32 is stored in 32 bits, so that the comparison of widths holds for it too.
  return dtype_info(accum).bits >= dtype_info(operand).bits;
}

}  // namespace

void verify_reduce(Op* op, OpVerifier& verifier) {
  Value* a = op->in(in::Reduce::a);
  std::string_view kind = op->attr(attr::Reduce::kind);
  if (kind != "sum" && kind != "prod" && kind != "max" && kind != "min") {
    return verifier.error("kind must be \"sum\", \"prod\", \"max\" or \"min\", not \"{}\"", kind);
  }
  if (a->type()->dtype == DType::Bool) return verifier.error("it does not take bool");
  int64_t least = 0;
  std::vector<int64_t> axes = op->attr(attr::Reduce::axes);
  for (int64_t axis : axes) {
    if (axis < least || axis >= int64_t(a->type()->rank())) {
      return verifier.error("'axes' must be sorted, different axes of {}", a->type()->text);
    }
    least = axis + 1;
  }
  expect_inferred(op, verifier);
}

void verify_gemm(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Gemm::a)->type(), b = op->in(in::Gemm::b)->type();
  DType accum = op->attr(attr::Gemm::accum);
  if (a->dtype != b->dtype) {
    return verifier.error("operands differ in dtype: {} and {}", to_string(a->dtype),
                          to_string(b->dtype));
  }
  if (!accumulates(accum, a->dtype)) {
    return verifier.error("{} cannot accumulate products of {}", to_string(accum),
                          to_string(a->dtype));
  }
  auto dims = gemm_dims(a, b, op->attr(attr::Gemm::transpose_a), op->attr(attr::Gemm::transpose_b));
  if (!dims) return verifier.error("{} and {} do not fit", to_text(a->dims), to_text(b->dims));
  expect_inferred(op, verifier);
}

void verify_softmax(Op* op, OpVerifier& verifier) {
  Value* a = op->in(in::Softmax::a);
  if (!expect_float(a, "its operand", verifier) || !expect_last_axis(a, "its operand", verifier)) return;
  expect_inferred(op, verifier);
}

void verify_rmsnorm(Op* op, OpVerifier& verifier) {
  Value* x = op->in(in::Rmsnorm::x);
  Value* scale = op->in(in::Rmsnorm::scale);
  if (!expect_float(x, "'x'", verifier) || !expect_last_axis(x, "'x'", verifier)) return;
  if (scale) {
    Type type = scale->type();
    if (type->rank() != 1 || type->dims[0] != x->type()->dims.back() ||
        type->dtype != x->type()->dtype) {
      return verifier.error("'scale' is {}, not the last axis of {}", type->text, x->type()->text);
    }
  }
  double eps = op->attr(attr::Rmsnorm::eps);
  if (!std::isfinite(eps) || eps < 0) verifier.error("eps must be a finite number of at least 0");
  expect_inferred(op, verifier);
}

void verify_embedding(Op* op, OpVerifier& verifier) {
  Value* ids = op->in(in::Embedding::ids);
  Value* table = op->in(in::Embedding::table);
  if (!expect_integers(ids, "'ids'", verifier)) return;
  if (table->type()->rank() != 2)
    return verifier.error("'table' must have rank 2, not {}", table->type()->rank());
  if (table->type()->dtype == DType::Bool) return verifier.error("'table' holds numbers, not bool");
  expect_inferred(op, verifier);
}

void verify_cross_entropy(Op* op, OpVerifier& verifier) {
  Value* logits = op->in(in::CrossEntropy::logits);
  Value* targets = op->in(in::CrossEntropy::targets);
  if (!expect_float(logits, "'logits'", verifier) ||
      !expect_last_axis(logits, "'logits'", verifier))
    return;
  if (!expect_integers(targets, "'targets'", verifier)) return;
  std::vector<Dim> dims = logits->type()->dims;
  dims.pop_back();
  if (targets->type()->dims != dims) {
    return verifier.error("'targets' has dims {}, not one for each row of {}",
                          to_text(targets->type()->dims), logits->type()->text);
  }
  expect_inferred(op, verifier);
}

void verify_philox(Op* op, OpVerifier& verifier) {
  Type seed = op->in(in::PhiloxUniform::seed)->type();
  if (seed->dtype != DType::U64 || seed->rank() != 0) {
    return verifier.error("the seed must be tensor<u64>, not {}", seed->text);
  }
  DType dtype = op->result()->type()->dtype;
  if (dtype != DType::F32) verifier.error("the result has dtype {}, not f32", to_string(dtype));
}

}  // namespace tessera::graph

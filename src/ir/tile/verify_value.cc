#include <algorithm>
#include <optional>

#include "ir/core/common_attributes.h"
#include "ir/tile/ops.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

bool expect_axis(Op* op, OpVerifier& verifier, size_t rank) {
  int64_t axis = op->attr(common::Along::axis);
  if (axis >= 0 && axis < int64_t(rank)) return true;
  verifier.error("axis {} is outside rank {}", axis, rank);
  return false;
}

void expect_limits(OpVerifier& verifier, size_t limits, size_t rank) {
  if (limits != 0 && limits != rank) {
    verifier.error("it has {} limits for {} axes", limits, rank);
  }
}

void verify_splat(Op* op, OpVerifier& verifier) {
  DType wanted = op->operand(0)->type()->dtype;
  expect_result(op, verifier, op->result()->type()->dims, wanted);
}

void verify_as_operand(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type();
  expect_result(op, verifier, a->dims, a->dtype);
}

void verify_slice(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type(), result = op->result()->type();
  std::vector<int64_t> offsets = op->attr(attr::Slice::offsets);
  if (offsets.size() != a->rank() || result->rank() != a->rank()) {
    return verifier.error("it has {} offsets from {} to {}", offsets.size(), a->text, result->text);
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    std::optional<int64_t> whole = a->dims[i]->constant(), part = result->dims[i]->constant();
    if (whole && part && offsets[i] >= 0 && *part <= *whole - offsets[i]) continue;
    verifier.error("axis {}: {} elements from {} on are not within {}", i, result->dims[i]->text,
                   offsets[i], a->dims[i]->text);
  }
  expect_result(op, verifier, result->dims, a->dtype);
}

void verify_iota(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  if (!is_integer(type->dtype)) verifier.error("the result must be of an integer dtype");
  expect_axis(op, verifier, type->rank());
}

void verify_extract(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type();
  for (Dim dim : a->dims) {
    if (!dim->is_constant(1))
      return verifier.error("the tile has more than one element: {}", a->text);
  }
  expect_result(op, verifier, {}, a->dtype);
}

void verify_broadcast(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type(), result = op->result()->type();
  if (a->rank() != result->rank()) {
    return verifier.error("ranks differ: {} and {}", a->rank(), result->rank());
  }
  for (size_t i = 0; i < a->rank(); ++i) {
    if (a->dims[i] == result->dims[i] || a->dims[i]->is_constant(1)) continue;
    verifier.error("axis {} of extent {} cannot become {}", i, a->dims[i]->text,
                   result->dims[i]->text);
  }
  expect_result(op, verifier, result->dims, a->dtype);
}

namespace {

std::vector<Dim> without_ones(const std::vector<Dim>& dims) {
  std::vector<Dim> kept;
  for (Dim dim : dims) {
    if (!dim->is_constant(1)) kept.push_back(dim);
  }
  return kept;
}

bool is_permutation(const std::vector<int64_t>& perm, size_t rank) {
  if (perm.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (int64_t p : perm) {
    if (p < 0 || p >= int64_t(rank) || seen[size_t(p)]) return false;
    seen[size_t(p)] = true;
  }
  return true;
}

bool is_reduction(std::string_view kind) {
  return kind == "sum" || kind == "prod" || kind == "max" || kind == "min";
}

/// A kind of reduction of a tile that has numbers.
bool expect_reduction(Op* op, OpVerifier& verifier, Type a) {
  std::string_view kind = op->attr(common::Along::kind);
  if (!is_reduction(kind)) return verifier.error("kind must be sum, prod, max or min, not '{}'", kind), false;
  if (a->dtype == DType::Bool) return verifier.error("it does not take bool"), false;
  return true;
}

}  // namespace

void verify_within(Op* op, OpVerifier& verifier) {
  Type type = op->in(in::Within::a)->type();
  expect_result(op, verifier, type->dims, type->dtype);
  unsigned limits = op->slot_size(in::Within::limits);
  if (limits != type->rank()) verifier.error("there are {} limits for rank {}", limits, type->rank());
}

void verify_reshape(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type(), result = op->result()->type();
  if (without_ones(a->dims) != without_ones(result->dims)) {
    verifier.error("it may only insert and remove extents of 1: {} to {}", to_text(a->dims),
                   to_text(result->dims));
  }
  expect_result(op, verifier, result->dims, a->dtype);
}

void verify_transpose(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type();
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
  if (!is_permutation(perm, a->rank())) {
    return verifier.error("'perm' must list each axis of rank {} once, not {}", a->rank(),
                          op->node(attr::Transpose::perm)->text);
  }
  std::vector<Dim> dims;
  for (int64_t p : perm) dims.push_back(a->dims[size_t(p)]);
  expect_result(op, verifier, dims, a->dtype);
}

void verify_reduce(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Reduce::a)->type();
  if (!expect_reduction(op, verifier, a)) return;
  std::vector<Dim> dims = a->dims;
  auto axis = dims.begin() + op->attr(attr::Reduce::axis);
  if (op->attr(attr::Reduce::keep)) {
    *axis = op->module()->context().dims().constant(1);
  } else {
    dims.erase(axis);
  }
  expect_result(op, verifier, dims, a->dtype);
}

void verify_scan(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Scan::a)->type();
  if (!expect_reduction(op, verifier, a)) return;
  std::vector<Dim> dims = a->dims;
  dims[size_t(op->attr(attr::Scan::axis))] = op->module()->context().dims().constant(1);
  auto expect = [&](Value* value, const std::vector<Dim>& wanted, std::string_view what) {
    if (value->type()->dims == wanted && value->type()->dtype == a->dtype) return;
    verifier.error("{} is {}, not {} of {}", what, value->type()->text, to_text(wanted), to_string(a->dtype));
  };
  expect(op->result(0), a->dims, "the result");
  expect(op->result(1), dims, "the total");
  if (Value* before = op->in(in::Scan::before)) expect(before, dims, "`before`");
}

void verify_merge(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Merge::a)->type(), b = op->in(in::Merge::b)->type();
  if (a != b) return verifier.error("operands differ in type: {} and {}", a->text, b->text);
  expect_limits(verifier, op->slot_size(in::Merge::limits), a->rank());
  if (op->slot_size(in::Merge::limits) == 0) verifier.error("it has no limits");
  expect_result(op, verifier, a->dims, a->dtype);
}

void verify_dot(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Dot::a)->type(), b = op->in(in::Dot::b)->type(),
       c = op->in(in::Dot::c)->type();
  if (a->rank() != 2 || b->rank() != 2 || a->dims[1] != b->dims[0]) {
    return verifier.error("{} and {} have no dot", to_text(a->dims), to_text(b->dims));
  }
  std::vector<Dim> dims{a->dims[0], b->dims[1]};
  if (c->dims != dims) {
    return verifier.error("c has dims {}, not {}", to_text(c->dims), to_text(dims));
  }
  if (a->dtype != b->dtype) {
    verifier.error("operands differ in dtype: {} and {}", to_string(a->dtype), to_string(b->dtype));
  }
  if (c->dtype == DType::Bool || a->dtype == DType::Bool ||
      is_float(a->dtype) != is_float(c->dtype)) {
    verifier.error("products of {} are not added in {}", to_string(a->dtype), to_string(c->dtype));
  }
  expect_result(op, verifier, dims, c->dtype);
}

namespace {

/// A constant extent of a tile of rank 2.
std::optional<int64_t> known(Type type, size_t axis) {
  return type->rank() == 2 ? type->dims[axis]->constant() : std::nullopt;
}

}  // namespace

void verify_pair_rows(Op* op, OpVerifier& verifier) {
  Type a = op->operand(0)->type();
  std::optional<int64_t> rows = known(a, 0), columns = known(a, 1);
  if (!rows || !columns || *rows % 2 != 0) {
    return verifier.error("{} are not constant extents with an even number of rows",
                          to_text(a->dims));
  }
  DimTable& dims = op->module()->context().dims();
  expect_result(op, verifier, {dims.constant(*rows / 2), dims.constant(*columns * 2)}, a->dtype);
}

void verify_dot_pairs(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::DotPairs::a)->type(), b = op->in(in::DotPairs::b)->type(),
       c = op->in(in::DotPairs::c)->type();
  for (Type type : {a, b, c}) {
    if (!known(type, 0) || !known(type, 1)) {
      return verifier.error("{} are not two constant extents", to_text(type->dims));
    }
  }
  bool fits = *known(a, 1) == 2 * *known(b, 0) && *known(c, 0) == *known(a, 0) &&
              *known(b, 1) == 2 * *known(c, 1);
  if (!fits) {
    return verifier.error("{} and {} in pairs have no dot of {}", to_text(a->dims),
                          to_text(b->dims), to_text(c->dims));
  }
  if (a->dtype != DType::BF16 || b->dtype != DType::BF16 || c->dtype != DType::F32) {
    verifier.error("it adds products of bf16 in f32, not of {} and {} in {}", to_string(a->dtype),
                   to_string(b->dtype), to_string(c->dtype));
  }
  expect_result(op, verifier, c->dims, c->dtype);
}

}  // namespace tessera::tile

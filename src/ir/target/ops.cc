#include "ir/target/ops.h"

#include <bit>

#include "ir/core/common_attributes.h"
#include "ir/target/verify.h"
#include "ir/text/verifier.h"

namespace tessera::target {

namespace {


/// A register of bools with as many lanes as `data`.
void expect_mask(OpVerifier& verifier, Type mask, Type data) {
  if (mask->dtype == DType::Bool && mask->lanes == data->lanes) return;
  verifier.error("the mask must be reg<bool x {}>, not {}", data->lanes, mask->text);
}

/// Bools have no form in memory.
void expect_in_memory(OpVerifier& verifier, Type type) {
  bool shaped = type->is(TypeKind::Reg) || type->is(TypeKind::Scalar);
  if (!shaped && !type->is(TypeKind::Ptr)) {
    verifier.error("memory holds registers, scalars and addresses, not {}", type->text);
  } else if (shaped && (type->dtype == DType::Bool || type->dtype == DType::I4)) {
    verifier.error("memory has no elements of {}", to_string(type->dtype));
  }
}

void expect_alignment(Op* op, OpVerifier& verifier) {
  int64_t align = op->attr(common::Access::align).value_or(1);
  bool power = align > 0 && align <= 4096 && std::has_single_bit(uint64_t(align));
  if (!power) verifier.error("'align' must be a power of two up to 4096, not {}", align);
}

void expect_lane(Op* op, int64_t lane, OpVerifier& verifier) {
  int64_t lanes = type_of(op, 0)->lanes;
  if (lane < 0 || lane >= lanes) verifier.error("lane {} is not one of {}", lane, lanes);
}

void verify_cond_branch(Op* op, OpVerifier& verifier) {
  Type condition = type_of(op, 0);
  if (condition->dtype != DType::Bool) verifier.error("the condition must be bool, not {}", condition->text);
}

void verify_constant(Op* op, OpVerifier& verifier) {
  DType dtype = op->result()->type()->dtype;
  Attr value = op->attr(attr::Constant::value);
  if (!is_float(dtype) && !value->is(AttrKind::Int)) {
    verifier.error("the value of a constant of {} must be an integer, not {}", to_string(dtype), value->text);
  }
  if (dtype == DType::Bool && value->is(AttrKind::Int) && (value->integer & ~int64_t(1))) {
    verifier.error("a constant of bool is 0 or 1, not {}", value->integer);
  }
}

void verify_splat(Op* op, OpVerifier& verifier) {
  DType result = op->result()->type()->dtype;
  if (type_of(op, 0)->dtype == result) return;
  verifier.error("the scalar must be {}, not {}", to_string(result), type_of(op, 0)->text);
}

void verify_iota(Op* op, OpVerifier& verifier) {
  DType dtype = op->result()->type()->dtype;
  if (!is_integer(dtype)) verifier.error("the lanes must be integers, not {}", to_string(dtype));
}

void expect_i32_or_i64(OpVerifier& verifier, std::string_view what, Type type) {
  if (type->dtype == DType::I32 || type->dtype == DType::I64) return;
  verifier.error("{} must be i32 or i64, not {}", what, type->text);
}

void verify_mask(Op* op, OpVerifier& verifier) {
  expect_i32_or_i64(verifier, "the count", type_of(op, 0));
  DType dtype = op->result()->type()->dtype;
  if (dtype != DType::Bool) verifier.error("the result must be a register of bool, not {}", to_string(dtype));
}

void verify_extract(Op* op, OpVerifier& verifier) {
  expect_lane(op, op->attr(attr::Extract::lane), verifier);
  Type result = op->result()->type();
  if (type_of(op, 0)->dtype != result->dtype) {
    verifier.error("the result must be {}, not {}", to_string(type_of(op, 0)->dtype), result->text);
  }
}

void verify_insert(Op* op, OpVerifier& verifier) {
  expect_lane(op, op->attr(attr::Insert::lane), verifier);
  expect_type(verifier, "the result", type_of(op, 0), op->result()->type());
  if (type_of(op, 1)->dtype != type_of(op, 0)->dtype) {
    verifier.error("the scalar must be {}, not {}", to_string(type_of(op, 0)->dtype), type_of(op, 1)->text);
  }
}

void verify_shuffle(Op* op, OpVerifier& verifier) {
  Type a = type_of(op, 0);
  Type result = op->result()->type();
  expect_type(verifier, "operand 1", a, type_of(op, 1));
  AttrList lanes = op->attr(attr::Shuffle::lanes);
  if (result->dtype != a->dtype || result->lanes != int64_t(lanes.size())) {
    verifier.error("the result must be reg<{} x {}>, not {}", to_string(a->dtype), lanes.size(),
                   result->text);
  }
  for (int64_t lane : lanes) {
    if (lane >= 0 && lane < 2 * a->lanes) continue;
    verifier.error("lane {} is not one of the {} of both operands", lane, 2 * a->lanes);
  }
}

void verify_concat(Op* op, OpVerifier& verifier) {
  Type result = op->result()->type();
  int64_t lanes = 0;
  for (Value* part : op->ins(in::Concat::parts)) {
    lanes += part->type()->is(TypeKind::Reg) ? part->type()->lanes : 1;
    if (part->type()->dtype == result->dtype) continue;
    verifier.error("the parts must be {}, not {}", to_string(result->dtype), part->type()->text);
  }
  if (lanes != result->lanes) verifier.error("the parts have {} lanes, not {}", lanes, result->lanes);
}

void verify_bitcast(Op* op, OpVerifier& verifier) {
  Type a = type_of(op, 0);
  Type result = op->result()->type();
  bool fits = a->kind == result->kind && a->lanes * byte_size(a->dtype) == result->lanes * byte_size(result->dtype);
  bool masks = a->dtype == DType::Bool || result->dtype == DType::Bool;
  if (!fits || masks) verifier.error("{} and {} differ in size", a->text, result->text);
}

void verify_offset(Op* op, OpVerifier& verifier) {
  expect_i32_or_i64(verifier, "the offset", type_of(op, 1));
  expect_type(verifier, "the result", type_of(op, 0), op->result()->type());
}

void verify_load(Op* op, OpVerifier& verifier) {
  expect_in_memory(verifier, op->result()->type());
  expect_alignment(op, verifier);
}

void verify_load_masked(Op* op, OpVerifier& verifier) {
  Type result = op->result()->type();
  expect_in_memory(verifier, result);
  expect_mask(verifier, type_of(op, 1), result);
  expect_type(verifier, "the fill", result, type_of(op, 2));
  expect_alignment(op, verifier);
}

void verify_gather(Op* op, OpVerifier& verifier) {
  Type result = op->result()->type();
  Type offsets = type_of(op, 1);
  expect_in_memory(verifier, result);
  bool indices = offsets->dtype == DType::I32 || offsets->dtype == DType::I64;
  if (!indices || offsets->lanes != result->lanes) {
    verifier.error("the offsets must be {} lanes of i32 or i64, not {}", result->lanes, offsets->text);
  }
  expect_mask(verifier, type_of(op, 2), result);
  expect_type(verifier, "the fill", result, type_of(op, 3));
}

void verify_atomic_add(Op* op, OpVerifier& verifier) {
  Type number = type_of(op, 1);
  if (!adds_in_memory(number->dtype)) return verifier.error("it adds numbers of 4 or 8 bytes, not {}", number->text);
  expect_type(verifier, "the result", number, op->result()->type());
}

void verify_store(Op* op, OpVerifier& verifier) {
  expect_in_memory(verifier, type_of(op, 0));
  expect_alignment(op, verifier);
}

void verify_store_masked(Op* op, OpVerifier& verifier) {
  expect_in_memory(verifier, type_of(op, 0));
  expect_mask(verifier, type_of(op, 2), type_of(op, 0));
  expect_alignment(op, verifier);
}

void verify_prefetch(Op* op, OpVerifier& verifier) {
  int64_t locality = op->attr(attr::Prefetch::locality);
  if (locality < 0 || locality > 3) verifier.error("'locality' must be 0 to 3, not {}", locality);
}

void verify_dot_bf16(Op* op, OpVerifier& verifier) {
  Context& context = op->module()->context();
  Type pairs = context.reg(DType::BF16, 32), sums = context.reg(DType::F32, 16);
  expect_type(verifier, "'a'", pairs, type_of(op, 0));
  expect_type(verifier, "'b'", pairs, type_of(op, 1));
  expect_type(verifier, "'c'", sums, type_of(op, 2));
  expect_type(verifier, "the result", sums, op->result()->type());
}

void expect_tile(Op* op, OpVerifier& verifier, AttrKey<AttrType::Int, Arity::One> key) {
  int64_t tile = op->attr(key);
  if (tile < 0 || tile > 7)
    verifier.error("'{}' must be one of the tiles 0 to 7, not {}", key.name, tile);
}

void verify_tile(Op* op, OpVerifier& verifier) { expect_tile(op, verifier, attr::TileZero::tile); }

void verify_tile_dot(Op* op, OpVerifier& verifier) {
  using Dot = attr::TileDotBf16;
  for (auto key : {Dot::tile, Dot::a, Dot::b}) expect_tile(op, verifier, key);
  int64_t tile = op->attr(Dot::tile), a = op->attr(Dot::a), b = op->attr(Dot::b);
  if (tile == a || tile == b || a == b) verifier.error("tiles {}, {} and {} are not three", tile, a, b);
}

}  // namespace

#define OPS_FILE "ir/target/ops.def"
#define OPS_LEVEL Level::Target
#define OP_PREFIX "target."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::target

// The rules of nv_ops.def.

#include "ir/core/common_attributes.h"
#include "ir/numbers/mma.h"
#include "ir/target/ops.h"
#include "ir/target/verify.h"

namespace tessera::target {

void expect_type(OpVerifier& verifier, std::string_view what, Type wanted, Type found) {
  if (wanted != found) verifier.error("{} must be {}, not {}", what, wanted->text, found->text);
}

namespace {

bool is_scalar(Type type, DType dtype) { return type->is(TypeKind::Scalar) && type->dtype == dtype; }
bool is_shared(Type type) { return type->is(TypeKind::Ptr) && type->space == MemorySpace::Shared; }
bool is_global(Type type) { return type->is(TypeKind::Ptr) && type->space == MemorySpace::Global; }

void expect_i32(OpVerifier& verifier, std::string_view what, Type found) {
  if (!is_scalar(found, DType::I32)) verifier.error("{} must be i32, not {}", what, found->text);
}

void expect_shared(OpVerifier& verifier, std::string_view what, Type found) {
  if (!is_shared(found)) verifier.error("{} must be ptr<shared>, not {}", what, found->text);
}

void expect_global(OpVerifier& verifier, std::string_view what, Type found) {
  if (!is_global(found)) verifier.error("{} must be ptr, not {}", what, found->text);
}

void expect_reg(OpVerifier& verifier, std::string_view what, DType dtype, int64_t lanes, Type found) {
  if (found->is(TypeKind::Reg) && found->dtype == dtype && found->lanes == lanes) return;
  verifier.error("{} must be reg<{} x {}>, not {}", what, to_string(dtype), lanes, found->text);
}

void expect_between(Op* op, OpVerifier& verifier, AttrKey<AttrType::Int, Arity::One> key,
                    int64_t low, int64_t high) {
  int64_t value = op->attr(key);
  if (value < low || value > high)
    verifier.error("'{}' must be {} to {}, not {}", key.name, low, high, value);
}

void verify_exchange(Op* op, OpVerifier& verifier) {
  expect_type(verifier, "the result", type_of(op, 0), op->result()->type());
}

void verify_coordinates(Op* op, OpVerifier& verifier, unsigned slot) {
  unsigned rank = op->slot_size(slot);
  if (rank < 1 || rank > 5) verifier.error("a tensor has 1 to 5 coordinates, not {}", rank);
  for (unsigned i = 0; i < rank; ++i) expect_i32(verifier, "a coordinate", op->in(slot, i)->type());
}

}  // namespace

void verify_i32_result(Op* op, OpVerifier& verifier) { expect_i32(verifier, "the result", op->result()->type()); }

void verify_shared_result(Op* op, OpVerifier& verifier) { expect_shared(verifier, "the result", op->result()->type()); }

void verify_shuffle_xor(Op* op, OpVerifier& verifier) {
  verify_exchange(op, verifier);
  expect_between(op, verifier, attr::ShuffleXor::mask, 1, 31);
}

void verify_shuffle_index(Op* op, OpVerifier& verifier) {
  verify_exchange(op, verifier);
  expect_i32(verifier, "the lane", type_of(op, 1));
}

void verify_elect(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  if (!is_scalar(type, DType::Bool)) verifier.error("the result must be bool, not {}", type->text);
}

namespace {

void expect_warps(OpVerifier& verifier, int64_t threads) {
  if (threads < 32 || threads > 1024 || threads % 32) {
    verifier.error("'threads' must be a multiple of 32 up to 1024, not {}", threads);
  }
}

}  // namespace

void verify_barrier(Op* op, OpVerifier& verifier) {
  expect_between(op, verifier, attr::Barrier::id, 0, 15);
  expect_warps(verifier, op->attr(attr::Barrier::threads));
}

void verify_numbered_barrier(Op* op, OpVerifier& verifier) {
  expect_i32(verifier, "the number", type_of(op, 0));
  expect_warps(verifier, op->attr(attr::NumberedBarrier::threads));
}

void verify_map_shared(Op* op, OpVerifier& verifier) {
  expect_shared(verifier, "the address", type_of(op, 0));
  expect_i32(verifier, "the rank", type_of(op, 1));
  expect_shared(verifier, "the result", op->result()->type());
}

void verify_matrix_descriptor(Op* op, OpVerifier& verifier) {
  expect_shared(verifier, "the address", type_of(op, 0));
  expect_between(op, verifier, attr::MatrixDescriptor::offset, 0, (1 << 18) - 16);
  if (op->attr(attr::MatrixDescriptor::offset) % 16 != 0) verifier.error("'offset' must be a multiple of 16");
}

void verify_mbarrier(Op* op, OpVerifier& verifier) { expect_shared(verifier, "the barrier", type_of(op, 0)); }

void verify_mbarrier_init(Op* op, OpVerifier& verifier) {
  verify_mbarrier(op, verifier);
  expect_between(op, verifier, attr::MbarrierInit::count, 1, (1 << 20) - 1);
}

void verify_mbarrier_expect(Op* op, OpVerifier& verifier) {
  verify_mbarrier(op, verifier);
  expect_between(op, verifier, attr::MbarrierExpect::bytes, 0, (1 << 20) - 1);
}

void verify_mbarrier_wait(Op* op, OpVerifier& verifier) {
  verify_mbarrier(op, verifier);
  expect_i32(verifier, "the parity", type_of(op, 1));
}

void verify_tma_load(Op* op, OpVerifier& verifier) {
  expect_global(verifier, "the descriptor", op->in(in::TmaLoad::descriptor)->type());
  verify_coordinates(op, verifier, in::TmaLoad::coordinates);
  expect_shared(verifier, "the destination", op->in(in::TmaLoad::destination)->type());
  expect_shared(verifier, "the barrier", op->in(in::TmaLoad::bar)->type());
  if (Value* mask = op->in(in::TmaLoad::multicast)) expect_i32(verifier, "the multicast mask", mask->type());
  unsigned taps = op->slot_size(in::TmaLoad::taps), rank = op->slot_size(in::TmaLoad::coordinates);
  if (taps && taps + 2 != rank) verifier.error("{} taps for {} coordinates", taps, rank);
  for (Value* tap : op->ins(in::TmaLoad::taps)) expect_i32(verifier, "a tap", tap->type());
}

void verify_tma_store(Op* op, OpVerifier& verifier) {
  expect_global(verifier, "the descriptor", op->in(in::TmaStore::descriptor)->type());
  verify_coordinates(op, verifier, in::TmaStore::coordinates);
  expect_shared(verifier, "the source", op->in(in::TmaStore::source)->type());
}

void verify_pending(Op* op, OpVerifier& verifier) {
  expect_between(op, verifier, common::Wait::pending, 0, 7);
}

void verify_prefetch_descriptor(Op* op, OpVerifier& verifier) {
  expect_global(verifier, "the descriptor", type_of(op, 0));
}

void verify_cp_async(Op* op, OpVerifier& verifier) {
  expect_shared(verifier, "the destination", op->in(in::CpAsync::destination)->type());
  expect_global(verifier, "the source", op->in(in::CpAsync::source)->type());
  if (Value* bytes = op->in(in::CpAsync::bytes)) expect_i32(verifier, "the number of bytes", bytes->type());
  int64_t size = op->attr(attr::CpAsync::size);
  if (size != 4 && size != 8 && size != 16) verifier.error("'size' must be 4, 8 or 16, not {}", size);
}

void verify_wgmma(Op* op, OpVerifier& verifier) {
  DType dtype = op->attr(attr::Wgmma::dtype);
  int64_t n = op->attr(attr::Wgmma::n);
  const MmaInstruction* row = find_mma(MmaUnit::Wgmma, dtype);
  if (!row) return verifier.error("wgmma does not multiply {}", to_string(dtype));
  int64_t k = row->k;
  if (op->attr(attr::Wgmma::m) != row->m)
    verifier.error("'m' must be {}, not {}", row->m, op->attr(attr::Wgmma::m));
  if (op->attr(attr::Wgmma::k) != k) verifier.error("'k' must be {} for {}", k, to_string(dtype));
  if (n < row->n_step || n > row->n || n % row->n_step)
    return verifier.error("'n' must be a multiple of {} up to {}, not {}", row->n_step, row->n, n);
  Type a = op->in(in::Wgmma::a)->type(), b = op->in(in::Wgmma::b)->type();
  if (a->is(TypeKind::Reg)) {
    expect_reg(verifier, "a", dtype, 64 * k / 128, a);
  } else if (a->dtype != DType::I64) {
    verifier.error("a must be a register or an i64 descriptor, not {}", a->text);
  }
  if (!is_scalar(b, DType::I64)) verifier.error("b must be an i64 descriptor, not {}", b->text);
  expect_reg(verifier, "c", row->sum, n / 2, op->in(in::Wgmma::c)->type());
  expect_type(verifier, "d", op->in(in::Wgmma::c)->type(), op->result()->type());
  Type accumulate = op->in(in::Wgmma::accumulate)->type();
  if (accumulate->dtype != DType::Bool) verifier.error("'accumulate' must be bool, not {}", accumulate->text);
  for (auto key : {attr::Wgmma::a_major, attr::Wgmma::b_major}) {
    std::string_view name = key.name, major = op->attr(key);
    if (major != "k" && major != "mn") verifier.error("'{}' must be \"k\" or \"mn\", not \"{}\"", name, major);
    bool may_transpose =
        row->majors == MmaMajors::Any && !(name == attr::Wgmma::a_major.name && a->is(TypeKind::Reg));
    if (major == "mn" && !may_transpose) verifier.error("'{}' must be \"k\" for this operand", name);
  }
}

void verify_wgmma_wait(Op* op, OpVerifier& verifier) {
  verify_pending(op, verifier);
  if (op->operand_count() != op->result_count()) {
    return verifier.error("it gives back {} registers of {}", op->result_count(), op->operand_count());
  }
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    expect_type(verifier, "a result", type_of(op, i), op->result(i)->type());
  }
}

void verify_mma_sync(Op* op, OpVerifier& verifier) {
  DType dtype = type_of(op, in::MmaSync::a)->dtype;
  const MmaInstruction* row = find_mma(MmaUnit::MmaSync, dtype);
  if (!row) return verifier.error("mma.sync does not multiply {}", to_string(dtype));
  expect_reg(verifier, "a", dtype, row->k / 2, op->in(in::MmaSync::a)->type());
  expect_reg(verifier, "b", dtype, row->k / 4, op->in(in::MmaSync::b)->type());
  expect_reg(verifier, "c", row->sum, 4, op->in(in::MmaSync::c)->type());
  expect_reg(verifier, "d", row->sum, 4, op->result()->type());
}

namespace {

void verify_matrices(int64_t count, OpVerifier& verifier, Type address, Type value) {
  expect_shared(verifier, "the address", address);
  if (count != 1 && count != 2 && count != 4) return verifier.error("'count' must be 1, 2 or 4, not {}", count);
  if (byte_size(value->dtype) != 2 || value->lanes != 2 * count) {
    verifier.error("{} matrices are {} 16-bit elements of each thread, not {}", count, 2 * count, value->text);
  }
}

}  // namespace

void verify_ldmatrix(Op* op, OpVerifier& verifier) {
  verify_matrices(op->attr(attr::Ldmatrix::count), verifier, type_of(op, 0), op->result()->type());
}

void verify_stmatrix(Op* op, OpVerifier& verifier) {
  verify_matrices(op->attr(attr::Stmatrix::count), verifier, op->in(in::Stmatrix::address)->type(),
                  op->in(in::Stmatrix::value)->type());
}

void verify_reduce_add(Op* op, OpVerifier& verifier) {
  Type value = op->in(in::ReduceAdd::value)->type();
  expect_global(verifier, "the address", op->in(in::ReduceAdd::address)->type());
  Type mask = op->in(in::ReduceAdd::mask)->type();
  if (!is_scalar(mask, DType::Bool)) verifier.error("the mask must be bool, not {}", mask->text);
  if (!adds_in_memory(value->dtype)) verifier.error("it adds numbers of 4 or 8 bytes, not {}", value->text);
  bool is_vector = value->dtype == DType::F32 && (value->lanes == 2 || value->lanes == 4);
  if (value->lanes != 1 && !is_vector) verifier.error("it adds 1 number, or 2 or 4 of f32, not {}", value->text);
}

void verify_set_max_registers(Op* op, OpVerifier& verifier) {
  int64_t count = op->attr(attr::SetMaxRegisters::count);
  if (count < 24 || count > 256 || count % 8) {
    verifier.error("'count' must be a multiple of 8 from 24 to 256, not {}", count);
  }
}

void verify_approximate(Op* op, OpVerifier& verifier) {
  if (type_of(op, 0)->dtype != DType::F32) verifier.error("it takes f32, not {}", type_of(op, 0)->text);
}

}  // namespace tessera::target

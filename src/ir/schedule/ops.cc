#include "ir/schedule/ops.h"

#include <cmath>
#include <vector>

#include "ir/core/common_attributes.h"
#include "ir/schedule/verify.h"
#include "ir/text/verifier.h"
#include "ir/text/window_shape.h"

namespace tessera::schedule {

namespace {

void check_dtype(Type a, Type b, OpVerifier& verifier) {
  if (a->dtype == b->dtype) return;
  verifier.error("it converts {} to {}", to_string(a->dtype), to_string(b->dtype));
}

/// Element `offset + sum(x[i]*strides[i])` stays within the memory; checked when every number is
/// known.
void verify_view_bounds(Type memory, Type view, OpVerifier& verifier) {
  int64_t size = 1;
  for (Dim dim : memory->dims) {
    auto extent = dim->constant();
    if (!extent || __builtin_mul_overflow(size, *extent, &size)) return;
  }
  auto low = view->offset->constant();
  if (!low) return;
  int64_t high = *low;
  for (size_t i = 0; i < view->rank(); ++i) {
    auto extent = view->dims[i]->constant();
    auto stride = view->strides[i]->constant();
    if (!extent || !stride || *extent == 0) return;
    int64_t reach = 0;
    if (__builtin_mul_overflow(*extent - 1, *stride, &reach) ||
        __builtin_add_overflow(reach < 0 ? *low : high, reach, reach < 0 ? &*low : &high)) {
      return verifier.error("its offsets overflow");
    }
  }
  if (*low < 0 || high >= size) {
    verifier.error("it reaches elements {} to {} of memory that has {}", *low, high, size);
  }
}

void verify_view(Op* op, OpVerifier& verifier) {
  Type memory = op->in(in::View::memory)->type();
  Type view = op->result()->type();
  if (!view->is(TypeKind::View)) return verifier.error("its result is not a view but {}", view->text);
  if (view->space != MemorySpace::Global)
    verifier.error("a window on a parameter is in global memory");
  check_dtype(memory, view, verifier);
  if (Attr windows = op->attr(attr::View::windows)) {
    return verify_windows(op->module()->context(), windows, memory, view, verifier);
  }
  verify_view_bounds(memory, view, verifier);
}

/// A tile's extents are constants from 1 up, or the whole axis of the memory.
void verify_window(Type memory, Type tile, size_t indices, OpVerifier& verifier) {
  check_dtype(memory, tile, verifier);
  if (memory->rank() != tile->rank() || memory->rank() != indices) {
    return verifier.error("memory of rank {}, a tile of rank {} and {} indices do not fit together",
                          memory->rank(), tile->rank(), indices);
  }
  for (size_t i = 0; i < tile->rank(); ++i) {
    auto extent = tile->dims[i]->constant();
    if (tile->dims[i] == memory->dims[i] || (extent && *extent >= 1)) continue;
    verifier.error("extent {} of axis {} is neither a constant from 1 up nor the whole axis",
                   tile->dims[i]->text, i);
  }
}

void verify_load(Op* op, OpVerifier& verifier) {
  verify_window(op->in(in::Load::memory)->type(), op->result()->type(),
                op->slot_size(in::Load::index), verifier);
}

void verify_store(Op* op, OpVerifier& verifier) {
  verify_window(op->in(in::Store::memory)->type(), op->in(in::Store::value)->type(),
                op->slot_size(in::Store::index), verifier);
}

void verify_gather(Op* op, OpVerifier& verifier) {
  Type table = op->in(in::Gather::table)->type();
  Type rows = op->in(in::Gather::rows)->type();
  Type result = op->result()->type();
  check_dtype(table, result, verifier);
  if (!is_integer(rows->dtype))
    verifier.error("row numbers are {}, which is not an integer", to_string(rows->dtype));
  if (table->rank() != 2 || rows->rank() != 1 || result->rank() != 2) {
    return verifier.error(
        "it takes a table of rank 2 and rows of rank 1 and gives a tile of rank 2");
  }
  if (result->dims[0] != rows->dims[0]) {
    verifier.error("it gives {} rows for {} row numbers", result->dims[0]->text,
                   rows->dims[0]->text);
  }
  if (!result->dims[1]->constant() && result->dims[1] != table->dims[1]) {
    verifier.error("extent {} of axis 1 is neither a constant nor the whole axis",
                   result->dims[1]->text);
  }
}

/// A coordinate for each axis of the memory and each element of the tile.
void verify_coordinates(Op* op, unsigned slot, Type memory, Type tile, OpVerifier& verifier) {
  check_dtype(memory, tile, verifier);
  if (op->slot_size(slot) != memory->rank()) {
    return verifier.error("it has {} coordinates for memory of rank {}", op->slot_size(slot), memory->rank());
  }
  for (Value* index : op->ins(slot)) {
    Type type = index->type();
    if (!is_integer(type->dtype)) verifier.error("coordinates are integers, not {}", to_string(type->dtype));
    if (type->dims != tile->dims) verifier.error("coordinates {} for elements {}", type->text, tile->text);
  }
}

void verify_take(Op* op, OpVerifier& verifier) {
  verify_coordinates(op, in::Take::index, op->in(in::Take::memory)->type(), op->result()->type(), verifier);
}

void verify_scatter(Op* op, OpVerifier& verifier) {
  verify_coordinates(op, in::Scatter::index, op->in(in::Scatter::memory)->type(),
                     op->in(in::Scatter::value)->type(), verifier);
}

bool is_shared(Type type) { return type->is(TypeKind::View) && type->space == MemorySpace::Shared; }

void verify_alloc(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  if (!is_shared(type)) return verifier.error("its result must be a view in shared space, not {}", type->text);
  if (type != op->module()->context().contiguous_view(type->dims, type->dtype, MemorySpace::Shared)) {
    verifier.error("its result must be contiguous, not {}", type->text);
  }
  for (Dim dim : type->dims) {
    if (!dim->constant()) verifier.error("its extents must be numbers, not {}", dim->text);
  }
}

void verify_slot(Op* op, OpVerifier& verifier) {
  Type memory = op->in(in::Slot::memory)->type(), result = op->result()->type();
  if (!is_shared(memory) || memory->rank() == 0) {
    return verifier.error("it takes a view in shared space of at least one axis, not {}", memory->text);
  }
  std::vector<Dim> dims(memory->dims.begin() + 1, memory->dims.end());
  Type wanted = op->module()->context().contiguous_view(std::move(dims), memory->dtype, MemorySpace::Shared);
  if (result != wanted) verifier.error("its result must be {}, not {}", wanted->text, result->text);
}

void verify_copy_async(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::CopyAsync::from)->type(), to = op->in(in::CopyAsync::to)->type();
  check_dtype(from, to, verifier);
  if (!is_shared(to)) return verifier.error("it copies to a view in shared space, not {}", to->text);
  if (is_shared(from)) verifier.error("it copies from global memory, not {}", from->text);
  size_t indices = op->slot_size(in::CopyAsync::index);
  if (indices != from->rank() || to->rank() > from->rank()) {
    verifier.error("memory of rank {}, a tile of rank {} and {} indices do not fit together", from->rank(), to->rank(),
                   indices);
  }
}

void verify_copy_wait(Op* op, OpVerifier& verifier) {
  if (op->attr(attr::CopyWait::pending) < 0)
    verifier.error("fewer than 0 copies cannot be in flight");
}

/// The value is one of the dtype: whole and in range for integers, 0 or 1 for bool.
void verify_constant(Op* op, OpVerifier& verifier) {
  DType dtype = op->result()->type()->dtype;
  Attr value = op->attr(attr::Constant::value);
  if (is_float(dtype)) return;
  double number = value->is(AttrKind::Int) ? double(value->integer) : value->number;
  unsigned bits = dtype == DType::Bool ? 1 : dtype_info(dtype).bits;
  bool is_signed = dtype_info(dtype).cls == DTypeClass::Signed;
  double low = is_signed ? -std::ldexp(1.0, int(bits) - 1) : 0;
  double high = std::ldexp(1.0, int(bits) - (is_signed ? 1 : 0));
  // Near 2^63 a double cannot represent which i64 fit; an Int always fits.
  bool exact = value->is(AttrKind::Int) && bits == 64 && is_signed;
  if (exact || (number == std::floor(number) && number >= low && number < high)) return;
  verifier.error("{} is not a value of {}", value->text, to_string(dtype));
}

void verify_splat(Op* op, OpVerifier& verifier) {
  check_dtype(op->in(in::Splat::scalar)->type(), op->result()->type(), verifier);
}

void verify_extract(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Extract::a)->type();
  check_dtype(from, op->result()->type(), verifier);
  for (Dim dim : from->dims) {
    if (!dim->is_constant(1)) return verifier.error("{} has more than one element", from->text);
  }
}

void verify_iota(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  int64_t axis = op->attr(attr::Iota::axis);
  if (axis < 0 || axis >= int64_t(type->rank())) {
    verifier.error("axis {} is outside a tile of rank {}", axis, type->rank());
  }
  if (!is_integer(type->dtype))
    verifier.error("coordinates are integers, not {}", to_string(type->dtype));
}

void verify_broadcast(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Broadcast::a)->type();
  Type to = op->result()->type();
  check_dtype(from, to, verifier);
  bool fits = from->rank() == to->rank();
  for (size_t i = 0; fits && i < to->rank(); ++i) {
    fits = from->dims[i] == to->dims[i] || from->dims[i]->is_constant(1);
  }
  if (!fits) verifier.error("{} does not broadcast to {}", from->text, to->text);
}

void verify_reshape(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Reshape::a)->type();
  Type to = op->result()->type();
  check_dtype(from, to, verifier);
  auto without_ones = [](Type type) {
    std::vector<Dim> dims;
    for (Dim dim : type->dims) {
      if (!dim->is_constant(1)) dims.push_back(dim);
    }
    return dims;
  };
  if (without_ones(from) != without_ones(to)) {
    verifier.error("{} and {} differ in more than extents of 1", from->text, to->text);
  }
}

void verify_transpose(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Transpose::a)->type();
  Type to = op->result()->type();
  check_dtype(from, to, verifier);
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
  if (perm.size() != from->rank() || to->rank() != from->rank()) {
    return verifier.error("perm has {} entries for rank {}", perm.size(), from->rank());
  }
  std::vector<bool> seen(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    bool fits = perm[i] >= 0 && perm[i] < int64_t(perm.size());
    if (!fits || seen[size_t(perm[i])])
      return verifier.error("perm is not a permutation of its axes");
    seen[size_t(perm[i])] = true;
    if (to->dims[i] != from->dims[size_t(perm[i])]) {
      verifier.error("axis {} of the result is {}, not {}", i, to->dims[i]->text,
                     from->dims[size_t(perm[i])]->text);
    }
  }
}

/// Ops that combine elements name the kind, and combine numbers.
void check_kind(Op* op, Type from, OpVerifier& verifier) {
  std::string_view kind = op->attr(common::Along::kind);
  if (kind != "sum" && kind != "prod" && kind != "max" && kind != "min") {
    verifier.error("'{}' is not a kind of reduction", kind);
  }
  if (from->dtype == DType::Bool) verifier.error("it does not take bool");
}

void verify_within(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Within::a)->type();
  if (op->result()->type() != from) verifier.error("its result must be {}", from->text);
  unsigned limits = op->slot_size(in::Within::limits);
  if (limits != from->rank()) verifier.error("there are {} limits for rank {}", limits, from->rank());
}

void verify_reduce(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Reduce::a)->type();
  Type to = op->result()->type();
  check_dtype(from, to, verifier);
  check_kind(op, from, verifier);
  std::vector<Dim> dims = from->dims;
  dims.erase(dims.begin() + op->attr(attr::Reduce::axis));
  if (dims != to->dims) verifier.error("{} without that axis is not {}", from->text, to->text);
}

void verify_scan(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Scan::a)->type();
  check_kind(op, a, verifier);
  if (op->result(0)->type() != a) verifier.error("its result must be {}", a->text);
  std::vector<Dim> dims = a->dims;
  dims[size_t(op->attr(attr::Scan::axis))] = op->module()->context().dims().constant(1);
  Type total = op->result(1)->type();
  check_dtype(a, total, verifier);
  if (total->dims != dims) verifier.error("{} is not the total of {}", total->text, a->text);
}

void verify_dot(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Dot::a)->type();
  Type b = op->in(in::Dot::b)->type();
  Type c = op->in(in::Dot::c)->type();
  if (op->result()->type() != c) verifier.error("its result must be {}", c->text);
  if (a->rank() != 2 || b->rank() != 2 || c->rank() != 2)
    return verifier.error("its operands must have rank 2");
  if (a->dims[1] != b->dims[0] || a->dims[0] != c->dims[0] || b->dims[1] != c->dims[1]) {
    verifier.error("[{}, {}] x [{}, {}] does not give [{}, {}]", a->dims[0]->text, a->dims[1]->text,
                   b->dims[0]->text, b->dims[1]->text, c->dims[0]->text, c->dims[1]->text);
  }
  if (a->dtype != b->dtype) {
    verifier.error("its operands differ in dtype: {} and {}", to_string(a->dtype),
                   to_string(b->dtype));
  }
  bool adds = a->dtype != DType::Bool && is_float(a->dtype) == is_float(c->dtype) &&
              c->dtype != DType::Bool && dtype_info(c->dtype).bits >= dtype_info(a->dtype).bits;
  if (!adds) {
    verifier.error("a dot of {} cannot accumulate in {}", to_string(a->dtype),
                   to_string(c->dtype));
  }
}

}  // namespace

#define OPS_FILE "ir/schedule/ops.def"
#define OPS_LEVEL Level::Schedule
#define OP_PREFIX "sched."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::schedule

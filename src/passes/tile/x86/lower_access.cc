// Addresses and limits of fragments, and what loads and stores make of them.
//
// The address of row r, column c is that of the first element plus sizes that depend on nothing but the dims; those are
// computed in the entry block. A limit along a leading axis switches whole rows off, one along the last axis gives
// the number of lanes.

#include "ir/tile/build.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Whether elements of that size can be gathered by one instruction.
bool can_gather(DType dtype) { return byte_size(dtype) >= 4; }

}  // namespace

void KernelLowering::lower_view(Op* op) {
  memories_[op->result()] = {memory(op->in(in::View::memory)).base, op->result()->type()};
}

void KernelLowering::lower_alloc(Op* op) {
  Value* bytes = dim(op->required(attr::Alloc::offset));
  memories_[op->result()] = {b_.offset(scratch_, bytes), op->result()->type()};
}

Value* KernelLowering::bytes(Value* elements, DType dtype) {
  return b_.mul(elements, b_.index(byte_size(dtype)));
}

KernelLowering::Access KernelLowering::access(Memory memory, Type tile, FragmentShape shape,
                                              const std::vector<Value*>& offsets,
                                              const std::vector<Value*>& limits) {
  DimTable& dims = b_.context().dims();
  Type type = memory.type;
  std::vector<Dim> strides = type->strides;
  Value* address = memory.base;
  Dim size = dims.constant(byte_size(type->dtype));
  if (type->is(TypeKind::View)) {
    address = b_.offset(address, dim(dims.mul(type->offset, size)));
  } else {
    strides = b_.context().contiguous_view(type->dims, type->dtype, MemorySpace::Global)->strides;
  }
  Value* elements = b_.index(0);
  for (size_t i = 0; i < offsets.size(); ++i) {
    elements = b_.add(elements, b_.mul(scalar(offsets[i]), dim(dims.mul(strides[i], size))));
  }
  Access access{b_.offset(address, elements), std::move(shape), tile->dtype, {}, {}};
  size_t first = strides.size() - tile->rank();
  access.strides.assign(strides.begin() + int64_t(first), strides.end());
  for (size_t i = 0; i < tile->rank(); ++i) {
    Value* limit = limits.empty() ? nullptr : scalar(limits[i]);
    std::optional<int64_t> known = limit ? b_.as_constant(limit) : std::nullopt;
    access.limits.push_back(known && *known >= access.shape.extents[i] ? nullptr : limit);
  }
  return access;
}

Value* KernelLowering::row_address(const Access& access, const std::vector<int64_t>& index) {
  DimTable& dims = b_.context().dims();
  Dim total = dims.constant(0);
  for (size_t i = 0; i < index.size(); ++i) {
    Dim step = dims.constant(index[i] * byte_size(access.dtype));
    total = dims.add(total, dims.mul(access.strides[i], step));
  }
  return b_.offset(access.address, dim(total));
}

Value* KernelLowering::element_address(const Access& access, Value* row, int64_t column) {
  if (column == 0) return row;
  DimTable& dims = b_.context().dims();
  return b_.offset(row, dim(dims.mul(access.strides.back(), dims.constant(column * byte_size(access.dtype)))));
}

Value* KernelLowering::row_count(const Access& access, const std::vector<int64_t>& index) {
  Value* there = nullptr;
  for (size_t i = 0; i < index.size(); ++i) {
    if (!access.limits[i]) continue;
    Value* below = b_.op(Kind::Lt, b_.index(index[i]), access.limits[i]);
    there = there ? b_.bit_and(there, below) : below;
  }
  Value* count = access.limits.empty() ? nullptr : access.limits.back();
  if (!there) return count;
  return b_.select(there, count ? count : b_.index(access.shape.columns()), b_.index(0));
}

/// Contiguous along the last axis but one: such a fragment is read and written by columns and transposed in registers.
bool KernelLowering::is_transposed(const Access& access) {
  size_t rank = access.shape.extents.size();
  if (rank < 2 || access.shape.chunk == 1 || access.strides[rank - 1]->is_constant(1)) return false;
  return access.strides[rank - 2]->is_constant(1) && access.shape.extents[rank - 1] > 1 &&
         access.shape.extents[rank - 2] > 1;
}

KernelLowering::Access KernelLowering::transposed(const Access& access) {
  Access other = access;
  size_t rank = access.shape.extents.size();
  std::swap(other.shape.extents[rank - 1], other.shape.extents[rank - 2]);
  std::swap(other.strides[rank - 1], other.strides[rank - 2]);
  std::swap(other.limits[rank - 1], other.limits[rank - 2]);
  return other;
}

void KernelLowering::lower_load(Op* op) {
  Value* result = op->result();
  if (pair_operands_.contains(result)) return lower_pair_operand(op);
  Access at = access(memory(op->in(in::Load::memory)), result->type(), shape_of(result), op->ins(in::Load::offsets),
                     op->ins(in::Load::limits));
  DType stored = stored_dtype(at.dtype);
  Attr given = op->attr(attr::Load::fill);
  Value* fill = given ? b_.full(b_.context().scalar(stored), given) : b_.zero(b_.context().scalar(stored));
  std::vector<Value*> parts;
  if (loads_pairs(op, at)) {
    paired_.insert(result);
    return define(result, load_pairs(transposed(at), fill));
  }
  if (is_transposed(at)) {
    Access by_columns = transposed(at);
    parts = transpose_last_two({by_columns.shape, load_parts(by_columns, fill)}, stored);
  } else {
    parts = load_parts(at, fill);
  }
  if (at.dtype == DType::Bool) {
    for (Value*& part : parts) part = b_.op(Kind::Ne, part, b_.zero(part->type()));
  }
  define(result, std::move(parts));
}

std::vector<Value*> KernelLowering::load_parts(const Access& access, Value* fill) {
  std::vector<Value*> parts;
  for (int64_t row = 0; row < access.shape.rows(); ++row) {
    std::vector<int64_t> index = access.shape.row_index(row);
    Value* address = row_address(access, index);
    Value* count = row_count(access, index);
    for (int64_t part = 0; part < access.shape.parts_per_row(); ++part) {
      parts.push_back(load_part(access, address, count, part, fill));
    }
  }
  return parts;
}

Value* KernelLowering::load_part(const Access& access, Value* row, Value* count, int64_t part, Value* fill) {
  int64_t lanes = access.shape.lanes(part);
  int64_t start = part * access.shape.chunk;
  Type type = part_type(b_.context(), stored_dtype(access.dtype), lanes);
  Value* left = count ? b_.sub(count, b_.index(start)) : nullptr;
  if (lanes == 1) return load_one(element_address(access, row, start), type, left, fill);
  if (!access.strides.back()->is_constant(1)) return load_strided(access, row, left, part, fill);
  Value* address = element_address(access, row, start);
  if (!left) return b_.load(address, type);
  return b_.load_masked(address, b_.mask(left, lanes), b_.splat(fill, lanes));
}

Value* KernelLowering::load_one(Value* address, Type type, Value* left, Value* fill) {
  if (!left) return b_.load(address, type);
  return b_.extract(b_.load_masked(address, b_.mask(left, 1), b_.splat(fill, 1)), 0);
}

Value* KernelLowering::load_strided(const Access& access, Value* row, Value* left, int64_t part, Value* fill) {
  int64_t lanes = access.shape.lanes(part);
  int64_t start = part * access.shape.chunk;
  DType stored = stored_dtype(access.dtype);
  Value* first = element_address(access, row, start);
  if (access.strides.back()->is_constant(0)) {
    Value* one = b_.splat(load_one(first, b_.context().scalar(stored), left, fill), lanes);
    return left ? b_.select(b_.mask(left, lanes), one, b_.splat(fill, lanes)) : one;
  }
  if (can_gather(stored)) {
    Type type = b_.context().reg(DType::I64, lanes);
    Dim step = b_.context().dims().mul(access.strides.back(), b_.context().dims().constant(byte_size(stored)));
    Value* offsets = b_.mul(b_.iota(type), b_.splat(dim(step), lanes));
    Value* mask = b_.mask(left ? left : b_.index(lanes), lanes);
    return b_.gather(first, offsets, mask, b_.splat(fill, lanes));
  }
  Value* all = b_.splat(fill, lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value* rest = left ? b_.sub(left, b_.index(lane)) : nullptr;
    Value* address = element_address(access, row, start + lane);
    all = b_.insert(all, load_one(address, b_.context().scalar(stored), rest, fill), lane);
  }
  return all;
}

void KernelLowering::lower_store(Op* op) {
  Value* value = op->in(in::Store::value);
  if (is_accumulator(value)) {
    return store_accumulators(value, access(memory(op->in(in::Store::memory)), value->type(), shape_of(value),
                                            op->ins(in::Store::offsets), {}));
  }
  Fragment from = fragment(value);
  Access at = access(memory(op->in(in::Store::memory)), value->type(), from.shape, op->ins(in::Store::offsets),
                     op->ins(in::Store::limits));
  if (at.dtype == DType::Bool) {
    for (Value*& part : from.parts) part = b_.cast(part, DType::U8);
  }
  if (is_transposed(at)) {
    store_parts(transposed(at), transpose_last_two(from, stored_dtype(at.dtype)));
  } else {
    store_parts(at, from.parts);
  }
}

void KernelLowering::store_parts(const Access& access, const std::vector<Value*>& parts) {
  auto next = parts.begin();
  for (int64_t row = 0; row < access.shape.rows(); ++row) {
    std::vector<int64_t> index = access.shape.row_index(row);
    Value* address = row_address(access, index);
    Value* count = row_count(access, index);
    for (int64_t part = 0; part < access.shape.parts_per_row(); ++part) {
      store_part(access, address, count, part, *next++);
    }
  }
}

void KernelLowering::store_part(const Access& access, Value* row, Value* count, int64_t part, Value* value) {
  int64_t lanes = access.shape.lanes(part);
  int64_t start = part * access.shape.chunk;
  Value* left = count ? b_.sub(count, b_.index(start)) : nullptr;
  if (lanes > 1 && access.strides.back()->is_constant(1)) {
    Value* address = element_address(access, row, start);
    if (left) {
      b_.store_masked(value, address, b_.mask(left, lanes));
    } else {
      b_.store(value, address);
    }
    return;
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value* rest = left ? b_.sub(left, b_.index(lane)) : nullptr;
    Value* one = lanes == 1 ? value : b_.extract(value, lane);
    store_one(one, element_address(access, row, start + lane), rest);
  }
}

void KernelLowering::store_one(Value* value, Value* address, Value* left) {
  if (left) {
    b_.store_masked(b_.splat(value, 1), address, b_.mask(left, 1));
  } else {
    b_.store(value, address);
  }
}

/// Row by row: the row's number gives the address, and a number outside the table switches the row off.
void KernelLowering::lower_gather(Op* op) {
  DimTable& dims = b_.context().dims();
  Value* result = op->result();
  Memory table = memory(op->in(in::Gather::table));
  Fragment rows = fragment(op->in(in::Gather::rows));
  bool column_of_rows = rows.shape.extents.size() == 2;
  Value* none = b_.index(0);
  Access at = access(table, result->type(), shape_of(result), {}, op->ins(in::Gather::limits));
  at.address = b_.offset(at.address, b_.mul(scalar(op->in(in::Gather::column)),
                                            dim(dims.mul(at.strides[1], dims.constant(byte_size(at.dtype))))));
  Value* row_bytes = dim(dims.mul(at.strides[0], dims.constant(byte_size(at.dtype))));
  Value* height = dim(table.type->dims[0]);
  Value* zero = b_.zero(b_.context().scalar(stored_dtype(at.dtype)));
  Attr outside = tile::outside_of(op);
  Value* fill = b_.full(zero->type(), outside);
  std::vector<Value*> parts;
  for (int64_t i = 0; i < at.shape.rows(); ++i) {
    Value* number = b_.cast(column_of_rows ? element(rows, i, 0) : element(rows, 0, i), DType::I64);
    Value* inside = b_.bit_and(b_.op(Kind::Ge, number, none), b_.op(Kind::Lt, number, height));
    Value* row = b_.offset(at.address, b_.mul(b_.select(inside, number, none), row_bytes));
    Value* wanted = row_count(at, {i});
    if (!wanted) wanted = b_.index(at.shape.columns());
    Value* count = b_.select(inside, wanted, none);
    Value* missing = b_.select(inside, none, wanted);
    for (int64_t part = 0; part < at.shape.parts_per_row(); ++part) {
      Value* value = load_part(at, row, count, part, zero);
      if (fill != zero) {
        Value* left = b_.sub(missing, b_.index(part * at.shape.chunk));
        bool reg = value->type()->is(TypeKind::Reg);
        Value* lost = reg ? b_.mask(left, value->type()->lanes) : b_.op(Kind::Gt, left, none);
        value = b_.select(lost, b_.full(value->type(), outside), value);
      }
      if (at.dtype == DType::Bool) value = b_.op(Kind::Ne, value, b_.zero(value->type()));
      parts.push_back(value);
    }
  }
  define(result, std::move(parts));
}

}  // namespace tessera

// Copies between global and shared memory, barriers.

#include "ir/layout/access.h"
#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/target/ops.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using target::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Axes of global memory in the order of a tensor map: the contiguous one, then the others from the last to the first.
std::vector<size_t> map_order(const layout::SharedLayout& shared, size_t rank) {
  size_t contiguous = rank - size_t(shared.rank()) + size_t(shared.contiguous_axis());
  std::vector<size_t> order{contiguous};
  for (size_t i = rank; i-- > 0;) {
    if (i != contiguous) order.push_back(i);
  }
  return order;
}

/// Elements of the contiguous axis that one box covers.
int64_t column_elements(const layout::SharedLayout& shared) {
  int64_t extent = shared.extents()[size_t(shared.contiguous_axis())];
  int64_t swizzle = int64_t(shared.swizzle());
  return swizzle ? std::min(extent, swizzle / shared.element_bytes()) : extent;
}

}  // namespace

Value* NvLowering::descriptor(Value* global, Type shared_type) {
  Context& context = b_.context();
  DimTable& table = context.dims();
  const layout::SharedLayout& shared = shared_layout_of(shared_type);
  Type type = global->type();
  size_t rank = type->rank();
  std::vector<Dim> all_strides = tile::strides_of(context, type);
  std::vector<Dim> dims, strides;
  std::vector<int64_t> box;
  for (size_t axis : map_order(shared, rank)) {
    bool first = dims.empty();
    dims.push_back(type->dims[axis]);
    if (!first) strides.push_back(table.mul(all_strides[axis], table.constant(byte_size(type->dtype))));
    size_t lead = rank - size_t(shared.rank());
    int64_t extent = axis < lead ? 1 : shared.extents()[axis - lead];
    box.push_back(first ? column_elements(shared) : extent);
  }
  Dim offset = type->is(TypeKind::View) ? table.mul(type->offset, table.constant(byte_size(type->dtype)))
                                        : table.constant(0);
  Value* parameter = global;
  while (parameter->def()) parameter = parameter->def()->operand(0);
  using entry::TensorMap;
  Attr map = entry::make_dict(context, {TensorMap::box(context, box), TensorMap::buffer(context, parameter->index()),
                                        TensorMap::dims(context, dims), TensorMap::dtype(context, type->dtype),
                                        TensorMap::offset(context, offset), TensorMap::strides(context, strides),
                                        TensorMap::swizzle(context, int64_t(shared.swizzle()))});
  auto [it, inserted] = descriptor_args_.try_emplace(map);
  if (inserted) {
    descriptors_.push_back(map);
    it->second = func_->region()->front()->add_arg(context.ptr());
  }
  return it->second;
}

/// Calls emit(coordinates, address in shared memory) for every box of a copy.
template <typename F>
void NvLowering::for_each_column(Value* global, Value* shared_value, const std::vector<Value*>& offsets, F&& emit) {
  Memory to = memories_.at(shared_value);
  const layout::SharedLayout& shared = shared_layout_of(to.type);
  std::vector<Value*> coordinates;
  for (size_t axis : map_order(shared, global->type()->rank())) coordinates.push_back(as_i32(value(offsets[axis])));
  int64_t extent = shared.extents()[size_t(shared.contiguous_axis())], width = column_elements(shared);
  for (int64_t column = 0; column * width < extent; ++column) {
    std::vector<Value*> at = coordinates;
    if (column) at[0] = b_.add(at[0], i32(column * width));
    emit(at, b_.offset(to.base, i32(column * shared.column_stride())));
  }
}

void NvLowering::lower_copy_async(Op* op) {
  Value* barrier = op->in(in::CopyAsync::barrier);
  if (!barrier) return lower_copy_by_threads(op);
  Value* from = op->in(in::CopyAsync::from);
  Value* to = op->in(in::CopyAsync::to);
  Value* map = descriptor(from, to->type());
  in_one_thread([&] {
    for_each_column(from, to, op->ins(in::CopyAsync::offsets), [&](const std::vector<Value*>& at, Value* address) {
      b_.at().op(target::info(OpKind::TmaLoad), {{map}, at, {address}, {memories_.at(barrier).base}, {}}, {});
    });
  });
}

/// Every thread copies its share, 4 to 16 bytes at a time past the registers where that is possible.
void NvLowering::lower_copy_by_threads(Op* op) {
  Memory to = memories_.at(op->in(in::CopyAsync::to));
  Memory from = memories_.at(op->in(in::CopyAsync::from));
  const layout::SharedLayout& shared = shared_layout_of(to.type);
  std::vector<int32_t> extents(shared.extents().begin(), shared.extents().begin() + shared.rank());
  std::vector<int> order(shared.order().begin(), shared.order().end());
  int vector = 16 / byte_size(to.type->dtype);
  while (extents[size_t(order[0])] % vector) vector /= 2;
  std::optional<layout::Layout> layout = layout::blocked(extents, vector, 32, int(threads_.warps), order);
  TSR_CHECK(layout, "no layout to copy " + to.type->text);
  Context& context = b_.context();
  Type tile = context.with_layout(context.tile(to.type->dims, to.type->dtype),
                                  context.intern(layout::print(*layout)));
  Access access = global_access(from, tile, op->ins(in::CopyAsync::offsets), op->ins(in::CopyAsync::limits));
  int width = std::min(access.width, layout::shared_vector_width(*layout, shared));
  int bytes = width * byte_size(to.type->dtype);
  std::vector<Value*> addresses = shared_addresses(to, *layout, width);
  Value* owner = is_canonical(*layout);
  Type part = context.reg(to.type->dtype, width);
  where(owner, [&] {
    for (int r = 0; r < layout->registers_per_thread(); r += width) {
      layout::Point point = layout->register_offset(r);
      Value* source = address(access, point);
      Value* there = is_there(access, point);
      Value* destination = addresses[size_t(r / width)];
      if (bytes >= 4) {
        Value* read = there ? b_.select(there, i32(bytes), i32(0)) : nullptr;
        std::vector<Value*> count;
        if (read) count.push_back(read);
        b_.at().op(target::info(OpKind::CpAsync), {{destination}, {source}, count}, {},
                   {target::attr::CpAsync::size(context, bytes)});
        continue;
      }
      Value* loaded = there ? b_.load_masked(source, b_.splat(there, width), b_.zero(part)) : b_.load(source, part);
      b_.store(loaded, destination);
    }
  });
}

void NvLowering::lower_store_async(Op* op) {
  Value* from = op->in(in::StoreAsync::from);
  Value* to = op->in(in::StoreAsync::to);
  Value* map = descriptor(to, from->type());
  in_one_thread([&] {
    for_each_column(to, from, op->ins(in::StoreAsync::offsets), [&](const std::vector<Value*>& at, Value* address) {
      b_.at().op(target::info(OpKind::TmaStore), {{map}, at, {address}}, {});
    });
    b_.at().op(target::info(OpKind::BulkCommit), {}, {});
  });
}

void NvLowering::lower_barriers(Op* op) {
  Type type = op->result()->type();
  Value* base = b_.offset(shared_base_, i32(op->required(attr::Barriers::offset)));
  memories_[op->result()] = {base, type};
  in_one_thread([&] {
    for (int64_t i = 0; i < *type->dims[0]->constant(); ++i) {
      b_.at().op(target::info(OpKind::MbarrierInit), {{b_.offset(base, i32(i * 8))}}, {},
                 {target::attr::MbarrierInit::count(op->node(attr::Barriers::arrivals))});
    }
    b_.at().op(target::info(OpKind::FenceMbarrierInit), {}, {});
  });
}

void NvLowering::lower_barrier() {
  Context& context = b_.context();
  b_.at().op(target::info(OpKind::Barrier), {}, {},
             {target::attr::Barrier::id(context, threads_.barrier),
              target::attr::Barrier::threads(context, threads_.warps * 32)});
}

}  // namespace tessera

// Copies between global and shared memory, barriers.

#include <algorithm>

#include "ir/layout/access.h"
#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/target/ops.h"
#include "ir/text/entries.h"
#include "ir/text/window_shape.h"
#include "ir/tile/ops.h"
#include "passes/tile/common/window_loads.h"
#include "passes/tile/gpu/tensor_copies.h"
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

/// The axis of a tile that is not contiguous: parts of a copy are rows of it.
size_t row_axis(const layout::SharedLayout& shared) { return size_t(1 - shared.contiguous_axis()); }

int64_t rows_of_part(const layout::SharedLayout& shared, int64_t parts) {
  return shared.extents()[row_axis(shared)] / parts;
}

/// Bytes from one row to the next, where a swizzle has columns.
int64_t row_bytes(const layout::SharedLayout& shared) { return column_elements(shared) * shared.element_bytes(); }

}  // namespace

NvLowering::CopyPart NvLowering::part_of_copy(Op* copy) {
  CopyPart part;
  std::vector<int64_t> shared_along = copy->attr(attr::CopyAsync::shared_along).vector();
  if (shared_along.empty()) return part;
  Builder here = b_.at();
  b_.at().set_before(func_->region()->front()->back());  // once, before all loops
  std::vector<int64_t> cluster = kernel_->attr(attr::Kernel::cluster).vector();
  std::vector<Value*> places = places_in_cluster();
  Value *number = natural(0), *first = natural(0);
  // Blocks that get the copy: with any index along the axes where it is shared, and this block's along the others.
  int64_t blocks = 1, stride = 1;
  for (size_t i = cluster.size(); i-- > 0;) {
    if (std::ranges::find(shared_along, int64_t(i)) == shared_along.end()) {
      first = b_.add(first, b_.mul(places[i], natural(stride)));
    } else {
      number = b_.add(number, b_.mul(places[i], natural(part.parts)));
      part.parts *= cluster[i];
      int64_t along = blocks;
      for (int64_t n = 1; n < cluster[i]; ++n) blocks |= along << (n * stride);
    }
    stride *= cluster[i];
  }
  const layout::SharedLayout& shared = shared_layout_of(copy->in(in::CopyAsync::to)->type());
  part.row = b_.cast(b_.mul(number, natural(rows_of_part(shared, part.parts))), DType::I32);
  part.offset = b_.mul(part.row, i32(row_bytes(shared)));
  part.blocks = b_.cast(b_.op(Kind::Shl, natural(blocks), first), DType::I32);
  b_.at() = here;
  return part;
}

Value* NvLowering::descriptor(Value* global, Type shared_type, int64_t parts) {
  Context& context = b_.context();
  DimTable& table = context.dims();
  const layout::SharedLayout& shared = shared_layout_of(shared_type);
  if (Op* windows = windows_of(global)) return window_descriptor(windows, shared, parts);
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
    if (parts > 1 && axis == lead + row_axis(shared)) extent = rows_of_part(shared, parts);
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
  return descriptor_argument(map);
}

Value* NvLowering::descriptor_argument(Attr map) {
  auto [it, inserted] = descriptor_args_.try_emplace(map);
  if (inserted) {
    descriptors_.push_back(map);
    it->second = func_->region()->front()->add_arg(b_.context().ptr());
  }
  return it->second;
}

/// Windows begin between the corners of the image that `lower` and `upper` say; a tap is added to where each begins.
Value* NvLowering::window_descriptor(Op* windows, const layout::SharedLayout& shared, int64_t parts) {
  Context& context = b_.context();
  DimTable& table = context.dims();
  WindowShape shape = *read_windows(windows->attr(attr::View::windows));
  Value* image = windows->operand(0);
  Type type = image->type();
  std::vector<Dim> all_strides = tile::strides_of(context, type);
  std::vector<Dim> dims{type->dims.back()}, strides;
  std::vector<int64_t> lower, upper, steps;
  auto add_axis = [&](size_t axis) {
    dims.push_back(type->dims[axis]);
    strides.push_back(table.mul(all_strides[axis], table.constant(byte_size(type->dtype))));
  };
  for (size_t i : window_axes(shape, type->dims)) {
    add_axis(i + 1);
    lower.push_back(-shape.before[i]);
    upper.push_back(shape.after[i] - shape.reach(i));
    steps.push_back(shape.step[i]);
  }
  add_axis(0);
  using entry::TensorMap;
  std::vector<int64_t> box{column_elements(shared), shared.extents()[0] / parts};
  return descriptor_argument(entry::make_dict(
      context, {TensorMap::box(context, box), TensorMap::buffer(context, image->index()),
                TensorMap::dims(context, dims), TensorMap::dtype(context, type->dtype),
                TensorMap::lower(context, lower), TensorMap::offset(context, table.constant(0)),
                TensorMap::steps(context, steps), TensorMap::strides(context, strides),
                TensorMap::swizzle(context, int64_t(shared.swizzle())), TensorMap::upper(context, upper)}));
}

/// Calls emit() where the value is known, which may be before a loop.
template <typename F>
void NvLowering::where_known(Value* known, F&& emit) {
  Builder here = b_.at();
  if (Op* def = known->def(); def && !TargetBuilder::as_constant(known)) {
    b_.at().set_after(def);
  } else if (!def && known->parent_block()->front()) {
    b_.at().set_before(known->parent_block()->front());
  }
  emit();
  b_.at() = here;
}

/// Where the first window of a tile begins, and the tap, as the copy engine counts them. `before`: how many windows of
/// the tile lie before it; null: none.
NvLowering::WindowPlace NvLowering::window_place(Op* windows, const std::vector<Value*>& offsets, Value* before) {
  WindowShape shape = *read_windows(windows->attr(attr::View::windows));
  const std::vector<Dim>& image = windows->operand(0)->type()->dims;
  std::vector<Dim> positions = window_positions(b_.context().dims(), shape, image);
  std::vector<size_t> axes = window_axes(shape, image);
  WindowPlace place;
  auto divided = [&](Value* number, Value* by) {
    Value* quotient = b_.div(number, by);
    return std::pair(quotient, b_.sub(number, b_.mul(quotient, by)));
  };
  auto u32 = [&](Value* index) { return b_.cast(index, DType::U32); };
  auto number = [&](int64_t n) { return b_.integer(b_.context().scalar(DType::U32), n); };
  Value* first = value(offsets[1]);
  where_known(first, [&] {
    Value* window = u32(first);
    if (before) window = b_.add(window, b_.cast(before, DType::U32));
    for (size_t i : axes) {
      auto [rest, along] = divided(window, u32(dim(positions[i])));
      window = rest;
      Value* begin = b_.cast(b_.mul(along, number(shape.step[i])), DType::I32);
      place.begin.push_back(b_.sub(begin, i32(shape.before[i])));
    }
    place.begin.push_back(b_.cast(window, DType::I32));
  });
  Value* number_of_tap = value(offsets[0]);
  where_known(number_of_tap, [&] {
    Value* tap = u32(number_of_tap);
    for (size_t i : axes) {
      auto [rest, along] = divided(tap, number(shape.size[i]));
      tap = rest;
      place.taps.push_back(b_.cast(b_.mul(along, number(shape.dilation[i])), DType::I32));
    }
  });
  return place;
}

/// Calls emit(coordinates, address in shared memory) for every box of a copy.
template <typename F>
void NvLowering::for_each_column(Value* global, Value* shared_value, const std::vector<Value*>& offsets,
                                 const CopyPart& part, F&& emit) {
  Memory to = memories_.at(shared_value);
  const layout::SharedLayout& shared = shared_layout_of(to.type);
  std::vector<Value*> coordinates;
  size_t rank = global->type()->rank();
  for (size_t axis : map_order(shared, rank)) {
    Value* coordinate = as_i32(value(offsets[axis]));
    if (part.row && axis == rank - size_t(shared.rank()) + row_axis(shared)) coordinate = b_.add(coordinate, part.row);
    coordinates.push_back(coordinate);
  }
  if (part.row) to.base = b_.offset(to.base, part.offset);
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
  CopyPart part = part_of_copy(op);
  Value* map = descriptor(from, to->type(), part.parts);
  if (Op* windows = windows_of(from)) return lower_window_copy(op, windows, map, part);
  in_one_thread([&] {
    for_each_column(from, to, op->ins(in::CopyAsync::offsets), part,
                    [&](const std::vector<Value*>& at, Value* address) {
                      load_box(map, at, address, memories_.at(barrier).base, part, {});
                    });
  });
}

void NvLowering::load_box(Value* map, const std::vector<Value*>& at, Value* address, Value* barrier,
                          const CopyPart& part, const std::vector<Value*>& taps) {
  std::vector<Value*> multicast;
  if (part.blocks) multicast.push_back(part.blocks);
  b_.at().op(target::info(OpKind::TmaLoad), {{map}, at, {address}, {barrier}, multicast, taps}, {});
}

void NvLowering::lower_window_copy(Op* op, Op* windows, Value* map, const CopyPart& part) {
  std::vector<Value*> offsets = op->ins(in::CopyAsync::offsets);
  Memory to = memories_.at(op->in(in::CopyAsync::to));
  const layout::SharedLayout& shared = shared_layout_of(to.type);
  WindowPlace place = window_place(windows, offsets, part.row);
  if (part.row) to.base = b_.offset(to.base, part.offset);
  int64_t extent = shared.extents()[1], width = column_elements(shared);
  Value* channel = as_i32(value(offsets[2]));
  Value* barrier = memories_.at(op->in(in::CopyAsync::barrier)).base;
  in_one_thread([&] {
    for (int64_t column = 0; column * width < extent; ++column) {
      std::vector<Value*> at{column ? b_.add(channel, i32(column * width)) : channel};
      at.insert(at.end(), place.begin.begin(), place.begin.end());
      Value* address = b_.offset(to.base, i32(column * shared.column_stride()));
      load_box(map, at, address, barrier, part, place.taps);
    }
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
  TSR_CHECK(access.registers.empty(), "a layout to copy has its vectors first");
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
    for_each_column(to, from, op->ins(in::StoreAsync::offsets), {},
                    [&](const std::vector<Value*>& at, Value* address) {
                      b_.at().op(target::info(OpKind::TmaStore), {{map}, at, {address}}, {});
                    });
    b_.at().op(target::info(OpKind::BulkCommit), {}, {});
  });
}

void NvLowering::lower_store_wait(Op* op) {
  in_one_thread([&] {
    machine_op(OpKind::BulkWait, {target::attr::BulkWait::pending(op->node(attr::StoreWait::pending)),
                                  target::attr::BulkWait::read(b_.context(), true)});
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

void NvLowering::lower_barrier_expect(Op* op) {
  in_one_thread([&] {
    b_.at().op(target::info(OpKind::MbarrierExpect), {{memories_.at(op->operand(0)).base}}, {},
               {target::attr::MbarrierExpect::bytes(op->node(attr::BarrierExpect::bytes))});
  });
}

/// One thread of each warp arrives, for all: what the others read or wrote must have happened, too. At the barriers of
/// a cluster one thread for each program does.
void NvLowering::lower_barrier_arrive(Op* op) {
  if (!threads_.single) machine_op(OpKind::WarpSync);
  if (std::optional<int64_t> programs = op->attr(attr::BarrierArrive::programs)) {
    TSR_CHECK(!threads_.single, "warps of a cluster arrive, not single threads");
    return where(b_.op(Kind::Lt, threads_.lane, i32(*programs)), [&] {
      Value* own = memories_.at(op->operand(0)).base;
      Value* bar = b_.at().value(target::info(OpKind::MapShared), {{own}, {threads_.lane}},
                                 b_.context().ptr(MemorySpace::Shared));
      b_.at().op(target::info(OpKind::MbarrierArrive), {{bar}}, {});
    });
  }
  where(threads_.single ? nullptr : b_.op(Kind::Eq, threads_.lane, i32(0)), [&] {
    b_.at().op(target::info(OpKind::MbarrierArrive), {{memories_.at(op->operand(0)).base}}, {});
  });
}

void NvLowering::lower_barrier_wait(Op* op) {
  b_.at().op(target::info(OpKind::MbarrierWait),
             {{memories_.at(op->operand(0)).base}, {as_i32(value(op->operand(1)))}}, {});
}

void NvLowering::lower_barrier() {
  Context& context = b_.context();
  b_.at().op(target::info(OpKind::Barrier), {}, {},
             {target::attr::Barrier::id(context, threads_.barrier),
              target::attr::Barrier::threads(context, threads_.warps * 32)});
}

}  // namespace tessera

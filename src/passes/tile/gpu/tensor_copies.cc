#include "passes/tile/gpu/tensor_copies.h"

#include "ir/layout/text.h"
#include "ir/tile/build.h"
#include "passes/tile/common/window_loads.h"
#include "runtime/base/tensor_maps.h"

namespace tessera {

using layout::SharedLayout;
using layout::Swizzle;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

constexpr int64_t copy_alignment = 16;   // bytes, of addresses and strides
constexpr int64_t largest_box = 256;     // elements along an axis
constexpr size_t most_axes = 5;

/// The axis of the tile along which elements follow one another in memory; the last one where no stride is 1.
int contiguous_axis(Context& context, Type memory, Type tile) {
  std::vector<Dim> strides = tile::strides_of(context, memory);
  size_t lead = memory->rank() - tile->rank();
  for (size_t i = tile->rank(); i-- > 0;) {
    if (strides[lead + i]->is_constant(1)) return int(i);
  }
  return int(tile->rank()) - 1;
}

/// True if past the limit of axis `i` there is no memory: the limit is what remains of the extent, or 0.
bool ends_with_memory(Value* limit, Value* offset, Dim extent, int64_t tile_extent) {
  if (std::optional<int64_t> known = tile::known_index(limit); known && *known >= tile_extent) return true;
  Op* def = limit->def();
  if (def && def->info().elementwise == ElementwiseKind::Max && tile::known_index(def->operand(1)) == 0) {
    limit = def->operand(0);
    def = limit->def();
  }
  if (!def) return false;
  auto is_extent = [&](Value* value) {
    if (std::optional<int64_t> known = tile::known_index(value)) return extent->is_constant(*known);
    return value->def() && value->def()->is(tile::info(OpKind::Dim)) &&
           value->def()->attr(attr::Dim::value) == extent;
  };
  if (tile::known_index(offset) == 0) return is_extent(limit);
  return def->info().elementwise == ElementwiseKind::Sub && is_extent(def->operand(0)) && def->operand(1) == offset;
}

/// True for a condition that holds where the access's index lies on one of the memory's first axes, which it takes one
/// index each of.
bool is_on_axis(Value* condition, const std::vector<Value*>& offsets, Type memory, size_t lead) {
  Op* def = condition->def();
  if (!def || def->info().elementwise != ElementwiseKind::Gt || tile::known_index(def->operand(1)) != 0) return false;
  for (size_t i = 0; i < lead; ++i) {
    if (ends_with_memory(def->operand(0), offsets[i], memory->dims[i], 1)) return true;
  }
  return false;
}

/// The limit where the index lies on the memory's first axes: elsewhere there is no memory, and the limit is 0.
Value* limit_on_axes(Value* limit, const std::vector<Value*>& offsets, Type memory, size_t lead) {
  for (Op* def = limit->def(); def && def->info().elementwise == ElementwiseKind::Select; def = limit->def()) {
    bool past = tile::known_index(def->operand(2)) == 0 && is_on_axis(def->operand(0), offsets, memory, lead);
    if (!past) break;
    limit = def->operand(1);
  }
  return limit;
}

}  // namespace

std::optional<SharedLayout> staged_layout(Context& context, Type memory, Type tile) {
  return staged_along(tile, contiguous_axis(context, memory, tile));
}

std::optional<SharedLayout> staged_along(Type tile, int fastest) {
  if (tile->rank() != 2) return std::nullopt;
  std::vector<int32_t> extents;
  for (Dim dim : tile->dims) extents.push_back(int32_t(*dim->constant()));
  int order[] = {fastest, 1 - fastest};
  int bytes = byte_size(tile->dtype);
  int64_t line = int64_t(extents[size_t(fastest)]) * bytes;
  for (Swizzle swizzle : {Swizzle::B128, Swizzle::B64, Swizzle::B32}) {
    if (line % int64_t(swizzle) == 0) return SharedLayout::swizzled(extents, bytes, swizzle, order);
  }
  return SharedLayout::rows(extents, bytes, order);
}

std::optional<std::vector<NeededMultiple>> tensor_copy_needs(Context& context, Type memory, Type tile,
                                                             const SharedLayout& shared) {
  if (!base::has_tensor_map_type(to_string(memory->dtype))) return std::nullopt;
  if (shared.swizzle() == Swizzle::None || memory->rank() > most_axes) return std::nullopt;
  std::vector<Dim> strides = tile::strides_of(context, memory);
  size_t lead = memory->rank() - tile->rank();
  int64_t elements = copy_alignment / byte_size(tile->dtype);
  std::vector<NeededMultiple> needs;
  for (size_t i = 0; i < strides.size(); ++i) {
    bool fastest = i == lead + size_t(shared.contiguous_axis());
    if (fastest ? !strides[i]->is_constant(1) : strides[i]->is_constant(0)) return std::nullopt;
    if (!fastest) needs.push_back({strides[i], elements});
    if (i >= lead && !fastest && shared.extents()[i - lead] > largest_box) return std::nullopt;
  }
  if (memory->is(TypeKind::View)) needs.push_back({memory->offset, elements});
  return needs;
}

std::optional<std::vector<NeededMultiple>> window_copy_needs(const WindowShape& shape, Type image, Type tile,
                                                             const SharedLayout& shared) {
  if (!base::has_tensor_map_type(to_string(image->dtype)) || tile->rank() != 2) return std::nullopt;
  if (shared.swizzle() == Swizzle::None || shared.contiguous_axis() != 1) return std::nullopt;
  if (shared.extents()[0] > largest_box) return std::nullopt;
  if (!fits_tensor_map(shape, image->dims)) return std::nullopt;
  return std::vector<NeededMultiple>{{image->dims.back(), copy_alignment / byte_size(tile->dtype)}};
}

namespace {

/// What the memory of an access needs; of a view of windows what its image does.
std::optional<std::vector<NeededMultiple>> needs_of(Value* memory, Type tile, const SharedLayout& shared) {
  Op* windows = windows_of(memory);
  Context& context = memory->parent_block()->parent_op()->module()->context();
  if (!windows) return tensor_copy_needs(context, memory->type(), tile, shared);
  WindowShape shape = *read_windows(windows->attr(attr::View::windows));
  return window_copy_needs(shape, windows->operand(0)->type(), tile, shared);
}

}  // namespace

bool is_tensor_copy(Op* access, const SharedLayout& shared, const Divisibility& known) {
  bool loads = access->is(tile::info(OpKind::Load));
  Value* place = access->in(loads ? unsigned(in::Load::memory) : unsigned(in::Store::memory));
  Type memory = place->type();
  Type tile = loads ? access->result()->type() : access->in(in::Store::value)->type();
  std::vector<Value*> offsets = access->ins(loads ? unsigned(in::Load::offsets) : unsigned(in::Store::offsets));
  std::vector<Value*> limits = access->ins(loads ? unsigned(in::Load::limits) : unsigned(in::Store::limits));
  if (loads && access->has(attr::Load::fill)) return false;
  auto needs = needs_of(place, tile, shared);
  if (!needs) return false;
  for (const NeededMultiple& need : *needs) {
    if (known.of(need.of) % need.by != 0) return false;
  }
  size_t lead = memory->rank() - tile->rank();
  for (size_t i = 0; i < limits.size(); ++i) {
    int64_t extent = *tile->dims[i]->constant();
    Value* limit = limit_on_axes(limits[i], offsets, memory, lead);
    if (!ends_with_memory(limit, offsets[lead + i], memory->dims[lead + i], extent)) return false;
  }
  return true;
}

Type shared_type(Context& context, Type tile, const SharedLayout& layout, int64_t slots) {
  std::vector<Dim> dims = tile->dims;
  if (slots > 0) dims.insert(dims.begin(), context.dims().constant(slots));
  Type view = context.contiguous_view(std::move(dims), tile->dtype, MemorySpace::Shared);
  return context.with_layout(view, layout::print(layout));
}

Type without_repeated_axes(Context& context, Type memory, size_t rank) {
  if (!memory->is(TypeKind::View)) return memory;
  std::vector<Dim> dims, strides;
  for (size_t i = 0; i < memory->rank(); ++i) {
    if (i + rank < memory->rank() && memory->strides[i]->is_constant(0)) continue;
    dims.push_back(memory->dims[i]);
    strides.push_back(memory->strides[i]);
  }
  return context.view(std::move(dims), memory->dtype, std::move(strides), memory->offset, memory->space);
}

}  // namespace tessera

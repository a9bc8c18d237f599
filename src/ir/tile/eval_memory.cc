// Windows on memory, loads and stores, and the checks of their accesses to shared memory.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "ir/tile/build.h"
#include "ir/tile/eval_run.h"
#include "ir/tile/scratch_memory.h"
#include "ir/tile/shared_memory.h"

namespace tessera::tile {

void KernelRun::window(Value* value, EvalMemory* memory, size_t base, Type type) {
  EvalValue& w = at(value);
  w.memory = memory;
  w.base = base;
  w.dims = sizes(type->dims);
  w.offset = 0;
  w.layout = nullptr;
  if (!type->layout.empty()) {
    auto known = shared_layouts_.find(type->layout);
    if (known == shared_layouts_.end()) {
      known = shared_layouts_.emplace(type->layout, *shared_layout_of(type)).first;
    }
    w.layout = &known->second;
    w.slot_bytes = slot_bytes(*w.layout);
  }
  if (type->is(TypeKind::View)) {
    w.strides = sizes(type->strides);
    w.offset = size(type->offset);
    return;
  }
  w.strides.assign(w.dims.size(), 1);
  for (size_t i = w.dims.size(); i-- > 1;) w.strides[i - 1] = w.strides[i] * w.dims[i];
}

void KernelRun::run_view(Op* op) {
  EvalValue& memory = at(op->operand(0));
  window(op->result(), memory.memory, memory.base, op->result()->type());
  EvalValue& view = at(op->result());
  view.windows = nullptr;
  if (std::optional<WindowShape> shape = read_windows(op->attr(attr::View::windows))) {
    view.windows = std::make_shared<WindowShape>(std::move(*shape));
    view.image = sizes(op->operand(0)->type()->dims);
  }
}

/// The element of the memory that element [tap, window, channel] of its windows is; nothing outside of the image.
std::optional<int64_t> KernelRun::in_image(const EvalValue& view, const Position& position) {
  const WindowShape& shape = *view.windows;
  int64_t tap = position[0], window = position[1], element = 0, scale = view.image.back();
  for (size_t i = shape.axes(); i-- > 0;) {
    int64_t extent = view.image[i + 1];
    int64_t positions = (extent + shape.before[i] + shape.after[i] - shape.reach(i) - 1) / shape.step[i] + 1;
    int64_t at = window % positions * shape.step[i] + tap % shape.size[i] * shape.dilation[i] - shape.before[i];
    if (at < 0 || at >= extent) return std::nullopt;
    element += at * scale;
    scale *= extent;
    window /= positions;
    tap /= shape.size[i];
  }
  return element + window * scale + position[2];
}

void KernelRun::run_slot(Op* op) {
  const EvalValue memory = at(op->in(in::Slot::memory));
  int64_t extent = memory.dims[0];
  if (extent < 1) return fail("it has no slots");
  int64_t slot = index(op->in(in::Slot::index)) % extent;
  if (slot < 0) slot += extent;
  EvalValue& result = at(op->result());
  if (memory.barriers) {
    result.barriers = memory.barriers + slot;
    result.dims = {};
    return;
  }
  int64_t step = memory.strides[0] * byte_size(op->result()->type()->dtype);
  if (memory.layout) {
    step = memory.slot_bytes;
    size_t axes = memory.dims.size() - size_t(memory.layout->rank());
    for (size_t i = 1; i < axes; ++i) step *= memory.dims[i];
  }
  window(op->result(), memory.memory, memory.base + size_t(slot * step), op->result()->type());
}

void KernelRun::run_alloc(Op* op) {
  Type type = op->result()->type();
  size_t bytes = size_t(count_of(sizes(type->dims))) * byte_size(type->dtype), base = 0;
  if (op->has(attr::Alloc::offset)) {
    size_t total = size_t(size(kernel_->required(attr::Kernel::scratch)));
    base = size_t(size(op->required(attr::Alloc::offset)));
    if (base % scratch_alignment != 0 || base + bytes > total) {
      return fail(
          fmt::format("{} bytes at {} are not aligned or outside of {}", bytes, base, total));
    }
    if (scratch_.empty()) new_scratch(total);
  } else {
    new_scratch(bytes);
  }
  window(op->result(), &scratch_.back(), base, type);
}

void KernelRun::new_scratch(size_t bytes) {
  arena_.emplace_back(new std::byte[bytes + 1]);
  std::memset(arena_.back().get(), 0xcd, bytes);
  scratch_.push_back({arena_.back().get(), bytes, std::vector<bool>(bytes, false)});
}

EvalMemory* KernelRun::new_shared(size_t bytes) {
  size_t unit = 8;
  for (Op* op : *kernel_->region()->front()) {
    if (kind_of(op) != OpKind::AllocShared) continue;
    unit = std::min(unit, size_t(byte_size(op->result()->type()->dtype)));
  }
  arena_.emplace_back(new std::byte[bytes + 1]);
  std::memset(arena_.back().get(), 0xcd, bytes);
  shared_.push_back({arena_.back().get(), bytes, {}, std::make_shared<AccessHistory>(bytes, unit)});
  return &shared_.back();
}

/// Shared memory is one stretch where offsets are known, else a stretch for each op.
void KernelRun::run_alloc_shared(Op* op) {
  Type type = op->result()->type();
  size_t bytes = size_t(shared_bytes(type));
  if (!op->has(attr::AllocShared::offset)) return window(op->result(), new_shared(bytes), 0, type);
  int64_t total = kernel_->attr(attr::Kernel::shared).value_or(0);
  int64_t offset = op->required(attr::AllocShared::offset);
  bool fits = offset >= 0 && offset <= total && int64_t(bytes) <= total - offset;
  if (!fits || offset % shared_alignment(type) != 0) {
    return fail(
        fmt::format("{} bytes at {} are not aligned or outside of {}", bytes, offset, total));
  }
  if (shared_.empty()) new_shared(size_t(total));
  window(op->result(), &shared_.front(), size_t(offset), type);
}

std::optional<size_t> KernelRun::address(const EvalValue& window, const Position& position,
                                         DType dtype) {
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] >= 0 && position[i] < window.dims[i]) continue;
    fail(
        fmt::format("index {} is outside of axis {} of extent {}", position[i], i, window.dims[i]));
    return std::nullopt;
  }
  size_t bytes = byte_size(dtype);
  if (!window.memory) {
    fail("barriers and channels are not memory of elements");
    return std::nullopt;
  }
  if (window.layout) {
    size_t axes = position.size() - size_t(window.layout->rank());
    int64_t slot = 0;
    for (size_t i = 0; i < axes; ++i) slot = slot * window.dims[i] + position[i];
    layout::Point point{};
    for (size_t i = axes; i < position.size(); ++i) point[i - axes] = int32_t(position[i]);
    size_t at_byte = window.base + size_t(slot * window.slot_bytes + window.layout->offset(point));
    if (at_byte + bytes <= window.memory->size) return at_byte;
    fail(fmt::format("byte {} is outside of its memory", at_byte));
    return std::nullopt;
  }
  int64_t element = window.offset;
  if (window.windows) {
    std::optional<int64_t> inside = in_image(window, position);
    if (!inside) return std::nullopt;
    element = *inside;
  } else {
    for (size_t i = 0; i < position.size(); ++i) element += position[i] * window.strides[i];
  }
  if (element < 0 || window.base + (size_t(element) + 1) * bytes > window.memory->size) {
    fail(fmt::format("element {} is outside of its memory", element));
    return std::nullopt;
  }
  return window.base + size_t(element) * bytes;
}

Element KernelRun::read(const EvalValue& window, const Position& position, DType dtype,
                        const AccessMade& made, uint8_t warp) {
  std::optional<size_t> at_byte = address(window, position, dtype);
  if (!at_byte) return is_float(dtype) ? Element{.f = 0} : Element{.i = 0};
  touch(*window.memory, *at_byte, byte_size(dtype), made, warp);
  return load_element(dtype, window.memory->bytes + *at_byte);
}

std::vector<int64_t> KernelRun::shifted(const std::vector<Value*>& offsets,
                                        const Position& position) {
  std::vector<int64_t> out;
  for (Value* offset : offsets) out.push_back(index(offset));
  size_t lead = out.size() - position.size();
  for (size_t i = 0; i < position.size(); ++i) out[lead + i] += position[i];
  return out;
}

void KernelRun::run_load(Op* op) {
  EvalValue& window = at(op->in(in::Load::memory));
  DType dtype = op->result()->type()->dtype;
  Attr fill = op->attr(attr::Load::fill);
  Element past = fill              ? element_of(fill, dtype)
                 : is_float(dtype) ? Element{.f = 0}
                                   : Element{.i = 0};
  std::vector<Value*> offsets = op->ins(in::Load::offsets), limits = op->ins(in::Load::limits);
  AccessMade made = plain_access(window, false);
  const std::vector<uint8_t>& warps = warps_of(op->result()->type(), false);
  EvalValue& result = make(op);
  for_each_index(result.dims, [&](const Position& position, size_t flat) {
    if (failed_) return;
    bool there = below(position, limits);
    uint8_t warp = warps.empty() ? many_warps : warps[flat];
    result.elements[flat] =
        there ? read(window, shifted(offsets, position), dtype, made, warp) : past;
  });
}

void KernelRun::run_store(Op* op) {
  EvalValue& window = at(op->in(in::Store::memory));
  EvalValue& value = at(op->in(in::Store::value));
  DType dtype = op->in(in::Store::value)->type()->dtype;
  std::vector<Value*> offsets = op->ins(in::Store::offsets), limits = op->ins(in::Store::limits);
  AccessMade made = plain_access(window, true);
  const std::vector<uint8_t>& warps = warps_of(op->in(in::Store::value)->type(), true);
  for_each_index(value.dims, [&](const Position& position, size_t flat) {
    if (failed_ || !below(position, limits)) return;
    std::optional<size_t> at_byte = address(window, shifted(offsets, position), dtype);
    if (!at_byte) return;
    uint8_t warp = warps.empty() ? many_warps : warps[flat];
    touch(*window.memory, *at_byte, byte_size(dtype), made, warp);
    store_element(dtype, value.elements[flat], window.memory->bytes + *at_byte);
  });
}

/// The place of an element by its coordinates; nothing where it lies outside of the memory.
std::optional<size_t> KernelRun::place_of(const EvalValue& window, const std::vector<Value*>& index, size_t flat,
                                          DType dtype) {
  Position place;
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t coordinate = at(index[i]).elements[flat].i;
    if (coordinate < 0 || coordinate >= window.dims[i]) return std::nullopt;
    place.push_back(coordinate);
  }
  return address(window, place, dtype);
}

void KernelRun::run_take(Op* op) {
  EvalValue& window = at(op->in(in::Take::memory));
  DType dtype = op->result()->type()->dtype;
  std::vector<Value*> index = op->ins(in::Take::index);
  AccessMade made = plain_access(window, false);
  EvalValue& result = make(op);
  Element outside = element_of(outside_of(op), dtype);
  for (size_t flat = 0; flat < result.elements.size() && !failed_; ++flat) {
    Element& element = result.elements[flat];
    element = outside;
    std::optional<size_t> byte = place_of(window, index, flat, dtype);
    if (!byte) continue;
    touch(*window.memory, *byte, byte_size(dtype), made, many_warps);
    element = load_element(dtype, window.memory->bytes + *byte);
  }
}

void KernelRun::run_scatter(Op* op) {
  EvalValue& window = at(op->in(in::Scatter::memory));
  EvalValue& value = at(op->in(in::Scatter::value));
  DType dtype = op->in(in::Scatter::value)->type()->dtype;
  std::vector<Value*> index = op->ins(in::Scatter::index), limits = op->ins(in::Scatter::limits);
  AccessMade made = plain_access(window, true);
  std::set<size_t> written;
  for_each_index(value.dims, [&](const Position& position, size_t flat) {
    if (failed_ || !below(position, limits)) return;
    std::optional<size_t> byte = place_of(window, index, flat, dtype);
    if (!byte) return;
    Element element = value.elements[flat];
    if (op->attr(attr::Scatter::add)) {
      Element there = load_element(dtype, window.memory->bytes + *byte);
      Element operands[] = {there, element};
      element = evaluate_elementwise(ElementwiseKind::Add, dtype, dtype, operands);
    } else if (!written.insert(*byte).second) {
      return fail("it writes two elements to one place");
    }
    touch(*window.memory, *byte, byte_size(dtype), made, many_warps);
    store_element(dtype, element, window.memory->bytes + *byte);
  });
}

void KernelRun::run_gather(Op* op) {
  EvalValue& table = at(op->in(in::Gather::table));
  EvalValue& rows = at(op->in(in::Gather::rows));
  DType dtype = op->result()->type()->dtype;
  int64_t column = index(op->in(in::Gather::column));
  std::vector<Value*> limits = op->ins(in::Gather::limits);
  bool unsigned_row = op->in(in::Gather::rows)->type()->dtype == DType::U64;
  AccessMade made = plain_access(table, false);
  EvalValue& result = make(op);
  Element outside = element_of(outside_of(op), dtype);
  for_each_index(result.dims, [&](const Position& position, size_t flat) {
    Element& element = result.elements[flat];
    element = is_float(dtype) ? Element{.f = 0} : Element{.i = 0};
    if (!below(position, limits)) return;
    int64_t row = rows.elements[size_t(position[0])].i;
    bool in_table = row >= 0 && row < table.dims[0] && !(unsigned_row && row < 0);
    if (in_table) {
      element = read(table, {row, column + position[1]}, dtype, made, many_warps);
    } else {
      element = outside;
    }
  });
}

}  // namespace tessera::tile

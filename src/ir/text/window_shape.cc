#include "ir/text/window_shape.h"

#include <algorithm>

#include "ir/core/context.h"
#include "ir/text/entries.h"
#include "ir/text/verifier.h"

namespace tessera {

using entry::Windows;

int64_t WindowShape::taps() const {
  int64_t count = 1;
  for (int64_t extent : size) count *= extent;
  return count;
}

Attr window_attr(Context& context, const WindowShape& shape) {
  return entry::make_dict(
      context, {Windows::after(context, shape.after), Windows::before(context, shape.before),
                Windows::dilation(context, shape.dilation), Windows::size(context, shape.size),
                Windows::step(context, shape.step)});
}

std::optional<WindowShape> read_windows(Attr attr) {
  if (!attr || !entry::problem_of(attr, entry::Dict::Windows).empty()) return std::nullopt;
  WindowShape shape{entry::read(attr, Windows::size).vector(), entry::read(attr, Windows::step).vector(),
                    entry::read(attr, Windows::dilation).vector(), entry::read(attr, Windows::before).vector(),
                    entry::read(attr, Windows::after).vector()};
  constexpr int64_t most = int64_t(1) << 16;
  auto are_from = [&](int64_t least, const std::vector<int64_t>& numbers) {
    bool within = std::ranges::all_of(numbers, [&](int64_t n) { return n >= least && n <= most; });
    return within && numbers.size() == shape.axes();
  };
  bool good = shape.axes() >= 1 && shape.axes() <= 3 && are_from(1, shape.size) && are_from(1, shape.step) &&
              are_from(1, shape.dilation) && are_from(0, shape.before) && are_from(0, shape.after);
  return good ? std::optional(std::move(shape)) : std::nullopt;
}

std::vector<Dim> window_positions(DimTable& table, const WindowShape& shape, const std::vector<Dim>& memory) {
  std::vector<Dim> positions;
  for (size_t i = 0; i < shape.axes(); ++i) {
    Dim room = table.add(memory[i + 1], table.constant(shape.before[i] + shape.after[i] - shape.reach(i) - 1));
    positions.push_back(table.add(table.floordiv(room, table.constant(shape.step[i])), table.constant(1)));
  }
  return positions;
}

Type window_view(Context& context, const WindowShape& shape, Type memory) {
  DimTable& table = context.dims();
  Dim windows = memory->dims[0], channels = memory->dims.back();
  for (Dim along : window_positions(table, shape, memory->dims)) windows = table.mul(windows, along);
  // Rows of channels are what lies in a row. Where they are, no strides say.
  return context.view({table.constant(shape.taps()), windows, channels}, memory->dtype,
                      {channels, channels, table.constant(1)}, table.constant(0));
}

std::vector<size_t> window_axes(const WindowShape& shape, const std::vector<Dim>& memory) {
  std::vector<size_t> axes;
  for (size_t i = shape.axes(); i-- > 0;) {
    bool is_one = memory[i + 1]->is_constant(1) && shape.size[i] == 1 && !shape.before[i] && !shape.after[i];
    if (!is_one || (i == 0 && axes.empty())) axes.push_back(i);
  }
  return axes;
}

bool fits_tensor_map(const WindowShape& shape, const std::vector<Dim>& memory) {
  // For windows along one, two and three axes: how far from the ends of an image they may begin, how far they reach.
  constexpr int64_t margins[] = {1 << 15, 1 << 7, 1 << 4}, reaches[] = {0xffff, 0xff, 0x1f}, largest_step = 8;
  std::vector<size_t> axes = window_axes(shape, memory);
  int64_t margin = margins[axes.size() - 1], most = reaches[axes.size() - 1];
  return std::ranges::all_of(axes, [&](size_t i) {
    int64_t upper = shape.after[i] - shape.reach(i);
    bool begins = shape.before[i] <= margin && upper >= -margin && upper < margin;
    return begins && shape.reach(i) <= most && shape.step[i] <= largest_step;
  });
}

void verify_windows(Context& context, Attr windows, Type memory, Type view, OpVerifier& verifier) {
  std::optional<WindowShape> shape = read_windows(windows);
  if (!shape) return verifier.error("'windows' has another form than a view of windows needs");
  if (!memory->is(TypeKind::Tensor) || memory->rank() != shape->axes() + 2) {
    return verifier.error("windows along {} axes of {}", shape->axes(), memory->text);
  }
  Type wanted = window_view(context, *shape, memory);
  if (view != wanted) verifier.error("windows of {} are {}, not {}", memory->text, wanted->text, view->text);
}

}  // namespace tessera

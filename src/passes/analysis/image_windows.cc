#include "passes/analysis/image_windows.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/ops.h"
#include "ir/text/window_shape.h"

namespace tessera {

namespace {

using graph::OpKind;

/// What is known of a value: which element of a base, or 0, each of its elements is.
struct WindowedView {
  /// Along an axis of the base: zeros before and after it, and windows on all of that.
  struct Source {
    Dim extent;
    int64_t before = 0, after = 0, size = 1, step = 1, dilation = 1;
    bool is_plain() const { return size == 1 && step == 1 && !before && !after; }
  };
  enum class Role : uint8_t { One, Whole, Window, Tap };
  /// An axis of the value: one of the base, windows on it, or the elements of a window.
  struct Axis {
    Role role;
    size_t source;
  };
  Value* base;
  std::vector<Source> sources;
  std::vector<Axis> axes;
};
using Role = WindowedView::Role;

WindowedView own(Value* value) {
  WindowedView view{value, {}, {}};
  for (Dim extent : value->type()->dims) {
    view.axes.push_back({Role::Whole, view.sources.size()});
    view.sources.push_back({extent});
  }
  return view;
}

bool is_zeros(Value* value) {
  Op* def = value->def();
  while (def && (def->is(graph::info(OpKind::Broadcast)) || def->is(graph::info(OpKind::Reshape)))) {
    def = def->operand(0)->def();
  }
  if (!def || !def->is(graph::info(OpKind::Full))) return false;
  Attr number = def->attr(graph::attr::Full::value);
  // -0 is another number than 0.
  return number->is(AttrKind::Int) ? number->integer == 0 : number->number == 0 && !std::signbit(number->number);
}

std::optional<WindowedView> view_of(Value* value);

/// A concat of zeros before and after one other part.
std::optional<WindowedView> padded(Op* concat) {
  size_t axis = size_t(concat->attr(graph::attr::Concat::axis));
  int64_t before = 0, after = 0;
  Value* part = nullptr;
  for (unsigned i = 0; i < concat->operand_count(); ++i) {
    Value* each = concat->operand(i);
    std::optional<int64_t> width = each->type()->dims[axis]->constant();
    if (width && is_zeros(each)) {
      (part ? after : before) += *width;
    } else if (part) {
      return std::nullopt;
    } else {
      part = each;
    }
  }
  std::optional<WindowedView> view = part ? view_of(part) : std::nullopt;
  if (!view || view->axes[axis].role != Role::Whole) return std::nullopt;
  WindowedView::Source& source = view->sources[view->axes[axis].source];
  source.before += before;
  source.after += after;
  return view;
}

std::optional<WindowedView> windowed(Op* windows) {
  std::optional<WindowedView> view = view_of(windows->operand(0));
  std::optional<int64_t> size = windows->result()->type()->dims.back()->constant();
  if (!view || !size) return std::nullopt;
  WindowedView::Axis& axis = view->axes[size_t(windows->attr(graph::attr::Windows::axis))];
  if (axis.role == Role::One && *size == 1) {
    view->axes.push_back({Role::One, 0});
    return view;
  }
  if (axis.role != Role::Whole) return std::nullopt;
  WindowedView::Source& source = view->sources[axis.source];
  source.size = *size;
  source.step = windows->attr(graph::attr::Windows::step);
  source.dilation = windows->attr(graph::attr::Windows::dilation);
  axis.role = Role::Window;
  view->axes.push_back({Role::Tap, axis.source});
  return view;
}

/// Axes of one element come and go.
std::optional<WindowedView> reshaped(Op* reshape) {
  std::optional<WindowedView> view = view_of(reshape->operand(0));
  if (!view) return std::nullopt;
  const std::vector<Dim>& from = reshape->operand(0)->type()->dims;
  std::vector<WindowedView::Axis> axes;
  size_t next = 0;
  for (Dim extent : reshape->result()->type()->dims) {
    while (next < from.size() && from[next] != extent && from[next]->is_constant(1)) ++next;
    if (next < from.size() && from[next] == extent) {
      axes.push_back(view->axes[next++]);
    } else if (extent->is_constant(1)) {
      axes.push_back({Role::One, 0});
    } else {
      return std::nullopt;
    }
  }
  for (; next < from.size(); ++next) {
    if (!from[next]->is_constant(1)) return std::nullopt;
  }
  view->axes = std::move(axes);
  return view;
}

std::optional<WindowedView> view_of(Value* value) {
  Op* def = value->def();
  if (!def) return own(value);
  std::optional<WindowedView> view;
  if (def->is(graph::info(OpKind::Concat))) view = padded(def);
  if (def->is(graph::info(OpKind::Windows))) view = windowed(def);
  if (def->is(graph::info(OpKind::Reshape))) view = reshaped(def);
  if (def->is(graph::info(OpKind::Transpose))) {
    if ((view = view_of(def->operand(0)))) {
      std::vector<WindowedView::Axis> axes;
      for (int64_t axis : def->attr(graph::attr::Transpose::perm)) axes.push_back(view->axes[size_t(axis)]);
      view->axes = std::move(axes);
    }
  }
  return view ? view : own(value);
}

/// The axes of an image among the sources, of a view that is [batch…, windows…, taps…, channels]: the first of
/// them, and the one after the last. `lead` of its axes count rows. Nothing where its axes lie otherwise.
std::optional<std::pair<size_t, size_t>> image_axes(const WindowedView& view, size_t lead) {
  size_t last = view.sources.size() - 1, first = last;
  for (size_t i = last; i-- > 0;) {
    if (!view.sources[i].is_plain()) first = i;
  }
  if (first == last || last - first > 3 || !view.sources[last].is_plain()) return std::nullopt;
  size_t rows = 0, taps = first;
  for (size_t i = 0; i < view.axes.size(); ++i) {
    auto [role, source] = view.axes[i];
    if (role == Role::One) continue;
    bool is_row = i < lead;
    size_t& next = is_row ? rows : taps;
    // What is left out has one element.
    while (next < source && (is_row ? view.sources[next].extent->is_constant(1) : view.sources[next].size == 1)) ++next;
    bool is_of_row = role == Role::Window || (role == Role::Whole && source < last);
    bool is_of_window = role == Role::Tap || (role == Role::Whole && source == last);
    if (next != source || !(is_row ? is_of_row : is_of_window)) return std::nullopt;
    ++next;
  }
  while (rows < last && view.sources[rows].extent->is_constant(1)) ++rows;
  return rows == last && taps == last + 1 ? std::optional(std::pair(first, last)) : std::nullopt;
}

/// Sums of 16 bits are rounded in steps of the matmul's kernels.
bool has_kernel(Op* matmul) {
  DType factors = matmul->in(graph::in::Gemm::a)->type()->dtype, sum = matmul->attr(graph::attr::Gemm::accum);
  bool narrow = factors == DType::BF16 || factors == DType::F16;
  bool plain = !matmul->attr(graph::attr::Gemm::transpose_a) && !matmul->attr(graph::attr::Gemm::transpose_b);
  return narrow && plain && sum == DType::F32 && matmul->in(graph::in::Gemm::b)->type()->rank() == 2;
}

}  // namespace

std::optional<ImageWindows> image_windows_of(Op* matmul) {
  Op* reshape = has_kernel(matmul) ? matmul->in(graph::in::Gemm::a)->def() : nullptr;
  if (!reshape || !reshape->is(graph::info(OpKind::Reshape))) return std::nullopt;
  const std::vector<Dim>& rows = reshape->result()->type()->dims;
  const std::vector<Dim>& inner = reshape->operand(0)->type()->dims;
  size_t lead = rows.size() - 1;
  bool keeps = inner.size() > lead && std::equal(rows.begin(), rows.end() - 1, inner.begin());
  std::optional<WindowedView> view = keeps ? view_of(reshape->operand(0)) : std::nullopt;
  auto axes = view ? image_axes(*view, lead) : std::nullopt;
  if (!axes) return std::nullopt;
  Context& context = matmul->module()->context();
  DimTable& table = context.dims();
  auto [first, last] = *axes;
  // [B, Z, Y, X, C]
  WindowShape shape;
  std::vector<Dim> image{table.constant(1)};
  for (size_t i = 0; i < first; ++i) image[0] = table.mul(image[0], view->sources[i].extent);
  AnchorForm form;
  form.kernel = "convolution";
  constexpr std::string_view names[] = {"z", "y", "x"};
  for (size_t i = 0; i < 3; ++i) {
    bool is_there = i + (last - first) >= 3;
    WindowedView::Source source = is_there ? view->sources[first + i + (last - first) - 3]
                                           : WindowedView::Source{table.constant(1)};
    image.push_back(source.extent);
    shape.size.push_back(source.size);
    shape.step.push_back(source.step);
    shape.dilation.push_back(source.dilation);
    shape.before.push_back(source.before);
    shape.after.push_back(source.after);
    auto pass = [&](std::string_view what, int64_t number) {
      form.arguments[std::string(what) + "_" + std::string(names[i])] = context.integer(number);
    };
    pass("size", source.size);
    pass("step", source.step);
    pass("dilation", source.dilation);
    pass("before", source.before);
    pass("after", source.after);
  }
  Dim channels = view->sources[last].extent, results = matmul->result()->type()->dims.back();
  image.push_back(channels);
  // The copy engine brings a pixel in the time of one with more channels.
  int64_t together = 16 / byte_size(view->base->type()->dtype);
  int64_t known = channels->constant().value_or(0);
  if (!fits_tensor_map(shape, image) || (known < 2 * together && known % together != 0)) return std::nullopt;
  Dim windows = image[0];
  for (Dim along : window_positions(table, shape, image)) windows = table.mul(windows, along);
  if (windows != count_elements(table, {rows.begin(), rows.end() - 1})) return std::nullopt;
  form.operands = {image, {table.constant(shape.taps()), channels, results}};
  form.transposed.resize(2);
  form.results = {{windows, results}};
  form.result_axes.assign(lead, 0);
  form.result_axes.push_back(1);
  form.strided = false;
  return ImageWindows{view->base, std::move(form)};
}

}  // namespace tessera

#include "passes/tile/cpu/fragment_panels.h"

#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "passes/tile/cpu/fragment_stages.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Rows of the right factor that are copied at once. Where its columns are contiguous,
/// as many as make whole vectors along them, which are transposed in registers.
constexpr int64_t copied_rows = 4;
constexpr int64_t transposed_rows = 16;
/// Of a block of pairs: rows of the right factor whose pairs fit the registers, or columns that are
/// transposed at once.
constexpr int64_t paired_rows = 8;
constexpr int64_t transposed_columns = 16;

/// Elements past an edge are zeros already: loads give them, and what only moves elements keeps
/// them.
bool pads_with_zeros(Value* value) {
  Op* def = value->def();
  if (!def) return false;
  if (def->is(tile::info(OpKind::Load))) return !def->has(attr::Load::fill);
  bool moves = def->is(tile::info(OpKind::Transpose)) || def->is(tile::info(OpKind::Reshape));
  return moves && pads_with_zeros(def->operand(0));
}

bool is_longer(const TileAxes& axes, int axis, int64_t extent) {
  std::optional<int64_t> known = axes.extent(axis)->constant();
  return !known || *known > extent;
}

Dim rounded(DimTable& dims, Dim extent, int64_t unit) {
  return dims.mul(dims.ceildiv(extent, dims.constant(unit)), dims.constant(unit));
}

}  // namespace

bool lies_along(Value* value, int axis, const TileAxes& axes) {
  Op* def = value->def();
  if (!def) return false;
  if (!def->is(tile::info(OpKind::Load))) {
    return def->operand_count() > 0 && lies_along(def->operand(0), axis, axes);
  }
  Type memory = def->in(in::Load::memory)->type();
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    if (axes.of(value, i) == axis && is_contiguous_along(memory, value->type(), i)) return true;
  }
  return false;
}

std::vector<PanelForm> panel_forms(Op* dot, const PanelShape& shape, Attr schedule, PairUnit unit,
                                   const TileAxes& axes) {
  Value *a = dot->in(in::Dot::a), *b = dot->in(in::Dot::b), *k_limit = dot->in(in::Dot::limit);
  int k = axes.of(a, 1);
  // Packing before a loop cannot use a limit that is computed in an iteration.
  if (k < 0 || (k_limit && !is_readable(k_limit, axes))) return {};
  bool pairs = unit != PairUnit::None;
  std::string_view wanted = entry::text_of(schedule, schedule::key::packing);
  bool both = pairs || wanted == "both";
  bool pays_a = wanted.empty() && is_longer(axes, shape.column, shape.columns);
  bool pays_b = wanted.empty() && shape.row >= 0 && is_longer(axes, shape.row, 2 * shape.rows);
  DType dtype = pairs ? DType::BF16 : dot->result()->type()->dtype;
  std::vector<PanelForm> forms;
  if ((both || wanted == "b" || pays_b) && is_readable(b, axes)) {
    forms.push_back({b, false, pairs, shape.column, shape.columns, shape.column_limit, k,
                     pairs ? pair_block : 1, k_limit, dtype});
  }
  if ((both || wanted == "a" || pays_a) && shape.row >= 0 && is_readable(a, axes)) {
    forms.push_back({a, true, pairs, shape.row, shape.rows, shape.row_limit, k,
                     pairs ? pair_block : shape.run, k_limit, dtype});
  }
  return forms;
}

Dim panel_elements(DimTable& dims, const TileAxes& axes, const PanelForm& form) {
  Dim extent = form.is_bound ? dims.constant(form.width) : axes.extent(form.axis);
  return dims.mul(rounded(dims, extent, form.width), rounded(dims, axes.extent(form.k), form.run));
}

/// Rows and columns of a block as it lies in memory. Steps of k of a plain right factor follow each
/// other without blocks; as many are copied at once.
std::vector<int64_t> Panels::block() const {
  if (form_.is_left) return {form_.width, form_.run};
  return form_.is_pairs ? std::vector{form_.run / 2, 2 * form_.width}
                        : std::vector{transposed_rows, form_.width};
}

Value* Panels::view(Value* memory, const std::vector<Dim>& leading) const {
  DimTable& dims = emitter_.context().dims();
  const TileAxes& axes = emitter_.axes();
  Dim along = form_.is_bound ? dims.constant(form_.width)
                             : rounded(dims, axes.extent(form_.axis), form_.width);
  Dim k = rounded(dims, axes.extent(form_.k), form_.run);
  Dim rows = dims.constant(block()[0]), columns = dims.constant(block()[1]);
  std::vector<Dim> extents = leading, strides(leading.size());
  Dim stride = dims.mul(along, k);
  for (size_t i = leading.size(); i-- > 0;) {
    strides[i] = stride;
    stride = dims.mul(stride, leading[i]);
  }
  extents.insert(extents.end(), {along, k, rows, columns});
  strides.insert(strides.end(), {k, dims.constant(form_.width), columns, dims.constant(1)});
  return emitter_.view(memory, extents, strides, dims.constant(0));
}

void Panels::allocate() {
  Dim elements = panel_elements(emitter_.context().dims(), emitter_.axes(), form_);
  memory_ = view(emitter_.scratch(elements, form_.dtype), {});
}

void Panels::use(Value* tensor, std::vector<Value*> leading) {
  leading_ = std::move(leading);
  const std::vector<Dim>& extents = tensor->type()->dims;
  memory_ = view(tensor, {extents.begin(), extents.begin() + int64_t(leading_.size())});
}

void Panels::fill_panels(const FragmentEmitter::LoopBody& body) {
  if (form_.is_bound) {
    body({});
    return;
  }
  emitter_.loop(form_.axis, form_.width, form_.limit, TailKind::Limited, {}, body);
}

void Panels::fill_steps(Value* lo, Value* hi, const FragmentEmitter::LoopBody& body) {
  bool plain = !form_.is_left && !form_.is_pairs;
  bool transposed = lies_along(form_.factor, form_.k, emitter_.axes());
  int64_t steps = !plain ? form_.run : transposed ? transposed_rows : copied_rows;
  TailKind tail = plain ? TailKind::Ones : TailKind::Limited;
  if (lo) {
    emitter_.range_loop(form_.k, lo, hi, steps, form_.k_limit, tail, body);
  } else {
    emitter_.loop(form_.k, steps, form_.k_limit, tail, {}, body);
  }
}

/// The inner loop runs along the contiguous axis.
void Panels::fill(Value* lo, Value* hi) {
  bool rows_in_one_piece = !form_.is_left && !lies_along(form_.factor, form_.k, emitter_.axes());
  emitter_.set_shape(form_.is_left ? form_.axis : form_.k, form_.is_left ? form_.k : form_.axis);
  auto last = [&](const Values&) {
    copy();
    return Values{};
  };
  if (rows_in_one_piece) {
    fill_steps(lo, hi, [&](const Values&) {
      fill_panels(last);
      return Values{};
    });
  } else {
    fill_panels([&](const Values&) {
      fill_steps(lo, hi, last);
      return Values{};
    });
  }
}

Value* Panels::without_padding(Value* fragment) const {
  const AxisBinding& k = emitter_.binding(form_.k);
  if (!k.rest || pads_with_zeros(form_.factor)) return fragment;
  size_t along_k = form_.is_left ? 1 : 0;
  std::vector<Value*> limits(2, k.rest);
  limits[1 - along_k] = emitter_.index(*fragment->type()->dims[1 - along_k]->constant());
  Value* zeros = tile::full(emitter_.builder(), fragment->type(), emitter_.context().number(0));
  return tile::merge(emitter_.builder(), fragment, zeros, limits);
}

/// Copies the fragment of the factor at hand to its place in the panels.
void Panels::copy() {
  auto store = [&](Value* fragment, Value* start, Value* column) {
    std::vector<Value*> offsets = leading_;
    offsets.insert(offsets.end(),
                   {start_of(start), emitter_.binding(form_.k).start, emitter_.zero(), column});
    tile::store(emitter_.builder(), fragment, memory_, offsets, {});
  };
  if (!form_.is_pairs) {
    Value* fragment = emitter_.demand(form_.factor);
    fragment = tile::cast(emitter_.builder(), fragment, form_.dtype);
    return store(fragment, emitter_.binding(form_.axis).start, emitter_.zero());
  }
  if (form_.is_left) {
    Value* fragment = without_padding(emitter_.demand(form_.factor));
    return store(fragment, emitter_.binding(form_.axis).start, emitter_.zero());
  }
  bool transposed = lies_along(form_.factor, form_.k, emitter_.axes());
  auto part = [&](const Values&) {
    Value* fragment = without_padding(emitter_.demand(form_.factor));
    fragment = tile::pair_rows(emitter_.builder(), fragment);
    const AxisBinding& at = emitter_.binding(form_.axis);
    if (transposed) {
      store(fragment, at.block, tile::mul(emitter_.builder(), at.within, emitter_.index(2)));
    } else {
      store(fragment, at.start, emitter_.zero());
    }
    return Values{};
  };
  // Zeros past the end belong to the block.
  emitter_.subdivide(transposed ? form_.axis : form_.k, transposed ? transposed_columns : paired_rows,
                     Reach::Whole, {}, part);
}

Value* Panels::load(Value* start, Value* k, Value* row, Value* column, int64_t rows,
                    int64_t columns) const {
  DimTable& dims = emitter_.context().dims();
  std::vector<Value*> offsets = leading_;
  offsets.insert(offsets.end(), {start_of(start), k, row, column});
  Type type = emitter_.context().tile({dims.constant(rows), dims.constant(columns)}, form_.dtype);
  return tile::load(emitter_.builder(), memory_, offsets, {}, type);
}

void Panels::keep() {
  emitter_.keep_in_panels(form_.factor, [this] {
    Value *start = emitter_.binding(form_.axis).start, *zero = emitter_.zero();
    const AxisBinding& k = emitter_.binding(form_.k);
    if (form_.is_left) return load(start, k.block, zero, k.within, form_.width, 1);
    return load(start, k.start, zero, zero, 1, form_.width);
  });
}

}  // namespace tessera

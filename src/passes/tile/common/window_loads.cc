#include "passes/tile/common/window_loads.h"

#include "ir/text/window_shape.h"
#include "ir/tile/build.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

Op* windows_of(Value* memory) {
  Op* def = memory->def();
  return def && def->is(tile::info(OpKind::View)) && def->has(attr::View::windows) ? def : nullptr;
}

namespace {

class WindowGather {
 public:
  WindowGather(Builder& builder, Op* view, Type tile)
      : b_(builder),
        table_(builder.context().dims()),
        shape_(*read_windows(view->attr(attr::View::windows))),
        image_(view->operand(0)),
        tile_(tile) {
    const std::vector<Dim>& dims = tile->dims;
    rows_ = b_.context().tile({dims[dims.size() - 2]}, DType::I64);
    elements_ = b_.context().tile({dims[dims.size() - 2], dims.back()}, tile->dtype);
  }

  Value* run(const std::vector<Value*>& offsets, const std::vector<Value*>& limits) {
    find_rows(offsets);
    const std::vector<Dim>& dims = image_->type()->dims;
    Dim rows = table_.constant(1);
    for (size_t i = 0; i + 1 < dims.size(); ++i) rows = table_.mul(rows, dims[i]);
    Value* table = nullptr;
    {
      Builder here = b_;
      here.set_before(image_->parent_block()->front());
      table = tile::view(here, image_, {rows, dims.back()}, {dims.back(), table_.constant(1)}, table_.constant(0));
    }
    if (inside_) row_ = op(Kind::Select, {inside_, row_, all(-1)});
    Attr nothing = is_float(tile_->dtype) ? b_.context().number(0) : b_.context().integer(0);
    Value* found = b_.value(tile::info(OpKind::Gather), {{table}, {row_}, {offsets[2]}, limits_of(limits)}, elements_,
                            {attr::Gather::fill(nothing)});
    return reshaped(found, tile_->dims);
  }

 private:
  Value* op(Kind kind, const std::vector<Value*>& operands) { return tile::elementwise(b_, kind, operands); }
  Value* reshaped(Value* tile, const std::vector<Dim>& dims) {
    if (tile->type()->dims == dims) return tile;
    return b_.value(tile::info(OpKind::Reshape), {{tile}}, b_.context().tile(dims, tile->type()->dtype));
  }
  Value* splat(Value* scalar) { return b_.value(tile::info(OpKind::Splat), {{scalar}}, rows_); }
  Value* all(int64_t number) { return tile::full(b_, rows_, b_.context().integer(number)); }
  Value* size(Dim dim) {
    if (std::optional<int64_t> known = dim->constant()) return all(*known);
    return splat(tile::dim(b_, dim));
  }

  /// The quotient of a scalar that is not negative, and what remains.
  std::pair<Value*, Value*> divided(Value* number, int64_t by) {
    if (by == 1) return {number, tile::index(b_, 0)};
    if (std::optional<int64_t> known = tile::known_index(number))
      return {tile::index(b_, *known / by), tile::index(b_, *known % by)};
    Value* divisor = tile::index(b_, by);
    return {op(Kind::FloorDiv, {number, divisor}), op(Kind::Mod, {number, divisor})};
  }

  void find_rows(const std::vector<Value*>& offsets) {
    const std::vector<Dim>& dims = image_->type()->dims;
    std::vector<Dim> positions = window_positions(table_, shape_, dims);
    Value* tap = offsets[0];
    Value* window = b_.value(tile::info(OpKind::Iota), {{offsets[1]}}, rows_, {attr::Iota::axis(b_.context(), 0)});
    Dim scale = table_.constant(1);
    Value* tap_row = nullptr;  // the distance of the tap's elements from those at the windows' places
    for (size_t i = shape_.axes(); i-- > 0;) {
      auto [taps, along] = divided(tap, shape_.size[i]);
      tap = taps;
      Value* shift = tile::sub(b_, tile::mul(b_, along, tile::index(b_, shape_.dilation[i])),
                               tile::index(b_, shape_.before[i]));
      bool is_one = positions[i]->is_constant(1);
      Value* at = is_one ? all(0) : op(Kind::Mod, {window, size(positions[i])});
      if (!is_one) window = op(Kind::FloorDiv, {window, size(positions[i])});
      if (shape_.step[i] != 1) at = op(Kind::Mul, {at, all(shape_.step[i])});
      add(at, scale);
      Value* distance = tile::mul(b_, shift, tile::dim(b_, scale));
      tap_row = tap_row ? tile::add(b_, tap_row, distance) : distance;
      if (tile::known_index(shift) != 0) at = op(Kind::Add, {at, splat(shift)});
      if (shape_.before[i] || shape_.after[i]) is_within(at, dims[i + 1]);
      scale = table_.mul(scale, dims[i + 1]);
    }
    add(window, scale);
    if (tile::known_index(tap_row) != 0) row_ = op(Kind::Add, {row_, splat(tap_row)});
  }

  void add(Value* index, Dim scale) {
    if (!scale->is_constant(1)) index = op(Kind::Mul, {index, size(scale)});
    row_ = row_ ? op(Kind::Add, {row_, index}) : index;
  }

  void is_within(Value* index, Dim extent) {
    for (Value* condition : {op(Kind::Ge, {index, all(0)}), op(Kind::Lt, {index, size(extent)})}) {
      inside_ = inside_ ? op(Kind::And, {inside_, condition}) : condition;
    }
  }

  /// Limits of rows and channels; no rows where the tap lies past the last.
  std::vector<Value*> limits_of(const std::vector<Value*>& limits) {
    if (limits.size() < 3) return limits;
    std::vector<Value*> last(limits.end() - 2, limits.end());
    if (tile::known_index(limits[0]).value_or(0) > 0) return last;
    Value* zero = tile::index(b_, 0);
    last[0] = op(Kind::Select, {op(Kind::Gt, {limits[0], zero}), last[0], zero});
    return last;
  }

  Builder& b_;
  DimTable& table_;
  WindowShape shape_;
  Value* image_;
  Type tile_, rows_, elements_;
  Value* row_ = nullptr;
  Value* inside_ = nullptr;  ///< null where all windows lie in the image
};

}  // namespace

Value* gather_windows(Builder& builder, Value* windows, const std::vector<Value*>& offsets,
                      const std::vector<Value*>& limits, Type tile) {
  Op* view = windows_of(windows);
  TSR_CHECK(view && offsets.size() == 3, "no windows: " + windows->type()->text);
  return WindowGather(builder, view, tile).run(offsets, limits);
}

}  // namespace tessera

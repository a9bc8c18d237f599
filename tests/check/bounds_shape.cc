// Ops that move elements.

#include "check/bounds_ops.h"
#include "ir/graph/eval_ops.h"

namespace tessera::check {

Extents row_strides(const Extents& dims) {
  Extents strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void rearrange(const RangeTensor& from, const Extents& strides, int64_t offset, RangeTensor& result) {
  Extents own = row_strides(result.dims);
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t at = offset, rest = i;
    for (size_t axis = 0; axis < own.size(); ++axis) {
      at += rest / own[axis] * strides[axis];
      rest %= own[axis];
    }
    result.ranges[size_t(i)] = from.ranges.at(size_t(at));
  }
}

void concatenate(std::span<const RangeTensor* const> parts, size_t axis, RangeTensor& result) {
  Extents own = row_strides(result.dims);
  int64_t begin = 0;
  for (const RangeTensor* part : parts) {
    Extents strides = row_strides(part->dims);
    for (int64_t i = 0; i < part->count(); ++i) {
      int64_t at = begin * own[axis], rest = i;
      for (size_t d = 0; d < own.size(); ++d) {
        at += rest / strides[d] * own[d];
        rest %= strides[d];
      }
      result.ranges.at(size_t(at)) = part->ranges[size_t(i)];
    }
    begin += part->dims[axis];
  }
}

void embed(const RangeTensor& ids, const RangeTensor& table, RangeTensor& result) {
  int64_t rows = table.dims[0], width = table.dims[1];
  Range outside = point_range(table.dtype, {.i = 0});
  if (is_float(table.dtype)) outside = {{.f = 1}, {.f = -1}, true};
  for (int64_t i = 0; i < ids.count(); ++i) {
    const Range& id = ids.ranges[size_t(i)];
    bool known = is_point(ids.dtype, id), inside = known && id.low.i >= 0 && id.low.i < rows;
    for (int64_t j = 0; j < width; ++j) {
      Range& to = result.ranges[size_t(i * width + j)];
      to = inside ? table.ranges[size_t(id.low.i * width + j)] : known ? outside : any_value(table.dtype);
    }
  }
}

void update_slice(const RangeTensor& update, int64_t start, size_t axis, bool wraps, RangeTensor& result) {
  int64_t extent = result.dims[axis], length = update.dims[axis];
  if (update.count() == 0 || (!wraps && (start < 0 || start > extent - length))) return;
  if (wraps) start = (start % extent + extent) % extent;
  Extents own = row_strides(update.dims), strides = row_strides(result.dims);
  for (int64_t i = 0; i < update.count(); ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t place = rest / own[d] + (d == axis ? start : 0);
      at += (d == axis && wraps ? place % extent : place) * strides[d];
      rest %= own[d];
    }
    result.ranges.at(size_t(at)) = update.ranges[size_t(i)];
  }
}

namespace {

TensorValue drawn(uint64_t key, const RangeTensor& shape, void (*draw)(uint64_t, TensorValue&)) {
  TensorValue value = std::move(*TensorValue::make(shape.dtype, shape.dims));
  draw(key, value);
  return value;
}

}  // namespace

void uniform(uint64_t key, RangeTensor& result) {
  result.ranges = RangeTensor::of(drawn(key, result, graph::eval_philox_uniform)).ranges;
}

void normal(uint64_t key, RangeTensor& result) {
  TensorValue value = drawn(key, result, graph::eval_philox_normal);
  // A logarithm within a unit, a root, a sine or cosine within 0.51 units and a product give less than 6 roundings
  // on either side.
  for (int64_t i = 0; i < value.count(); ++i) {
    double x = value.get(i).f, apart = 12 * unit_roundoff(result.dtype) * (x < 0 ? -x : x);
    result.ranges[size_t(i)] = rounded_range(result.dtype, x - apart, x + apart);
  }
}

}  // namespace tessera::check

// The interpreter's ops that move elements: the same bytes in other places.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/graph/eval_ops.h"
#include "support/check.h"

namespace tessera::graph {

Extents row_major_strides(const Extents& dims) {
  Extents strides(dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

namespace {

template <typename Word>
void copy_rows(const TensorValue& from, const Extents& strides, int64_t offset, TensorValue& to) {
  const Word* source = reinterpret_cast<const Word*>(from.data());
  Word* target = reinterpret_cast<Word*>(to.data());
  const Extents& dims = to.dims();
  size_t outer = dims.empty() ? 0 : dims.size() - 1;
  int64_t length = dims.empty() ? 1 : dims.back();
  int64_t step = dims.empty() ? 1 : strides.back();
  Extents index(outer, 0);
  for (int64_t done = 0; done < to.count(); done += length) {
    const Word* row = source + offset;
    if (step == 1) {
      std::copy(row, row + length, target + done);
    } else {
      for (int64_t i = 0; i < length; ++i) target[done + i] = row[i * step];
    }
    for (size_t axis = outer; axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

void copy_strided(const TensorValue& from, const Extents& strides, int64_t offset,
                  TensorValue& to) {
  if (to.count() == 0) return;
  switch (byte_size(to.dtype())) {
    case 1:
      return copy_rows<uint8_t>(from, strides, offset, to);
    case 2:
      return copy_rows<uint16_t>(from, strides, offset, to);
    case 4:
      return copy_rows<uint32_t>(from, strides, offset, to);
    case 8:
      return copy_rows<uint64_t>(from, strides, offset, to);
    default:
      TSR_UNREACHABLE("elements have 1, 2, 4 or 8 bytes");
  }
}

void eval_broadcast(const TensorValue& a, TensorValue& result) {
  Extents own = row_major_strides(a.dims());
  Extents strides(result.rank(), 0);
  size_t missing = result.rank() - a.rank();
  for (size_t i = 0; i < a.rank(); ++i) strides[missing + i] = a.dims()[i] == 1 ? 0 : own[i];
  copy_strided(a, strides, 0, result);
}

void eval_transpose(const TensorValue& a, std::span<const int64_t> perm, TensorValue& result) {
  Extents own = row_major_strides(a.dims());
  Extents strides;
  for (int64_t axis : perm) strides.push_back(own[size_t(axis)]);
  copy_strided(a, strides, 0, result);
}

void eval_concat(std::span<const TensorValue* const> parts, int64_t axis, TensorValue& result) {
  if (result.count() == 0) return;
  size_t width = byte_size(result.dtype());
  size_t inner = width;
  for (size_t i = size_t(axis) + 1; i < result.rank(); ++i) inner *= size_t(result.dims()[i]);
  size_t row = inner * size_t(result.dims()[size_t(axis)]);
  size_t at = 0;
  for (const TensorValue* part : parts) {
    size_t length = inner * size_t(part->dims()[size_t(axis)]);
    for (size_t i = 0; length && i * row < result.byte_count(); ++i) {
      std::memcpy(result.data() + i * row + at, part->data() + i * length, length);
    }
    at += length;
  }
}

void eval_iota(int64_t axis, TensorValue& result) {
  int64_t inner = 1;
  for (size_t i = size_t(axis) + 1; i < result.rank(); ++i) inner *= result.dims()[i];
  int64_t extent = result.dims()[size_t(axis)];
  for (int64_t i = 0; i < result.count(); ++i) result.set(i, {.i = i / inner % extent});
}

void eval_update_slice(const TensorValue& update, int64_t start, int64_t axis, bool wraps,
                       TensorValue& buffer) {
  int64_t extent = buffer.dims()[size_t(axis)], length = update.dims()[size_t(axis)];
  if (update.count() == 0 || (!wraps && (start < 0 || start > extent - length))) return;
  if (wraps) start = (start % extent + extent) % extent;
  // Rows of the update are runs along the last axis; the rank is at least 1, which `axis` is of.
  size_t last = buffer.rank() - 1, width = byte_size(buffer.dtype());
  Extents strides = row_major_strides(buffer.dims());
  int64_t run = size_t(axis) == last ? 1 : update.dims()[last];
  Extents at(buffer.rank(), 0);
  for (int64_t i = 0; i < update.count(); i += run) {
    int64_t rest = i, offset = 0;
    for (size_t k = last + 1; k-- > 0; rest /= update.dims()[k]) at[k] = rest % update.dims()[k];
    at[size_t(axis)] += start;
    if (wraps) at[size_t(axis)] %= extent;
    for (size_t k = 0; k <= last; ++k) offset += at[k] * strides[k];
    std::memcpy(buffer.data() + size_t(offset) * width, update.data() + size_t(i) * width,
                size_t(run) * width);
  }
}

void eval_embedding(const TensorValue& ids, const TensorValue& table, TensorValue& result) {
  int64_t rows = table.dims()[0], width = table.dims()[1];
  size_t bytes = size_t(width) * byte_size(table.dtype());
  Element missing{.i = 0};
  if (is_float(table.dtype())) missing.f = std::nan("");
  for (int64_t i = 0; width && i < ids.count(); ++i) {
    int64_t id = ids.get(i).i;  // an id of u64 beyond i64 is negative here, and outside too
    if (id >= 0 && id < rows) {
      std::memcpy(result.data() + size_t(i) * bytes, table.data() + size_t(id) * bytes, bytes);
    } else {
      for (int64_t j = 0; j < width; ++j) result.set(i * width + j, missing);
    }
  }
}

}  // namespace tessera::graph

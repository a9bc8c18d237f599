#include "runtime/tensors/strided_copy.h"

#include <algorithm>
#include <cstring>


namespace tessera::runtime {

namespace {

constexpr int32_t most_axes = 32;
/// Pieces of a copy on a GPU, each of which is a call of the driver.
constexpr int64_t most_pieces = 4096;

/// The first and the last byte that a tensor reaches, as numbers; `begin > end` where it has no elements.
struct Range {
  uintptr_t begin = 1;
  uintptr_t end = 0;
};

int64_t stride_of(const tsr_tensor_t& tensor, int32_t axis) {
  if (tensor.strides) return tensor.strides[axis];
  int64_t stride = 1;
  for (int32_t inner = axis + 1; inner < tensor.ndim; ++inner) stride *= tensor.shape[inner];
  return stride;
}

/// Finds where the elements lie; strides that lead out of what can be addressed fail.
Status find_range(const tsr_tensor_t& tensor, std::string_view title, Range& range) {
  if (is_empty(tensor)) return ok();
  Reach reach;
  if (Status status = find_reach(tensor, title, reach); status.failed()) return status;
  uintptr_t data = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  bool fits = data >= reach.before && !__builtin_add_overflow(data, reach.behind - 1, &range.end);
  if (!fits) return invalid(title, ": its strides lead out of what can be addressed");
  range.begin = data - reach.before;
  return ok();
}

/// Two elements of a target that are one would be written twice, in an order that nobody promises.
Status check_distinct(const tsr_tensor_t& tensor, std::string_view title) {
  std::vector<std::pair<uint64_t, int32_t>> steps;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    int64_t stride = stride_of(tensor, axis);
    if (tensor.shape[axis] > 1) steps.push_back({stride < 0 ? 0 - uint64_t(stride) : uint64_t(stride), axis});
  }
  std::sort(steps.begin(), steps.end());
  uint64_t reach = 0;
  for (auto [step, axis] : steps) {
    if (step <= reach) {
      return invalid(title, ", axis ", axis, ": with the stride ", stride_of(tensor, axis),
                     " some elements may share memory, and they are written");
    }
    reach += step * uint64_t(tensor.shape[axis] - 1);
  }
  return ok();
}

Status check_place(const tsr_tensor_t& tensor, std::string_view title, const DeviceFacts& device) {
  constexpr int32_t cpu = 1, cuda = 2, pinned = 3, managed = 13;
  int32_t type = tensor.device.device_type;
  bool is_there = type == cpu || type == pinned || (!device.is_host && type == managed) ||
                  (!device.is_host && type == cuda && tensor.device.device_id == device.tensor_id);
  if (is_there) return ok();
  return invalid(title, ": memory of DLPack device type ", type, ", number ", tensor.device.device_id,
                 " cannot be copied by ", device.name);
}

/// Takes axes into the piece, or into the axis around them, for as long as nothing lies between.
void merge(StridedCopy& copy, size_t element) {
  copy.piece = element;
  std::vector<StridedCopy::Axis> merged;  // innermost first
  for (size_t i = copy.axes.size(); i-- > 0;) {
    const StridedCopy::Axis& axis = copy.axes[i];
    if (axis.extent == 1) continue;
    auto piece = int64_t(copy.piece);
    if (merged.empty() && axis.to_bytes == piece && axis.from_bytes == piece) {
      copy.piece *= size_t(axis.extent);
      continue;
    }
    StridedCopy::Axis* inner = merged.empty() ? nullptr : &merged.back();
    if (inner && axis.to_bytes == inner->to_bytes * inner->extent &&
        axis.from_bytes == inner->from_bytes * inner->extent) {
      inner->extent *= axis.extent;
      continue;
    }
    merged.push_back(axis);
  }
  copy.axes.assign(merged.rbegin(), merged.rend());
}

/// Calls `move` with the places of each piece.
template <typename Move>
Status for_each_piece(const StridedCopy& copy, size_t axis, char* to, const char* from, const Move& move) {
  if (axis == copy.axes.size()) return move(to, from);
  const StridedCopy::Axis& here = copy.axes[axis];
  for (int64_t i = 0; i < here.extent; ++i) {
    Status status = for_each_piece(copy, axis + 1, to + i * here.to_bytes, from + i * here.from_bytes, move);
    if (status.failed()) return status;
  }
  return ok();
}

Status check_pieces(const StridedCopy& copy, const tsr_tensor_t& to, const tsr_tensor_t& from) {
  int64_t pieces = 1;
  for (const StridedCopy::Axis& axis : copy.axes) {
    if (__builtin_mul_overflow(pieces, axis.extent, &pieces)) pieces = INT64_MAX;
  }
  if (pieces <= most_pieces) return ok();
  int32_t axis = 0;
  const tsr_tensor_t& strided = is_dense(from, axis) ? to : from;
  if (&strided == &to) is_dense(to, axis);
  return invalid(&strided == &to ? "the target" : "the source", ", axis ", axis, ": with the stride ",
                 stride_of(strided, axis), " the copy falls into ", pieces, " pieces; on a GPU the most is ",
                 most_pieces);
}

}  // namespace

bool is_empty(const tsr_tensor_t& tensor) {
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return true;
  }
  return false;
}

bool is_dense(const tsr_tensor_t& tensor, int32_t& axis) {
  if (!tensor.strides || is_empty(tensor)) return true;
  int64_t expected = 1;
  for (axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    if (__builtin_mul_overflow(expected, tensor.shape[axis], &expected)) break;
  }
  return true;
}

Status check_tensor(const tsr_tensor_t& tensor, std::string_view title) {
  if (tensor.ndim < 0 || tensor.ndim > most_axes) {
    return invalid(title, ": its rank is ", tensor.ndim, "; the most is ", most_axes);
  }
  if (tensor.ndim > 0 && !tensor.shape) return invalid(title, ": it has rank ", tensor.ndim, " and no shape");
  if (tensor.dtype.bits == 0 || tensor.dtype.bits % 8 != 0 || tensor.dtype.lanes != 1) {
    return invalid(title, ": elements of ", int(tensor.dtype.bits), " bits and ", tensor.dtype.lanes,
                   " lanes are not whole bytes each");
  }
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] >= 0) continue;
    return invalid(title, ", axis ", axis, ": the extent ", tensor.shape[axis], " is negative");
  }
  if (!tensor.data && !is_empty(tensor)) return invalid(title, ": its data is NULL");
  if (tensor.byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(tensor.data)) {
    return invalid(title, ": the byte offset ", tensor.byte_offset, " leads out of what can be addressed");
  }
  size_t bytes = 0;
  return dense_bytes(tensor, title, bytes);
}

Status find_reach(const tsr_tensor_t& tensor, std::string_view title, Reach& reach) {
  reach = {};
  if (is_empty(tensor)) return ok();
  int64_t bytes = tensor.dtype.bits / 8, low = 0, high = 0;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    int64_t way = 0;
    bool fits = !__builtin_mul_overflow(tensor.shape[axis] - 1, stride_of(tensor, axis), &way) &&
                !__builtin_mul_overflow(way, bytes, &way) &&
                !__builtin_add_overflow(way < 0 ? low : high, way, way < 0 ? &low : &high);
    if (!fits) return invalid(title, ", axis ", axis, ": the stride ", stride_of(tensor, axis), " leads too far");
  }
  reach = {0 - uint64_t(low), uint64_t(high) + uint64_t(bytes)};
  return ok();
}

Status dense_bytes(const tsr_tensor_t& tensor, std::string_view title, size_t& bytes) {
  bytes = 0;
  if (is_empty(tensor)) return ok();
  int64_t count = tensor.dtype.bits / 8;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (__builtin_mul_overflow(count, tensor.shape[axis], &count)) {
      return invalid(title, ", axis ", axis, ": it has more bytes than an address can count");
    }
  }
  bytes = size_t(count);
  return ok();
}

Status plan_strided_copy(const tsr_tensor_t& to, const tsr_tensor_t& from, const DeviceFacts& device,
                         StridedCopy& copy) {
  constexpr std::string_view target = "the target", source = "the source";
  if (Status status = check_tensor(to, target); status.failed()) return status;
  if (Status status = check_tensor(from, source); status.failed()) return status;
  if (Status status = check_place(to, target, device); status.failed()) return status;
  if (Status status = check_place(from, source, device); status.failed()) return status;
  bool is_same = to.dtype.code == from.dtype.code && to.dtype.bits == from.dtype.bits;
  if (!is_same) return invalid("the target has another dtype than the source");
  if (to.ndim != from.ndim) return invalid("the target has rank ", to.ndim, ", and the source ", from.ndim);
  for (int32_t axis = 0; axis < to.ndim; ++axis) {
    if (to.shape[axis] == from.shape[axis]) continue;
    return invalid("the target, axis ", axis, ": expected ", from.shape[axis], ", as the source has, got ",
                   to.shape[axis]);
  }
  if (is_empty(to)) return ok();
  Range written, read;
  if (Status status = find_range(to, target, written); status.failed()) return status;
  if (Status status = find_range(from, source, read); status.failed()) return status;
  if (Status status = check_distinct(to, target); status.failed()) return status;
  if (written.begin <= read.end && read.begin <= written.end) {
    return invalid("the target may overlap the source: one begins before the other ends");
  }
  copy.to = static_cast<char*>(to.data) + to.byte_offset;
  copy.from = static_cast<const char*>(from.data) + from.byte_offset;
  int64_t element = to.dtype.bits / 8;
  for (int32_t axis = 0; axis < to.ndim; ++axis) {
    copy.axes.push_back({to.shape[axis], stride_of(to, axis) * element, stride_of(from, axis) * element});
  }
  merge(copy, size_t(element));
  return device.is_host ? ok() : check_pieces(copy, to, from);
}

Status StridedCopy::run(Queue& queue, bool is_host) const {
  if (piece == 0) return ok();
  if (!is_host) {
    return for_each_piece(*this, 0, to, from, [&](char* at, const char* of) { return queue.copy(at, of, piece); });
  }
  return for_each_piece(*this, 0, to, from, [&](char* at, const char* of) {
    std::memcpy(at, of, piece);
    return ok();
  });
}

}  // namespace tessera::runtime

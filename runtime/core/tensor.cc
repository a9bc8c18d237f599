#include "runtime/core/tensor.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

namespace {

// DLPack's device types.
constexpr int32_t device_cpu = 1;
constexpr int32_t device_cuda = 2;
constexpr int32_t device_cuda_host = 3;  // page-locked: any device reads it
constexpr int32_t device_cuda_managed = 13;

constexpr int32_t max_rank = 32;

bool is_same(tsr_dtype_t a, tsr_dtype_t b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::string dtype_text(tsr_dtype_t dtype) {
  if (auto known = dtype_of(dtype)) return std::string(format::dtype_name(*known));
  return format::cat("DLPack type code ", int(dtype.code), " of ", int(dtype.bits), " bits and ",
                     dtype.lanes, " lanes");
}

std::string place_text(tsr_device_t place) {
  if (place.device_type == device_cpu) return "memory of the CPU";
  if (place.device_type == device_cuda) return format::cat("memory of cuda:", place.device_id);
  return format::cat("DLPack device type ", place.device_type);
}

/// Whether kernels of the device can use memory of that place.
bool is_reachable(tsr_device_t place, const DeviceFacts& device) {
  if (place.device_type == device_cuda_host) return true;
  if (device.is_host) return place.device_type == device_cpu;
  if (place.device_type == device_cuda_managed) return device.tensor_type == device_cuda;
  return place.device_type == device.tensor_type && place.device_id == device.tensor_id;
}

Status place_error(tsr_device_t place, const DeviceFacts& device, const std::string& title) {
  bool is_host = place.device_type == device_cpu;
  return invalid(title, ": expected memory of ", device.is_host ? "the CPU" : device.name, ", got ",
                 place_text(place),
                 is_host ? "; tsrAlloc with TSR_DEVICE and tsrCopy put it there" : "");
}

/// Dense row-major; the strides of axes of extent 1, and of empty tensors, do not matter.
Status check_dense(const tsr_tensor_t& tensor, const std::string& title) {
  if (!tensor.strides) return ok();
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return ok();
  }
  int64_t expected = 1;
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) {
      return invalid(title, ", axis ", axis, ": expected stride ", expected, ", got ",
                     tensor.strides[axis], "; only dense row-major tensors are accepted");
    }
    if (__builtin_mul_overflow(expected, tensor.shape[axis], &expected)) break;
  }
  return ok();
}

}  // namespace

std::optional<format::Dtype> dtype_of(tsr_dtype_t dtype) {
  for (int i = 0; i < format::dtype_count; ++i) {
    if (is_same(dtype, dlpack_dtype(format::Dtype(i)))) return format::Dtype(i);
  }
  return std::nullopt;
}

tsr_dtype_t dlpack_dtype(format::Dtype dtype) {
  const format::DtypeInfo& info = format::dtype_info(dtype);
  return {info.dlpack_code, uint8_t(info.bits), 1};
}

namespace {

Status read_shape(const tsr_tensor_t& tensor, const std::string& title, Argument& argument) {
  if (tensor.ndim < 0 || tensor.ndim > max_rank || (tensor.ndim > 0 && !tensor.shape)) {
    return invalid(title, ": it has rank ", tensor.ndim, " or no shape");
  }
  argument.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] < 0) {
      return invalid(title, ", axis ", axis, ": the extent ", tensor.shape[axis], " is negative");
    }
  }
  return check_dense(tensor, title);
}

void read_host_scalar(format::Dtype dtype, Argument& argument) {
  uint64_t bits = 0;
  if (argument.data) std::memcpy(&bits, argument.data, size_t(*format::bytes_of(dtype, 1)));
  argument.bits = bits;
  argument.data = nullptr;
}

}  // namespace

Status read_tensor(const tsr_tensor_t& tensor, const TensorRules& rules, const std::string& title,
                   Argument& argument) {
  if (!is_same(tensor.dtype, dlpack_dtype(rules.dtype))) {
    return invalid(title, ": expected dtype ", format::dtype_name(rules.dtype), ", got ",
                   dtype_text(tensor.dtype));
  }
  bool is_scalar = rules.takes_host_scalars && tensor.ndim == 0 && !rules.device.is_host &&
                   tensor.device.device_type == device_cpu;
  if (!is_scalar && !is_reachable(tensor.device, rules.device)) {
    return place_error(tensor.device, rules.device, title);
  }
  if (Status status = read_shape(tensor, title, argument); status.failed()) return status;
  if (tensor.data && tensor.byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(tensor.data)) {
    return invalid(title, ": the byte offset ", tensor.byte_offset, " leads out of what can be addressed");
  }
  argument.data = static_cast<char*>(tensor.data);
  if (argument.data) argument.data += tensor.byte_offset;
  bool is_empty = format::element_count(argument.shape) == 0;
  if (!argument.data && !is_empty && rules.need == Need::Content) {
    return invalid(title, ": its data is NULL");
  }
  if (is_scalar) {
    read_host_scalar(rules.dtype, argument);
    return ok();
  }
  uint32_t alignment = std::max(rules.alignment, rules.device.alignment);
  if (rules.need == Need::Content && !is_empty &&
      reinterpret_cast<uintptr_t>(argument.data) % alignment != 0) {
    return invalid(title, ": its data must be at a multiple of ", alignment,
                   " bytes; tsrAlloc gives such memory");
  }
  return ok();
}

}  // namespace tessera::runtime

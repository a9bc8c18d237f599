#include "runtime/core/tensor.h"

namespace tessera::runtime {

namespace {

constexpr int32_t device_cpu = 1;
constexpr int32_t device_cuda_host = 3;
constexpr int32_t max_rank = 32;

bool is_same(tsr_dtype_t a, tsr_dtype_t b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

std::string dtype_text(tsr_dtype_t dtype) {
  for (int i = 0; i < format::dtype_count; ++i) {
    if (is_same(dtype, dlpack_dtype(format::Dtype(i)))) {
      return std::string(format::dtype_name(format::Dtype(i)));
    }
  }
  return format::cat("DLPack type code ", int(dtype.code), " of ", int(dtype.bits), " bits and ",
                     dtype.lanes, " lanes");
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

tsr_dtype_t dlpack_dtype(format::Dtype dtype) {
  const format::DtypeInfo& info = format::dtype_info(dtype);
  return {info.dlpack_code, uint8_t(info.bits), 1};
}

Status read_tensor(const tsr_tensor_t& tensor, format::Dtype dtype, uint32_t alignment,
                   const std::string& title, Need need, Argument& argument) {
  if (!is_same(tensor.dtype, dlpack_dtype(dtype))) {
    return invalid(title, ": expected dtype ", format::dtype_name(dtype), ", got ",
                   dtype_text(tensor.dtype));
  }
  if (tensor.device.device_type != device_cpu && tensor.device.device_type != device_cuda_host) {
    return invalid(title, ": expected memory of the CPU, got DLPack device type ",
                   tensor.device.device_type);
  }
  if (tensor.ndim < 0 || tensor.ndim > max_rank || (tensor.ndim > 0 && !tensor.shape)) {
    return invalid(title, ": it has rank ", tensor.ndim, " or no shape");
  }
  argument.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] < 0) {
      return invalid(title, ", axis ", axis, ": the extent ", tensor.shape[axis], " is negative");
    }
  }
  if (Status status = check_dense(tensor, title); status.failed()) return status;
  argument.data = static_cast<char*>(tensor.data);
  if (argument.data) argument.data += tensor.byte_offset;
  bool is_empty = format::element_count(argument.shape) == 0;
  if (need == Need::ShapeOnly) return ok();
  if (!argument.data && !is_empty) return invalid(title, ": its data is NULL");
  if (!is_empty && reinterpret_cast<uintptr_t>(argument.data) % alignment != 0) {
    return invalid(title, ": its data must be at a multiple of ", alignment,
                   " bytes; tsrAlloc gives such memory");
  }
  return ok();
}

}  // namespace tessera::runtime

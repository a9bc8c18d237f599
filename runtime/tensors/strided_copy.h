#pragma once
// Copies between tensors of one shape whose elements lie apart.

#include <string_view>
#include <vector>

#include "runtime/core/device.h"
#include "runtime/include/tessera.h"

namespace tessera::runtime {

/// What is copied, checked: pieces without gaps in both tensors, at the places that outer axes give.
struct StridedCopy {
  struct Axis {
    int64_t extent;
    int64_t to_bytes;    ///< from one element of the axis to the next
    int64_t from_bytes;
  };
  char* to = nullptr;
  const char* from = nullptr;
  std::vector<Axis> axes;  ///< outermost first
  size_t piece = 0;        ///< bytes; 0: there is nothing to copy

  /// Copies on the device.
  Status run(Queue& queue, bool is_host) const;
};

/// Checks two tensors, named as "the target" and "the source" in errors.
Status plan_strided_copy(const tsr_tensor_t& to, const tsr_tensor_t& from, const DeviceFacts& device,
                         StridedCopy& copy);

/// Whether it has no elements.
bool is_empty(const tsr_tensor_t& tensor);

/// Bytes that the elements take up, counted from the first one: none before it without negative strides.
struct Reach {
  uint64_t before = 0;
  uint64_t behind = 0;
};

/// Finds them for a tensor that has been checked; what cannot be counted fails with TSR_EINVAL.
Status find_reach(const tsr_tensor_t& tensor, std::string_view title, Reach& reach);

/// Whether the elements lie densely in row-major order; if not, the axis with the first stride that is another.
bool is_dense(const tsr_tensor_t& tensor, int32_t& axis);

/// Rank, shape, dtype and place of a tensor of somebody else, as far as any operation needs them. `title` names it.
Status check_tensor(const tsr_tensor_t& tensor, std::string_view title);

/// Bytes of the elements; the tensor has been checked, and overflow fails with TSR_EINVAL.
Status dense_bytes(const tsr_tensor_t& tensor, std::string_view title, size_t& bytes);

}  // namespace tessera::runtime

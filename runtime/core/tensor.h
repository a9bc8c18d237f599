#pragma once
// Checking the tensors that a caller passes.

#include <optional>

#include "runtime/core/bind.h"
#include "runtime/core/device.h"
#include "runtime/core/status.h"
#include "runtime/files/dtype.h"

namespace tessera::runtime {

/// DLPack's code for the dtype.
tsr_dtype_t dlpack_dtype(format::Dtype dtype);
/// The dtype that DLPack describes so, where there is one.
std::optional<format::Dtype> dtype_of(tsr_dtype_t dtype);

/// Whether a tensor's content is going to be used.
enum class Need { ShapeOnly, Content };

/// What a tensor has to be.
struct TensorRules {
  const DeviceFacts& device;
  format::Dtype dtype;
  uint32_t alignment = 1;  ///< bytes; the device may ask for more
  Need need = Need::Content;
  bool takes_host_scalars = false;  ///< a rank-0 tensor may be in memory of the host
};

/// Checks dtype, device and layout, and for Content presence and alignment of the data; takes
/// pointer and shape, or the bits of a scalar of the host.
/// `title` is how messages name the tensor, such as "mlp: input 'x'".
Status read_tensor(const tsr_tensor_t& tensor, const TensorRules& rules, const std::string& title,
                   Argument& argument);

}  // namespace tessera::runtime

#pragma once
// Checking the tensors that a caller passes.

#include "runtime/core/bind.h"
#include "runtime/core/status.h"
#include "runtime/format/dtype.h"

namespace tessera::runtime {

/// DLPack's code for the dtype.
tsr_dtype_t dlpack_dtype(format::Dtype dtype);

/// Whether a tensor's content is going to be used.
enum class Need { ShapeOnly, Content };

/// Checks dtype, device and layout, and for Content presence and alignment of the data; takes
/// pointer and shape.
/// `title` is how messages name the tensor, such as "mlp: input 'x'".
Status read_tensor(const tsr_tensor_t& tensor, format::Dtype dtype, uint32_t alignment,
                   const std::string& title, Need need, Argument& argument);

}  // namespace tessera::runtime

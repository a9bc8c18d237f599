#pragma once
// DLPack's managed tensors, in and out. The layouts and the rules of ownership are those of DLPack 1.0
// (github.com/dmlc/dlpack, include/dlpack/dlpack.h): a consumer calls the deleter once, may use nothing but the deleter
// of another major version, and does not write to what is marked as read-only.

#include "runtime/core/context.h"
#include "runtime/include/tessera.h"

namespace tessera::runtime {

/// What stands behind a tensor that was taken; its end gives the managed tensor back.
struct TakenTensor {
  TakenTensor() = default;
  TakenTensor(const TakenTensor&) = delete;
  TakenTensor& operator=(const TakenTensor&) = delete;
  ~TakenTensor();

  tsr_tensor_t tensor{};
  std::vector<int64_t> shape;
  Memory copy;  ///< where it is one
  tsr_managed_tensor_t* managed = nullptr;
  tsr_managed_tensor_versioned_t* versioned = nullptr;
};

/// Takes a tensor; one of the two is given. It is the library's when this does not fail.
Status take_tensor(Context& context, Stream& stream, bool is_default, tsr_managed_tensor_t* managed,
                   tsr_managed_tensor_versioned_t* versioned, uint32_t flags, tsr_tensor_t** tensor);

/// A managed tensor of either kind, whose deleter frees it.
Status give_tensor(Context& context, const tsr_tensor_t& tensor, const tsr_export_options_t& options,
                   tsr_managed_tensor_t** managed);
Status give_tensor(Context& context, const tsr_tensor_t& tensor, const tsr_export_options_t& options,
                   tsr_managed_tensor_versioned_t** managed);

}  // namespace tessera::runtime

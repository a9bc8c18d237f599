// The C interface: copies of tensors, and tensors of other libraries.

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"
#include "runtime/tensors/managed.h"
#include "runtime/tensors/strided_copy.h"

using namespace tessera::runtime;

namespace {

Status copy_tensor(Context& context, tsr_stream_t handle, const tsr_tensor_t* to, const tsr_tensor_t* from) {
  Stream* stream = nullptr;
  if (Status status = find_stream(context, handle, &stream); status.failed()) return status;
  if (!to || !from) return invalid("the ", to ? "source" : "target", " is NULL");
  const DeviceFacts& facts = context.device->facts();
  auto copy = std::make_shared<StridedCopy>();
  if (Status status = plan_strided_copy(*to, *from, facts, *copy); status.failed()) return status;
  bool is_host = facts.is_host;
  Status status = stream->submit([copy, is_host](Queue& queue) { return copy->run(queue, is_host); });
  return status.failed() || handle ? status : stream->synchronize(TSR_FOREVER);
}

Status import_tensor(Context& context, tsr_stream_t handle, tsr_managed_tensor_t* managed,
                     tsr_managed_tensor_versioned_t* versioned, const tsr_import_options_t* given,
                     tsr_tensor_t** tensor) {
  if (!tensor) return invalid("the place for the tensor is NULL");
  *tensor = nullptr;
  Stream* stream = nullptr;
  if (Status status = find_stream(context, handle, &stream); status.failed()) return status;
  if (!managed && !versioned) return invalid("the managed tensor is NULL");
  tsr_import_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  if (Status status = check_reserved<tsr_import_options_t>(options.reserved); status.failed()) return status;
  if (options.flags & ~(TSR_IMPORT_READ_ONLY | TSR_IMPORT_COPY)) {
    return invalid("the flags ", options.flags, " are other than TSR_IMPORT_READ_ONLY and TSR_IMPORT_COPY");
  }
  return take_tensor(context, *stream, !handle, managed, versioned, options.flags, tensor);
}

template <typename Managed>
Status export_tensor(Context& context, const tsr_tensor_t* tensor, const tsr_export_options_t* given,
                     Managed** managed) {
  if (!managed) return invalid("the place for the managed tensor is NULL");
  *managed = nullptr;
  if (!tensor) return invalid("the tensor is NULL");
  tsr_export_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  if (Status status = check_reserved<tsr_export_options_t>(options.reserved); status.failed()) return status;
  if (options.flags & ~TSR_DLPACK_READ_ONLY) {
    return invalid("the flags ", options.flags, " are other than TSR_DLPACK_READ_ONLY");
  }
  return give_tensor(context, *tensor, options, managed);
}

Status release_tensor(Context& context, tsr_tensor_t* tensor) {
  std::shared_ptr<void> taken;
  {
    std::lock_guard lock(context.mutex);
    auto found = context.taken.find(tensor);
    if (found == context.taken.end()) return invalid("the tensor is not one that this context took from DLPack");
    taken = std::move(found->second);
    context.taken.erase(found);
  }
  context.put_away(std::move(taken));
  return ok();
}

}  // namespace

extern "C" {

tsr_status_t tsrCopyTensor(tsr_context_t context, tsr_stream_t stream, const tsr_tensor_t* to,
                           const tsr_tensor_t* from) {
  return with_waiting(context, [&](Context& found) { return copy_tensor(found, stream, to, from); });
}

tsr_status_t tsrTensorFromDLPack(tsr_context_t context, tsr_stream_t stream, tsr_managed_tensor_t* managed,
                                 const tsr_import_options_t* options, tsr_tensor_t** tensor) {
  return with_waiting(
      context, [&](Context& found) { return import_tensor(found, stream, managed, nullptr, options, tensor); });
}

tsr_status_t tsrTensorFromDLPackVersioned(tsr_context_t context, tsr_stream_t stream,
                                          tsr_managed_tensor_versioned_t* managed, const tsr_import_options_t* options,
                                          tsr_tensor_t** tensor) {
  return with_waiting(
      context, [&](Context& found) { return import_tensor(found, stream, nullptr, managed, options, tensor); });
}

tsr_status_t tsrReleaseTensor(tsr_context_t context, tsr_tensor_t* tensor) {
  return with(context, [&](Context& found) { return tensor ? release_tensor(found, tensor) : ok(); });
}

tsr_status_t tsrTensorToDLPack(tsr_context_t context, const tsr_tensor_t* tensor, const tsr_export_options_t* options,
                               tsr_managed_tensor_t** managed) {
  return with(context, [&](Context& found) { return export_tensor(found, tensor, options, managed); });
}

tsr_status_t tsrTensorToDLPackVersioned(tsr_context_t context, const tsr_tensor_t* tensor,
                                        const tsr_export_options_t* options,
                                        tsr_managed_tensor_versioned_t** managed) {
  return with(context, [&](Context& found) { return export_tensor(found, tensor, options, managed); });
}

}  // extern "C"

#include "runtime/tsr/train/device_tensor.h"

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"

namespace tessera::tool::train {

namespace {

constexpr tsr_device_t host = {1, 0};  // DLPack's CPU

int copy(const Session& session, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return exit_ok;
  tsr_status_t status = tsrCopy(session.context(), nullptr, to, from, bytes);
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

}  // namespace

void DeviceTensor::describe(const tsr_tensor_info_t& info, std::vector<int64_t> shape) {
  dtype_ = *format::find_dtype(info.dtype);
  shape_ = std::move(shape);
  tensor_.ndim = int32_t(shape_.size());
  tensor_.dtype = info.element;
  tensor_.shape = shape_.data();
}

int DeviceTensor::reshape(const Session& session, const tsr_tensor_info_t& info, std::vector<int64_t> shape,
                          bool is_written) {
  describe(info, std::move(shape));
  auto count = format::element_count(shape_);
  auto bytes = count ? format::bytes_of(dtype_, *count) : std::nullopt;
  if (!bytes) return fail(format::cat(info.name, ": a tensor of shape ", format::shape_text(shape_), " has no size"));
  bytes_ = size_t(*bytes);
  if (tensor_.data && bytes_ <= capacity_) return exit_ok;
  bool on_host = session.is_host() || (shape_.empty() && !is_written);
  tsrFree(session.context(), tensor_.data);
  tensor_.data = nullptr;
  tensor_.device = on_host ? host : session.place();
  tsr_status_t status =
      tsrAlloc(session.context(), bytes_, on_host ? TSR_HOST : TSR_DEVICE, &tensor_.data);
  capacity_ = bytes_;
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

void DeviceTensor::reshape_alias(const Session& session, const tsr_tensor_info_t& info, std::vector<int64_t> shape) {
  describe(info, std::move(shape));
  tensor_.device = session.place();
  tensor_.data = nullptr;
}

int DeviceTensor::write(const Session& session, std::string_view content) const {
  if (content.size() != bytes_) return fail("a tensor's content has another size than the tensor");
  return copy(session, tensor_.data, content.data(), bytes_);
}

int DeviceTensor::fill_zeros(const Session& session) const {
  return write(session, std::string(bytes_, '\0'));
}

int DeviceTensor::view(const Session& session, std::string& storage, std::string_view& content) const {
  content = {static_cast<const char*>(tensor_.data), bytes_};
  if (tensor_.device.device_type == host.device_type) return exit_ok;
  if (int code = read(session, storage)) return code;
  content = storage;
  return exit_ok;
}

int DeviceTensor::read_end(const Session& session, size_t count, std::string& content) const {
  content.resize(count);
  return copy(session, content.data(), static_cast<const char*>(tensor_.data) + (bytes_ - count), count);
}

}  // namespace tessera::tool::train

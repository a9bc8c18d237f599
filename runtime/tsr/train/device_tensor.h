#pragma once
// A tensor in memory of the device whose shape may differ from call to call.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tsr/session.h"

namespace tessera::tool::train {

/// Functions return 0, or the exit code after saying what is wrong. The memory belongs to the session's context.
class DeviceTensor {
 public:
  /// Gives the tensor a type, and memory where it has too little; its contents are lost then. A number that entries do
  /// not write is in memory of the host.
  int reshape(const Session& session, const tsr_tensor_info_t& info, std::vector<int64_t> shape, bool is_written);
  /// The type alone, for a result that is the memory of something else.
  void reshape_alias(const Session& session, const tsr_tensor_info_t& info, std::vector<int64_t> shape);

  int write(const Session& session, std::string_view content) const;
  int fill_zeros(const Session& session) const;
  int read(const Session& session, std::string& content) const { return read_end(session, bytes_, content); }
  /// The same without a copy where the memory is that of the host; else `storage` holds the bytes.
  int view(const Session& session, std::string& storage, std::string_view& content) const;
  /// The last bytes alone.
  int read_end(const Session& session, size_t count, std::string& content) const;

  const std::vector<int64_t>& shape() const { return shape_; }
  format::Dtype dtype() const { return dtype_; }
  size_t bytes() const { return bytes_; }
  tsr_tensor_t* tensor() { return &tensor_; }

 private:
  void describe(const tsr_tensor_info_t& info, std::vector<int64_t> shape);

  format::Dtype dtype_ = format::Dtype::F32;
  std::vector<int64_t> shape_;
  size_t bytes_ = 0;
  size_t capacity_ = 0;
  tsr_tensor_t tensor_{};
};

}  // namespace tessera::tool::train

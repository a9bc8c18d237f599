#pragma once
// A bundle loaded through the C interface, and the tensors that a command passes to it.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/file.h"
#include "runtime/files/safetensors.h"
#include "runtime/format/manifest.h"
#include "runtime/include/tessera.h"
#include "runtime/tsr/device_options.h"

namespace tessera::tool {

/// A tensor in memory of the context's device, or of the host.
struct OwnedTensor {
  format::Dtype dtype = format::Dtype::F32;
  std::vector<int64_t> shape;
  size_t bytes = 0;
  tsr_tensor_t tensor{};

  /// Of a tensor in memory of the host.
  std::string_view content() const {
    return {static_cast<const char*>(tensor.data) + tensor.byte_offset, bytes};
  }
};

/// Functions return 0, or the exit code after saying what is wrong.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { tsrDestroyContext(context_); }

  int open(const std::string& bundle, const DeviceOptions& options);
  int find(const std::string& entry, tsr_function_t& function) const;

  /// Binds the tensors of safetensors files; each must be a parameter of the bundle, once. Those that are
  /// written, by entries or by who calls this, are copied; others are used where the files are mapped, if they can be.
  int bind_files(const std::vector<std::string>& paths, bool are_written = false);
  /// Says which parameter of the entry has no value.
  int require_parameters(tsr_function_t function, const std::vector<std::string>& paths) const;

  /// Makes a tensor; `content` is copied unless it is empty. On a GPU a tensor of rank 0 with a
  /// content stays in memory of the host, where dimensions are read.
  int make_tensor(format::Dtype dtype, std::vector<int64_t> shape, std::string_view content,
                  OwnedTensor*& tensor);
  /// The same for an input that the entry may write: always in memory of the device.
  int make_donated(format::Dtype dtype, std::vector<int64_t> shape, std::string_view content,
                   OwnedTensor*& tensor);
  /// Copies the content of a whole tensor, from memory of the host.
  int write(const OwnedTensor& tensor, std::string_view content) const;
  /// The bytes of a tensor; `storage` holds them when they are fetched from a GPU.
  int read(const OwnedTensor& tensor, std::string& storage, std::string_view& content) const;
  int bind(const std::string& name, const OwnedTensor& tensor);
  /// The tensor bound to a parameter; null when there is none.
  const OwnedTensor* bound(const std::string& name) const;

  tsr_context_t context() const { return context_; }
  tsr_module_t module() const { return module_; }
  /// Where tensors of entries are.
  tsr_device_t place() const { return device_; }
  bool is_host() const { return device_.device_type == 1; }
  std::vector<std::string> entry_names() const;
  std::vector<tsr_tensor_info_t> parameter_infos() const;
  std::vector<std::string> parameter_names() const;
  /// The names of the parameters that entries write to.
  std::set<std::string> updated_parameters() const;

 private:
  int bind_file(const std::string& path, bool are_written, std::vector<std::string>& bound);
  int allocate(OwnedTensor& tensor, bool on_host);

  tsr_context_t context_ = nullptr;
  tsr_module_t module_ = nullptr;
  tsr_device_t device_ = {1, 0};
  std::deque<format::MappedFile> files_;
  std::deque<OwnedTensor> tensors_;
  std::map<std::string, const OwnedTensor*> bound_;
};

/// What the manifest of a bundle, which is loaded, says of an entry; nothing where the file can no longer be read.
std::optional<format::ManifestEntry> manifest_entry(const std::string& bundle, const std::string& entry);

/// Inputs or outputs of an entry.
/// One that the library is to fill.
inline tsr_tensor_info_t unread_info() {
  tsr_tensor_info_t info{};
  info.size = sizeof info;
  return info;
}
std::vector<tsr_tensor_info_t> input_infos(tsr_function_t function);
std::vector<tsr_tensor_info_t> output_infos(tsr_function_t function);
/// The names of the inputs whose memory is that of outputs.
std::set<std::string> donated_inputs(tsr_function_t function);

}  // namespace tessera::tool

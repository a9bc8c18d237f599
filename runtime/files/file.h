#pragma once
// Files, mapped for reading.

#include <string>
#include <string_view>

#include "runtime/files/result.h"

namespace tessera::format {

/// A file's bytes, mapped read-only. Devices, pipes and sockets, which may have no end, are refused.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  /// The same, with the reason alone as the error.
  static Result<MappedFile> map(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {mapping_, mapped_size_}; }

 private:
  MappedFile() = default;
  const char* mapping_ = nullptr;
  size_t mapped_size_ = 0;
};

}  // namespace tessera::format

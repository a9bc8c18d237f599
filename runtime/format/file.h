#pragma once
// Files: mapped for reading, written aside and renamed.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/result.h"

namespace tessera::format {

/// A file's bytes, mapped read-only. Devices, pipes and sockets, which may have no end, are refused.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {mapping_, mapped_size_}; }

 private:
  MappedFile() = default;
  const char* mapping_ = nullptr;
  size_t mapped_size_ = 0;
};

/// Files that appear all together or not at all (as far as a file system allows): each is written
/// aside, and commit renames them. A non-regular file such as /dev/null is written directly.
class PendingFiles {
 public:
  PendingFiles() = default;
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;
  /// Removes what was written aside and not committed.
  ~PendingFiles();

  Outcome write(const std::string& path, std::string_view bytes);
  Outcome commit();

 private:
  struct Pending {
    std::string aside;
    std::string path;
  };
  std::vector<Pending> pending_;
};

}  // namespace tessera::format

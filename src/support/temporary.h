#pragma once
// Temporary files of a run: folders for files of other programs, and files that are not complete
// yet. A run that is killed cannot remove them, so each is locked as long as its run lives, and the
// next run removes the unlocked ones of its kind.

#include <optional>
#include <string>
#include <string_view>

#include "support/out_of_memory.h"

namespace tessera {

/// A locked file or folder: the lock ends with the object, or with the process however it ends.
class Lock {
 public:
  Lock() = default;
  /// Takes over a descriptor, and closes it where another process has it locked. Some file systems know no locks: what
  /// lies there is held without one.
  explicit Lock(int descriptor);
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();
  bool held() const { return descriptor_ >= 0; }
  /// Whether no other process can hold it.
  bool is_exclusive() const { return is_exclusive_; }
  int descriptor() const { return descriptor_; }

 private:
  void close();

  int descriptor_ = -1;
  bool is_exclusive_ = false;
};

/// Removes the files in `folder` whose names are `prefix` and six characters, which belong to this user and which no
/// process has locked. Nobody else may give files such names. A folder is looked through once in the life of a process.
void remove_orphans(const std::string& folder, std::string_view prefix);

/// Locks a file or folder that was just made; not held where another run took it for an orphan before that.
Lock lock_new(const std::string& path);

/// A folder of its own in the folder for temporary files (TMPDIR), readable by its user alone, which goes with the
/// object. `kind` is a word for its name: "ptxas" for tessera-ptxas-XXXXXX. A file in it marks it as one of these: no
/// other folder is ever removed with what is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view kind);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Why there is none; empty when there is one.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
  std::string problem_;
  Lock lock_;
  std::optional<RemovedOnExit> removed_;
};

}  // namespace tessera

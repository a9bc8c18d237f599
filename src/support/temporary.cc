#include "support/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tessera {

namespace fs = std::filesystem;

Lock::Lock(int descriptor) : descriptor_(descriptor) {
  if (descriptor_ < 0) return;
  is_exclusive_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (!is_exclusive_ && errno == EWOULDBLOCK) close();
}

Lock::Lock(Lock&& other) noexcept { *this = std::move(other); }

Lock& Lock::operator=(Lock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_exclusive_, other.is_exclusive_);
  return *this;
}

Lock::~Lock() { close(); }

bool Lock::close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

void remove_orphans(const std::string& folder, std::string_view prefix) {
  constexpr size_t random_characters = 6;  // mkstemp's
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::string name = at->path().filename().string();
    if (name.size() != prefix.size() + random_characters || !name.starts_with(prefix)) continue;
    Lock lock(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    bool is_ours = lock.is_exclusive() && ::fstat(lock.descriptor(), &info) == 0 && info.st_uid == ::geteuid() &&
                   (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    std::error_code kept;
    if (is_ours) fs::remove_all(at->path(), kept);
  }
}

Lock lock_new(const std::string& path) {
  Lock lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat named {}, held {};
  bool is_same = lock.held() && ::stat(path.c_str(), &named) == 0 && ::fstat(lock.descriptor(), &held) == 0 &&
                 named.st_ino == held.st_ino;
  return is_same ? std::move(lock) : Lock();
}

TemporaryFolder::TemporaryFolder(std::string_view kind) {
  std::error_code error;
  fs::path place = fs::temp_directory_path(error);
  if (error) {
    problem_ = "the folder for temporary files: " + error.message();
    return;
  }
  std::string prefix = "tessera-" + std::string(kind) + "-";
  remove_orphans(place, prefix);
  constexpr int attempts = 8;
  for (int i = 0; i < attempts && !lock_.held(); ++i) {
    path_ = (place / (prefix + "XXXXXX")).string();
    if (!::mkdtemp(path_.data())) {
      problem_ = place.string() + ": " + std::strerror(errno);
      return;
    }
    lock_ = lock_new(path_);
  }
  if (lock_.held()) {
    removed_.emplace(path_);
    return;
  }
  problem_ = path_ + " cannot be locked";
  ::rmdir(path_.c_str());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (problem_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tessera

#include "support/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
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

void Lock::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

namespace {

constexpr const char* marker = ".tessera-temporary";

bool is_first_look(const std::string& folder, std::string_view prefix) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  std::lock_guard lock(mutex);
  return seen.insert(folder + "/" + std::string(prefix)).second;
}

/// Gives `remove` the paths of the files or folders (`type` of a mode) that are left: see remove_orphans.
void visit_orphans(const std::string& folder, std::string_view prefix, mode_t type,
                   void (*remove)(const fs::path& path)) {
  constexpr size_t random_characters = 6;  // mkstemp's
  if (!is_first_look(folder, prefix)) return;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::string name = at->path().filename().string();
    if (name.size() != prefix.size() + random_characters || !name.starts_with(prefix)) continue;
    Lock lock(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    bool is_ours = lock.is_exclusive() && ::fstat(lock.descriptor(), &info) == 0 && info.st_uid == ::geteuid() &&
                   (info.st_mode & S_IFMT) == type;
    if (is_ours) remove(at->path());
  }
}

bool mark(const std::string& path) {
  int fd = ::open((path + "/" + marker).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd >= 0 && ::close(fd) == 0;
}

/// A run that is killed before it has marked its folder leaves an empty one. A program that it started may live on and
/// write there meanwhile: the folder stays marked until it is gone.
void remove_marked(const fs::path& path) {
  std::error_code ignored;
  bool is_marked = fs::is_regular_file(fs::symlink_status(path / marker, ignored));
  if (is_marked) fs::remove_all(path, ignored);
  if (::rmdir(path.c_str()) != 0 && errno == ENOTEMPTY && is_marked) mark(path.string());
}

}  // namespace

void remove_orphans(const std::string& folder, std::string_view prefix) {
  visit_orphans(folder, prefix, S_IFREG, [](const fs::path& path) { ::unlink(path.c_str()); });
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
  visit_orphans(place, prefix, S_IFDIR, remove_marked);
  constexpr int attempts = 8;
  for (int i = 0; i < attempts && !lock_.held(); ++i) {
    removed_.reset();
    path_ = (place / (prefix + "XXXXXX")).string();
    if (!::mkdtemp(path_.data())) {
      problem_ = place.string() + ": " + std::strerror(errno);
      return;
    }
    removed_.emplace(path_);
    lock_ = lock_new(path_);
  }
  if (!lock_.held()) {
    problem_ = path_ + " cannot be locked";
  } else if (!mark(path_)) {
    problem_ = path_ + ": " + std::strerror(errno);
  } else {
    return;
  }
  ::rmdir(path_.c_str());
  removed_.reset();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (problem_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tessera

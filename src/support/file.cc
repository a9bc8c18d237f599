#include "support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "runtime/base/files.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

bool fail(std::string& error) {
  error = std::strerror(errno);
  return false;
}

/// The file that a path leads to, past links, whether it is there or not; the path itself where links go in circles.
std::string target_of(const std::string& path) {
  constexpr int most_links = 40;
  fs::path target = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    fs::path next = fs::read_symlink(target, error);
    if (error) return target;
    target = target.parent_path() / next;  // which is `next` where that is absolute
  }
  return path;
}

/// The permissions of a new file. The system returns the mask only when it is changed, for the
/// whole process, which other threads may notice: it is asked for once.
mode_t mode_of_new_files() {
  static const mode_t mode = [] {
    mode_t mask = ::umask(0);
    ::umask(mask);
    return mode_t(0666 & ~mask);
  }();
  return mode;
}

bool write_directly(int fd, std::string_view contents, std::string& error) {
  bool ok = write_all(fd, contents);
  if (!ok) fail(error);
  if (fd != STDOUT_FILENO && ::close(fd) != 0 && ok) return fail(error);
  return ok;
}

/// Whether the system could keep what was written, as far as closing shows: a second descriptor is
/// closed, since the first one holds the lock.
bool can_close(int fd) {
  int second = ::dup(fd);
  return second >= 0 && ::close(second) == 0;
}

/// Why a file is not read, or null.
const char* refusal(const struct stat& info, bool inherited) {
  if (S_ISREG(info.st_mode) && size_t(info.st_size) > max_read_bytes) return "it is larger than 256 MiB";
  return inherited && !S_ISDIR(info.st_mode) ? nullptr : base::why_no_file(info);
}

bool read_all(int fd, std::string& contents, std::string& error) {
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(error);
    if (n == 0) return true;
    if (contents.size() + size_t(n) > max_read_bytes) {
      error = "it is larger than 256 MiB";
      return false;
    }
    contents.append(buffer, size_t(n));
  }
}

}  // namespace

bool read_file(const std::string& path, std::string& contents, std::string& error) {
  bool standard = path == "-" || path == "/dev/stdin";
  bool inherited = standard || path.rfind("/dev/fd/", 0) == 0;
  // Opening a named pipe would wait for a writer.
  int fd = standard ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(error);
  if (!standard) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  struct stat info {};
  bool ok = ::fstat(fd, &info) == 0 || fail(error);
  const char* reason = ok ? refusal(info, inherited) : nullptr;
  if (reason) error = reason;
  contents.clear();
  if (ok && !reason && info.st_size > 0) contents.reserve(size_t(info.st_size));
  ok = ok && !reason && read_all(fd, contents, error);
  ::close(fd);
  return ok;
}

PendingFiles::~PendingFiles() {
  for (const Pending& file : pending_) {
    if (file.removed) ::unlink(file.aside.c_str());
  }
}

/// Makes a file beside `target`: `removed` says that it is there.
bool PendingFiles::make_aside(Pending& file) {
  std::string folder = file.target.substr(0, file.target.rfind('/') + 1);
  constexpr std::string_view prefix = ".tessera-unfinished-";
  remove_orphans(folder.empty() ? "." : folder, prefix);
  const std::string pattern = folder + std::string(prefix) + "XXXXXX";
  struct stat info {};
  do {  // again where another run took it for an orphan before it was locked
    file.removed.reset();
    file.aside = pattern;
    int fd = ::mkostemp(file.aside.data(), O_CLOEXEC);
    if (fd < 0) return false;
    file.removed.emplace(file.aside);
    file.lock = Lock(fd);
  } while (!file.lock.held() || (::fstat(file.lock.descriptor(), &info) == 0 && info.st_nlink == 0));
  return true;
}

bool PendingFiles::write(const std::string& path, std::string_view contents, std::string& error) {
  if (path == "-") return write_directly(STDOUT_FILENO, contents, error);
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return fd < 0 ? fail(error) : write_directly(fd, contents, error);
  }
  Pending& file = pending_.emplace_back();
  file.path = path;
  file.target = target_of(path);
  if (make_aside(file)) {
    int fd = file.lock.descriptor();
    ::fchmod(fd, exists ? info.st_mode & 07777 : mode_of_new_files());
    if (write_all(fd, contents) && ::fsync(fd) == 0 && can_close(fd)) return true;
  }
  fail(error);
  if (file.removed) ::unlink(file.aside.c_str());
  pending_.pop_back();
  return false;
}

bool PendingFiles::commit(std::string& path, std::string& error) {
  while (!pending_.empty()) {
    Pending& file = pending_.back();
    // Locked until it has its name: another run must not take it for an orphan.
    if (::rename(file.aside.c_str(), file.target.c_str()) != 0) {
      fail(error);
      path = file.path;
      return false;
    }
    pending_.pop_back();
  }
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

bool write_file(const std::string& path, std::string_view contents, std::string& error) {
  PendingFiles files;
  std::string failed;
  return files.write(path, contents, error) && files.commit(failed, error);
}

bool flush_output(std::string& error) {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
  if (errno != 0) return fail(error);
  error = "not all of it could be written";  // an earlier write failed, whose reason is not kept
  return false;
}

}  // namespace tessera

#include "support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tessera {

namespace {

bool fail(std::string& error) {
  error = std::strerror(errno);
  return false;
}

bool write_all(int fd, std::string_view contents) {
  while (!contents.empty()) {
    ssize_t n = ::write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    contents.remove_prefix(size_t(n));
  }
  return true;
}

/// The file that a path leads to, past links; the path itself where there is none yet.
std::string target_of(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : path;
}

/// What a new file may be read and written by. The system tells the mask by changing it, for the whole process, which
/// other threads may notice: it is asked for once.
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

/// Why a file is not read, or null.
const char* refusal(const struct stat& info, bool inherited) {
  if (S_ISDIR(info.st_mode)) return "it is a directory";
  if (S_ISREG(info.st_mode)) {
    return size_t(info.st_size) > max_read_bytes ? "it is larger than 256 MiB" : nullptr;
  }
  if (inherited) return nullptr;
  if (S_ISFIFO(info.st_mode)) return "it is a named pipe, not a file";
  return S_ISSOCK(info.st_mode) ? "it is a socket, not a file" : "it is a device, not a file";
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

bool write_file(const std::string& path, std::string_view contents, std::string& error) {
  if (path == "-") return write_directly(STDOUT_FILENO, contents, error);
  struct stat info {};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return fd < 0 ? fail(error) : write_directly(fd, contents, error);
  }
  std::string target = target_of(path), aside = target + ".XXXXXX";
  int fd = ::mkostemp(aside.data(), O_CLOEXEC);
  if (fd < 0) return fail(error);
  ::fchmod(fd, exists ? info.st_mode & 07777 : mode_of_new_files());
  if (!write_directly(fd, contents, error)) {
    ::unlink(aside.c_str());
    return false;
  }
  if (::rename(aside.c_str(), target.c_str()) != 0) {
    fail(error);
    ::unlink(aside.c_str());
    return false;
  }
  return true;
}

}  // namespace tessera

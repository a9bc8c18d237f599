#include "support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

bool write_directly(int fd, std::string_view contents, std::string& error) {
  bool ok = write_all(fd, contents);
  if (!ok) fail(error);
  if (fd != STDOUT_FILENO && ::close(fd) != 0 && ok) return fail(error);
  return ok;
}

}  // namespace

bool read_file(const std::string& path, std::string& contents, std::string& error) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(error);
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    error = "it is a directory";
    return false;
  }
  contents.clear();
  if (info.st_size > 0) contents.reserve(size_t(info.st_size));
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      fail(error);
      ::close(fd);
      return false;
    }
    if (n == 0) break;
    contents.append(buffer, size_t(n));
  }
  ::close(fd);
  return true;
}

bool write_file(const std::string& path, std::string_view contents, std::string& error) {
  if (path == "-") return write_directly(STDOUT_FILENO, contents, error);
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return fd < 0 ? fail(error) : write_directly(fd, contents, error);
  }
  std::string aside = path + ".XXXXXX";
  int fd = ::mkstemp(aside.data());
  if (fd < 0) return fail(error);
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd, 0666 & ~mask);
  if (!write_directly(fd, contents, error)) {
    ::unlink(aside.c_str());
    return false;
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    fail(error);
    ::unlink(aside.c_str());
    return false;
  }
  return true;
}

}  // namespace tessera

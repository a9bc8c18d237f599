#include "runtime/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/files.h"
#include "runtime/files/text.h"

namespace tessera::format {

namespace {

Error system_error() { return {std::strerror(errno)}; }

/// A descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  Result<MappedFile> file = map(path);
  return file ? std::move(file) : error("cannot read ", in_quotes(path), ": ", file.error().text);
}

Result<MappedFile> MappedFile::map(const std::string& path) {
  // Opening a pipe would wait for who writes it, and opening a device may do something.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_error();
  if (const char* why = base::why_no_file(info)) return error(why);
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return system_error();
  if (const char* why = base::why_no_file(info)) return error(why);
  MappedFile out;
  if (info.st_size == 0) return out;
  void* at = ::mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (at == MAP_FAILED) return system_error();
  out.mapping_ = static_cast<const char*>(at);
  out.mapped_size_ = size_t(info.st_size);
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_size_, other.mapped_size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapping_) ::munmap(const_cast<char*>(mapping_), mapped_size_);
}

}  // namespace tessera::format

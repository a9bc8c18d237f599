// Code is mapped from an anonymous file, which systems that keep memory from becoming executable
// allow: constants to be read, code to be read and executed, nothing to be written. The dynamic
// loader has no part in it; there is nothing that it could do.

#include "runtime/cpu/kernel_code.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/format/kernel_image.h"

namespace tessera::runtime {

namespace {

/// Address space that is given back at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (memory_) ::munmap(memory_, bytes_);
  }

  /// The file's bytes to be read, those from `code_at` on, a multiple of pages, to be executed, too.
  bool map(int fd, size_t bytes, size_t code_at) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<char*>(memory);
    bytes_ = bytes;
    if (bytes == code_at) return true;
    return ::mmap(memory_ + code_at, bytes - code_at, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
                  off_t(code_at)) != MAP_FAILED;
  }
  char* memory() const { return memory_; }

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

int create_file() {
  // Systems may make anonymous files non-executable unless asked; older ones do not know the flag.
  constexpr unsigned mfd_exec = 0x10;
  int fd = ::memfd_create("tessera-kernels", MFD_CLOEXEC | mfd_exec);
  return fd >= 0 ? fd : ::memfd_create("tessera-kernels", MFD_CLOEXEC);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

class KernelCode : public Code {
 public:
  /// `image` is over `bytes`.
  Status load(const format::KernelImage& image, std::string_view bytes) {
    symbols_.symbols = image.symbols;
    code_at_ = image.code_at();
    size_t end = code_at_ + image.code.size();
    Descriptor file{create_file()};
    // What follows the code stays out of executable pages.
    if (file.fd < 0 || !write_all(file.fd, bytes.substr(0, end))) {
      return fail(TSR_EOOM, "cannot make a file in memory for CPU code: ", std::strerror(errno));
    }
    if (!mapping_.map(file.fd, end, code_at_)) {
      return fail(TSR_EOOM, "cannot map CPU code: ", std::strerror(errno));
    }
    return ok();
  }

  Status find(const format::KernelMeta& meta, void** kernel) override {
    const format::ImageSymbol* symbol = symbols_.find(meta.name);
    if (!symbol) return fail(TSR_EIMAGE, "the bundle's CPU code has no kernel ", format::in_quotes(meta.name));
    *kernel = mapping_.memory() + code_at_ + symbol->offset;
    return ok();
  }

 private:
  format::KernelImage symbols_;  ///< without the bytes
  size_t code_at_ = 0;
  Mapping mapping_;
};

}  // namespace

Status load_kernel_code(std::string_view bytes, std::unique_ptr<Code>& code) {
  auto image = format::read_kernel_image(bytes);
  if (!image) return fail(TSR_EIMAGE, "the bundle's CPU code cannot be loaded: ", image.error().text);
  auto made = std::make_unique<KernelCode>();
  if (Status status = made->load(*image, bytes); status.failed()) return status;
  code = std::move(made);
  return ok();
}

}  // namespace tessera::runtime

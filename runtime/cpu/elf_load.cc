// An object is loaded from an anonymous file by its name under /proc/self/fd. The descriptor stays
// open as long as the object: the dynamic loader recognises objects by name, and a reused number
// would give the earlier object again.

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/cpu/elf_code.h"

namespace tessera::runtime {

namespace {

class ElfCode : public Code {
 public:
  ElfCode(int fd, void* handle) : fd_(fd), handle_(handle) {}
  ElfCode(const ElfCode&) = delete;
  ElfCode& operator=(const ElfCode&) = delete;
  ~ElfCode() override {
    ::dlclose(handle_);
    ::close(fd_);
  }

  Status find(const format::KernelMeta& meta, void** kernel) override {
    *kernel = ::dlsym(handle_, meta.name.c_str());
    if (*kernel) return ok();
    return fail(TSR_EIMAGE, "the bundle's CPU code has no kernel ", format::in_quotes(meta.name));
  }

 private:
  int fd_;
  void* handle_;
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

}  // namespace

Status load_elf(std::string_view image, std::unique_ptr<Code>& code) {
  if (Status status = check_elf(image); status.failed()) return status;
  int fd = create_file();
  if (fd < 0 || !write_all(fd, image)) {
    int reason = errno;
    if (fd >= 0) ::close(fd);
    return fail(TSR_EOOM, "cannot make a file in memory for CPU code: ", std::strerror(reason));
  }
  void* handle = ::dlopen(format::cat("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = ::dlerror();
    ::close(fd);
    return fail(TSR_EIMAGE, "the bundle's CPU code cannot be loaded: ", why ? why : "unknown");
  }
  code = std::make_unique<ElfCode>(fd, handle);
  return ok();
}

}  // namespace tessera::runtime

// Code is copied to memory that then loses the right to be written: constants may be read, code be read
// and executed. There is no file, which a limit on their size could end the process for, and the dynamic
// loader has no part in it; there is nothing that it could do.

#include "runtime/cpu/kernel_code.h"

#include <sys/mman.h>

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

  /// A copy of the bytes to be read, and from `code_at` on, a multiple of pages, to be executed, too.
  bool map(std::string_view bytes, size_t code_at) {
    void* memory =
        ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<char*>(memory);
    bytes_ = bytes.size();
    std::memcpy(memory_, bytes.data(), bytes.size());
    return ::mprotect(memory_, code_at, PROT_READ) == 0 &&
           (bytes.size() == code_at ||
            ::mprotect(memory_ + code_at, bytes.size() - code_at, PROT_READ | PROT_EXEC) == 0);
  }
  char* memory() const { return memory_; }

 private:
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

class KernelCode : public Code {
 public:
  /// `image` is over `bytes`.
  Status load(const format::KernelImage& image, std::string_view bytes) {
    symbols_.symbols = image.symbols;
    code_at_ = image.code_at();
    size_t end = code_at_ + image.code.size();
    // What follows the code stays out of executable pages.
    if (mapping_.map(bytes.substr(0, end), code_at_)) return ok();
    return fail(TSR_EOOM, "cannot map CPU code: ", std::strerror(errno));
  }

  Status find(const format::KernelMeta& meta, void** kernel) override {
    const format::ImageSymbol* symbol = symbols_.find(meta.code_name());
    if (!symbol) return fail(TSR_EIMAGE, "the bundle's CPU code has no kernel ", format::in_quotes(meta.code_name()));
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

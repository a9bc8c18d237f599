#pragma once
// What the core asks of a kind of device. The interpreter and the streams know only this.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/status.h"

namespace tessera::runtime {

/// Alignment of all memory that the runtime hands out or gives to kernels.
inline constexpr size_t memory_alignment = 64;

/// Loaded code of one target.
class Code {
 public:
  virtual ~Code() = default;
  /// The kernel of that name, or null.
  virtual void* find(const std::string& name) const = 0;
};

struct Launch {
  void* kernel = nullptr;
  void* const* buffers = nullptr;      ///< parameters, then results
  const int64_t* dims = nullptr;       ///< the kernel's free dims
  int64_t programs = 0;                ///< product of the grid, at least 1
  size_t scratch_bytes = 0;            ///< for each concurrent call
  std::atomic<float>* cost = nullptr;  ///< nanoseconds per program, as the device last saw it
};

class Device {
 public:
  virtual ~Device() = default;

  /// Whether this machine can run code of that target; if not, `why` says what is missing.
  virtual bool can_run(std::string_view target, std::string& why) const = 0;
  /// Of two targets that can run, true when the first is the better one.
  virtual bool is_better(std::string_view a, std::string_view b) const = 0;
  virtual Status load(std::string_view image, std::unique_ptr<Code>& code) = 0;

  virtual Status allocate(size_t bytes, void** memory) = 0;
  virtual void free(void* memory) = 0;

  // These run on the calling thread and return when the work is done.
  virtual Status launch(const Launch& launch) = 0;
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  virtual Status fill(void* to, uint64_t pattern, size_t width, size_t bytes) = 0;

  virtual void set_threads(int threads) = 0;
};

/// Memory of a device that frees itself.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory() {
    if (data_) device_->free(data_);
  }

  /// Replaces what was held.
  Status allocate(Device& device, size_t bytes) {
    *this = Memory();
    device_ = &device;
    size_ = bytes;
    return device.allocate(bytes, &data_);
  }
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tessera::runtime

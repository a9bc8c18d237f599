#pragma once
// Device memory of the fake driver: an address range that the host cannot touch, and its contents
// elsewhere.

#include <sys/mman.h>

#include <cstdint>
#include <map>

namespace tessera::test {

class FakeMemory {
 public:
  FakeMemory() {
    addresses_ = reserve(PROT_NONE);
    contents_ = reserve(PROT_READ | PROT_WRITE);
  }

  /// First fit; 0 when nothing fits into `limit`.
  uint64_t allocate(size_t bytes, size_t limit) {
    size_t rounded = (bytes + 511) / 512 * 512;
    size_t at = 0;
    for (auto [offset, size] : live_) {
      if (offset - at >= rounded) break;
      at = offset + size;
    }
    if (rounded == 0 || at + rounded > limit) return 0;
    live_[at] = rounded;
    return uint64_t(addresses_) + at;
  }

  bool free(uint64_t address) { return live_.erase(address - uint64_t(addresses_)) == 1; }

  bool is_device(uint64_t address) const { return address - uint64_t(addresses_) < capacity; }

  /// The bytes at an address of device or host; null outside every live allocation.
  char* translate(uint64_t address, size_t bytes) const {
    if (!is_device(address)) return reinterpret_cast<char*>(address);
    size_t offset = address - uint64_t(addresses_);
    auto after = live_.upper_bound(offset);
    if (after == live_.begin()) return nullptr;
    auto [begin, size] = *--after;
    return offset + bytes <= begin + size ? contents_ + offset : nullptr;
  }

  size_t used() const {
    size_t out = 0;
    for (auto [offset, size] : live_) out += size;
    return out;
  }
  size_t count() const { return live_.size(); }

 private:
  static constexpr size_t capacity = size_t(1) << 32;

  static char* reserve(int protection) {
    void* at =
        ::mmap(nullptr, capacity, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return static_cast<char*>(at);
  }

  char* addresses_;
  char* contents_;
  std::map<size_t, size_t> live_;
};

}  // namespace tessera::test

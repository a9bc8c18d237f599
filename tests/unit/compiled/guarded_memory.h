#pragma once
// Memory between two pages that may not be touched.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace tessera::test {

/// Bytes that end, up to a multiple of 64, where the next page faults. All hold a poison, which as
/// a float of any width is large or NaN; those behind the last must keep it.
class GuardedMemory {
 public:
  static constexpr uint8_t poison = 0x7f;

  explicit GuardedMemory(size_t bytes) : bytes_(bytes) {
    constexpr size_t page = 4096, line = 64;
    size_t lines = (bytes + line - 1) / line * line, pages = (lines + page - 1) / page * page;
    mapped_ = pages + 2 * page;
    base_ = static_cast<uint8_t*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
    if (pages && mprotect(base_ + page, pages, PROT_READ | PROT_WRITE)) {
      throw std::runtime_error("mprotect");
    }
    begin_ = base_ + page;
    end_ = begin_ + pages;
    data_ = end_ - lines;
    std::fill(begin_, end_, poison);
  }
  ~GuardedMemory() { munmap(base_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  uint8_t* data() { return data_; }
  /// True while nothing was written in front of the data or behind it.
  bool is_intact() const {
    auto is_poison = [](uint8_t byte) { return byte == poison; };
    return std::all_of(begin_, data_, is_poison) && std::all_of(data_ + bytes_, end_, is_poison);
  }

 private:
  size_t bytes_, mapped_ = 0;
  uint8_t* base_ = nullptr;
  uint8_t* begin_ = nullptr;
  uint8_t* end_ = nullptr;
  uint8_t* data_ = nullptr;
};

}  // namespace tessera::test

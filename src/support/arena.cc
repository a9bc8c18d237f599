#include "support/arena.h"

#include <algorithm>
#include <cstring>

namespace tessera {

void* Arena::allocate(size_t bytes, size_t alignment) {
  auto aligned = [&] {
    uintptr_t address = reinterpret_cast<uintptr_t>(next_);
    return (address + alignment - 1) / alignment * alignment;
  };
  if (next_ == nullptr || aligned() + bytes > reinterpret_cast<uintptr_t>(end_)) {
    // Many arenas are small (one a declaration), so blocks start small and double.
    constexpr size_t smallest = 256;
    constexpr size_t doublings = 8;
    size_t usual = smallest << std::min(blocks_.size(), doublings);
    size_t size = std::max<size_t>(bytes + alignment, usual);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next_ = blocks_.back().get();
    end_ = next_ + size;
  }
  std::byte* result = reinterpret_cast<std::byte*>(aligned());
  next_ = result + bytes;
  used_ += bytes;
  return result;
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  char* to = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(to, text.data(), text.size());
  return {to, text.size()};
}

}  // namespace tessera

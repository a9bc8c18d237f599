#include "runtime/core/guarded_memory.h"

#include <algorithm>
#include <string>

namespace tessera::runtime {

namespace {

constexpr size_t before = memory_alignment;
constexpr char canary = '\x9d';

size_t rounded(size_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

}  // namespace

Status GuardedMemory::allocate_on(void* stream, size_t bytes, void** memory) {
  *memory = nullptr;
  if (bytes > SIZE_MAX / 4) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
  size_t end = rounded(bytes) + behind_;
  void* base = nullptr;
  if (Status status = inner_.allocate_on(stream, before + end, &base); status.failed()) return status;
  char* data = static_cast<char*>(base) + before;
  std::string pattern(std::max(before, end - bytes), canary);
  Status status = copy_(base, pattern.data(), before);
  if (!status.failed() && end > bytes) status = copy_(data + bytes, pattern.data(), end - bytes);
  if (status.failed()) {
    inner_.free_on(stream, base);
    return status;
  }
  std::lock_guard lock(mutex_);
  allocations_.emplace(data, bytes);
  *memory = data;
  return ok();
}

void GuardedMemory::free_on(void* stream, void* memory) {
  if (!memory) return;
  char* data = static_cast<char*>(memory);
  {
    std::lock_guard lock(mutex_);
    allocations_.erase(data);
  }
  inner_.free_on(stream, data - before);
}

Status GuardedMemory::check(std::optional<Damage>& damage) {
  std::lock_guard lock(mutex_);
  for (const auto& [data, bytes] : allocations_) {
    Status status = check(data, bytes, damage);
    if (status.failed() || damage) return status;
  }
  return ok();
}

Status GuardedMemory::check(char* data, size_t bytes, std::optional<Damage>& damage) const {
  auto look = [&](size_t from, size_t count, int64_t at) {
    std::string content(count, '\0');
    Status status = copy_(content.data(), data - before + from, count);
    size_t first = status.failed() ? content.npos : content.find_first_not_of(canary);
    if (first != content.npos) damage = Damage{data, bytes, at + int64_t(first)};
    return status;
  };
  Status status = look(0, before, -int64_t(before));
  size_t behind = rounded(bytes) + behind_ - bytes;
  if (status.failed() || damage || behind == 0) return status;
  return look(before + bytes, behind, int64_t(bytes));
}

}  // namespace tessera::runtime

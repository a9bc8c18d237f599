#include "runtime/cpu/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/core/memory.h"

namespace tessera::runtime {

namespace {

constexpr size_t huge_page = size_t(2) << 20;

}  // namespace

void* allocate_host(size_t bytes) {
  bool large = bytes >= huge_page;
  size_t alignment = large ? huge_page : memory_alignment;
  size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory && large) madvise(memory, rounded, MADV_HUGEPAGE);  // advice: a kernel without them says no
  return memory;
}

}  // namespace tessera::runtime

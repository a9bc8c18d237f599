#pragma once
// Structs of the C interface that begin with their size, and can grow at their end.

#include <algorithm>
#include <cstring>

#include "runtime/core/status.h"

namespace tessera::runtime {

/// The name of such a struct, and its bytes in version 2.0, which do not change when it grows.
template <typename Struct>
struct SizedFacts;
#define SIZED_STRUCT(type, bytes)                       \
  template <>                                           \
  struct SizedFacts<type> {                             \
    static constexpr const char* name = #type;          \
    static constexpr size_t least = bytes;              \
    static_assert(least <= sizeof(type));               \
  }
SIZED_STRUCT(tsr_context_options_t, 48);
SIZED_STRUCT(tsr_allocator_t, 32);
SIZED_STRUCT(tsr_device_info_t, 48);
SIZED_STRUCT(tsr_memory_info_t, 32);
SIZED_STRUCT(tsr_kernel_info_t, 72);
SIZED_STRUCT(tsr_import_options_t, 16);
SIZED_STRUCT(tsr_export_options_t, 32);
SIZED_STRUCT(tsr_module_options_t, 16);
SIZED_STRUCT(tsr_stream_options_t, 24);
SIZED_STRUCT(tsr_call_options_t, 24);
SIZED_STRUCT(tsr_limits_t, 32);
SIZED_STRUCT(tsr_tensor_info_t, 56);
#undef SIZED_STRUCT

/// No struct is larger: what has such a size was never given one.
inline constexpr size_t largest_struct = 4096;

template <typename Struct>
Status check_size(size_t size) {
  using Facts = SizedFacts<Struct>;
  if (size >= Facts::least && size <= largest_struct) return ok();
  return invalid(Facts::name, ": its size is ", size, ", which no version of it has; set it to sizeof(", Facts::name,
                 "), here ", sizeof(Struct));
}

/// Of a field that a later version may give a meaning.
template <typename Struct>
Status check_reserved(uint32_t reserved) {
  return reserved == 0 ? ok() : invalid(SizedFacts<Struct>::name, ": its reserved field is ", reserved, ", not 0");
}

/// Reads a struct of the program as far as it goes; the rest is 0, and all of it where there is none.
template <typename Struct>
Status read_sized(const Struct* given, Struct& taken) {
  taken = Struct{};
  taken.size = sizeof(Struct);
  if (!given) return ok();
  size_t size = given->size;
  if (Status status = check_size<Struct>(size); status.failed()) return status;
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return invalid(SizedFacts<Struct>::name, ": byte ", i, " of ", size, " is set, and this library, of ABI ",
                   TSR_ABI_MAJOR, ".", TSR_ABI_MINOR, ", knows ", sizeof(Struct), " of them");
  }
  std::memcpy(static_cast<void*>(&taken), given, std::min(size, sizeof(Struct)));
  return ok();
}

/// Writes to a struct of the program as far as that goes; what only a later version has becomes 0.
template <typename Struct>
Status write_sized(Struct* place, const Struct& value) {
  if (!place) return invalid("the place for ", SizedFacts<Struct>::name, " is NULL");
  size_t size = place->size;
  if (Status status = check_size<Struct>(size); status.failed()) return status;
  auto* bytes = reinterpret_cast<char*>(place);
  std::memset(bytes, 0, size);
  std::memcpy(bytes, static_cast<const void*>(&value), std::min(size, sizeof(Struct)));
  place->size = size;
  return ok();
}

}  // namespace tessera::runtime

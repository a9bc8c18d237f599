#pragma once
// Element types as the formats and the runtime know them. The enumerators' values are stored in
// plans: append, never reorder.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::format {

enum class Dtype : uint8_t {
#define DTYPE(enumerator, name, bits, safetensors, npy, dlpack) enumerator,
#include "runtime/files/dtypes.def"
#undef DTYPE
};

/// One row of dtypes.def.
struct DtypeInfo {
  std::string_view name;
  int bits;
  std::string_view safetensors;
  std::string_view npy;
  uint8_t dlpack_code;
};

inline constexpr DtypeInfo dtype_table[] = {
#define DTYPE(enumerator, name, bits, safetensors, npy, dlpack) \
  {name, bits, safetensors, npy, dlpack},
#include "runtime/files/dtypes.def"
#undef DTYPE
};
inline constexpr int dtype_count = int(std::size(dtype_table));

inline const DtypeInfo& dtype_info(Dtype dtype) {
  return dtype_table[int(dtype)];
}
inline std::string_view dtype_name(Dtype dtype) {
  return dtype_info(dtype).name;
}
inline int dtype_bits(Dtype dtype) {
  return dtype_info(dtype).bits;
}

/// The dtype of Tessera's name for it.
std::optional<Dtype> find_dtype(std::string_view name);

/// Bytes of `count` elements, i4 rounded up to whole bytes; nothing on overflow of 63 bits or a
/// negative count.
std::optional<int64_t> bytes_of(Dtype dtype, int64_t count);

/// Product of the extents; nothing on overflow or a negative extent. A zero extent gives zero.
std::optional<int64_t> element_count(std::span<const int64_t> shape);

/// "[2, 3]".
std::string shape_text(std::span<const int64_t> shape);

}  // namespace tessera::format

#pragma once
// Element types and the exact conversions between their bit patterns and numbers.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class DType : uint8_t {
#define DTYPE(Name, bits, cls, text) Name,
#include "ir/numbers/dtypes.def"
#undef DTYPE
};

enum class DTypeClass : uint8_t { Float, Signed, Unsigned, Bool };

struct DTypeInfo {
  std::string_view text;
  uint8_t bits;  ///< bits of one stored element; bool is stored in a byte
  DTypeClass cls;
};

inline constexpr DTypeInfo dtype_table[] = {
#define DTYPE(Name, bits, cls, text) {text, bits, DTypeClass::cls},
#include "ir/numbers/dtypes.def"
#undef DTYPE
};
constexpr const DTypeInfo& dtype_info(DType dtype) { return dtype_table[size_t(dtype)]; }
inline std::string_view to_string(DType dtype) { return dtype_info(dtype).text; }
constexpr bool is_float(DType dtype) { return dtype_info(dtype).cls == DTypeClass::Float; }
constexpr bool is_integer(DType dtype) {
  DTypeClass cls = dtype_info(dtype).cls;
  return cls == DTypeClass::Signed || cls == DTypeClass::Unsigned;
}
constexpr bool is_signed(DType dtype) { return dtype_info(dtype).cls == DTypeClass::Signed; }
/// Whether machines compute in that float itself; others are widened.
constexpr bool is_native_float(DType dtype) { return dtype == DType::F32 || dtype == DType::F64; }
/// Bytes of one stored element; i4 counts as one byte where it is addressed singly.
constexpr unsigned byte_size(DType dtype) { return (dtype_info(dtype).bits + 7) / 8; }
/// Whether the bits of an element of one dtype are those of one of the other; not of bool and i4, which leave
/// bits of a byte unused.
constexpr bool has_same_bits(DType a, DType b) {
  auto is_whole = [](DType dtype) { return dtype != DType::Bool && dtype != DType::I4; };
  return is_whole(a) && is_whole(b) && byte_size(a) == byte_size(b);
}

/// The dtype of that IR spelling (f32, bf16, …); the language's aliases are the front end's matter.
std::optional<DType> parse_dtype(std::string_view text);

/// Decodes one element, held in the low bits of `bits`, to a double. Exact for every float dtype.
double decode_float(DType dtype, uint64_t bits);
/// Rounds to nearest, ties to even; overflow gives infinity (f8e4m3, which has none: NaN), NaN stays
/// NaN (quiet). A double is rounded once, never through f32. With `saturate`, overflow and infinities
/// give the largest finite value.
uint64_t encode_float(DType dtype, double value, bool saturate = false);

/// The integers from the least to the greatest number of a dtype: of a float the finite ones that 64 bits hold, of bool
/// 0 and 1.
struct IntegerRange {
  int64_t least;
  uint64_t greatest;
};
IntegerRange integer_range(DType dtype);

inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

}  // namespace tessera

#pragma once
// Elements given as attributes, as the bytes that a buffer holds.

#include <string>
#include <utility>
#include <vector>

#include "ir/core/attribute.h"

namespace tessera::codegen {

/// The stored bits of one element, in the low bits. A number is rounded to the dtype.
uint64_t element_bits(DType dtype, Attr value);
/// Elements one after the other, little-endian; i4 two to a byte, low half first.
std::string constant_bytes(DType dtype, const std::vector<Attr>& values);
/// The pattern that fills a buffer with one element, and its width in bytes.
std::pair<uint64_t, uint8_t> fill_pattern(DType dtype, Attr value);

}  // namespace tessera::codegen

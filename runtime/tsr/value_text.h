#pragma once
// The numbers of a small tensor as text.

#include <span>
#include <string>

#include "runtime/files/safetensors.h"

namespace tessera::tool {

/// Whether a line has room for so many elements.
bool is_short(std::span<const int64_t> shape);

/// "0.25", "[1, 2, 3]", "[[true, false]]": numbers of the dtype in the fewest digits that identify them. Empty
/// where they are not short, and for dtypes whose elements share bytes.
std::string value_text(const format::TensorView& tensor);

}  // namespace tessera::tool

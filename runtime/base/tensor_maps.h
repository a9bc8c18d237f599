#pragma once
// What a GPU's copy engine takes.

#include <string_view>

namespace tessera::base {

/// Whether tensor maps have elements of that dtype: whole numbers of bytes, none of which has a meaning of its own.
constexpr bool has_tensor_map_type(std::string_view dtype) { return dtype != "i4" && dtype != "bool"; }

}  // namespace tessera::base

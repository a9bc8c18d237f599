#pragma once
// The names of a context's checks (TSR_CHECK_…), as TSR_DEBUG and `tsr run --debug` take them.

#include <cstdint>
#include <string_view>

#include "runtime/files/result.h"

namespace tessera::format {

/// A sum of TSR_CHECK_…: names separated by commas; "all" and "1" are all of them, "0" is none.
Result<uint32_t> parse_checks(std::string_view text);

}  // namespace tessera::format

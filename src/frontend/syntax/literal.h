#pragma once
// The values of literals.

#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace tessera {

/// Value of an Integer token (decimal, 0x, 0b, with `_`); nothing when it exceeds 64 bits.
std::optional<uint64_t> parse_integer(std::string_view text);

/// Value of a Float token, rounded to nearest; nothing when it overflows.
std::optional<double> parse_float(std::string_view text);

/// Appends the value of a String token with its quotes. Escapes: \n \t \r \0 \\ \' \" \xHH (up to
/// 7F), \uHHHH, \UHHHHHHHH, and a line end, which vanishes. Others are reported at their place and
/// kept as written; without `diagnostics` they are kept silently. False when one was wrong.
bool decode_string(std::string_view text, Loc loc, std::string& value,
                   DiagnosticEngine* diagnostics);

}  // namespace tessera

#pragma once
// UTF-8: validation and encoding.

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// Length of the valid sequence at the start of `text` (1 to 4), or 0 when there is none. Overlong
/// forms, surrogates and values beyond U+10FFFF are invalid (RFC 3629).
size_t utf8_sequence_length(std::string_view text);

/// Offset of the first byte that belongs to no valid sequence; npos when all do.
size_t find_invalid_utf8(std::string_view text);

/// How a message names a character that looks like a space and is none ("U+00A0"); empty for any other.
std::string_view blank_name(std::string_view character);

/// Appends a code point, which must be a valid scalar value.
void append_utf8(std::string& out, uint32_t code_point);

/// Neither a surrogate nor beyond U+10FFFF.
bool is_unicode_scalar(uint32_t code_point);

}  // namespace tessera

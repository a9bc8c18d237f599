#pragma once
// Reads JSON from untrusted sources: a value that is absent or of another type reads as null, an
// empty string or nothing, never as an error.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::lsp {

using Json = nlohmann::json;

/// The member of an object; a null value where there is none.
const Json& member(const Json& object, std::string_view key);
/// The member as text; empty where it is none.
std::string text_at(const Json& object, std::string_view key);
/// The member as an integer that fits.
std::optional<int64_t> integer_at(const Json& object, std::string_view key);
/// The member is `true`.
bool is_set(const Json& object, std::string_view key);
/// The value at the end of a path of members, "textDocument.hover.contentFormat".
const Json& at_path(const Json& object, std::string_view path);
/// Whether an array has this text.
bool has_text(const Json& array, std::string_view text);
/// As one line; bytes that are no UTF-8 (of a file on disk) are replaced.
std::string to_line(const Json& value);

}  // namespace tessera::lsp

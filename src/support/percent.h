#pragma once
// Encodes names of files for URIs (RFC 3986) and for other texts that allow few characters.

#include <string>
#include <string_view>

namespace tessera {

/// Every byte but ASCII letters, digits and `/ . _ - ~` becomes '%' and two digits.
std::string percent_encoded(std::string_view path);

}  // namespace tessera

#pragma once
// Names of files as they stand in URIs (RFC 3986) and in other texts that take few characters.

#include <string>
#include <string_view>

namespace tessera {

/// Every byte but ASCII letters, digits and `/ . _ - ~` becomes '%' and two digits.
std::string percent_encoded(std::string_view path);

}  // namespace tessera

#pragma once
// Markdown for clients that cannot show it.

#include <string>
#include <string_view>

namespace tessera::lsp {

/// The text without fences, backticks, emphasis and the addresses of links; code is left as it is.
std::string plain_text(std::string_view markdown);

}  // namespace tessera::lsp

#pragma once
// Edits of lines as diff -u shows them.

#include <string>
#include <string_view>
#include <vector>

#include "frontend/format/format.h"

namespace tessera::tools {

/// The edits in hunks with three lines around each; empty without edits. Control characters are
/// escaped.
std::string unified_diff(std::string_view name, std::string_view before,
                         const std::vector<formatter::LineEdit>& edits);

}  // namespace tessera::tools

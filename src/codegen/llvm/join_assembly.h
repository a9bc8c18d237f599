#pragma once
// One text of assembly from those of several modules.

#include <string>
#include <string_view>

namespace tessera::codegen {

/// Appends the assembly of another module. Both number their private labels and their files from the same start, so
/// those of `more` get other names and the numbers that follow.
void append_assembly(std::string& text, std::string_view more);

}  // namespace tessera::codegen

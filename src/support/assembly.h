#pragma once
// Splits assembly and PTX by function; each line has the source place of the `.loc` before it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct AssemblyLine {
  std::string_view text;
  uint32_t file = 0;  ///< of Assembly::files, from 1; 0 where the line is for no place
  uint32_t line = 0;
  uint32_t column = 0;
};

struct AssemblyFunction {
  std::string_view name;
  std::string_view same_as;  ///< the function whose code it shares; it has no lines then
  std::vector<AssemblyLine> lines;
};

struct Assembly {
  std::vector<std::string> files;
  std::vector<AssemblyFunction> functions;
};

/// The functions of a text in its order, then those that share another's code. Directives for debuggers are left
/// out, and what stands outside of functions; a function's constants come with it. Views are of `text`.
Assembly split_assembly(std::string_view text);

}  // namespace tessera

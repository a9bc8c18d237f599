#pragma once
// Where the module of an import is, and which names a module has for those who import it: the rules of the evaluator
// and of the language server.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::names {

/// Where the module of a dotted name is.
struct ModulePlace {
  enum class Kind : uint8_t {
    Language,  ///< `tessera`, `tessera.ops` and `tessera.tile`: what needs no import
    Library,   ///< a file of the standard library
    File,      ///< a file of the user
  };
  Kind kind = Kind::File;
  /// Of Library: the path below its folder, none where there can be no such file. Of File: where it may be, in the
  /// order in which it is looked for.
  std::vector<std::string> paths = {};
};

/// The place of the module that a file imports. Files of users are beside the file or in `folders`.
ModulePlace place_of_module(std::string_view dotted, std::string_view importer, bool is_in_library,
                            std::span<const std::string> folders);

/// The names that other files can import from a text, in the order of their declarations.
std::vector<std::string> exported_names(std::string_view text);

}  // namespace tessera::names

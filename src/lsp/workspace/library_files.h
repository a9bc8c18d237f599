#pragma once
// Writes the standard library, which is embedded, to files, so that an editor can follow a name
// into it.

#include <string>
#include <string_view>

namespace tessera::lsp {

/// The user's folder for files of ours, with a '/' at its end; empty where there is none.
const std::string& cache_folder();

/// The prefix of paths of the library: "stdlib/nn.tsr".
inline constexpr std::string_view library_folder = "stdlib/";

/// Writes the library's file (once, with all others, into the user's cache) and gives its path there;
/// the library path itself where nothing can be written.
std::string write_library_file(const std::string& library_path);
/// The library path of a file in the cache; empty for any other.
std::string library_path_of(std::string_view path);

}  // namespace tessera::lsp

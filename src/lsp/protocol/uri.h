#pragma once
// file: URIs (RFC 8089) and paths.

#include <string>
#include <string_view>

namespace tessera::lsp {

/// The path of a file: URI, percent-decoded and normalised. A URI of another scheme (untitled:) is
/// its own path, so that such documents have a name, too.
std::string path_of(std::string_view uri);
/// The URI of a path; of a path made by path_of the URI that clients write.
std::string uri_of(std::string_view path);

}  // namespace tessera::lsp

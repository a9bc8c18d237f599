#pragma once
// The handshake at the start: the abilities of the client, and those of the server.

#include <string>
#include <vector>

#include "lsp/features/context.h"

namespace tessera::lsp {

/// The abilities of the client, from the parameters of `initialize`.
ClientAbilities read_abilities(const Json& params);
/// UTF-8 if the client offers it, else UTF-16, which every client speaks.
Encoding choose_encoding(const Json& params);
/// The result of `initialize`.
Json server_capabilities(Encoding encoding, const ClientAbilities& client, const std::string& version);
/// Settings, of initializationOptions or a change of the configuration: includePaths, defines.
void read_settings(const Json& settings, WorkspaceOptions& options);
/// Describes the settings that are of a wrong kind, which are ignored.
std::vector<std::string> wrong_settings(const Json& settings);
/// The files that the client is asked to watch.
Json watched_files();

}  // namespace tessera::lsp

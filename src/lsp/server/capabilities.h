#pragma once
// What is agreed at the start: what the client can show, what the server offers.

#include <string>
#include <vector>

#include "lsp/features/context.h"

namespace tessera::lsp {

/// What the parameters of `initialize` say that the client can do.
ClientAbilities read_abilities(const Json& params);
/// UTF-8 if the client offers it, else UTF-16, which every client speaks.
Encoding choose_encoding(const Json& params);
/// The result of `initialize`.
Json server_capabilities(Encoding encoding, const ClientAbilities& client, const std::string& version);
/// Settings, of initializationOptions or a change of the configuration: includePaths, defines.
void read_settings(const Json& settings, WorkspaceOptions& options);
/// What of the settings is of another kind than it has to be, and is left out, in words.
std::vector<std::string> wrong_settings(const Json& settings);
/// What the client is asked to watch.
Json watched_files();

}  // namespace tessera::lsp

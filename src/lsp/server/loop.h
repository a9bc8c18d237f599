#pragma once
// The server on a pair of pipes. One thread reads messages while the other works on them, so that a
// request can be cancelled, and background work abandoned for a newer edit, while they run.

#include <string>

#include "lsp/server/worker.h"

namespace tessera::lsp {

/// Serves a client until it says `exit` or its end of a pipe is closed. The result is the exit code of
/// the process.
int serve(int in, int out, const std::string& version, const WorkingOn& working_on);

/// Reads the messages of a file (supervisor.h writes such) as a server, prints the answers, a line for each,
/// and does all work that there is after each message. The result is an exit code.
int replay(const std::string& path, const std::string& version, const WorkingOn& working_on);

}  // namespace tessera::lsp

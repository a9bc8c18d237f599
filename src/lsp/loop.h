#pragma once
// The server on a pair of pipes: one thread reads messages while the other works on them, so that a
// request can be cancelled, and background work given up for a newer edit, while they run.

#include <string>

namespace tessera::lsp {

/// Serves a client until it says `exit` or its end of a pipe is closed. The result is the exit code of
/// the process.
int serve(int in, int out, const std::string& version);

}  // namespace tessera::lsp

#pragma once
// A server that outlives its mistakes. The server proper works in a process of its own (worker.h); this one
// stands between it and the client, passes messages on and remembers what the client said (session.h). When the
// worker ends unasked, the client is told, requests under way are answered by an error, and another worker takes
// over with the same documents. The one that the last worker was busy with is left out until its text changes, as
// it would end the next one, too. After too many ends within a minute no more workers are started, and every
// request is answered by an error.
//
// A worker that is busy with one document for too long, or asks for too much memory, is ended like one that failed. One
// that does not end when the client asks for that, or is gone, has a little time and is then ended, whatever it is at.

#include <chrono>
#include <cstddef>

#include "lsp/server/worker.h"

namespace tessera::lsp {

struct WorkerLimits {
  std::chrono::milliseconds busy = std::chrono::seconds(120);  ///< with one document
  size_t memory = size_t(4) << 30;                             ///< bytes
  std::chrono::milliseconds leave = std::chrono::seconds(2);   ///< to end by itself
};

/// Serves a client until it says `exit` or its end of a pipe is closed. The result is the exit code of the process.
int supervise(int in, int out, const Serve& serve, const WorkerLimits& limits = {});

}  // namespace tessera::lsp

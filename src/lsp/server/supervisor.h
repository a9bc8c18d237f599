#pragma once
// A server that survives its crashes. The worker (worker.h), a process of its own, does the work.
// The supervisor stands between it and the client, passes messages on and remembers the state of
// the session (session.h). When the worker ends unexpectedly, the supervisor notifies the client,
// answers requests in flight by an error, and starts another worker with the same documents. It
// leaves out the document that the last worker was busy with until its text changes, as it would
// crash the next one, too. After too many crashes within a minute it starts no more workers, and
// answers every request by an error.
//
// The supervisor kills a worker that is busy with one document for too long, or uses too much
// memory, and treats it like one that crashed. When the client asks for the end, or is gone, a
// worker has a short time to end and is then killed.

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

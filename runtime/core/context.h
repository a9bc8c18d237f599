#pragma once
// A context: one device, and all that was made on it.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/core/arena_pool.h"
#include "runtime/core/device.h"
#include "runtime/core/module.h"
#include "runtime/core/stream.h"

struct tsr_context {
  /// Waits for the streams before anything that their work uses goes.
  ~tsr_context();

  std::unique_ptr<tessera::runtime::Device> device;
  tessera::runtime::ArenaPool arenas;
  std::mutex mutex;  ///< guards the tables below
  std::map<void*, tessera::runtime::Memory> memory;
  std::map<tsr_module*, std::unique_ptr<tsr_module>> modules;
  std::map<tsr_stream*, std::unique_ptr<tsr_stream>> streams;
  std::map<tsr_event*, std::unique_ptr<tsr_event>> events;

  /// Runs work on the stream, or at once when it is null.
  tessera::runtime::Status enqueue(tsr_stream* stream, tessera::runtime::Work work);
};

namespace tessera::runtime {

/// Threads asked for by TSR_THREADS, else the processors that this process may use.
int default_threads();

}  // namespace tessera::runtime

#pragma once
// A context: one device, and all that was made on it.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/core/debug_device.h"
#include "runtime/core/module.h"
#include "runtime/core/stream.h"
#include "runtime/core/trace.h"

struct tsr_context {
  /// Waits for the streams before anything that their work uses goes.
  ~tsr_context();

  tessera::runtime::MemoryBudget budget;  ///< of what comes from the device's memory
  tsr_limits_t limits{};
  std::unique_ptr<tessera::runtime::Device> device;
  tessera::runtime::DebugDevice* debug = nullptr;  ///< the device, where there are checks
  uint32_t checks = 0;                             ///< TSR_CHECK_…
  tessera::runtime::Trace trace;
  tsr_stream default_stream;
  std::mutex mutex;  ///< guards the tables below
  std::map<void*, tessera::runtime::Memory> memory;
  std::map<tsr_module*, std::unique_ptr<tsr_module>> modules;
  std::map<tsr_stream*, std::unique_ptr<tsr_stream>> streams;
  std::map<tsr_event*, std::unique_ptr<tsr_event>> events;

  /// The stream, or the default one for null; fails for one of another context.
  tessera::runtime::Status find_stream(tsr_stream* stream, tessera::runtime::Stream** found);
  /// Puts work on the stream.
  tessera::runtime::Status enqueue(tsr_stream* stream, tessera::runtime::Work work);
  /// Waits for all work of all streams.
  void drain();
};

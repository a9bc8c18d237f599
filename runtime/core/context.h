#pragma once
// A context: one device, and all that was made on it.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/core/debug_device.h"
#include "runtime/core/module.h"
#include "runtime/core/stream.h"
#include "runtime/core/trace.h"
#include "runtime/handles/handles.h"

namespace tessera::runtime {

/// Things of one kind that were made on a context.
template <typename Thing>
using Owned = std::map<Thing*, std::shared_ptr<Thing>>;

struct Context {
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { end(); }
  /// Waits for the streams, then ends what was made on the context.
  void end();

  /// A context that has ended stays for as long as something keeps it that was handed to other libraries.
  void keep() { keepers_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (keepers_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  MemoryBudget budget;                                          ///< of what comes from the device's memory
  std::atomic<uint64_t> most_steps = 0, most_milliseconds = 0;  ///< of tsr_limits_t
  std::unique_ptr<Device> device;
  DebugDevice* debug = nullptr;  ///< the device, where there are checks
  uint32_t checks = 0;           ///< TSR_CHECK_…
  bool poisons = false;          ///< whether what calls have not written yet is filled with NaN
  Trace trace;
  Log log;
  std::unique_ptr<Stream> default_stream;
  std::mutex mutex;  ///< guards the tables below; nobody waits for work while holding it
  std::map<void*, Memory> memory;
  Owned<Module> modules;
  Owned<ContextStream> streams;
  Owned<Event> events;
  std::map<const void*, std::shared_ptr<void>> taken;  ///< tensors of other libraries, by the tensor that was given
  const Handle<tsr_context_t> handle{this};

  void set_limits(const tsr_limits_t& limits);
  /// Those of a call that is made now; memory is the budget's matter.
  tsr_limits_t call_limits() const;

  /// Adds a thing that was made on the context to its table.
  template <typename Thing>
  void adopt(Owned<Thing>& table, std::shared_ptr<Thing> made) {
    std::lock_guard lock(mutex);
    Thing* key = made.get();
    table.emplace(key, std::move(made));
  }
  /// Takes a thing out of its table.
  template <typename Thing>
  std::shared_ptr<Thing> drop(Owned<Thing>& table, Thing& thing) {
    std::lock_guard lock(mutex);
    auto dropped = table.extract(&thing);
    return dropped ? std::move(dropped.mapped()) : nullptr;
  }
  /// Ends what was taken out of a table, outside of the lock. In a callback on a GPU, where the driver allows none of
  /// its functions, it waits for clear_away().
  void put_away(std::shared_ptr<void> thing);
  /// Ends what callbacks have left. Called by no callback.
  void clear_away() {
    if (has_left_.load(std::memory_order_relaxed)) clear_left();
  }
  /// Tells the log of a failure that a stream ends with.
  void tell_failure(Stream& stream) const;
  /// Waits for all work of all streams. Those that others destroy meanwhile stay for as long.
  void drain();

 private:
  void clear_left();

  std::atomic<uint32_t> keepers_ = 1;
  std::atomic<bool> has_left_ = false;
  std::vector<std::shared_ptr<void>> left_;  ///< by callbacks, guarded by the mutex
};

}  // namespace tessera::runtime

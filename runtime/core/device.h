#pragma once
// What the core asks of a kind of device. The interpreter and the C interface know only this.
//
// Work goes to a device through streams. A stream runs pieces of work in order; each piece is a
// function over a queue, which has the operations of the device. On a CPU an operation has happened
// when its function returns, and a stream is a thread; on a GPU an operation has been queued when
// its function returns, and the stream's synchronize() reports what fails later.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/core/memory.h"
#include "runtime/core/status.h"
#include "runtime/format/bundle.h"
#include "runtime/format/reflection.h"

namespace tessera::runtime {

/// Loaded code of one target.
class Code {
 public:
  virtual ~Code() = default;
  /// The kernel that `meta` describes, ready to be launched. `meta` outlives the code.
  virtual Status find(const format::KernelMeta& meta, void** kernel) = 0;
  /// The kernel of that symbol, in code of load_bare(). It lives as long as the code.
  virtual Status find_bare(const std::string& name, void** /*kernel*/) {
    return fail(TSR_EINTERNAL, name, ": this code came with metadata");
  }
};

struct Launch {
  void* kernel = nullptr;
  void* const* buffers = nullptr;      ///< parameters, then results
  const size_t* bytes = nullptr;       ///< of each of them; null: not known, and the launch is not recorded
  const int64_t* dims = nullptr;       ///< the kernel's free dims
  int64_t programs = 0;                ///< of the grid, at least 1
  size_t scratch_bytes = 0;            ///< for each concurrent call
  std::atomic<float>* cost = nullptr;  ///< nanoseconds per program, as the device last saw it
  /// When a device that runs it at once is to give up, with TSR_ETIMEOUT.
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
};

class Queue;
using Work = std::function<Status(Queue&)>;

/// Operations that were recorded, to be put into a queue of the same device at once.
class Recording {
 public:
  virtual ~Recording() = default;
};

/// The operations of a device, in order. May be used from several threads.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual Status launch(const Launch& launch) = 0;
  /// From host or device to host or device. Pageable memory of the host has been read or written
  /// on return.
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  virtual Status fill(void* to, uint64_t pattern, size_t width, size_t bytes) = 0;
  /// Copies to memory of the host; the bytes are there on return.
  virtual Status read(void* to, const void* from, size_t bytes) = 0;

  /// Launches a kernel of find_bare() with the driver's arguments, which have been read on return.
  virtual Status launch_bare(void* /*kernel*/, const tsr_launch_t&, void** /*args*/, size_t /*nargs*/) {
    return fail(TSR_EINTERNAL, "this device has no code without metadata");
  }

  /// Records what the work puts into the queue that it gets; nothing of it runs. Null where the device has no
  /// recordings or cannot make this one, and for work that fails or is too much for one.
  virtual std::shared_ptr<Recording> record(const Work&) { return nullptr; }
  /// Puts all that was recorded into this queue; the title names it in errors.
  virtual Status replay(Recording&, std::string_view title) {
    return fail(TSR_EINTERNAL, title, ": this device has no recordings");
  }

  /// `stream` is the driver's, where there is one.
  explicit Queue(void* stream = nullptr) : arenas(stream) {}

  /// Temps of the calls in this queue. What one call releases, the next one in order may use.
  ArenaPool arenas;
};

/// A place in a stream that is passed once.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Waits until the place is passed; TSR_ETIMEOUT when the time is over before.
  virtual Status wait(uint32_t milliseconds) = 0;
  /// Milliseconds since another mark of the same context; both must have been passed.
  virtual Status elapsed_since(Mark& start, float& milliseconds) = 0;
};

/// Whether work that was put on a stream has been given up since.
class Cancellation {
 public:
  Cancellation() = default;
  explicit Cancellation(const std::atomic<uint64_t>& cancels)
      : cancels_(&cancels), begun_(cancels.load(std::memory_order_relaxed)) {}
  bool is() const { return cancels_ && cancels_->load(std::memory_order_relaxed) != begun_; }

 private:
  const std::atomic<uint64_t>* cancels_ = nullptr;
  uint64_t begun_ = 0;
};

/// A place where work is put in order.
class Stream {
 public:
  /// Waits for all work.
  virtual ~Stream() = default;
  virtual Status submit(Work work) = 0;
  /// Whether submit() returns before the work has run.
  virtual bool is_beside() const { return false; }
  /// Waits, and returns the first failure since the last time, or TSR_ETIMEOUT.
  virtual Status synchronize(uint32_t milliseconds) = 0;
  /// Waits without fetching a failure.
  virtual void drain() = 0;
  virtual Status record(std::shared_ptr<Mark>& mark) = 0;
  /// Lets later work wait for the mark, which is one of the same context.
  virtual Status wait_for(std::shared_ptr<Mark> mark) = 0;
  /// Calls `done` once the work so far is over.
  virtual Status notify(tsr_done_t done, void* user) = 0;
  /// The driver's stream; null: its default one, or there is none.
  virtual void* native() const { return nullptr; }
  /// A failure that nobody has waited for.
  virtual Status take_failure() { return ok(); }

  /// Gives up the work so far.
  void cancel() { cancels_.fetch_add(1, std::memory_order_relaxed); }
  /// Of work that is put on the stream now. The stream outlives it.
  Cancellation cancellation() const { return Cancellation(cancels_); }

 private:
  std::atomic<uint64_t> cancels_ = 0;
};

/// What is fixed about a device.
struct DeviceFacts {
  std::string name;     ///< such as "cpu" or "cuda:0"
  int32_t tensor_type;  ///< DLPack's number for its memory
  int32_t tensor_id;    ///< and for the device
  bool is_host;         ///< its memory is the host's
  uint32_t alignment;   ///< least alignment of tensors, bytes
};

enum class MemoryKind { Device, Host, Pinned };

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;
  /// Whether this machine can run code of that target; if not, `why` says what is missing.
  virtual bool can_run(std::string_view target, std::string& why) const = 0;
  /// Of two targets that can run, true when the first is the better one.
  virtual bool is_better(std::string_view a, std::string_view b) const = 0;
  /// Loads the target's kernels. `flags` are those of tsr_module_options_t.
  virtual Status load(const format::BundleView& bundle, std::string_view target, uint32_t flags,
                      std::unique_ptr<Code>& code) = 0;

  /// Loads code that comes without a bundle: PTX, or an ELF object.
  virtual Status load_bare(std::string_view image, uint32_t flags, std::unique_ptr<Code>& code);

  /// The device's own memory, or that of the program.
  MemorySource& memory(MemoryKind kind) {
    std::unique_ptr<ForeignMemory>& foreign = foreign_[size_t(kind)];
    return foreign ? *foreign : own_memory(kind);
  }
  MemorySource& memory() { return memory(MemoryKind::Device); }
  /// From now on memory is the program's. To be called before any is used.
  void take_memory_from(const tsr_allocator_t& allocator) {
    constexpr uint32_t flags[] = {TSR_DEVICE, TSR_HOST, TSR_PINNED};  // in the order of MemoryKind
    for (size_t kind = 0; kind < std::size(foreign_); ++kind) {
      foreign_[kind] = std::make_unique<ForeignMemory>(allocator, flags[kind]);
    }
  }
  /// Copies between host and device, beside all streams; done on return.
  virtual Status copy(void* to, const void* from, size_t bytes) = 0;

  virtual Status make_stream(std::unique_ptr<Stream>& stream) = 0;
  /// A stream of the device's driver, which goes on when this one ends.
  virtual Status adopt_stream(void* native, std::unique_ptr<Stream>& stream) = 0;
  /// The stream that work without one goes to.
  virtual Status make_default_stream(std::unique_ptr<Stream>& stream) = 0;

  virtual void set_threads(int threads) = 0;
  /// Frees what queues keep for later calls, where they are not those of streams; no work is left.
  virtual void release_arenas() {}

 protected:
  virtual MemorySource& own_memory(MemoryKind kind) = 0;

 private:
  std::unique_ptr<ForeignMemory> foreign_[3];  ///< by kind; null: the device's own
};

}  // namespace tessera::runtime

// The driver has no waiting with a time limit, so that one is made of questions with short sleeps.

#include "runtime/cuda/cuda_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/cuda/memory_order.h"
#include "runtime/cuda/cuda_code.h"
#include "runtime/handles/callbacks.h"

namespace tessera::runtime::cuda {

namespace {

Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

/// Asks until the answer is no longer "not ready" or the time is over.
template <typename Ask>
int wait_until(uint32_t milliseconds, Ask ask) {
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    int result = ask();
    if (result != error_not_ready || Clock::now() >= end) return result;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// Operations of a recording: loops of more are followed step by step.
constexpr size_t most_recorded = 16384;

class CudaGraph : public Recording {
 public:
  CudaGraph(const Gpu& gpu, GraphCallHandle graph) : gpu_(gpu), graph_(graph) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override { gpu_.result(gpu_.driver().graph_call_destroy, graph_); }

  GraphCallHandle graph() const { return graph_; }

 private:
  const Gpu& gpu_;
  GraphCallHandle graph_;
};

/// The order of what a stream captures: each operation depends on those that share memory with it, not on all ahead.
class CaptureOrder {
 public:
  CaptureOrder(const Gpu& gpu, StreamHandle stream) : gpu_(gpu), stream_(stream) {}

  /// Comes before the operation; says what it waits for.
  Status begin(std::span<const MemoryUse> uses) {
    std::vector<GraphNodeHandle> nodes;
    waits_for_ = order_.add(uses);
    for (size_t other : waits_for_) nodes.push_back(captured_[other].node);
    return gpu_.run(gpu_.driver().capture_depend, stream_, static_cast<const GraphNodeHandle*>(nodes.data()),
                    nodes.size(), capture_set_dependencies);
  }

  /// A launch can start while one other ends, not while several do.
  bool waits_for_launch() const { return waits_for_.size() == 1 && captured_[waits_for_[0]].is_launch; }

  /// Comes behind the operation, which may have become several nodes in a row.
  Status end(bool is_launch) {
    int state = 0;
    unsigned long long id = 0;
    GraphHandle graph = nullptr;
    const GraphNodeHandle* last = nullptr;
    size_t count = 0;
    Status status = gpu_.run(gpu_.driver().capture_info, stream_, &state, &id, &graph, &last, &count);
    if (!status.failed() && count != 1) status = fail(TSR_EINTERNAL, "a captured operation is ", count, " nodes");
    if (!status.failed()) captured_.push_back({*last, is_launch});
    return status;
  }

 private:
  struct Captured {
    GraphNodeHandle node;
    bool is_launch;
  };

  const Gpu& gpu_;
  StreamHandle stream_;
  MemoryOrder order_;
  std::vector<Captured> captured_;
  std::vector<size_t> waits_for_;
};

class CudaQueue : public Queue {
 public:
  CudaQueue(const Gpu& gpu, StreamHandle stream) : Queue(stream), gpu_(gpu), stream_(stream) {
    const char* value = std::getenv("TSR_SYNC");
    waits_ = value && std::string_view(value) == "1";
  }

  Status launch(const Launch& launch) override {
    auto& kernel = *static_cast<CudaKernel*>(launch.kernel);
    Status status = order_ ? capture(kernel, launch) : kernel.launch(launch, stream_, true);
    if (status.failed()) return status;
    {
      std::lock_guard lock(mutex_);
      last_kernel_ = kernel.meta().name;
    }
    return waits_ ? wait(kernel.meta().name) : ok();
  }

  Status launch_bare(void* kernel, const tsr_launch_t& launch, void** args, size_t nargs) override {
    Status status = static_cast<BareCudaKernel*>(kernel)->launch(launch, args, nargs, stream_);
    return status.failed() || !waits_ ? status : wait("");
  }

  Status copy(void* to, const void* from, size_t bytes) override {
    return in_order({{from, bytes, false}, {to, bytes, true}}, false, [&] {
      return gpu_.run(gpu_.driver().copy_async, address_of(to), address_of(from), bytes, stream_);
    });
  }

  Status read(void* to, const void* from, size_t bytes) override {
    Status status = copy(to, from, bytes);
    return status.failed() ? status : wait("");
  }

  Status fill(void* to, uint64_t pattern, size_t width, size_t bytes) override {
    if (bytes == 0) return ok();
    if (bytes % width != 0) {
      return fail(TSR_EINTERNAL, "a fill of ", bytes, " bytes by a pattern of ", width);
    }
    return in_order({{to, bytes, true}}, false, [&] { return fill_with(address_of(to), pattern, width, bytes); });
  }

  std::shared_ptr<Recording> record(const Work& work) override {
    const Driver& driver = gpu_.driver();
    // One of its own: the stream at hand may be the default one, which cannot be captured.
    StreamHandle stream = nullptr;
    if (gpu_.result(driver.stream_create, &stream, stream_non_blocking) != success) return nullptr;
    std::shared_ptr<Recording> recording;
    if (gpu_.result(driver.capture_begin, stream, capture_relaxed) == success) {
      CudaQueue recorder(gpu_, stream);
      recorder.order_.emplace(gpu_, stream);
      bool is_whole = !work(recorder).failed();
      GraphHandle graph = nullptr;
      is_whole = gpu_.result(driver.capture_end, stream, &graph) == success && is_whole;
      if (is_whole) recording = made_of(graph);
      if (graph) gpu_.result(driver.graph_destroy, graph);
    }
    gpu_.result(driver.stream_destroy, stream);
    return recording;
  }

  Status replay(Recording& recording, std::string_view title) override {
    Status status = gpu_.run(gpu_.driver().graph_launch, static_cast<CudaGraph&>(recording).graph(), stream_);
    if (status.failed()) return fail(status.code, title, ": ", status.text);
    std::lock_guard lock(mutex_);
    last_graph_ = title;
    last_kernel_.clear();
    return ok();
  }

  /// Waits for the stream; errors name the kernel that was launched last.
  Status wait(std::string_view kernel) {
    int result = gpu_.result(gpu_.driver().stream_synchronise, stream_);
    return result == success ? ok()
                             : failure(gpu_.driver().stream_synchronise.symbol, result, kernel);
  }

  Status failure(const char* symbol, int result, std::string_view kernel) const {
    Status status = gpu_.driver().error(symbol, result);
    if (!kernel.empty())
      return fail(status.code, "kernel ", format::in_quotes(kernel), ": ", status.text);
    std::lock_guard lock(mutex_);
    bool is_graph = last_kernel_.empty();
    if (is_graph && last_graph_.empty()) return status;
    return fail(status.code, status.text, "; the last ", is_graph ? "graph" : "kernel", " of the stream was ",
                format::in_quotes(is_graph ? last_graph_ : last_kernel_), "; TSR_SYNC=1 waits for each");
  }

 private:
  std::shared_ptr<Recording> made_of(GraphHandle graph) const {
    GraphCallHandle made = nullptr;
    int result = gpu_.result(gpu_.driver().graph_instantiate, &made, graph, 0ull);
    return result == success ? std::make_shared<CudaGraph>(gpu_, made) : nullptr;
  }

  /// Runs an operation that uses this memory, in its place of what is recorded.
  template <typename Operation>
  Status in_order(const std::vector<MemoryUse>& uses, bool is_launch, Operation run) {
    if (!order_) return run();
    if (--left_ == 0) return fail(TSR_EUNSUPPORTED, "too much for a recording");
    if (Status status = order_->begin(uses); status.failed()) return status;
    Status status = run();
    return status.failed() ? status : order_->end(is_launch);
  }

  Status capture(CudaKernel& kernel, const Launch& launch) {
    if (!launch.bytes) return fail(TSR_EUNSUPPORTED, "it is not known what memory the launch uses");
    std::vector<MemoryUse> uses;
    const auto& buffers = kernel.meta().buffers;
    for (size_t i = 0; i < buffers.size(); ++i) uses.push_back({launch.buffers[i], launch.bytes[i], buffers[i].result});
    return in_order(uses, true, [&] { return kernel.launch(launch, stream_, order_->waits_for_launch()); });
  }

  Status fill_with(Address at, uint64_t pattern, size_t width, size_t bytes) {
    const Driver& driver = gpu_.driver();
    switch (width) {
      case 1:
        return gpu_.run(driver.fill_8, at, uint8_t(pattern), bytes, stream_);
      case 2:
        return gpu_.run(driver.fill_16, at, uint16_t(pattern), bytes / 2, stream_);
      case 4:
        return gpu_.run(driver.fill_32, at, uint32_t(pattern), bytes / 4, stream_);
      default:
        return fill_wide(at, pattern, bytes);
    }
  }

  /// The driver has no pattern of 8 bytes: the first one is written in halves, then the part that
  /// is filled is doubled.
  Status fill_wide(Address at, uint64_t pattern, size_t bytes) {
    const Driver& driver = gpu_.driver();
    auto low = uint32_t(pattern);
    auto high = uint32_t(pattern >> 32);
    if (low == high) return gpu_.run(driver.fill_32, at, low, bytes / 4, stream_);
    Status status = gpu_.run(driver.fill_32, at, low, size_t(1), stream_);
    if (!status.failed()) status = gpu_.run(driver.fill_32, at + 4, high, size_t(1), stream_);
    for (size_t done = 8; done < bytes && !status.failed(); done *= 2) {
      size_t piece = std::min(done, bytes - done);
      status = gpu_.run(driver.copy_async, at + done, at, piece, stream_);
    }
    return status;
  }

  const Gpu& gpu_;
  StreamHandle stream_;
  bool waits_ = false;
  std::optional<CaptureOrder> order_;  ///< of one that records
  size_t left_ = most_recorded;        ///< operations that it takes
  mutable std::mutex mutex_;
  std::string last_kernel_, last_graph_;  ///< of what came last the name, the other is empty
};

class CudaMark : public Mark {
 public:
  CudaMark(const Gpu& gpu, EventHandle event) : gpu_(gpu), event_(event) {}
  CudaMark(const CudaMark&) = delete;
  CudaMark& operator=(const CudaMark&) = delete;
  ~CudaMark() override { gpu_.result(gpu_.driver().event_destroy, event_); }

  Status wait(uint32_t milliseconds) override {
    const Driver& driver = gpu_.driver();
    if (milliseconds == TSR_FOREVER) return gpu_.run(driver.event_synchronise, event_);
    int result = wait_until(milliseconds, [&] { return gpu_.result(driver.event_query, event_); });
    if (result == success) return ok();
    if (result != error_not_ready) return driver.error(driver.event_query.symbol, result);
    return fail(TSR_ETIMEOUT, "the event was not passed within ", milliseconds, " ms");
  }

  Status elapsed_since(Mark& start, float& milliseconds) override {
    const Driver& driver = gpu_.driver();
    int result = gpu_.result(driver.event_elapsed, &milliseconds,
                             static_cast<CudaMark&>(start).event_, event_);
    if (result == success) return ok();
    if (result != error_not_ready) return driver.error(driver.event_elapsed.symbol, result);
    return invalid("an event has not been passed yet; tsrSynchronizeEvent waits for it");
  }

  EventHandle event() const { return event_; }

 private:
  const Gpu& gpu_;
  EventHandle event_;
};

/// A function of the program that the driver calls.
struct Notice {
  tsr_done_t done;
  void* user;

  static void call(void* notice) {
    std::unique_ptr<Notice> own(static_cast<Notice*>(notice));
    InCallback called;
    own->done(own->user, TSR_SUCCESS);
  }
};

class CudaStream : public Stream {
 public:
  CudaStream(const Gpu& gpu, StreamHandle stream, bool is_owned)
      : gpu_(gpu), stream_(stream), is_owned_(is_owned) {
    queue_.emplace(gpu, stream);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override {
    drain();
    queue_.reset();  // what the program's allocator gets back is told a stream that is there
    if (is_owned_) gpu_.result(gpu_.driver().stream_destroy, stream_);
  }

  Status submit(Work work) override { return work(*queue_); }

  Status synchronize(uint32_t milliseconds) override {
    if (milliseconds == TSR_FOREVER) return queue_->wait("");
    const Driver& driver = gpu_.driver();
    int result =
        wait_until(milliseconds, [&] { return gpu_.result(driver.stream_query, stream_); });
    if (result == success) return ok();
    if (result != error_not_ready) return queue_->failure(driver.stream_query.symbol, result, "");
    return fail(TSR_ETIMEOUT, "the stream was still busy after ", milliseconds, " ms");
  }

  void* native() const override { return stream_; }
  void drain() override { gpu_.result(gpu_.driver().stream_synchronise, stream_); }

  Status record(std::shared_ptr<Mark>& mark) override {
    const Driver& driver = gpu_.driver();
    EventHandle event = nullptr;
    if (Status status = gpu_.run(driver.event_create, &event, event_default); status.failed()) {
      return status;
    }
    auto made = std::make_shared<CudaMark>(gpu_, event);
    Status status = gpu_.run(driver.event_record, event, stream_);
    if (!status.failed()) mark = std::move(made);
    return status;
  }

  Status notify(tsr_done_t done, void* user) override {
    auto notice = std::make_unique<Notice>(Notice{done, user});
    Status status = gpu_.run(gpu_.driver().call_host, stream_, Notice::call, static_cast<void*>(notice.get()));
    if (!status.failed()) notice.release();  // the driver has it
    return status;
  }

  Status wait_for(std::shared_ptr<Mark> mark) override {
    EventHandle event = static_cast<CudaMark&>(*mark).event();
    return gpu_.run(gpu_.driver().stream_wait_event, stream_, event, 0u);
  }

 private:
  const Gpu& gpu_;
  StreamHandle stream_;
  bool is_owned_;
  std::optional<CudaQueue> queue_;
};

}  // namespace

Status make_cuda_stream(const Gpu& gpu, bool is_default, std::unique_ptr<Stream>& stream) {
  StreamHandle handle = nullptr;
  if (!is_default) {
    Status status = gpu.run(gpu.driver().stream_create, &handle, stream_non_blocking);
    if (status.failed()) return status;
  }
  stream = std::make_unique<CudaStream>(gpu, handle, !is_default);
  return ok();
}

Status adopt_cuda_stream(const Gpu& gpu, void* native, std::unique_ptr<Stream>& stream) {
  // NULL, 1 and 2 are names of the driver for default streams of the thread's current context.
  auto handle = static_cast<StreamHandle>(native);
  if (reinterpret_cast<uintptr_t>(native) == per_thread_default_stream) {
    return invalid("the stream to be adopted is the driver's default stream of a thread: which one it is depends on "
                   "the thread that uses it");
  }
  if (reinterpret_cast<uintptr_t>(native) > per_thread_default_stream) {
    ContextHandle context = nullptr;
    Status status = gpu.run(gpu.driver().stream_context, handle, &context);
    if (status.failed()) return fail(status.code, "the stream to be adopted: ", status.text);
    if (context != gpu.context()) {
      return invalid("the stream to be adopted belongs to another context of the driver than ", gpu.name(), "'s own");
    }
  }
  stream = std::make_unique<CudaStream>(gpu, handle, false);
  return ok();
}

}  // namespace tessera::runtime::cuda

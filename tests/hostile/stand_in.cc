#include "hostile/stand_in.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/core/stream.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/format/launch_check.h"

namespace tessera::hostile {

namespace {

using namespace runtime;
using format::KernelMeta;

[[noreturn]] void unchecked(const KernelMeta& kernel, const std::string& why) {
  std::fprintf(stderr, "an unchecked launch of '%s': %s\n", kernel.name.c_str(), why.c_str());
  std::abort();
}

/// Reads the bytes in a way that no compiler leaves out.
void read_all(const void* memory, int64_t bytes) {
  const volatile char* at = static_cast<const char*>(memory);
  for (int64_t i = 0; i < bytes; i += 16) (void)at[i];
  if (bytes > 0) (void)at[bytes - 1];
}

class StandInQueue : public Queue {
 public:
  Status launch(const Launch& launch) override {
    const auto& kernel = *static_cast<const KernelMeta*>(launch.kernel);
    std::span<const int64_t> dims(launch.dims, kernel.dims.size());
    int64_t programs = 0, scratch = 0;
    auto sized = format::size_kernel(kernel, dims, programs, scratch);
    if (!sized) unchecked(kernel, sized.error().text);
    if (programs != launch.programs || size_t(scratch) != launch.scratch_bytes) unchecked(kernel, "other sizes");
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      auto bytes = format::kernel_buffer_bytes(kernel, i, dims);
      if (!bytes) unchecked(kernel, bytes.error().text);
      if (*bytes == 0) continue;
      if (reinterpret_cast<uintptr_t>(launch.buffers[i]) % kernel.buffers[i].alignment != 0) {
        unchecked(kernel, "alignment");
      }
      if (kernel.buffers[i].result) {  // conditions hold mostly, and not for ever
        std::memset(launch.buffers[i], ++launches_ % 5 != 0, size_t(*bytes));
      } else {
        read_all(launch.buffers[i], *bytes);
      }
    }
    return ok();
  }

  Status copy(void* to, const void* from, size_t bytes) override {
    std::memmove(to, from, bytes);
    return ok();
  }

  Status fill(void* to, uint64_t pattern, size_t width, size_t bytes) override {
    for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = char(pattern >> (8 * (i % width)));
    return ok();
  }

  Status read(void* to, const void* from, size_t bytes) override { return copy(to, from, bytes); }

 private:
  int64_t launches_ = 0;
};

class StandInCode : public Code {
 public:
  Status find(const KernelMeta& meta, void** kernel) override {
    *kernel = const_cast<KernelMeta*>(&meta);
    return ok();
  }
};

class StandIn : public Device {
 public:
  const DeviceFacts& facts() const override { return facts_; }
  bool can_run(std::string_view, std::string&) const override { return true; }
  bool is_better(std::string_view, std::string_view) const override { return false; }
  Status load(const format::BundleView&, std::string_view, uint32_t, std::unique_ptr<Code>& code) override {
    code = std::make_unique<StandInCode>();
    return ok();
  }
  MemorySource& own_memory(MemoryKind) override { return *memory_; }
  Status copy(void* to, const void* from, size_t bytes) override { return queue_.copy(to, from, bytes); }
  Status make_stream(std::unique_ptr<Stream>& stream) override { return make_default_stream(stream); }
  Status adopt_stream(void*, std::unique_ptr<Stream>& stream) override { return make_default_stream(stream); }
  Status make_default_stream(std::unique_ptr<Stream>& stream) override {
    stream = std::make_unique<DirectStream>(queue_);
    return ok();
  }
  void set_threads(int) override {}

 private:
  const DeviceFacts facts_{"cpu", 1, 0, true, 1};
  std::unique_ptr<MemorySource> memory_ = make_host_memory();
  StandInQueue queue_;
};

}  // namespace

std::unique_ptr<Device> make_stand_in() {
  return std::make_unique<StandIn>();
}

}  // namespace tessera::hostile

#include "runtime/cpu/cpu_device.h"

#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "runtime/core/stream.h"
#include "runtime/cpu/kernel_code.h"
#include "runtime/cpu/host_memory.h"
#include "runtime/cpu/scheduler.h"
#include "runtime/cpu/targets.h"

namespace tessera::runtime {

namespace {

class HostMemory : public MemorySource {
 public:
  Status allocate(size_t bytes, void** memory) override {
    *memory = nullptr;
    if (bytes > SIZE_MAX / 2) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
    *memory = allocate_host(bytes);
    if (!*memory) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
    return ok();
  }
  void free(void* memory) override { std::free(memory); }
};

class CpuQueue : public Queue {
 public:
  Status launch(const Launch& launch) override { return scheduler_.run(launch); }

  Status copy(void* to, const void* from, size_t bytes) override {
    std::memmove(to, from, bytes);
    return ok();
  }

  Status read(void* to, const void* from, size_t bytes) override { return copy(to, from, bytes); }

  Status fill(void* to, uint64_t pattern, size_t width, size_t bytes) override {
    char* at = static_cast<char*>(to);
    if (width == 1) {
      std::memset(at, int(pattern & 255), bytes);
      return ok();
    }
    // Doubles the part that is filled; the pattern's period divides every part.
    size_t done = std::min(width, bytes);
    std::memcpy(at, &pattern, done);
    while (done < bytes) {
      size_t piece = std::min(done, bytes - done);
      std::memcpy(at + done, at, piece);
      done += piece;
    }
    return ok();
  }

  void set_threads(int threads) { scheduler_.set_threads(threads); }

 private:
  Scheduler scheduler_;
};

class CpuDevice : public Device {
 public:
  const DeviceFacts& facts() const override { return facts_; }

  bool can_run(std::string_view target, std::string& why) const override {
    auto rank = cpu_target_rank(target);
    why = rank ? missing_cpu_feature(*rank)
          : target.starts_with("cuda:")
              ? "a GPU, such as the device cuda:0 (tsr: --device cuda:0)"
              : "a device of that kind";
    return why.empty();
  }

  bool is_better(std::string_view a, std::string_view b) const override {
    return is_faster_cpu_target(*cpu_target_rank(a), *cpu_target_rank(b));
  }

  Status load(const format::BundleView& bundle, std::string_view target, uint32_t,
              std::unique_ptr<Code>& code) override {
    std::string path = format::kernels_path(target);
    const format::BundleEntry* object = bundle.find(path);
    if (!object) return fail(TSR_EIMAGE, "the bundle has no ", path);
    return load_kernel_code(object->bytes, code);
  }

  Status copy(void* to, const void* from, size_t bytes) override {
    return queue_.copy(to, from, bytes);
  }

  Status make_stream(std::unique_ptr<Stream>& stream) override {
    try {
      stream = std::make_unique<ThreadStream>(queue_);
    } catch (const std::system_error& problem) {
      return fail(TSR_EOOM, "a stream needs a thread, and none can be started: ", problem.code().message());
    }
    return ok();
  }

  Status adopt_stream(void*, std::unique_ptr<Stream>&) override {
    return fail(TSR_EUNSUPPORTED, "a CPU has no streams of a driver that could be adopted");
  }

  Status make_default_stream(std::unique_ptr<Stream>& stream) override {
    stream = std::make_unique<DirectStream>(queue_);
    return ok();
  }

  void set_threads(int threads) override { queue_.set_threads(threads); }
  void release_arenas() override { queue_.arenas.clear(); }

 protected:
  MemorySource& own_memory(MemoryKind) override { return memory_; }

 private:
  const DeviceFacts facts_{"cpu", 1, 0, true, 1};
  HostMemory memory_;
  CpuQueue queue_;
};

}  // namespace

std::string cpu_description() {
  // The brand string, 48 characters in three leaves.
  std::string text;
  for (unsigned leaf : {0x80000002u, 0x80000003u, 0x80000004u}) {
    unsigned words[4];
    if (!__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3])) return {};
    text.append(reinterpret_cast<const char*>(words), sizeof words);
  }
  text.resize(text.find_last_not_of(std::string("\0 ", 2)) + 1);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

uint64_t host_memory_bytes() {
  long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? uint64_t(pages) * uint64_t(bytes) : 0;
}

std::unique_ptr<MemorySource> make_host_memory() {
  return std::make_unique<HostMemory>();
}

std::unique_ptr<Device> make_cpu_device() {
  return std::make_unique<CpuDevice>();
}

}  // namespace tessera::runtime

#include "runtime/cuda/cuda_device.h"

#include <charconv>

#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_code.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda/gpu_memory.h"
#include "runtime/cuda/targets.h"

namespace tessera::runtime {

namespace {

using namespace cuda;

constexpr int32_t cuda_tensor_type = 2;  // DLPack's kDLCUDA
/// Vector loads and tensor maps rely on it; every allocator of device memory gives more.
constexpr uint32_t cuda_alignment = 16;

/// The number of "cuda:N", -1 for others.
int device_index(std::string_view name) {
  constexpr std::string_view prefix = "cuda";
  if (!name.starts_with(prefix)) return -1;
  name.remove_prefix(prefix.size());
  if (name.size() < 2 || name[0] != ':' || name.size() > 4) return -1;
  int index = 0;
  const char* end = name.data() + name.size();
  auto [at, status] = std::from_chars(name.data() + 1, end, index);
  return status == std::errc() && at == end && index >= 0 ? index : -1;
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(std::unique_ptr<Gpu> gpu)
      : gpu_(std::move(gpu)),
        facts_{gpu_->name(), cuda_tensor_type, gpu_->index(), false, cuda_alignment},
        pool_(*gpu_),
        pinned_(*gpu_),
        host_(make_host_memory()) {}

  const DeviceFacts& facts() const override { return facts_; }

  bool can_run(std::string_view target, std::string& why) const override {
    auto wanted = parse_cuda_target(target);
    if (!wanted) {
      why = target.starts_with("cpu:") ? "a CPU, the device cpu (tsr: --device cpu)" : "a device of that kind";
    } else if (!wanted->runs_on(gpu_->capability())) {
      why = format::cat("compute capability ", wanted->capability / 10, ".",
                        wanted->capability % 10, wanted->is_exact ? "" : " or higher", " (",
                        facts_.name, " has ", gpu_->capability_text(), ")");
    } else {
      why.clear();
    }
    return why.empty();
  }

  bool is_better(std::string_view a, std::string_view b) const override {
    return parse_cuda_target(a)->rank() > parse_cuda_target(b)->rank();
  }

  Status load(const format::BundleView& bundle, std::string_view target, uint32_t flags,
              std::unique_ptr<Code>& code) override {
    return load_cuda_code(*gpu_, bundle, target, flags, code);
  }

  Status load_bare(std::string_view image, uint32_t flags, std::unique_ptr<Code>& code) override {
    return load_bare_cuda_code(*gpu_, image, flags, code);
  }

  Status copy(void* to, const void* from, size_t bytes) override {
    return gpu_->run(gpu_->driver().copy, reinterpret_cast<Address>(to),
                     reinterpret_cast<Address>(from), bytes);
  }

  Status make_stream(std::unique_ptr<Stream>& stream) override {
    return make_cuda_stream(*gpu_, false, stream);
  }

  Status adopt_stream(void* native, std::unique_ptr<Stream>& stream) override {
    return adopt_cuda_stream(*gpu_, native, stream);
  }

  Status make_default_stream(std::unique_ptr<Stream>& stream) override {
    return make_cuda_stream(*gpu_, true, stream);
  }

  void set_threads(int) override {}

 protected:
  MemorySource& own_memory(MemoryKind kind) override {
    if (kind == MemoryKind::Device) return pool_;
    if (kind == MemoryKind::Pinned) return pinned_;
    return *host_;
  }

 private:
  std::unique_ptr<Gpu> gpu_;  ///< outlives what follows
  DeviceFacts facts_;
  DevicePool pool_;
  PinnedMemory pinned_;
  std::unique_ptr<MemorySource> host_;
};

/// The driver and a device of it.
Status find_device(int index, const Driver** driver, DeviceHandle& device) {
  if (Status status = Driver::open(driver); status.failed()) return status;
  return (*driver)->run((*driver)->device_get, &device, index);
}

}  // namespace

int count_cuda_devices() {
  const Driver* driver = nullptr;
  int count = 0;
  if (Driver::open(&driver).failed() || driver->run(driver->device_count, &count).failed()) return 0;
  return count;
}

Status describe_cuda_device(int index, CudaDeviceFacts& facts) {
  const Driver* driver = nullptr;
  DeviceHandle device = 0;
  if (Status status = find_device(index, &driver, device); status.failed()) return status;
  char name[256] = "";
  int major = 0, minor = 0;
  Status status = driver->run(driver->device_name, static_cast<char*>(name), int(sizeof name), device);
  if (!status.failed()) status = driver->run(driver->device_memory, &facts.memory, device);
  if (!status.failed()) status = driver->run(driver->device_attribute, &major, device_capability_major, device);
  if (!status.failed()) status = driver->run(driver->device_attribute, &minor, device_capability_minor, device);
  if (!status.failed()) {
    status = driver->run(driver->device_attribute, &facts.processors, device_multiprocessors, device);
  }
  facts.name = format::cat("cuda:", index);
  facts.description = name;
  facts.capability = 10 * major + minor;
  return status;
}

bool is_cuda_name(std::string_view name) {
  return device_index(name) >= 0;
}

Status make_cuda_device(std::string_view name, std::unique_ptr<Device>& device) {
  std::unique_ptr<Gpu> gpu;
  int index = device_index(name);
  Status status = Gpu::open(index, gpu);
  if (status.failed()) return fail(status.code, "cuda:", index, ": ", status.text);
  device = std::make_unique<CudaDevice>(std::move(gpu));
  return ok();
}

}  // namespace tessera::runtime

// The C interface: the devices of the machine.

#include <map>
#include <mutex>

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/files/threads.h"

using namespace tessera::runtime;

namespace {

/// A text that lives as long as the process; each is kept once.
const char* kept(const std::string& text) {
  static std::mutex mutex;
  static auto& texts = *new std::map<std::string, std::unique_ptr<std::string>>();
  std::lock_guard lock(mutex);
  std::unique_ptr<std::string>& entry = texts[text];
  if (!entry) entry = std::make_unique<std::string>(text);
  return entry->c_str();
}

tsr_device_info_t describe_cpu() {
  tsr_device_info_t info{};
  info.size = sizeof info;
  info.name = "cpu";
  info.description = kept(cpu_description());
  info.memory = host_memory_bytes();
  info.device = {1, 0};
  info.processors = uint32_t(available_processors());
  return info;
}

Status device_info(size_t index, tsr_device_info_t* place) {
  if (index == 0) return write_sized(place, describe_cpu());
  auto gpus = size_t(count_cuda_devices());
  if (index > gpus) return fail(TSR_ENOTFOUND, "there are ", gpus + 1, " devices");
  CudaDeviceFacts facts;
  auto number = int(index - 1);
  if (Status status = describe_cuda_device(number, facts); status.failed()) return status;
  tsr_device_info_t info{};
  info.size = sizeof info;
  info.name = kept(facts.name);
  info.description = kept(facts.description);
  info.memory = facts.memory;
  info.device = {2, number};
  info.processors = uint32_t(facts.processors);
  info.capability = uint32_t(facts.capability);
  return write_sized(place, info);
}

}  // namespace

extern "C" {

tsr_status_t tsrGetDeviceCount(size_t* count) {
  return at_boundary([&] {
    if (!count) return invalid("the place for the count is NULL");
    *count = 1 + size_t(count_cuda_devices());
    return ok();
  });
}

tsr_status_t tsrGetDeviceInfo(size_t index, tsr_device_info_t* info) {
  return at_boundary([&] { return device_info(index, info); });
}

}  // extern "C"

#include "runtime/cuda/gpu.h"

namespace tessera::runtime::cuda {

Status Gpu::open(int index, std::unique_ptr<Gpu>& gpu) {
  const Driver* driver = nullptr;
  if (Status status = Driver::open(&driver); status.failed()) return status;
  std::unique_ptr<Gpu> made(new Gpu(*driver, index));
  if (Status status = made->retain(); status.failed()) return status;
  if (Status status = made->read_limits(); status.failed()) return status;
  gpu = std::move(made);
  return ok();
}

Gpu::~Gpu() {
  if (context_) driver_.context_release.function(device_);
}

Status Gpu::retain() {
  int count = 0;
  if (Status status = driver_.run(driver_.device_count, &count); status.failed()) return status;
  if (index_ >= count) {
    return fail(TSR_EUNSUPPORTED, "this machine has ", count, " CUDA device", count == 1 ? "" : "s",
                ", numbered from 0");
  }
  Status status = driver_.run(driver_.device_get, &device_, index_);
  if (status.failed()) return status;
  return driver_.run(driver_.context_retain, &context_, device_);
}

Status Gpu::read_limits() {
  int major = 0;
  int minor = 0;
  struct {
    int attribute;
    int* place;
  } const wanted[] = {{device_capability_major, &major},
                      {device_capability_minor, &minor},
                      {device_multiprocessors, &multiprocessors_},
                      {device_max_threads_per_block, &max_threads_},
                      {device_max_shared_optin, &max_shared_bytes_}};
  for (auto [attribute, place] : wanted) {
    Status status = driver_.run(driver_.device_attribute, place, attribute, device_);
    if (status.failed()) return status;
  }
  capability_ = 10 * major + minor;
  int version = 0;  // 12030 of CUDA 12.3, which was the first to record such launches
  if (Status status = driver_.run(driver_.driver_version, &version); status.failed()) return status;
  overlaps_launches_ = capability_ >= 90 && version >= 12030;
  return ok();
}

std::string Gpu::capability_text() const {
  return format::cat(capability_ / 10, ".", capability_ % 10);
}

}  // namespace tessera::runtime::cuda

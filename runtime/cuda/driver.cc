#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace tessera::runtime::cuda {

namespace {

tsr_status_t status_of(int result) {
  switch (result) {
    case error_out_of_memory:
      return TSR_EOOM;
    case error_not_initialised:
    case error_stub_library:
    case error_insufficient_driver:
    case error_no_device:
    case error_invalid_device:
    case error_no_binary_for_gpu:
    case error_unsupported_ptx_version:
    case error_not_supported:
    case error_system_driver_mismatch:
      return TSR_EUNSUPPORTED;
    case error_invalid_image:
    case error_invalid_ptx:
    case error_invalid_source:
    case error_not_found:
      return TSR_EIMAGE;
    default:
      return TSR_EINTERNAL;
  }
}

}  // namespace

Status Driver::open(const Driver** driver) {
  static std::mutex mutex;
  static auto& opened = *new std::map<std::string, std::unique_ptr<Driver>>();
  const char* other = ::secure_getenv("TESSERA_CUDA_DRIVER");
  std::string path = other ? other : "libcuda.so.1";
  std::lock_guard lock(mutex);
  std::unique_ptr<Driver>& entry = opened[path];
  if (!entry) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = ::dlerror();
      return fail(TSR_EUNSUPPORTED, "there is no CUDA driver here: ", why ? why : path);
    }
    auto made = std::make_unique<Driver>();
    Status status = made->bind(library);
    if (!status.failed()) status = made->run(made->init, 0u);
    if (status.failed()) {
      ::dlclose(library);
      return status;
    }
    entry = std::move(made);
  }
  *driver = entry.get();
  return ok();
}

Status Driver::bind(void* library) {
  const char* lacking = nullptr;
  auto find = [&](auto& call) {
    using Function = decltype(call.function);
    call.function = reinterpret_cast<Function>(::dlsym(library, call.symbol));
    if (!call.function && call.since == 0 && !lacking) lacking = call.symbol;
  };
#define DRIVER_CALL(name, symbol, since, ...) find(name);
#include "runtime/cuda/driver_calls.def"
#undef DRIVER_CALL
  if (!lacking) return ok();
  return fail(TSR_EUNSUPPORTED, "the CUDA driver has no ", lacking,
              "; CUDA 11.4 is the oldest that works");
}

Status Driver::error(const char* symbol, int result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name.function(result, &name) != success) name = nullptr;
  if (get_error_string.function(result, &text) != success) text = nullptr;
  std::string title = name ? name : format::cat("error ", result);
  return fail(status_of(result), symbol, ": ", title, text ? format::cat(" (", text, ")") : "");
}

Status Driver::missing(const char* symbol, int since) const {
  return fail(TSR_EUNSUPPORTED, "the CUDA driver has no ", symbol, "; one of CUDA ", since / 1000,
              ".", since % 1000 / 10, " or newer has");
}

}  // namespace tessera::runtime::cuda

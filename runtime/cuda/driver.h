#pragma once
// The CUDA driver (libcuda.so.1), opened when a context on a GPU is made.

#include <string_view>

#include "runtime/core/status.h"
#include "runtime/cuda/driver_types.h"

namespace tessera::runtime::cuda {

/// A function of the driver; null when this driver is older than it.
template <typename... Params>
struct DriverCall {
  const char* symbol;
  int since;
  int (*function)(Params...) = nullptr;
};

class Driver {
 public:
  /// The process's driver. The environment's TESSERA_CUDA_DRIVER names another library, for tests.
  /// A driver that has been opened stays.
  static Status open(const Driver** driver);

#define DRIVER_CALL(name, symbol, since, ...) DriverCall<__VA_ARGS__> name{symbol, since};
#include "runtime/cuda/driver_calls.def"
#undef DRIVER_CALL

  template <typename... Params, typename... Args>
  Status run(const DriverCall<Params...>& call, Args... args) const {
    if (!call.function) return missing(call.symbol, call.since);
    int result = call.function(args...);
    return result == success ? ok() : error(call.symbol, result);
  }

  /// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)", with the status that fits.
  Status error(const char* symbol, int result) const;
  /// That the driver is too old for a function.
  Status missing(const char* symbol, int since) const;

 private:
  Status bind(void* library);
};

}  // namespace tessera::runtime::cuda

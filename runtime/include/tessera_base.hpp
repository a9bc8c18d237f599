// What tessera.hpp is built on: errors, dtypes, devices, limits, and objects that free what they own. Programs include
// tessera.hpp.
#ifndef TESSERA_BASE_HPP
#define TESSERA_BASE_HPP

#if !defined(__cpp_exceptions)
#error "tessera.hpp throws exceptions; a program without them uses tessera.h"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera.h"

namespace tsr {

/// A failure. what() is the sentence that tsrGetLastError gives.
class Error : public std::runtime_error {
 public:
  Error(tsr_status_t status, const std::string& text) : std::runtime_error(text), status_(status) {}
  /// A value that tessera.h does not have comes from a newer library and is a failure, too.
  tsr_status_t status() const noexcept { return status_; }
  /// Such as "TSR_EINVAL".
  const char* status_name() const noexcept { return tsrStatusName(status_); }

 private:
  tsr_status_t status_;
};

/// The version of the library that runs, to be compared with TSR_ABI_MAJOR and TSR_ABI_MINOR.
struct Version {
  uint32_t major = 0;
  uint32_t minor = 0;
};
inline Version version() noexcept {
  Version version;
  tsrGetVersion(&version.major, &version.minor);
  return version;
}

// Dtypes by their names in the language, except for `boolean`, which is bool there.
inline constexpr tsr_dtype_t f64{2, 64, 1}, f32{2, 32, 1}, f16{2, 16, 1}, bf16{4, 16, 1};
inline constexpr tsr_dtype_t f8e4m3{10, 8, 1}, f8e5m2{12, 8, 1}, boolean{6, 8, 1};
inline constexpr tsr_dtype_t i64{0, 64, 1}, i32{0, 32, 1}, i16{0, 16, 1}, i8{0, 8, 1};
inline constexpr tsr_dtype_t u64{1, 64, 1}, u32{1, 32, 1}, u16{1, 16, 1}, u8{1, 8, 1};

/// The dtype of a C++ number: f32 and f64, integers of 8 to 64 bits, bool.
template <class T>
constexpr tsr_dtype_t dtype_of() {
  static_assert(std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>,
                "no dtype has this type of C++; name the dtype, and copy bytes");
  if (std::is_same_v<T, bool>) return boolean;
  return {uint8_t(std::is_floating_point_v<T> ? 2 : std::is_unsigned_v<T> ? 1 : 0), uint8_t(8 * sizeof(T)), 1};
}

/// Memory of the CPU, which is also pageable memory of a GPU's host.
inline constexpr tsr_device_t cpu{1, 0};
/// Memory of the GPU of that number.
constexpr tsr_device_t cuda(int32_t number) {
  return {2, number};
}

/// What calls may take, as tsr_limits_t says; 0 is no limit.
struct Limits {
  uint64_t steps = 0;
  uint64_t milliseconds = 0;
  uint64_t memory = 0;  ///< bytes
};

/// Extents, or strides, in elements.
using Shape = std::vector<int64_t>;
/// What a trace is told, as tessera.h describes it; strings and shape are there during the call.
using Trace = std::function<void(const tsr_trace_tensor_t&)>;

/// What a log is told: the kind of message, and its text.
using Log = std::function<void(tsr_log_kind_t, const std::string&)>;
/// What is called when work is over, with the first failure of its queue.
using Done = std::function<void(tsr_status_t)>;

namespace detail {

/// A struct that begins with its size, which the library reads or fills.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

inline void check(tsr_status_t status) {
  if (status != TSR_SUCCESS) throw Error(status, tsrGetLastError());
}

/// A context, and what watches it.
struct Core {
  Core() = default;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() { tsrDestroyContext(context); }

  static void tell(void* trace, const tsr_trace_tensor_t* tensor) noexcept {
    (*static_cast<Trace*>(trace))(*tensor);
  }

  static void write(void* log, const tsr_log_message_t* message) noexcept {
    (*static_cast<Log*>(log))(message->kind, message->text);
  }

  Log log;
  tsr_context_t context = nullptr;
  tsr_device_t device = cpu;
  std::vector<std::unique_ptr<Trace>> traces;  ///< all that were set: queued calls tell those of their time
};

inline void call_done(void* done, tsr_status_t status) noexcept {
  std::unique_ptr<Done> own(static_cast<Done*>(done));
  (*own)(status);
}

/// A handle with the context that it belongs to, which ends after it.
template <class Raw, tsr_status_t (*destroy)(Raw)>
struct Owned {
  explicit Owned(std::shared_ptr<Core> its_core) : core(std::move(its_core)) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (raw) destroy(raw);
  }

  std::shared_ptr<Core> core;
  Raw raw = nullptr;
};
using OwnedModule = Owned<tsr_module_t, tsrUnloadModule>;
using OwnedStream = Owned<tsr_stream_t, tsrDestroyStream>;
using OwnedEvent = Owned<tsr_event_t, tsrDestroyEvent>;

/// Memory that tsrAlloc gave.
struct Block {
  explicit Block(std::shared_ptr<Core> its_core) : core(std::move(its_core)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (data) tsrFree(core->context, data);
  }

  std::shared_ptr<Core> core;
  void* data = nullptr;
  size_t bytes = 0;
  tsr_device_t device = cpu;
};

/// Bytes of a dense tensor.
inline size_t bytes_of(tsr_dtype_t dtype, const Shape& shape) {
  if (dtype.bits % 8 != 0 || dtype.lanes != 1) throw Error(TSR_EINVAL, "the elements of a tensor are whole bytes");
  size_t bytes = dtype.bits / 8u;
  if (std::count(shape.begin(), shape.end(), 0) != 0) bytes = 0;
  for (int64_t extent : shape) {
    if (extent < 0) throw Error(TSR_EINVAL, "the extent " + std::to_string(extent) + " is negative");
    if (extent > 0 && bytes > std::numeric_limits<size_t>::max() / size_t(extent)) {
      throw Error(TSR_EOOM, "a tensor has more bytes than an address can count");
    }
    bytes *= size_t(extent);
  }
  return bytes;
}

}  // namespace detail

/// What is known about a device, as tsr_device_info_t says.
struct DeviceInfo {
  std::string name;  ///< for Context
  std::string description;
  uint64_t memory = 0;  ///< bytes
  tsr_device_t device = cpu;
  uint32_t processors = 0;
  uint32_t capability = 0;
};
/// The devices of the machine: the CPU, then the GPUs.
inline std::vector<DeviceInfo> devices() {
  size_t count = 0;
  detail::check(tsrGetDeviceCount(&count));
  std::vector<DeviceInfo> all;
  for (size_t i = 0; i < count; ++i) {
    auto raw = detail::sized<tsr_device_info_t>();
    detail::check(tsrGetDeviceInfo(i, &raw));
    all.push_back({raw.name, raw.description, raw.memory, raw.device, raw.processors, raw.capability});
  }
  return all;
}

/// Bytes that a context holds, and the most that it held at a time.
struct MemoryInfo {
  uint64_t used = 0;
  uint64_t peak = 0;
  uint64_t limit = 0;  ///< 0: none
};

}  // namespace tsr

#endif

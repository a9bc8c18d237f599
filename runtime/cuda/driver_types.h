#pragma once
// What the runtime uses of the CUDA driver's binary interface, declared here so that neither a
// build nor a machine without a GPU needs NVIDIA's headers. Names are ours; values and layouts are
// the driver's and never change for a given symbol.

#include <cstddef>
#include <cstdint>

namespace tessera::runtime::cuda {

using Address = uint64_t;  ///< of device memory
using DeviceHandle = int;
using ContextHandle = struct DriverContext*;
using ModuleHandle = struct DriverModule*;
using FunctionHandle = struct DriverFunction*;
using StreamHandle = struct DriverStream*;
using EventHandle = struct DriverEvent*;
using GraphHandle = struct DriverGraph*;
using GraphNodeHandle = struct DriverGraphNode*;
using GraphCallHandle = struct DriverGraphCall*;  ///< a graph that can be launched

// Results.
inline constexpr int success = 0;
inline constexpr int error_out_of_memory = 2;
inline constexpr int error_not_initialised = 3;
inline constexpr int error_stub_library = 34;
inline constexpr int error_insufficient_driver = 35;
inline constexpr int error_no_device = 100;
inline constexpr int error_invalid_device = 101;
inline constexpr int error_invalid_image = 200;
inline constexpr int error_no_binary_for_gpu = 209;
inline constexpr int error_invalid_ptx = 218;
inline constexpr int error_unsupported_ptx_version = 222;
inline constexpr int error_invalid_source = 300;
inline constexpr int error_not_found = 500;
inline constexpr int error_not_ready = 600;
inline constexpr int error_not_supported = 801;
inline constexpr int error_system_driver_mismatch = 803;

// Attributes of a device.
inline constexpr int device_max_threads_per_block = 1;
inline constexpr int device_multiprocessors = 16;
inline constexpr int device_capability_major = 75;
inline constexpr int device_capability_minor = 76;
inline constexpr int device_max_shared_optin = 97;

// Attributes of a function.
inline constexpr int function_max_threads_per_block = 0;
inline constexpr int function_static_shared_bytes = 1;
inline constexpr int function_max_dynamic_shared_bytes = 8;
inline constexpr int function_non_portable_cluster = 14;

// Flags.
inline constexpr unsigned stream_non_blocking = 1;
/// NULL and 1 name the default stream of the process; no handle is less than the one behind this.
inline constexpr uintptr_t per_thread_default_stream = 2;
inline constexpr unsigned event_default = 0;
/// Other threads may do what they like meanwhile.
inline constexpr int capture_relaxed = 2;
/// What comes next depends on the given nodes alone.
inline constexpr unsigned capture_set_dependencies = 1;
inline constexpr unsigned host_portable = 1;
inline constexpr unsigned host_device_mapped = 2;

// Options of the JIT.
inline constexpr int jit_error_log_buffer = 5;
inline constexpr int jit_error_log_bytes = 6;

/// CUlaunchAttribute: an id and a value of 64 bytes.
struct LaunchAttribute {
  static constexpr unsigned cluster_dimension = 4;
  static constexpr unsigned programmatic_serialization = 6;  ///< the kernel waits for the launch ahead of it by itself
  unsigned id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int holds;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUtensorMap, which only the driver reads and writes.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

// Element types of tensor maps.
inline constexpr int map_u8 = 0;
inline constexpr int map_u16 = 1;
inline constexpr int map_u32 = 2;
inline constexpr int map_i32 = 3;
inline constexpr int map_u64 = 4;
inline constexpr int map_i64 = 5;
inline constexpr int map_f16 = 6;
inline constexpr int map_f32 = 7;
inline constexpr int map_f64 = 8;
inline constexpr int map_bf16 = 9;

// Further choices of tensor maps.
inline constexpr int map_no_interleave = 0;
inline constexpr int map_no_swizzle = 0;  // 1, 2, 3: 32, 64, 128 bytes
inline constexpr int map_promote_128_bytes = 2;
inline constexpr int map_fill_zeros = 0;

}  // namespace tessera::runtime::cuda

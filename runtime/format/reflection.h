#pragma once
// What is known about each kernel: reflection.json of a bundle, and what the runtime launches by.
// Keys and types follow the kernel metadata of the architecture document (name, tile, fragments,
// resources, launch, epilogue) and add what a launch needs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/result.h"
#include "runtime/format/expr.h"

namespace tessera::format {

inline constexpr size_t max_kernel_rank = 32;

/// One parameter or result of a kernel.
struct KernelBuffer {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<Expr> shape;  ///< over KernelMeta::dims
  uint32_t alignment = 1;   ///< bytes the kernel relies on
  bool result = false;      ///< written; results follow parameters
  bool operator==(const KernelBuffer&) const = default;
};

/// A tensor map (TMA descriptor) of a CUDA kernel: how a box of one of its buffers is copied. The
/// runtime encodes it at a launch and passes its 128 bytes by value after buffers and dims.
/// Elements beyond the extents read as 0 and are not written.
struct KernelDescriptor {
  uint32_t buffer = 0;          ///< in KernelMeta::buffers
  Dtype dtype = Dtype::F32;     ///< of the elements that are copied
  std::vector<Expr> dims;       ///< extents over KernelMeta::dims, innermost first
  std::vector<Expr> strides;    ///< bytes, of the dims from the second on
  Expr offset = const_expr(0);  ///< bytes from the buffer's start
  std::vector<int64_t> box;     ///< extents of what one copy moves, beside dims; of windows channels and windows
  int64_t swizzle = 0;          ///< bytes of the shared-memory swizzle: 0, 32, 64 or 128
  /// Of windows of an image, for each axis between the first dim and the last: how far from its two ends windows begin,
  /// and how far from each other. Empty otherwise.
  std::vector<int64_t> lower, upper, steps;
  bool operator==(const KernelDescriptor&) const = default;
};

struct KernelFragments {
  std::string mma;  ///< such as "16x16x16"; of the instruction for dots; empty where there is none
  std::string dtype_in;
  std::string dtype_acc;
  bool operator==(const KernelFragments&) const = default;
};

/// What one launch computes and moves, over KernelMeta::dims.
struct KernelWork {
  std::optional<Expr> flops;     ///< operations on floats, and those of products; none: unknown
  Expr dot_flops = const_expr(0);  ///< those of `flops` that are in dots
  std::string dot_dtype;      ///< of the factors; empty where there are no dots
  bool at_most = false;           ///< flops depend on more than dims; they are the most
  bool infinite = false;          ///< the source writes infinities: results may have some
  Expr reads = const_expr(0);     ///< bytes that are reached, each once
  Expr writes = const_expr(0);
  bool operator==(const KernelWork&) const = default;
};

/// An access of a checked kernel; entries of its log name it by its number.
struct KernelCheck {
  std::string access;   ///< load, store, gather or copy
  int64_t buffer = -1;  ///< in KernelMeta::buffers; -1 for scratch memory
  std::string source;   ///< where it is written; may be empty
  bool operator==(const KernelCheck&) const = default;
};

struct KernelMeta {
  std::string name;                     ///< the symbol in the object
  std::string code;                     ///< the kernel whose code it runs, if not its own
  std::string source;                   ///< where it is written: "stdlib/matmul.tsr:5:5"; may be empty
  std::string title;                    ///< the function there, or the text that it computes; may be empty
  std::map<std::string, int64_t> tile;  ///< extents by axis, and "stages"
  KernelFragments fragments;
  int64_t regs_per_thread = 0;
  int64_t smem_per_cta = 0;  ///< bytes
  std::vector<Expr> grid;    ///< programs per axis over `dims`; the last axis is the fastest
  std::vector<int64_t> block = {1, 1, 1};
  std::vector<int64_t> cluster = {1, 1, 1};  ///< blocks of a cluster; the product counts
  bool persistent = false;  ///< blocks compute several programs: at most what fits runs
  bool waits = false;       ///< it waits for the launch ahead of it, and may start before that has ended
  std::vector<std::string> epilogue;
  int64_t alignment = 1;                      ///< smallest alignment of all buffers, bytes
  int64_t vector_width = 1;                   ///< elements of a vector access
  int64_t occupancy = 1;                      ///< blocks per multiprocessor; 1 on a CPU
  std::vector<std::string> features;          ///< machine features the code uses
  std::vector<std::string> dims;              ///< free dims in the order of the `dims` argument
  std::vector<Expr> assume;                   ///< conditions on `dims` that the code relies on
  std::vector<KernelBuffer> buffers;          ///< in the order of the `buffers` argument
  std::vector<KernelDescriptor> descriptors;  ///< in the order of the kernel's last parameters
  Expr scratch = const_expr(0);               ///< bytes of scratch per call, over `dims`
  int64_t spills = 0;                         ///< bytes of registers kept in memory, as ptxas says
  KernelWork work;
  std::vector<KernelCheck> checks;            ///< not empty: the code takes a log after its buffers
  /// The kernel whose code it runs.
  const std::string& code_name() const { return code.empty() ? name : code; }
  bool operator==(const KernelMeta&) const = default;
};

/// Where the steps of a plan come from: "mlp.tsr:7:12", or empty, one for each step.
using StepSources = std::vector<std::string>;

struct Reflection {
  /// By target ("cpu:x86-64-v4"), each list in order of name.
  std::map<std::string, std::vector<KernelMeta>> kernels;
  /// By target and entry.
  std::map<std::string, std::map<std::string, StepSources>> steps;
  bool operator==(const Reflection&) const = default;
};

/// What the reader asks of a kernel beyond the types of its fields: counts that no machine exceeds,
/// and descriptors that the hardware has a form for. A compiler checks what it made.
Outcome check_kernel(const KernelMeta& kernel);

/// reflection.json: sorted keys, two spaces of indentation, expressions in their text form.
std::string write_reflection(const Reflection& reflection);

/// Reads and checks untrusted text; only the form that write_reflection gives is accepted.
Result<Reflection> read_reflection(std::string_view json);

/// A text in YAML, within lists and maps, too: as it is, or in quotes where it would mean something else.
std::string yaml_text(std::string_view text);

/// One kernel in YAML, one line a key: `tile: {M: 128, N: 128, K: 64, stages: 3}`.
std::string kernel_yaml(const KernelMeta& kernel);

}  // namespace tessera::format

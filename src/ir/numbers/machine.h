#pragma once
// Targets as facts: passes ask what a machine has, never which one it is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/numbers/dtype.h"

namespace tessera {

enum class MachineKind : uint8_t { Cpu, Cuda };

/// Peak figures of a typical machine of a target, from data sheets: of a CPU, one core and its share of memory.
struct PeakFigures {
  std::string_view of;      ///< whose figures they are
  double f64 = 0;           ///< GFLOP/s outside of matrix units
  double f32 = 0;
  double dot_f64 = 0;  ///< GFLOP/s of dots, by dtype of the factors
  double dot_f32 = 0;
  double dot_tf32 = 0;
  double dot_16 = 0;   ///< bf16 and f16
  double dot_8 = 0;    ///< f8 and integers of 8 bits
  double bandwidth = 0;     ///< GB/s of memory
  int64_t multiprocessors = 0;  ///< of a GPU

  /// GFLOP/s of dots of factors of a dtype.
  double dot(DType dtype) const;
};

/// What a GPU has. Sizes of memory are in bytes.
struct GpuFacts {
  std::string ptx_target;              ///< as PTX names it: sm_90a
  unsigned warp_size = 32;
  unsigned registers = 65536;          ///< 32-bit registers of a multiprocessor
  unsigned registers_per_thread = 255;
  unsigned threads_per_block = 1024;
  unsigned threads = 2048;             ///< that a multiprocessor runs at a time
  unsigned blocks = 32;                ///< likewise
  unsigned lanes = 128;                ///< multiply-adds of f32 that a multiprocessor starts in a clock
  unsigned shared = 0;                 ///< memory that the blocks of a multiprocessor share
  unsigned shared_per_block = 0;       ///< the most that a block may ask for
  bool has_mma = false;                ///< MMAs of a warp, in registers
  bool has_f8_mma = false;             ///< these, of floats of 8 bits
  bool has_wgmma = false;              ///< MMAs of warpgroups, from descriptors of shared memory
  bool has_tma = false;                ///< bulk copies by tensor maps, counted at mbarriers
  bool has_clusters = false;
  bool has_register_reallocation = false;
  bool has_stmatrix = false;
  bool has_vector_reduction = false;   ///< additions in memory of up to 16 bytes of f32
  bool has_dependent_launches = false; ///< a kernel may start before the launch ahead of it has ended
  PeakFigures peaks{};
  std::string schedules_of = {};       ///< the target whose schedules serve kernels that its own table lacks
};

struct Machine {
  std::string name;          ///< as spelt on the command line: cpu:x86-64-v4
  std::string llvm_cpu;      ///< CPU name given to LLVM
  std::string llvm_features;
  unsigned vector_bytes = 0;      ///< width of a vector register
  unsigned vector_registers = 0;  ///< how many the compiler may use
  bool has_mask_registers = false;
  bool has_f16_conversion = false;
  bool has_bf16_pairs = false;  ///< dots of pairs of bf16, added to f32, in vector registers
  bool has_bf16_tiles = false;  ///< a matrix unit for bf16: eight tiles of 16 rows of 64 bytes
  MachineKind kind = MachineKind::Cpu;
  GpuFacts gpu{};
  /// min and max of f32 give NaN if either is NaN, and order zeros by sign.
  bool has_nan_propagating_extremes = false;
  /// Shifts by the width or more give 0, or the sign of a signed number.
  bool has_saturating_shifts = false;
  bool has_bf16_conversion = false;
  /// 2^a, log2 a, 1/a and 1/sqrt(a) of f32 in one operation, to about 22 bits.
  bool has_approximate_functions = false;
  /// A correctly rounded division of f32 is a sequence of instructions, a fused multiply-add one.
  bool divides_by_steps = false;

  bool is_gpu() const { return kind == MachineKind::Cuda; }
  /// A name that is part of a file path in a bundle: cpu-x86-64-v4.
  std::string path_name() const;
  /// Lanes of a vector register for elements of that many bytes.
  unsigned lanes(unsigned element_bytes) const { return vector_bytes / element_bytes; }
};

/// The machine of that spelling, or null.
const Machine* find_machine(std::string_view name);
/// All that can be compiled for, in order.
std::vector<const Machine*> all_machines();
/// The default target; never depends on the host.
std::vector<const Machine*> default_machines();

}  // namespace tessera

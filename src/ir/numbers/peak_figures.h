#pragma once
// The peak figures of a typical machine of a target, from data sheets, for estimates. No code
// depends on them.

#include <string>

#include "ir/numbers/dtype.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// Of a CPU, one core and its share of memory.
struct PeakFigures {
  std::string of;           ///< whose figures they are
  double f64 = 0;           ///< GFLOP/s outside of matrix units
  double f32 = 0;
  double dot_f64 = 0;  ///< GFLOP/s of dots, by dtype of the factors
  double dot_f32 = 0;
  double dot_16 = 0;   ///< bf16 and f16
  double dot_8 = 0;    ///< f8 and integers of 8 bits
  double bandwidth = 0;     ///< GB/s of memory

  /// GFLOP/s of dots of factors of a dtype.
  double dot(DType dtype) const;
};
PeakFigures peak_figures(const Machine& machine);

/// Threads that a multiprocessor of a GPU holds at a time.
int64_t resident_threads(const Machine& machine);
/// Blocks of that many threads, registers a thread and bytes of shared memory that a multiprocessor
/// holds at a time: 0 where one does not fit. 0 registers: not known, and no bound.
int64_t resident_blocks(const Machine& machine, int64_t threads, int64_t registers, int64_t shared_bytes);

}  // namespace tessera

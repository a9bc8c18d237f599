#pragma once
// What a typical machine of a target reaches at best: figures of data sheets, for estimates. No code
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
  double products_f64 = 0;  ///< GFLOP/s of products by dtype of the factors
  double products_f32 = 0;
  double products_16 = 0;   ///< bf16 and f16
  double products_8 = 0;    ///< f8 and integers of 8 bits
  double bandwidth = 0;     ///< GB/s of memory

  /// GFLOP/s of products of factors of a dtype.
  double products(DType dtype) const;
};
PeakFigures peak_figures(const Machine& machine);

/// Threads that a multiprocessor of a GPU holds at a time.
int64_t resident_threads(const Machine& machine);
/// Blocks of that many threads, registers a thread and bytes of shared memory that a multiprocessor
/// holds at a time: 0 where one does not fit. 0 registers: not known, and no bound.
int64_t resident_blocks(const Machine& machine, int64_t threads, int64_t registers, int64_t shared_bytes);

}  // namespace tessera

#pragma once
// The peak figures of a typical machine of a target, from data sheets, for estimates. Which of several schedules a
// launch takes depends on them, and no result does.

#include "ir/numbers/machine.h"

namespace tessera {

PeakFigures peak_figures(const Machine& machine);
/// The same of a CPU with so many 1e9 cycles a second and GB/s of memory.
PeakFigures cpu_figures(const Machine& machine, double gigahertz, double bandwidth);

/// Threads that a multiprocessor of a GPU holds at a time.
int64_t resident_threads(const Machine& machine);
/// Blocks of that many threads, registers a thread and bytes of shared memory that a multiprocessor
/// holds at a time: 0 where one does not fit. 0 registers: not known, and no bound.
int64_t resident_blocks(const Machine& machine, int64_t threads, int64_t registers, int64_t shared_bytes);

}  // namespace tessera

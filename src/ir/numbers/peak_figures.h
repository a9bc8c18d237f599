#pragma once
// The peak figures of a typical machine of a target, from data sheets, for estimates. Which of several schedules a
// launch takes depends on them, and no result does.

#include <optional>
#include <string_view>
#include <vector>

#include "ir/numbers/machine.h"

namespace tessera {

PeakFigures peak_figures(const Machine& machine);
/// The same of a GPU by its name, as h200; nothing where it does not run code for the machine.
std::optional<PeakFigures> gpu_figures(const Machine& machine, std::string_view gpu);
/// The names of GPUs whose figures are known.
std::vector<std::string_view> known_gpus();
/// The same of a CPU with so many 1e9 cycles a second and GB/s of memory.
PeakFigures cpu_figures(const Machine& machine, double gigahertz, double bandwidth);

/// What launches on a GPU reach of the peak figures, and what they take beside. It was measured with the rows of
/// bench/gpu/families; where nothing was measured it is the peak.
struct SustainedRates {
  double memory = 1;      ///< parts of the peaks
  double dots_16 = 1;     ///< of dots whose factors have 16 bits and less
  double dots = 1;        ///< of others
  double arithmetic = 1;
  double call = 0;        ///< microseconds of a call before its first launch
  double launch = 0;      ///< microseconds of each launch
  double wave = 0;        ///< microseconds in which programs with dots wait for their first operands and store results
  double beside = 0;      ///< part of the shorter one of memory's and arithmetic's time that is not hidden by the other
};
SustainedRates sustained_rates(const Machine& machine);

/// Threads that a multiprocessor of a GPU holds at a time.
int64_t resident_threads(const Machine& machine);
/// Blocks of that many threads, registers a thread and bytes of shared memory that a multiprocessor
/// holds at a time: 0 where one does not fit. 0 registers: not known, and no bound.
int64_t resident_blocks(const Machine& machine, int64_t threads, int64_t registers, int64_t shared_bytes);

}  // namespace tessera

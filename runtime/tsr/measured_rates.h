#pragma once
// How fast this machine multiplies and moves memory, measured: the roofline of code that runs here.
//
// A target names instructions and no clock, so no data sheet says what is left to gain on this machine.
// Multiply-adds of the target's vectors give the cycles a second of all threads together. Reading or copying, the
// faster one, gives the rate of memory for as many bytes as a launch moves: the tensors of a call that is timed again
// and again stay in caches where they fit.

#include <map>

#include "ir/numbers/machine.h"

namespace tessera::tool {

class MeasuredRates {
 public:
  /// Of code for a CPU whose instructions this one has, on so many threads.
  MeasuredRates(const Machine& machine, int threads);
  /// The peak figures of all threads together for a launch that moves so many bytes.
  PeakFigures figures(double bytes);

 private:
  double bandwidth(size_t bytes) const;

  const Machine& machine_;
  int threads_;  ///< that run at the same time
  double gigahertz_;                       ///< of all threads together
  std::map<size_t, double> bandwidths_{};  ///< GB/s, by bytes of a thread
};

}  // namespace tessera::tool

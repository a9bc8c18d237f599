#pragma once
// Values that are not known at compile time: the range of a run-time loop, a name that only a block
// of such a loop or branch defines, a default that depends on arguments.

#include "frontend/values/value.h"

namespace tessera::frontend {

class RuntimeRange : public Object {
 public:
  /// Bounds are integers, sizes, or i64 tensors of rank 0; the step is at least 1.
  RuntimeRange(Datum start, Datum stop, int64_t step)
      : start_(std::move(start)), stop_(std::move(stop)), step_(step) {}
  const Datum& start() const { return start_; }
  const Datum& stop() const { return stop_; }
  int64_t step() const { return step_; }
  std::string describe() const override { return "a range of a length known at run time"; }

 private:
  Datum start_;
  Datum stop_;
  int64_t step_;
};

/// Stands for a name that has a value only in a run-time loop or in one branch.
class LocalName : public Object {
 public:
  std::string describe() const override {
    return "a name that only a run-time loop or branch gives a value, and nothing before it";
  }
};

/// The value of a parameter whose default names a size or dtype that other arguments of the call bind.
class LateDefault : public Object {
 public:
  std::string describe() const override { return "a default that is not known yet"; }
};

}  // namespace tessera::frontend

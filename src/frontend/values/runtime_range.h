#pragma once
// What values may stand for that are no numbers while compiling: a range over which a loop runs on the machine, a name
// that only a suite there defines, a default that waits for what arguments say.

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

/// What a name stands for that only a loop or one branch, run on the machine, gives a value.
class LocalName : public Object {
 public:
  std::string describe() const override {
    return "a name that has a value only inside a loop or branch that runs on the machine";
  }
};

/// The value of a parameter whose default names a size or dtype that other arguments of the call bind.
class LateDefault : public Object {
 public:
  std::string describe() const override { return "a default that is not known yet"; }
};

}  // namespace tessera::frontend

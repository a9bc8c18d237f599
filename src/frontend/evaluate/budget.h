#pragma once
// Limits of evaluating a program: steps, memory, and depth. A compilation has one budget; its
// kernels, which are evaluated when the lowering asks for them, share it. When a limit is exceeded,
// one diagnostic reports it at the place where it happened, and from then on every value is poison.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/spending.h"

namespace tessera::frontend {

struct EvaluationLimits {
  size_t steps = 4'000'000;
  size_t memory = 1'000'000'000;  ///< bytes; nine tenths are for values, names, dims and IR
};

/// Levels of expressions and blocks inside each other.
inline constexpr unsigned nesting_limit = 2000;
/// Levels of calls inside each other.
inline constexpr size_t call_depth_limit = 200;
/// Levels of values inside each other.
inline constexpr unsigned value_depth_limit = 200;
/// Parts of one value, shared ones counted each time: a walk over a value gets to its end.
inline constexpr uint64_t value_parts_limit = 1'000'000;

/// Parts of values that are looked at in the time of a step.
inline constexpr uint64_t parts_of_step = 16;

class Budget {
 public:
  enum class Verdict : uint8_t { Within, OutOfSteps, OutOfMemory, Spent };

  explicit Budget(const EvaluationLimits& limits) : limits_(limits), start_(spending()) {}

  const EvaluationLimits& limits() const { return limits_; }
  /// Those that may be made until now.
  size_t most_steps() const { return most_steps_; }
  /// Counts steps, and says whether there is room for so many more bytes beside those that are counted. What is
  /// missing is reported once, then everything is spent.
  Verdict spend(size_t steps, size_t bytes);
  /// Nobody waits for the result any more.
  void end() { spent_ = true; }
  bool is_spent() const { return spent_; }
  uint64_t steps() const { return earlier_.steps + (spending().steps - start_.steps); }
  /// Passes work with dims and types, too, and that is not counted. Behind them are kernels, each in as many forms as
  /// there are shapes and targets: for these there are more steps.
  void pause();
  void resume() { start_ = spending(); }

  /// What is done while it lives has the same number of steps for itself and half of the memory that is left, and none
  /// of them count. Where they end is no error.
  class Apart {
   public:
    explicit Apart(Budget& budget)
        : budget_(budget), steps_(budget.steps()), bytes_(budget.bytes()), room_(budget.room_), spent_(budget.spent_) {
      budget_.most_steps_ += steps_;
      budget_.room_ = size_t(std::max<int64_t>(bytes_, 0)) / 2 + room_ / 2;
    }
    ~Apart() {
      budget_.most_steps_ -= steps_;
      budget_.start_.steps += budget_.steps() - steps_;
      budget_.start_.bytes += budget_.bytes() - bytes_;
      budget_.room_ = room_;
      budget_.spent_ = spent_;
    }
    Apart(const Apart&) = delete;

   private:
    Budget& budget_;
    uint64_t steps_;
    int64_t bytes_;
    size_t room_;
    bool spent_;
  };
  /// What is done while it lives spends steps that are there for all such work together. Where they end is no error.
  class Extra {
   public:
    explicit Extra(Budget& budget)
        : budget_(budget), steps_(budget.steps()), most_steps_(budget.most_steps_), spent_(budget.spent_) {
      budget_.most_steps_ = steps_ + budget_.extra_steps_;
    }
    ~Extra() {
      uint64_t made = budget_.steps() - steps_;
      budget_.extra_steps_ -= std::min<uint64_t>(made, budget_.extra_steps_);
      budget_.start_.steps += made;
      budget_.most_steps_ = most_steps_;
      budget_.spent_ = spent_;
    }
    Extra(const Extra&) = delete;
    bool is_spent() const { return budget_.spent_; }

   private:
    Budget& budget_;
    uint64_t steps_;
    size_t most_steps_;
    bool spent_;
  };
  /// Counts while it lives.
  class Running {
   public:
    explicit Running(Budget& budget) : budget_(budget) { budget_.resume(); }
    ~Running() { budget_.pause(); }
    Running(const Running&) = delete;

   private:
    Budget& budget_;
  };

 private:
  int64_t bytes() const { return earlier_.bytes + (spending().bytes - start_.bytes); }

  EvaluationLimits limits_;
  size_t room_ = limits_.memory - limits_.memory / 10;  ///< a tenth is for what is not counted: the compiler's own
  size_t most_steps_ = limits_.steps;
  size_t extra_steps_ = limits_.steps;
  Spending start_;
  Spending earlier_;
  bool spent_ = false;
};

}  // namespace tessera::frontend

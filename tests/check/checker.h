#pragma once
// One program in every way, each result beside its bounds.

#include <map>
#include <string>

#include "check/program.h"
#include "check/subject.h"

namespace tessera::check {

/// Skipped: no sample is small enough to be computed.
enum class Verdict : uint8_t { Passed, Refused, Skipped, Failed };

/// What was found out about a program.
struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string way;      ///< the one that failed
  std::string message;  ///< what is wrong there
  int64_t skipped = 0;    ///< samples that would take too long
  int64_t elements = 0;   ///< compared
  int64_t exact = 0;      ///< of these: those that only one value was right for
  int64_t unbounded = 0;  ///< of these: those that any value would have been right for
  std::map<std::string, int64_t> ways;  ///< how often each way computed a sample
  std::map<std::string, int64_t> refused;
};

struct CheckOptions {
  std::vector<const Machine*> cpus;       ///< for machine code
  std::vector<const Machine*> elsewhere;  ///< whose tiles are interpreted, and whose code is built and not run
  bool tiles = true;
};

/// What a run of the generator checks for a seed: all machines, or some of them in turn.
CheckOptions options_for(uint64_t seed, bool thorough);

Outcome check(const Program& program, const CheckOptions& options);

/// The elements of an argument.
TensorValue filled(const Node& argument, const DimValues& dims, uint64_t salt);

}  // namespace tessera::check

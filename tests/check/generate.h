#pragma once
// Random programs that are well-typed by construction.

#include "check/program.h"

namespace tessera::check {

/// A program on whole tensors. Equal seeds give equal programs, everywhere.
Program random_model(uint64_t seed);
/// A program that is one kernel, and what it computes on whole tensors.
Program random_kernel(uint64_t seed);
/// A program that updates state: a cache of keys and values, or the state of an optimiser.
Program random_state(uint64_t seed);
/// One of these.
Program random_program(uint64_t seed);

}  // namespace tessera::check

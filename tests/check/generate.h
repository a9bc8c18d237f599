#pragma once
// Random programs that are well-typed by construction.

#include "check/program.h"

namespace tessera::check {

/// A program on whole tensors. Equal seeds give equal programs, everywhere.
Program random_program(uint64_t seed);

}  // namespace tessera::check

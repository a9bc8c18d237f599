#pragma once
// What a library does with a bundle: it loads it, and calls what it offers.

#include <string>

#include "check/random.h"

namespace tessera::hostile {

enum class Verdict { Refused, Loaded, Called, Wrong };

/// Loads the bundle as it is, then with kernels that stand in for its own, and calls each entry for a
/// few sizes. Wrong, with a sentence, where a call changes what it only may read, says that the library
/// is at fault, or finds a canary written. What reaches outside of memory ends the process.
Verdict try_bundle(const std::string& bytes, check::Random& random, std::string& why);

}  // namespace tessera::hostile

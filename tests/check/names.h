#pragma once
// What frontend/binding says of names, from their text alone, beside where the evaluation found them.

#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace tessera::check {

struct NameComparison {
  size_t lookups = 0;    ///< of the evaluation, whose names are in the text
  size_t uncertain = 0;  ///< of which the text alone does not decide whether they are locals
  size_t unknown = 0;    ///< names that nothing defines
  std::vector<std::string> differences;
};

/// Compiles a file, with its kernels where a machine is named.
NameComparison compare_names(SourceManager& sources, FileId file, const std::string& kernels_for = "");

/// A program that gives few names many meanings: in loops, branches, nested functions, lambdas and comprehensions.
/// Some of its names may be undefined.
std::string random_scopes(uint64_t seed);

}  // namespace tessera::check

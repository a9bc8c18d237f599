#pragma once
// What frontend/binding says of names, from their text alone, beside where the evaluation found them.

#include <map>
#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace tessera::check {

struct NameComparison {
  size_t lookups = 0;    ///< of the evaluation, whose names are in the text
  size_t uncertain = 0;  ///< of which the text alone does not decide whether they are locals
  size_t unknown = 0;    ///< names that nothing defines
  size_t links = 0;      ///< names found in another file, or behind the dot of a module
  std::vector<std::string> differences;
};

struct ComparedProgram {
  FileId file = 0;
  std::string kernels_for = {};  ///< a machine, where kernels are compiled
  /// Other files, which are not on the disk.
  const std::map<std::string, std::string>* texts = nullptr;
  /// What constants of the file have to be, "" where what they name does not exist.
  const std::map<std::string, std::string>* values = nullptr;
};

/// Compiles a program.
NameComparison compare_names(SourceManager& sources, const ComparedProgram& program);

/// A program that gives few names many meanings: in loops, branches, nested functions, lambdas and comprehensions.
/// Some of its names may be undefined.
std::string random_scopes(uint64_t seed);

}  // namespace tessera::check

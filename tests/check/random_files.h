#pragma once
// Programs of several files whose names lead from one to another: imports of imports under other names, of modules
// below modules, and of what the language has.

#include <cstdint>
#include <map>
#include <string>

namespace tessera::check {

struct RandomFiles {
  std::map<std::string, std::string> texts;  ///< by path; main.tsr imports the others
  /// The constants of main.tsr that name something: the values that they have, which no other name has, and "" where
  /// there is no such name.
  std::map<std::string, std::string> values;
};

RandomFiles random_files(uint64_t seed);

}  // namespace tessera::check

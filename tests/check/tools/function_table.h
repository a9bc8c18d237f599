#pragma once
// The functions of one number whose errors are measured, and machine code of them.

#include <span>
#include <string>

#include "check/subject.h"
#include "ir/numbers/elementwise.h"

namespace tessera::check {

struct Function {
  const char* name;
  const char* text;  ///< of x
  ElementwiseKind kind;
};

std::span<const Function> measured_functions();

/// An entry of a tensor of the dtype, with the functions of it as results.
std::string source_of(std::span<const Function> functions, DType dtype);

// What is printed for f32: the largest error over all 2^32 arguments and where it is.

/// Lines of the table of f32. Searches shard `shard` of `shards` of all arguments; a function with a result that is
/// wrong in kind (NaN, an infinity, the sign of a zero) has a line that says so. Functions that are exact have none.
std::string search_singles(std::span<const Function> functions, unsigned shard, unsigned shards);

/// The lines with the errors that the functions now have at the arguments that are stated.
std::string remeasured_singles(const std::string& lines);

}  // namespace tessera::check

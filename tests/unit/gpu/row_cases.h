#pragma once
// Entries that take rows of an argument, compiled up to tiles of a Hopper GPU and run by the interpreter.

#include <catch2/catch.hpp>
#include <limits>

#include "unit/gpu/gpu_program.h"

namespace tessera::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// An entry of that body, with results that may differ from the graph's by `bound`.
inline GpuCase rows_case(const std::string& name, const std::string& arguments, const std::string& body, size_t results,
                         const std::vector<DimValues>& sizes, double bound) {
  return {name, "", "", results, {}, sizes, bound, "import tessera.nn as nn\n@jit\ndef f(" + arguments + "):\n" + body};
}

/// The program of a case before its kernels become instructions.
struct Tiles : GpuProgram {
  explicit Tiles(const GpuCase& of) : GpuProgram(of, "cuda:sm_90a") { advance_to(PassId::tile_to_nv); }
};

/// Runs the case at its sizes, beside the graph.
inline void check_values(const GpuCase& each) {
  INFO(each.name);
  Tiles program(each);
  for (const DimValues& dims : each.sizes) {
    Tensors arguments = program.arguments(dims);
    CHECK(largest_difference(program.values(arguments, dims), program.expected(arguments)) <= each.bound);
  }
}

}  // namespace tessera::test

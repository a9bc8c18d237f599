#pragma once
// Targets as facts: passes ask what a machine has, never which one it is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Machine {
  std::string name;          ///< as spelt on the command line: cpu:x86-64-v4
  std::string llvm_cpu;      ///< CPU name given to LLVM
  std::string llvm_features;
  unsigned vector_bytes = 0;      ///< width of a vector register
  unsigned vector_registers = 0;  ///< how many the compiler may use
  bool has_mask_registers = false;
  bool has_f16_conversion = false;
  bool has_bf16_tiles = false;  ///< a matrix unit for bf16: eight tiles of 16 rows of 64 bytes
  /// A name that is part of a file path in a bundle: cpu-x86-64-v4.
  std::string path_name() const;
  /// Lanes of a vector register for elements of that many bytes.
  unsigned lanes(unsigned element_bytes) const { return vector_bytes / element_bytes; }
};

/// The machine of that spelling, or null.
const Machine* find_machine(std::string_view name);
/// All that can be compiled for, in order.
std::vector<const Machine*> all_machines();
/// What is compiled for when nothing is asked for; never depends on the host.
std::vector<const Machine*> default_machines();

}  // namespace tessera

#pragma once
// The matrix instructions of machines, as facts (mma.def).

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/numbers/dtype.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// How a matrix instruction is issued.
enum class MmaUnit : uint8_t {
  Wgmma,    ///< by four warps, asynchronously; operands in shared memory, the left one also in registers
  MmaSync,  ///< by a warp; operands in registers
  Amx,      ///< by a thread of a CPU; operands in tile registers
  Pairs     ///< by a thread of a CPU; operands in vector registers
};

/// Along which axis the operands of a matrix instruction may be contiguous in shared memory.
enum class MmaMajors : uint8_t { AlongK, Any };

/// A row of mma.def.
struct MmaInstruction {
  std::string_view name;
  MmaUnit unit;
  DType factors, sum;
  int64_t m, n, n_step, k;  ///< elements
  int64_t clocks;           ///< of a multiprocessor, at the greatest n
  MmaMajors majors;
  int64_t promotes;  ///< elements along k; 0: never
  bool (*has)(const Machine&);

  /// Warps of a GPU that issue it together.
  int64_t warps() const { return unit == MmaUnit::Wgmma ? 4 : 1; }
};

/// All instructions, those to be preferred first.
std::span<const MmaInstruction> mma_instructions();

/// The instruction of that name, or null.
const MmaInstruction* find_mma(std::string_view name);
/// The unit's instruction for factors of that dtype, or null.
const MmaInstruction* find_mma(MmaUnit unit, DType factors);

/// Whether the machine's best instruction for factors of that dtype takes operands that are contiguous along k alone.
bool reads_along_k(const Machine& machine, DType factors);

/// The part of a machine's best rate of dots that instructions of the unit reach, at most 1.
double mma_rate(MmaUnit unit, const Machine& machine);

/// What the unit's instructions are called: "wgmma".
std::string_view to_string(MmaUnit unit);

}  // namespace tessera

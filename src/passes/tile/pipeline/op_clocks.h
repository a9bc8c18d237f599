#pragma once
// What the ops of a loop occupy on a multiprocessor of a GPU (units.def), before they have layouts.

#include <map>
#include <string_view>

#include "ir/core/op.h"
#include "ir/numbers/mma.h"
#include "passes/tile/pipeline/modulo_schedule.h"

namespace tessera::pipeline {

enum class Unit : uint8_t {
#define UNIT(Name, ...) Name,
#include "passes/tile/pipeline/units.def"
#undef UNIT
};

struct UnitInfo {
  std::string_view text;  ///< "copy engine"
  int64_t rate;           ///< a clock
  UnitUse use;
  int64_t latency;        ///< clocks
};
const UnitInfo& info(Unit unit);
std::vector<UnitUse> unit_uses();

/// What an op occupies, and the clocks from its start until others can use its result.
struct OpClocks {
  std::vector<Occupancy> occupies;
  int64_t latency = 0;

  /// Clocks that it occupies the unit that it occupies longest.
  int64_t busy() const;
};

/// How operands of the dots of a loop reach the unit that multiplies, by the load that brings them, and the
/// instructions.
struct DotChoices {
  enum class By : uint8_t { CopyEngine, Threads };

  std::map<const Op*, By> brought;
  std::map<const Op*, const MmaInstruction*> instructions;
  int64_t held_bytes = 0;  ///< of shared memory, of operands that are brought once or stored
};

/// Elements of the tile, as far as its extents are numbers; 1 for a scalar.
int64_t element_count(Type type);
int64_t tile_bytes(Type type);

/// Whether the op takes time of its own. Others change how tiles are seen, or compute numbers that are cheap to compute
/// again.
bool takes_time(Op* op);

OpClocks clocks_of(Op* op, const DotChoices& dots, const Machine& machine);

}  // namespace tessera::pipeline

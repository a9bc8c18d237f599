#pragma once
// Layouts as tables of numbers: which thread and register, or which address, has each element. The page only adds and
// looks up, so that it shows what the compiler computes.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/module.h"
#include "ir/layout/access.h"

namespace tessera::inspect {

/// An access of shared memory by the threads of a kernel's block.
struct AccessRecord {
  std::string op;  ///< of the tile: tile.load
  uint32_t place = 0;
  std::string layout;
  std::string shared;
  int width = 1;  ///< elements of a thread at a time
  layout::WorstAccess worst;
};

struct KernelLayouts {
  std::vector<std::string> tiles;  ///< layouts of its tiles and its shared memory, each once, in order
  std::vector<AccessRecord> accesses;
};

/// The layouts that types of values in a kernel have.
std::vector<std::string> layouts_of(Op* kernel);

/// The tables of a layout as JSON, or null where it cannot be drawn: it has more than two axes, or too many elements.
///
/// Threads: element = registers[r] + lanes[l] + warps[w], coordinate by coordinate; the first of its owners in the
/// order of warp, lane and register stores it. Memory: the offset of each element in bytes, row by row.
std::string layout_json(std::string_view text);

}  // namespace tessera::inspect

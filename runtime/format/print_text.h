#pragma once
// What the programs of a launch printed, as lines of text.
//
// A program stores what it prints in memory of its own: element [program, iteration, i, j, …] of
// `values`, where that of `shown` says that it did. The runtime and the interpreters read these
// buffers after the launch, so that the lines stand in the order of the programs, and within one in
// that of the statements, whatever ran when.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"

namespace tessera::format {

/// The lines of one launch; those beyond are counted.
inline constexpr size_t most_printed_lines = 1000;

struct PrintedItem {
  std::string label;
  std::string source;            ///< "f.tsr:9:5"; may be empty
  Dtype dtype = Dtype::Bool;     ///< of `values`; one that is_printed_dtype has
  /// Of both buffers: programs, iterations, and the elements that are kept of each axis of the tile.
  std::vector<int64_t> shape;
  std::vector<int64_t> extents;  ///< of the tile
  std::vector<int64_t> trip_counts;    ///< of the loops around it, the outermost first
  uint32_t loop = 0;             ///< the first item in the same outermost loop; its own number outside of loops
  std::string_view values;       ///< empty where there is a label alone
  std::string_view shown;        ///< a byte for each element
};

/// f32 and f64, integers of 32 and 64 bits, and bool: kernels widen to these what they print.
bool is_printed_dtype(Dtype dtype);

/// `grid` are the programs along each axis. Nothing where the buffers have other programs, or not the bytes that their
/// shapes say.
std::optional<std::string> printed_text(std::span<const int64_t> grid, std::span<const PrintedItem> items);

}  // namespace tessera::format

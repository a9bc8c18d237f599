#pragma once
// Tile kernels from short texts, for tests.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "unit/ir/text_fixture.h"

namespace tessera {

/// A module of one tile.kernel @k with these parameters and statements; a grid of [4, 1].
/// `attributes` are further ones of the kernel: `, threads = 128`.
inline std::string tile_kernel(const std::string& parameters, const std::vector<std::string>& body,
                               int outputs = 0, const std::string& attributes = "") {
  std::string text = "module @m level(tile) version(1) {\n  tile.kernel @k(" + parameters +
                     ") {grid = [4, 1], outputs = " + std::to_string(outputs) +
                     ", schedule = {}" + attributes + "} {\n";
  for (const std::string& line : body) text += "    " + line + "\n";
  return text + "    tile.return\n  }\n}\n";
}

}  // namespace tessera

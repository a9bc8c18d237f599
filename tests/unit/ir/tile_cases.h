#pragma once
// Statements that a tile.kernel may hold, and those that are refused.

#include <string>
#include <vector>

namespace tessera {

struct TileCase {
  std::string parameters;
  std::vector<std::string> body;
  std::string reason;           ///< part of the message; empty where the text is correct
  std::string attributes = "";  ///< more attributes of the kernel: `, threads = 128`
};

/// Of programs of several threads: shared memory, copies, barriers, roles, matrix units, layouts.
std::vector<TileCase> correct_thread_cases();
std::vector<TileCase> wrong_thread_cases();

}  // namespace tessera

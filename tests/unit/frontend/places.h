#pragma once
// Graphs for tests that are not about where things are written.

#include <string>

namespace tessera::frontend {

/// A graph's text without the places of extents.
inline std::string without_places(std::string text) {
  const std::string open = ", places = [";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    text.erase(at, text.find(']', at) + 1 - at);
  }
  return text;
}

}  // namespace tessera::frontend

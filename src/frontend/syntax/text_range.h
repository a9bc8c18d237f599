#pragma once
// Bytes of a text, and those that a place of the compiler means.

#include <compare>
#include <cstdint>

#include "support/source.h"

namespace tessera {

/// Bytes begin … end-1 of a text.
struct TextRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool contains(uint32_t offset) const { return begin <= offset && offset < end; }
  /// Also its end: where a cursor stands behind a word.
  bool touches(uint32_t offset) const { return begin <= offset && offset <= end; }
  friend auto operator<=>(const TextRange&, const TextRange&) = default;
};

/// The bytes that a location means in the text that `sources` has of its file; nothing at the start
/// for an unknown one.
TextRange place_in(const SourceManager& sources, Loc loc);

}  // namespace tessera

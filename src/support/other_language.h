#pragma once
// Source of other languages that somebody has put into a file: one message says so, instead of one about each line.

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

struct OtherLanguage {
  std::string_view name;  ///< "CUDA source"
  std::string_view page;  ///< of the documentation, for those who come from there
  uint32_t offset = 0;    ///< of the first sign of it
  uint32_t length = 0;
};

/// The language by words that no program here begins a line with, `__global__ void`, `@triton.jit`, `float f(`; or
/// Python, by a package that it imports and by what it has and lacks.
std::optional<OtherLanguage> find_other_language(std::string_view text);

}  // namespace tessera

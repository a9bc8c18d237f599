#pragma once
// The machine code of a CPU target: kernels/<target>/kernels.so of a bundle.
//
// It is an ELF file, so that objdump, readelf and debuggers read it, with exactly one byte form for
// given contents: header, two segments, six sections, nothing else. There is no dynamic section and
// there are no relocations; nothing is imported and nothing runs when it is loaded. The reader takes
// code, constants and symbols, writes the file again, and refuses one that differs in any byte.
// docs/bundle.md has the form.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/result.h"

namespace tessera::format {

/// Segments are mapped in pages, each at the place that it has in the file.
inline constexpr uint64_t image_page_bytes = 4096;
/// The most that anything in an image may be aligned to, and where constants start.
inline constexpr uint64_t image_alignment = 64;
inline constexpr uint64_t image_constants_at = 192;

/// A kernel in the code.
struct ImageSymbol {
  std::string name;
  uint64_t offset = 0;  ///< from the code's start
  uint64_t size = 0;    ///< bytes, at least 1
  bool operator==(const ImageSymbol&) const = default;
};

/// An image over bytes that somebody else owns.
struct KernelImage {
  std::string_view constants;  ///< read-only data, at image_constants_at
  std::string_view code;
  std::vector<ImageSymbol> symbols;  ///< in order of name

  /// Where the code starts, from the file's start: the code reaches its constants relative to itself.
  uint64_t code_at() const { return image_code_at(constants.size()); }
  /// The symbol of that name, or null.
  const ImageSymbol* find(std::string_view name) const;

  static uint64_t image_code_at(uint64_t constants_bytes);
};

/// The file. Fails where names are not in order or not printable, or symbols lie outside the code.
Result<std::string> write_kernel_image(const KernelImage& image);

/// Reads and checks untrusted bytes; only the form that write_kernel_image gives is accepted.
Result<KernelImage> read_kernel_image(std::string_view bytes);

}  // namespace tessera::format

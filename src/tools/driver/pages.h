#pragma once

#include <span>
#include <string_view>

namespace tessera::driver {

struct Page {
  std::string_view path;  ///< "shape-mismatch.md"
  std::string_view text;
};

/// The files of docs/errors/, which cmake/embed.cmake made part of the program.
std::span<const Page> pages();

}  // namespace tessera::driver

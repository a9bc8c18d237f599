#pragma once
// The files of page/, embedded at build time.

#include <span>
#include <string_view>

namespace tessera::inspect {

struct PageFile {
  std::string_view path;  ///< below page/
  std::string_view text;
};

std::span<const PageFile> page_files();

}  // namespace tessera::inspect

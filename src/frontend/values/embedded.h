#pragma once
// The files of stdlib/ (sources and schedules), embedded at build time so that the compiler can be
// moved anywhere.

#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace tessera::frontend {

struct EmbeddedFile {
  std::string_view path;  ///< below stdlib/: "nn.tsr", "schedules/cpu-x86-64-v3.json"
  std::string_view text;
};

/// All files, sorted by path.
std::span<const EmbeddedFile> embedded_files();

/// The text of the file with that path, or nullopt.
inline std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  return std::nullopt;
}

}  // namespace tessera::frontend

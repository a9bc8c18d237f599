#include "tools/driver/io.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "support/file.h"

namespace tessera::driver {

Result<FileId> read_source(const std::string& path, DiagnosticEngine& diagnostics) {
  std::string text, error;
  if (!read_file(path == "-" ? "/dev/stdin" : path, text, error)) {
    diagnostics.report(diag::cannot_read, {}, path, error);
    return failure;
  }
  return diagnostics.sources().add(path == "-" ? "<stdin>" : path, std::move(text));
}

Status write_text(const std::string& path, std::string_view text, DiagnosticEngine& diagnostics) {
  std::string error;
  if (write_file(path, text, error)) return success;
  diagnostics.report(diag::cannot_write, {}, path, error);
  return failure;
}

void show(const DiagnosticEngine& diagnostics) {
  const char* no_colour = std::getenv("NO_COLOR");
  bool colour = ::isatty(STDERR_FILENO) && !(no_colour && *no_colour);
  std::string text = render_all(diagnostics, {.colour = colour});
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string reproducer_path(std::string_view tool) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return {};
  return folder / (std::string(tool) + "-crash-" + std::to_string(::getpid()) + ".tir");
}

}  // namespace tessera::driver

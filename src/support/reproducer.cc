#include "support/reproducer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "support/check.h"
#include "support/file.h"

namespace tessera {

namespace {

namespace fs = std::filesystem;

thread_local const ReproducerScope* innermost = nullptr;

/// Folders that crash files may go to, the best first.
std::vector<fs::path> crash_folders() {
  std::vector<fs::path> folders;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state && *state == '/') {
    folders.push_back(fs::path(state) / "tessera");
  } else if (home && *home == '/') {
    folders.push_back(fs::path(home) / ".local/state/tessera");
  }
  std::error_code error;
  fs::path temporary = fs::temp_directory_path(error);
  if (!error) folders.push_back(temporary);
  return folders;
}

}  // namespace

std::string write_crash_file(std::string_view tool, std::string_view ending, std::string_view text) {
  for (const fs::path& folder : crash_folders()) {
    std::error_code ignored;
    if (fs::create_directories(folder, ignored)) fs::permissions(folder, fs::perms::owner_all, ignored);
    std::string path = folder / (std::string(tool) + "-crash-XXXXXX" + std::string(ending));
    int fd = ::mkostemps(path.data(), int(ending.size()), O_CLOEXEC);
    if (fd < 0) continue;
    bool written = write_all(fd, text);
    if (::close(fd) == 0 && written) return path;
    ::unlink(path.c_str());
  }
  return {};
}

ReproducerScope::ReproducerScope(std::string tool, std::function<std::string()> text)
    : tool_(std::move(tool)), text_(std::move(text)), outer_(innermost) {
  innermost = this;
  internal_error_context().write_reproducer = &write;
}

ReproducerScope::~ReproducerScope() {
  innermost = outer_;
  internal_error_context() = {};
  if (outer_) internal_error_context().write_reproducer = &write;
}

std::string ReproducerScope::write() {
  const ReproducerScope& scope = *innermost;
  return scope.tool_.empty() ? std::string() : write_crash_file(scope.tool_, ".tir", scope.text_());
}

}  // namespace tessera

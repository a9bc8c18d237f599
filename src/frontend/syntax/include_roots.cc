#include "frontend/syntax/include_roots.h"

#include <algorithm>
#include <filesystem>

#include "support/file.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

bool is_below(const fs::path& path, const fs::path& folder) {
  auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// The path without links, '.' and '..', as far as it is there; empty where that cannot be said.
fs::path real_path(const std::string& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return {};
  return real.has_filename() ? real : real.parent_path();
}

}  // namespace

std::string refuse_outside(const std::string& path, std::span<const std::string> roots) {
  if (roots.empty()) return {};
  fs::path real = real_path(path);
  bool is_inside = !real.empty() && std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
    fs::path folder = real_path(root);
    return !folder.empty() && is_below(real, folder);
  });
  if (!is_inside) return "it lies outside of the folders that files are read of (--include-root)";
  return real.extension() == ".tsr" ? "" : "its name does not end in '.tsr'";
}

bool read_included(const ParseOptions& options, const std::string& path, std::string& text, std::string& error) {
  error = refuse_outside(path, options.include_roots);
  if (!error.empty()) return false;
  return options.read ? options.read(path, text, error) : read_file(path, text, error);
}

}  // namespace tessera

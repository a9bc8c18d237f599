#include "lsp/workspace/library_files.h"

#include <cstdlib>
#include <filesystem>

#include "frontend/values/embedded.h"
#include "support/file.h"
#include "support/hash.h"

namespace tessera::lsp {

namespace fs = std::filesystem;

namespace {

std::string find_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (home && *home == '/') base = fs::path(home) / ".cache";
  if (cache && *cache == '/') base = cache;
  return base.empty() ? "" : (base / "tessera").lexically_normal().string() + "/";
}

/// A folder of its own for each state of the library, so that programs of two versions do not
/// collide.
std::string make_folder() {
  std::string all;
  for (const frontend::EmbeddedFile& file : frontend::embedded_files()) {
    all += file.path;
    all += '\0';
    all += file.text;
  }
  if (cache_folder().empty()) return "";
  return cache_folder() + "stdlib-" + content_hash(all).substr(0, 16) + "/";
}

const std::string& folder() {
  static const std::string path = make_folder();
  return path;
}

}  // namespace

const std::string& cache_folder() {
  static const std::string path = find_cache();
  return path;
}

std::string write_library_file(const std::string& library_path) {
  std::string_view below = std::string_view(library_path).substr(library_folder.size());
  auto text = frontend::embedded_file(below);
  if (folder().empty() || !text) return library_path;
  fs::path path = folder() + std::string(below);
  std::error_code error;
  if (fs::exists(path, error)) return path.string();
  fs::create_directories(path.parent_path(), error);
  std::string reason;
  if (error || !write_file(path.string(), *text, reason)) return library_path;
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read, error);
  return path.string();
}

std::string library_path_of(std::string_view path) {
  if (folder().empty() || !path.starts_with(folder())) return "";
  return std::string(library_folder) + std::string(path.substr(folder().size()));
}

}  // namespace tessera::lsp

#include "frontend/syntax/include_roots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/file.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

constexpr const char* outside =
    "it is not there, or lies outside of the folders that files are read of (--include-root)";

/// The file of a path, opened to find out where it lies, but not to be read: devices and pipes are
/// not touched. A later read gets the same file, even if the path changes.
class Opened {
 public:
  explicit Opened(const fs::path& path) : descriptor_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {}
  Opened(const Opened&) = delete;
  ~Opened() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool is_there() const { return descriptor_ >= 0; }
  /// The path that reads it.
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  /// Where it lies, without links; empty where that cannot be said.
  fs::path place() const {
    std::error_code error;
    return is_there() ? fs::read_symlink(name(), error) : fs::path();
  }
  bool lies_in(std::span<const std::string> folders) const {
    fs::path place = this->place();
    return !place.empty() && std::any_of(folders.begin(), folders.end(), [&](const std::string& name) {
      fs::path folder = Opened(name).place();
      auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), place.begin(), place.end());
      return !folder.empty() && end == folder.end();
    });
  }
  /// Whether a folder has a file of that name, or a link that may lead nowhere.
  bool has(const fs::path& name) const {
    struct stat info {};
    return ::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  }

 private:
  int descriptor_;
};

/// True where it is folders inside that do not have what a path names. A link of theirs that leads nowhere is not told
/// from one that leads out.
bool is_missing_inside(fs::path path, std::span<const std::string> roots) {
  for (;;) {
    fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    Opened opened(folder);
    if (opened.is_there()) return opened.lies_in(roots) && !opened.has(path.filename());
    if (folder == path || folder == ".") return false;
    path = folder;
  }
}

std::string refusal(const Opened& file, const std::string& path, std::span<const std::string> roots) {
  bool is_inside = file.is_there() ? file.lies_in(roots) : is_missing_inside(path, roots);
  if (!is_inside) return outside;
  fs::path place = file.is_there() ? file.place() : fs::path(path);
  return place.extension() == ".tsr" ? "" : "its name does not end in '.tsr'";
}

}  // namespace

std::string refuse_outside(const std::string& path, std::span<const std::string> roots) {
  return roots.empty() ? "" : refusal(Opened(path), path, roots);
}

bool read_inside(const std::string& path, std::span<const std::string> roots, std::string& text, std::string& error) {
  if (roots.empty()) return read_file(path, text, error);
  Opened file(path);
  error = refusal(file, path, roots);
  if (error.empty() && !file.is_there()) error = std::strerror(ENOENT);
  return error.empty() && read_file(file.name(), text, error);
}

bool read_included(const ParseOptions& options, const std::string& path, std::string& text, std::string& error) {
  if (!options.read) return read_inside(path, options.include_roots, text, error);
  error = refuse_outside(path, options.include_roots);
  return error.empty() && options.read(path, text, error);
}

}  // namespace tessera

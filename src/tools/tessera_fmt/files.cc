#include "tools/tessera_fmt/files.h"

#include <algorithm>
#include <filesystem>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

bool is_below(const fs::path& path, const fs::path& folder) {
  auto [rest, end] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return rest == folder.end() || (std::next(rest) == folder.end() && rest->empty());
}

/// The same for all spellings of a path.
fs::path whole_path(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : whole;
}

class Finder {
 public:
  Finder(const std::vector<std::string>& excluded, std::vector<std::string>& problems)
      : problems_(problems) {
    for (const std::string& name : excluded) excluded_.push_back({name, whole_path(name)});
  }

  /// What leaves nothing out.
  std::vector<std::string> unused() const {
    std::vector<std::string> names;
    for (const Excluded& each : excluded_) {
      if (!each.is_used) names.push_back(each.name);
    }
    return names;
  }

  void folder(const fs::path& root, std::vector<std::string>& out) {
    std::error_code error;
    std::vector<std::string> found;
    fs::recursive_directory_iterator at(root, error), end;
    while (!error && at != end) {
      fs::path path = at->path();
      bool hidden = path.filename().string().starts_with('.');
      std::error_code kind_error;
      if (at->is_directory(kind_error)) {
        if (hidden || is_excluded(path)) at.disable_recursion_pending();
      } else if (!hidden && path.extension() == ".tsr" && !is_excluded(path)) {
        found.push_back(path.string());
      }
      at.increment(error);
    }
    if (error) problems_.push_back(root.string() + ": " + error.message());
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }

 private:
  struct Excluded {
    std::string name;
    fs::path path;
    bool is_used = false;
  };

  bool is_excluded(const fs::path& path) {
    if (excluded_.empty()) return false;
    fs::path normal = whole_path(path);
    bool found = false;
    for (Excluded& each : excluded_) {
      if (!is_below(normal, each.path)) continue;
      found = each.is_used = true;
    }
    return found;
  }

  std::vector<Excluded> excluded_;
  std::vector<std::string>& problems_;
};

}  // namespace

std::vector<std::string> find_sources(const std::vector<std::string>& names,
                                      const std::vector<std::string>& excluded,
                                      std::vector<std::string>& problems, std::vector<std::string>& unused) {
  std::vector<std::string> found;
  Finder finder(excluded, problems);
  for (const std::string& name : names) {
    std::error_code error;
    if (name != "-" && fs::is_directory(name, error)) {
      finder.folder(name, found);
    } else {
      found.push_back(name);
    }
  }
  unused = finder.unused();
  return found;
}

}  // namespace tessera::tools

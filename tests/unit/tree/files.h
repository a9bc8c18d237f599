#pragma once
// The project's own files, as the tests about the tree see them.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tree {

struct File {
  std::string path;  ///< relative to the project's root
  std::vector<std::string> lines;
};

/// Files below the folders that end so; of folders that are hidden or hold packages of others, none.
inline std::vector<File> files_below(const std::vector<std::string>& folders,
                                     const std::vector<std::string>& extensions) {
  namespace fs = std::filesystem;
  fs::path root = TESSERA_SOURCE_DIR;
  std::vector<File> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(root / folder)) continue;
    for (auto at = fs::recursive_directory_iterator(root / folder); at != fs::recursive_directory_iterator(); ++at) {
      const fs::directory_entry& entry = *at;
      std::string name = entry.path().filename();
      if (entry.is_directory() && (name.starts_with('.') || name == "node_modules" || name == "__pycache__"))
        at.disable_recursion_pending();
      std::string extension = entry.path().extension();
      bool wanted = std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
      if (!entry.is_regular_file() || !wanted) continue;
      File file{fs::relative(entry.path(), root), {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

}  // namespace tree

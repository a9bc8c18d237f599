#include "tools/driver/outputs.h"

#include <fmt/format.h>

#include <filesystem>

namespace tessera::driver {

namespace fs = std::filesystem;

namespace {

/// A hard link to a file is the file; of what is not there yet the paths are compared.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return fs::is_regular_file(a, error);
  fs::path whole_a = fs::weakly_canonical(a, error), whole_b = fs::weakly_canonical(b, error);
  return !error && whole_a == whole_b && !fs::exists(whole_a, error);
}

/// Where a file would be written; not what goes to standard output or nowhere.
bool is_path(const std::string& path) { return !path.empty() && path != "-"; }

}  // namespace

std::string check_outputs(const std::string& input, std::span<const Output> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    if (output.path.empty()) continue;
    if (is_path(output.path) && is_path(input) && is_same_file(input, output.path)) {
      return fmt::format("'{}' is what is read; {} needs another name", output.path, output.what);
    }
    for (const Output& other : outputs.subspan(i + 1)) {
      if (output.path == "-" && other.path == "-") {
        return fmt::format("{} and {} cannot both go to standard output", output.what, other.what);
      }
      bool is_same = is_path(output.path) && is_path(other.path) && is_same_file(output.path, other.path);
      if (is_same) return fmt::format("{} and {} need different names", output.what, other.what);
    }
  }
  return {};
}

}  // namespace tessera::driver

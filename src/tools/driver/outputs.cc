#include "tools/driver/outputs.h"

#include <fmt/format.h>

#include "support/file_kind.h"
#include "support/same_file.h"

namespace tessera::driver {

namespace {

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
    std::string_view kind = is_path(output.path) ? kind_of_name(output.path) : "";
    if (!kind.empty() && output.what.find(kind.substr(kind.find(' ') + 1)) == std::string_view::npos) {
      return fmt::format("'{}' is a name for {}; {} needs another name", output.path, kind, output.what);
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

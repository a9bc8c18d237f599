#include "tools/driver/remapped_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "support/file.h"

namespace tessera::driver {

namespace {

namespace fs = std::filesystem;

/// One spelling for all paths of a file, also of one that is not there.
std::string one_spelling(const std::string& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path).lexically_normal().string() : found.string();
}

}  // namespace

std::string refuse_remap(const std::string& spelt) {
  size_t at = spelt.rfind('=');
  bool is_pair = at != std::string::npos && at > 0 && at + 1 < spelt.size();
  return is_pair ? "" : fmt::format("'{}' names no two files; it takes FILE=TEXT", spelt);
}

std::function<bool(const std::string& path, std::string& text, std::string& error)> remapped_reader(
    const std::vector<std::string>& remapped) {
  if (remapped.empty()) return {};
  std::map<std::string, std::string> texts;
  for (const std::string& spelt : remapped) {
    size_t at = spelt.rfind('=');
    texts[one_spelling(spelt.substr(0, at))] = spelt.substr(at + 1);
  }
  return [texts = std::move(texts)](const std::string& path, std::string& text, std::string& error) {
    auto found = texts.find(one_spelling(path));
    return read_file(found == texts.end() ? path : found->second, text, error);
  };
}

}  // namespace tessera::driver

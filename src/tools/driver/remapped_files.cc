#include "tools/driver/remapped_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "support/diagnostic_rows.h"
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
  if (!is_pair) return fmt::format("'{}' names no two files; it takes FILE=TEXT", spelt);
  std::error_code error;
  std::string text = spelt.substr(at + 1);
  return fs::exists(text, error) ? "" : fmt::format("'{}' is not an existing file", text);
}

RemappedFiles::RemappedFiles(const std::vector<std::string>& remapped) {
  for (const std::string& spelt : remapped) {
    size_t at = spelt.rfind('=');
    (*texts_)[one_spelling(spelt.substr(0, at))] = {spelt.substr(0, at), spelt.substr(at + 1)};
  }
}

RemappedFiles::Reader RemappedFiles::reader() const {
  if (texts_->empty()) return {};
  return [texts = texts_](const std::string& path, std::string& text, std::string& error) {
    auto found = texts->find(one_spelling(path));
    if (found == texts->end()) return read_file(path, text, error);
    found->second.is_read = true;
    return read_file(found->second.text, text, error);
  };
}

void RemappedFiles::warn_of_unused(DiagnosticEngine& diagnostics) const {
  for (const auto& [path, file] : *texts_) {
    if (file.is_read) continue;
    diagnostics.report(diag::unused_remap, {}, file.name).help("leave it out, or give the path of a file that is read");
  }
}

}  // namespace tessera::driver

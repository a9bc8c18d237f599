#include "support/same_file.h"

#include <filesystem>

namespace tessera {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return fs::is_regular_file(a, error);
  // Of a relative path that begins with what is not there, the beginning would stay as it is spelt.
  auto whole = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
  fs::path whole_a = whole(a), whole_b = whole(b);
  return !error && whole_a == whole_b && !fs::exists(whole_a, error);
}

}  // namespace tessera

#include "support/same_file.h"

#include <filesystem>

namespace tessera {

namespace fs = std::filesystem;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return fs::is_regular_file(a, error);
  fs::path whole_a = fs::weakly_canonical(a, error), whole_b = fs::weakly_canonical(b, error);
  return !error && whole_a == whole_b && !fs::exists(whole_a, error);
}

}  // namespace tessera

// Compiles each tests/diagnostics/<name>.tsr, with kernels that can be compiled on their own, and
// compares the diagnostics with <name>.expected. TESSERA_BLESS=1 rewrites those files.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(TESSERA_SOURCE_DIR) / "tests/diagnostics";
}

std::vector<fs::path> cases() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".tsr") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string read(const fs::path& path) {
  std::string text, error;
  return read_file(path.string(), text, error) ? text : std::string();
}

/// Runs in the folder of the cases, so that files are found and named as by a user who stands
/// there.
class InFolder {
 public:
  InFolder() : before_(fs::current_path()) { fs::current_path(folder()); }
  ~InFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

std::string diagnose(const fs::path& path) {
  InFolder inside;
  Fixture fixture;
  fixture.options.limits.memory = 200'000'000;  // who takes too much of it does so soon
  std::string graph = fixture.compile(read(path), path.filename().string());
  for (const std::string& kernel : fixture.result.exported_kernels) {
    Module module(fixture.context, fixture.sources, "kernels", Level::Schedule);
    (void)fixture.result.library->instantiate_exported(module, kernel, "cpu:x86-64-v3");
  }
  if (!fixture.diagnostics.has_errors()) fixture.result.library->check_names();
  return render_all(fixture.diagnostics, {});
}

}  // namespace

TEST_CASE("each error is reported as it should be", "[files-diagnostics]") {
  bool bless = std::getenv("TESSERA_BLESS") != nullptr;
  std::vector<fs::path> paths = cases();
  REQUIRE(paths.size() > 50);
  for (const fs::path& path : paths) {
    DYNAMIC_SECTION(path.stem().string()) {
      std::string text = diagnose(path);
      fs::path expected = path;
      expected.replace_extension(".expected");
      std::string error;
      if (bless) CHECK(write_file(expected.string(), text, error));
      CHECK(text == read(expected));
      CHECK_FALSE(text.empty());
    }
  }
}

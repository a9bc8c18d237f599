// Every row of the tables is met by a test.

#include <catch2/catch.hpp>

#include "support/diagnostic.h"
#include "unit/tree/files.h"

using namespace tessera;

namespace {

const std::string& all_tests() {
  static const std::string text = [] {
    std::string all;
    for (const auto& file : tree::files_below(
             {"tests"}, {".cc", ".tsr", ".tir", ".expected", ".py", ".test", ".sh", ".def"})) {
      if (file.path.rfind("tests/unit/tree/", 0) == 0) continue;
      for (const std::string& line : file.lines) all += line + "\n";
    }
    return all;
  }();
  return text;
}

}  // namespace

TEST_CASE("every diagnostic is expected by some test") {
  for (DiagId id : all_diagnostics()) {
    std::string tag = diag_tag(id);
    INFO(tag);
    bool expected = all_tests().find("[" + tag + "]") != std::string::npos ||
                    all_tests().find("DiagId::" + std::string(diag_info(id).name)) != std::string::npos;
    CHECK(expected);
  }
}

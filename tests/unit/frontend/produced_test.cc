// That tests/diagnostics/ has every diagnostic of the front end.

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "support/diagnostic_rows.h"
#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

TEST_CASE("each diagnostic of semantic analysis is produced by a case") {
  std::set<std::string> produced;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/diagnostics")) {
    if (entry.path().extension() != ".expected") continue;
    std::string text, error;
    REQUIRE(read_file(entry.path().string(), text, error));
    for (size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1)) {
      produced.insert(text.substr(at + 1, text.find(']', at) - at - 1));
    }
  }
  for (DiagId id = DiagId::unknown_name; id <= DiagId::accum_narrower; id = DiagId(uint16_t(id) + 1)) {
    if (id == DiagId::shape_policy) continue;  // of a run of the compiler, not of a source
    INFO(diag_tag(id));
    CHECK(produced.count(diag_tag(id)) == 1);
  }
}

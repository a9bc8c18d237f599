// Every row of the table in the forms for programs: tests/docs/formats_test.py holds them against the schemas.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <utility>

#include "support/diagnostic.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/render/json.h"

using namespace tessera;

namespace {

/// A diagnostic with all that it can have, at a place in a line of wide characters.
template <int N>
void report_row(DiagnosticEngine& engine, DiagKind<N> kind, Loc loc) {
  Loc other{loc.file, 2, 1, 1};
  [&]<size_t... I>(std::index_sequence<I...>) {
    engine.report(kind, loc, std::string_view(I ? "数" : "x")...)
        .label(other, "it is declared here")
        .note(other, "in this call of 'f'", NoteKind::Call)
        .help("look there")
        .fix("write y", loc, "y");
  }(std::make_index_sequence<size_t(N)>());
}

}  // namespace

TEST_CASE("every row in the forms for programs") {
  SourceManager sources;
  FileId file = sources.add("数.tsr", "数 = x\nx = 1\n");
  DiagnosticEngine engine(sources);
  engine.set_error_limit(0);
  Loc loc = sources.file(file).locate(file, 6, 1);
#define DIAG(name, severity, text) report_row(engine, diag::name, loc);
#include "support/diagnostics.def"
#undef DIAG
  REQUIRE(engine.all().size() == all_diagnostics().size());
  std::string json = to_json_lines(engine), sarif = to_sarif(engine, "tesserac", "0");
  for (DiagId id : all_diagnostics()) {
    INFO(diag_tag(id));
    CHECK(json.find("\"tag\":\"" + diag_tag(id) + "\"") != json.npos);
    CHECK(sarif.find("\"ruleId\": \"" + diag_tag(id) + "\"") != sarif.npos);
  }
  // Where the formats are tested.
  const char* folder = std::getenv("TESSERA_ROWS");
  std::string error;
  if (!folder) return;
  REQUIRE(write_file(std::string(folder) + "/rows.json", json, error));
  REQUIRE(write_file(std::string(folder) + "/rows.sarif", sarif, error));
}

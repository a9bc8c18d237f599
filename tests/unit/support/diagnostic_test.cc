#include "support/diagnostic.h"
#include "support/diagnostic_rows.h"

#include <catch2/catch.hpp>

using namespace tessera;

TEST_CASE("a diagnostic shows place, tag, line and carets") {
  SourceManager sources;
  FileId file = sources.add("a.tsr", "first\nx = y + 1\n");
  DiagnosticEngine engine(sources);
  Loc loc = sources.file(file).locate(file, 10, 1);
  engine.report(diag::cannot_read, loc, "y", "it is missing").help("write z");
  CHECK(render_all(engine, {}) ==
        "a.tsr:2:5: error: cannot read 'y': it is missing [cannot-read]\n"
        "    2 | x = y + 1\n"
        "      |     ^\n"
        "help: write z\n");
}

TEST_CASE("control characters of user text are escaped") {
  CHECK(escape_control("a\x1b[31mb") == "a\\x1b[31mb");
}

TEST_CASE("errors beyond the limit are counted") {
  SourceManager sources;
  DiagnosticEngine engine(sources);
  engine.set_error_limit(2);
  for (int i = 0; i < 5; ++i) engine.report(diag::cannot_read, Loc{}, "f", "gone");
  CHECK(engine.error_count() == 5);
  CHECK(engine.all().size() == 2);
}

TEST_CASE("what is reported twice is said once") {
  SourceManager sources;
  DiagnosticEngine engine(sources);
  for (const char* file : {"f", "g", "f"}) engine.report(diag::cannot_read, Loc{}, file, "gone").help("look");
  CHECK(engine.error_count() == 3);
  CHECK(render_all(engine, {}) ==
        "error: cannot read 'f': gone [cannot-read]\nhelp: look\n"
        "error: cannot read 'g': gone [cannot-read]\nhelp: look\n");
}

TEST_CASE("the nearest name is found within a third of its length") {
  CHECK(nearest_name("sofmax", {"softmax", "gelu"}) == "softmax");
  CHECK(nearest_name("gleu", {"softmax", "gelu"}) == "gelu");
  CHECK(nearest_name("conv2d_transpose", {"conv_transpose1d", "conv_transpose2d"}) == "conv_transpose2d");
  CHECK(nearest_name("abc", {"xyz"}) == "");
  CHECK(nearest_name("x", {"y", "B", "xy"}) == "");
  CHECK(nearest_name("b", {"A", "B"}) == "B");
  CHECK(nearest_name("sm_90", {"sm_80", "sm_90a", "sm_91"}) == "sm_90a");
  CHECK(nearest_name("Softmax", {"softmax"}) == "softmax");
  CHECK(nearest_name("logsoftmax", {"softmax", "log_softmax"}) == "log_softmax");
  CHECK(nearest_name("_", {"__"}) == "");
  CHECK(nearest_name(std::string(100000, 'a'), {std::string(100001, 'a')}) == "");
}

// When diagnostics are published, and of which text.

#include <catch2/catch.hpp>

#include "unit/lsp/client.h"

using lsp_test::Client;
using lsp_test::Json;

TEST_CASE("what was found in a longer text is gone when another document is looked at first") {
  Client client;
  std::string shrinking = "file:///work-space/shrinking.tsr", other = "file:///work-space/other.tsr";
  client.open(shrinking, "# " + std::string(5000, 'x') + "\nconst A = (");
  client.open(other, "const B = 1\n");
  client.settle();
  CHECK(client.diagnostics(shrinking).size() == 1);
  Json change = {{"text", "const A = 1\n"}};
  client.notify("textDocument/didChange", {{"textDocument", {{"uri", shrinking}, {"version", 2}}},
                                           {"contentChanges", Json::array({change})}});
  client.replace(other, "1", "2");
  client.settle();
  CHECK(client.diagnostics(shrinking) == Json::array());
  CHECK(client.diagnostics(other) == Json::array());
}

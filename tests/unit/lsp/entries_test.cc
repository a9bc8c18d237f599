// Hovers of entries: the sizes and guards of their calls.

#include <catch2/catch.hpp>

#include "unit/lsp/client.h"
#include "unit/lsp/uri.h"

using Catch::Contains;
using lsp_test::Client;
using lsp_test::Json;

namespace {

const std::string scores =
    "@jit\n"
    "def scores(q: Tensor[S, D, bf16], k: Tensor[T, D, bf16]) where D % 64 == 0:\n"
    "    return q @ k.T\n";

std::string hover(Client& client, const std::string& name) {
  return client.request("textDocument/hover", client.at(uri, name))["contents"]["value"].get<std::string>();
}

}  // namespace

TEST_CASE("a hover of an entry says what its calls bring and check") {
  Client client;
  client.open("file:///work-space/empty.tsr", "\n");
  std::string before = "def plain(x: Tensor[B, f32]):\n    return x\n\n";
  SECTION("in a file that is looked at by its declarations") {}
  SECTION("in a file that is compiled as a whole") { before = "%include \"empty.tsr\"\n" + before; }
  client.open(uri, before + scores);
  client.wait_until_idle();
  CHECK_THAT(hover(client, "scores"), Contains("calls bring: `S`, `D`, `T`") &&
                                          Contains("calls check: `axis 1 of 'k' == D`, `D % 64 == 0`"));
  CHECK_THAT(hover(client, "plain"), !Contains("calls bring"));
  client.replace(uri, "D % 64 == 0", "D % 32 == 0, T <= S");
  client.wait_until_idle();
  CHECK_THAT(hover(client, "scores"), Contains("`D % 32 == 0`, `T <= S`") && !Contains("64"));
  client.replace(uri, "(q: Tensor[S, D, bf16], k: Tensor[T, D, bf16]) where D % 32 == 0, T <= S",
                 "(q: Tensor[2, 3, bf16], k: Tensor[4, 3, bf16])");
  client.wait_until_idle();
  CHECK_THAT(hover(client, "scores"), !Contains("calls bring") && !Contains("calls check"));
}

TEST_CASE("of a method that several instances have as an entry each condition is said once") {
  Client client;
  client.open(uri,
              "module Twice(D: dim):\n"
              "    @jit\n"
              "    def run(self, x: Tensor[B, self.D, f32]) where B >= self.D:\n"
              "        return x + x\n"
              "a = Twice(4, name=\"a\")\n"
              "b = Twice(8, name=\"b\")\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  CHECK_THAT(hover(client, "run(self"), Contains("calls bring: `B`\n"));
}

// Files with directives, looked at again and again.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "lsp/workspace/workspace.h"
#include "unit/lsp/client.h"
#include "unit/lsp/uri.h"

using Catch::Contains;
using lsp_test::Client;
using lsp_test::Json;
using Strings = std::vector<std::string>;

namespace {

const std::string program = R"(%define ROWS 16
%if defined(WIDE)
const D = 64
%else
const D = 8
%endif


def doubled(x: Tensor[N, M, f32]) -> Tensor[N, M, f32]:
    return x * 2.0


@jit
def entry(x: Tensor[ROWS, D, f32]) -> Tensor[ROWS, D, f32]:
    y = doubled(x)
    return y
)";

std::string hover(Client& client, const std::string& name) {
  return client.request("textDocument/hover", client.at(uri, name))["contents"]["value"].get<std::string>();
}

}  // namespace

TEST_CASE("macros and conditions mean the same wherever text is edited") {
  Client client;
  client.open(uri, program);
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  CHECK_THAT(hover(client, "y = doubled"), Contains("Tensor[16, 8, f32]"));
  client.replace(uri, "return y", "return y + z");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings{"unknown-name"});
  client.replace(uri, " + z", "");
  client.replace(uri, "ROWS 16", "ROWS 32");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  CHECK_THAT(hover(client, "y = doubled"), Contains("Tensor[32, 8, f32]"));
  client.replace(uri, "%define ROWS 32\n", "");
  client.replace(uri, "y = doubled(x)", "y = doubled(x, x)");
  client.wait_until_idle();
  CHECK(client.tags(uri).size() == 1);
  client.replace(uri, "%endif", "");
  client.wait_until_idle();
  CHECK_THAT(client.tags(uri), Catch::VectorContains(std::string("unterminated-condition")));
}

TEST_CASE("a bracket that is open before a condition is the one error, as the compiler says") {
  Client client;
  client.open(uri,
              "module Gain(D: dim):\n"
              "    w: Param[D\n"
              "    b: Param[D, f32] = zeros()\n"
              "    def __call__(self, x: Tensor[D, f32]):\n"
              "        return x * self.b\n"
              "\n"
              "%if defined(WIDE)\n"
              "const D = 64\n"
              "%elif defined(NARROW)\n"
              "const D = 4\n"
              "%else\n"
              "const D = 8\n"
              "%endif\n"
              "def doubled(x):\n"
              "    return x * float(D)\n");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings{"unclosed-bracket"});
  client.replace(uri, "Param[D\n", "Param[D, f32]\n");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings());
}

TEST_CASE("what follows from a declaration that does not parse is not said") {
  Client client;
  std::string head = "module Gain(D: dim):\n";
  client.open(uri, head +
                       "    w: Param[D, f32] = zeros()\n"
                       "    b: Param[D, f32] = zeros()\n"
                       "net = Gain(4)\n"
                       "@jit\n"
                       "def entry(x: Tensor[4, f32]):\n"
                       "    return x + net.b + missing\n");
  client.replace(uri, head, "modul Gain(D: dim):\n");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings{"unexpected-token", "unknown-name"});
  CHECK_THAT(client.diagnostics(uri)[1]["message"].get<std::string>(), Contains("'missing'"));
  client.replace(uri, "modul Gain", "module Gain");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings{"unknown-name"});
}

TEST_CASE("conditions follow the settings") {
  Client client;
  client.open(uri, program);
  client.wait_until_idle();
  CHECK_THAT(hover(client, "y = doubled"), Contains("Tensor[16, 8, f32]"));
  client.notify("workspace/didChangeConfiguration", {{"settings", {{"tessera", {{"defines", {{"WIDE", "1"}}}}}}}});
  client.wait_until_idle();
  CHECK_THAT(hover(client, "y = doubled"), Contains("Tensor[16, 64, f32]"));
}

TEST_CASE("a file with conditions is imported by its active branches") {
  Client client;
  std::string other = "file:///work-space/sizes.tsr";
  client.open(other, "%if defined(WIDE)\nconst D = 64\n%else\nconst D = 8\n%endif\n");
  client.open(uri, "from sizes import D\n@jit\ndef f(x: Tensor[D, f32]):\n    return reshape(x, (4, 2))\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.replace(other, "= 8", "= 9");
  client.wait_until_idle();
  CHECK(client.tags(uri) == Strings{"bad-reshape"});
}

TEST_CASE("the values of names are known in each declaration of a file that is compiled as a whole") {
  Client client;
  client.open("file:///work-space/empty.tsr", "\n");
  client.open("file:///work-space/part.tsr", "%include \"empty.tsr\"\ndef g(x):\n    return x * 2.0\n");
  std::string text = "from part import g\n\n@jit\ndef f(x: Tensor[4, f32]):\n    y = g(x)\n    return y\n\n\n";
  SECTION("as it imports a file that includes another") {}
  SECTION("as it includes another") { text = "%include \"empty.tsr\"\n" + text; }
  client.open(uri, text + "@jit\ndef h(x: Tensor[8, f32]):\n    z = g(x)\n    return z\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  auto hover = [&](const std::string& at) {
    return client.request("textDocument/hover", client.at(uri, at))["contents"]["value"].get<std::string>();
  };
  CHECK_THAT(hover("y = g"), Catch::Contains("here: `Tensor[4, f32]`"));
  CHECK_THAT(hover("z = g"), Catch::Contains("here: `Tensor[8, f32]`"));
  CHECK_THAT(hover("h(x: T"), Catch::Contains("gives: `Tensor[8, f32]`"));
  Json range = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 9999}, {"character", 0}}}};
  Json hints = client.request("textDocument/inlayHint", {{"textDocument", {{"uri", uri}}}, {"range", range}});
  std::vector<std::string> labels;
  for (const Json& hint : hints) labels.push_back(hint["label"]);
  CHECK(labels == std::vector<std::string>{": Tensor[4, f32]", ": Tensor[8, f32]"});
}


TEST_CASE("a file that is gone from disk is none of those that include another") {
  namespace fs = std::filesystem;
  fs::path folder = fs::temp_directory_path() / ("lsp_includers_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "x.tsr") << "%include \"main.tsr\"\n%include \"y.tsr\"\n";
  std::ofstream(folder / "y.tsr") << "%include \"main.tsr\"\n";
  std::string main = (folder / "main.tsr").string();
  tessera::lsp::Workspace workspace;
  tessera::lsp::FileModel* file = workspace.open("file://" + main, 1, "const D = 64\n").model;
  workspace.model(folder / "x.tsr");
  workspace.model(folder / "y.tsr");
  CHECK(workspace.scope_of(*file).size() == 3);
  fs::remove(folder / "y.tsr");
  workspace.look_again();
  std::vector<std::string> paths;
  for (tessera::lsp::FileModel* part : workspace.scope_of(*file)) paths.push_back(part->path());
  CHECK(paths == std::vector<std::string>{main, (folder / "x.tsr").string()});
  fs::remove_all(folder);
}

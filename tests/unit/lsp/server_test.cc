// The server from the first message to the last.

#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "lsp/features/plain_text.h"
#include "unit/lsp/client.h"
#include "unit/lsp/uri.h"

using Catch::Contains;
using lsp_test::Client;
using lsp_test::Json;

namespace {

/// What tests with real clients open, too.
const std::string program = [] {
  std::ifstream in(TESSERA_SOURCE_DIR "/tests/lsp/model.tsr");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}();

}  // namespace

TEST_CASE("nothing is answered before 'initialize' or after 'shutdown'") {
  std::vector<Json> out;
  tessera::lsp::Server server([&](const std::string& body) { out.push_back(Json::parse(body)); }, {"test", {}, {}});
  server.receive(R"({"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}})");
  REQUIRE(out.size() == 1);
  CHECK(out[0]["error"]["code"] == -32002);
  server.receive(R"({"jsonrpc": "2.0", "id": "two", "method": "initialize", "params": {"capabilities": {}}})");
  CHECK(out[1]["id"] == "two");
  CHECK(out[1]["result"]["capabilities"]["positionEncoding"] == "utf-16");
  server.receive(R"({"jsonrpc": "2.0", "id": 3, "method": "shutdown"})");
  CHECK(out[2]["result"].is_null());
  server.receive(R"({"jsonrpc": "2.0", "id": 4, "method": "workspace/symbol", "params": {"query": ""}})");
  CHECK(out[3]["error"]["code"] == -32600);
  CHECK(!server.has_exited());
  server.receive(R"({"jsonrpc": "2.0", "method": "exit"})");
  CHECK(server.has_exited());
  CHECK(server.exit_code() == 0);
}

TEST_CASE("messages that are no requests are refused, and the server goes on") {
  Client client;
  size_t before = client.messages().size();
  client.raw("{");
  client.raw("[]");
  client.raw("null");
  client.raw(R"({"id": {}, "method": "shutdown"})");
  client.raw(R"({"id": 1.5, "method": "shutdown"})");
  client.raw("{\"id\": 1, \"method\": \"\xFF\"}");
  CHECK(client.messages().size() == before + 6);
  for (size_t i = before; i < client.messages().size(); ++i) CHECK(client.messages()[i].contains("error"));
  CHECK(client.failure("textDocument/nothing", Json::object())["code"] == -32601);
  CHECK(client.request("workspace/symbol", {{"query", "x"}}).is_array());
}

TEST_CASE("a correct file has no diagnostics, and an error is published where it is") {
  Client client;
  client.open(uri, program);
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.replace(uri, "return gelu(h)", "return gelu(hh)");
  client.wait_until_idle();
  Json list = client.diagnostics(uri);
  REQUIRE(list.size() == 1);
  CHECK(list[0]["code"] == "unknown-name");
  CHECK(client.in_range(uri, list[0]["range"]) == "hh");
  client.replace(uri, "gelu(hh)", "gelu(h");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri).size() == 1);
  client.replace(uri, "gelu(h", "gelu(h)");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.close(uri);
  CHECK(client.diagnostics(uri) == Json::array());
}

TEST_CASE("errors of shapes come with the places that they come from") {
  Client client;
  client.open(uri, "@jit\ndef f(x: Tensor[B, 64, f32], w: Tensor[32, 8, f32]):\n    return x @ w\n");
  client.wait_until_idle();
  REQUIRE(client.tags(uri) == std::vector<std::string>{"shape-mismatch"});
  CHECK(client.diagnostics(uri)[0]["source"] == "tessera");
  CHECK(client.diagnostics(uri)[0]["severity"] == 1);
}

TEST_CASE("names without use are shown as text that could be left out, once nothing is wrong") {
  const std::string text =
      "from tessera.nn import gelu\nconst WIDTH = 8\n\n@jit\ndef f(x: Tensor[B, 8, f32]):\n    y = x * 2.0\n"
      "    z = x + 1.0\n    z = x + 2.0\n    return z\n";
  Client client;
  client.open(uri, text);
  client.wait_until_idle();
  Json shown = client.diagnostics(uri);
  CHECK(client.tags(uri) ==
        std::vector<std::string>{"unused-import", "unused-declaration", "unused-variable", "overwritten-value"});
  for (const Json& each : shown) CHECK(each["tags"] == Json{1});
  CHECK(client.in_range(uri, shown[2]["range"]) == "y");
  client.replace(uri, "    z = x + 1.0\n", "");
  client.replace(uri, "return z", "return gelu(z + y) * WIDTH");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.replace(uri, "WIDTH\n", "WIDHT\n");  // what is wrong may be what has no use
  client.wait_until_idle();
  CHECK(client.tags(uri) == std::vector<std::string>{"unknown-name"});

  Client plain("utf-8", {{"textDocument", {{"publishDiagnostics", {{"tagSupport", nullptr}}}}}});
  plain.open(uri, text);
  plain.wait_until_idle();
  REQUIRE(plain.diagnostics(uri).size() == 4);
  CHECK_FALSE(plain.diagnostics(uri)[0].contains("tags"));
}

TEST_CASE("a file that another one imports is read as it is typed") {
  Client client;
  std::string other = "file:///work-space/sizes.tsr";
  client.open(other, "const D = 8\n");
  client.open(uri, "from sizes import D\n@jit\ndef f(x: Tensor[D, f32]):\n    return reshape(x, (4, 2))\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.replace(other, "8", "9");
  client.wait_until_idle();
  CHECK(client.tags(uri) == std::vector<std::string>{"bad-reshape"});
  client.close(other);
  client.wait_until_idle();
  CHECK(client.tags(uri) == std::vector<std::string>{"unknown-module"});
}

TEST_CASE("symbols of a file, also of one that is half typed") {
  Client client;
  client.open(uri, program);
  auto names = [&] {
    std::vector<std::string> list;
    for (const Json& symbol : client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}})) {
      list.push_back(symbol["name"]);
    }
    return list;
  };
  std::vector<std::string> all = {"WIDTH", "scaled", "entry", "Linear"};
  CHECK(names() == all);
  Json symbols = client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}});
  CHECK(symbols[3]["children"].size() == 2);
  // A function ends with its code, not where the next one begins.
  CHECK(symbols[1]["range"]["start"] == client.at(uri, "def scaled")["position"]);
  CHECK(symbols[1]["range"]["end"] == client.at(uri, "return y", 8)["position"]);
  CHECK(symbols[2]["range"]["start"] == client.at(uri, "@jit")["position"]);
  client.replace(uri, "def entry(x: Tensor[B, WIDTH, f32]) -> Tensor[B, WIDTH, f32]:", "def entry(x: Tensor[B,");
  CHECK(names() == all);
  CHECK(client.request("workspace/symbol", {{"query", "sCl"}}).size() == 1);
}

TEST_CASE("a name leads to its declaration") {
  Client client;
  client.open(uri, program);
  auto target = [&](const std::string& text, size_t into, size_t n = 0) {
    Json found = client.request("textDocument/definition", client.at(uri, text, into, n));
    if (found.is_null()) return std::string("nothing");
    return found["uri"] == uri ? client.in_range(uri, found["range"]) : found["uri"].get<std::string>();
  };
  CHECK(target("scaled(layernorm", 2) == "scaled");
  CHECK(target("by=0.5", 1) == "by");
  CHECK(target("x * by", 4) == "by");
  CHECK(target("return y", 7) == "y");
  CHECK(target("-> Tensor[B, D", 10) == "B");
  CHECK(target("WIDTH, f32]) ->", 0) == "WIDTH");
  CHECK(target("self.w", 5) == "w");
  CHECK(target("self.w", 0) == "self");
  CHECK(target("N, O, f32", 3) == "O");
  CHECK(target("gelu", 0) == "nothing");
  CHECK(target("layernorm(x)", 0).ends_with("norms.tsr"));
  CHECK(target("tessera.nn", 9).ends_with("nn.tsr"));
}

TEST_CASE("all uses of a name, and no other name of the same letters") {
  Client client;
  client.open(uri, program);
  auto count = [&](const std::string& text, size_t into = 0) {
    Json params = client.at(uri, text, into);
    params["context"] = {{"includeDeclaration", true}};
    return client.request("textDocument/references", params).size();
  };
  CHECK(count("WIDTH = 64") == 3);
  CHECK(count("by: float") == 3);
  CHECK(count("scaled(x: Tensor") == 2);
  CHECK(count("x: Tensor[B, WIDTH") == 2);
  CHECK(count("w: Param") == 2);
  CHECK(client.request("textDocument/documentHighlight", client.at(uri, "y = x")).size() == 2);
}

TEST_CASE("renaming reaches other files and refuses what is not ours") {
  Client client;
  std::string other = "file:///work-space/user.tsr";
  client.open(uri, program);
  client.open(
      other,
      "from model import scaled, WIDTH as W\n@jit\ndef f(x: Tensor[W, 4, f32]):\n    return scaled(x, by=3.0)\n");
  auto count_edits = [&](const Json& asked) {
    Json changes = client.request("textDocument/rename", asked);
    size_t edits = 0;
    for (const Json& change : changes["documentChanges"]) edits += change["edits"].size();
    return edits;
  };
  Json params = client.at(uri, "scaled(x: Tensor");
  params["newName"] = "stretched";
  CHECK(client.request("textDocument/rename", params)["documentChanges"].size() == 2);
  CHECK(count_edits(params) == 4);
  params = client.at(uri, "WIDTH = 64");
  params["newName"] = "wide";
  CHECK(count_edits(params) == 4);
  params = client.at(uri, "by: float");
  params["newName"] = "factor";
  CHECK(count_edits(params) == 4);
  auto refused = [&](const std::string& text, const std::string& name) {
    Json asked = client.at(uri, text);
    asked["newName"] = name;
    return client.failure("textDocument/rename", asked)["message"].get<std::string>();
  };
  CHECK(refused("gelu", "x") == "'gelu' is part of the language");
  CHECK(refused("layernorm(x)", "x") == "'layernorm' is part of the standard library");
  CHECK(refused("scaled", "if") == "'if' is a keyword");
  CHECK(refused("scaled", "a b") == "'a b' is not a name");
  CHECK(refused("scaled", "entry") == "'entry' is already the name of an entry here");
  CHECK(client.failure("textDocument/prepareRename", client.at(uri, "return y"))["code"] == -32803);
  Json prepared = client.request("textDocument/prepareRename", client.at(uri, "y = x"));
  CHECK(prepared["placeholder"] == "y");
}

TEST_CASE("hovers say what a name is") {
  Client client;
  client.open(uri, program);
  auto text = [&](const std::string& name, size_t into = 0) {
    Json found = client.request("textDocument/hover", client.at(uri, name, into));
    return found.is_null() ? std::string() : found["contents"]["value"].get<std::string>();
  };
  using Catch::Contains;
  CHECK_THAT(text("scaled(layernorm"), Contains("def scaled(x: Tensor[B, D, T], by: float = 2.0) -> Tensor[B, D, T]"));
  CHECK_THAT(text("scaled(layernorm"), Contains("Each element times a number."));
  CHECK_THAT(text("WIDTH, f32]"), Contains("How wide everything is."));
  CHECK_THAT(text("gelu"), Contains("gelu(x)") && Contains("tanh"));
  CHECK_THAT(text("f32]) ->"), Contains("float of 32 bits"));
  CHECK_THAT(text("jit"), Contains("entry"));
  CHECK_THAT(text("return gelu"), Contains("result"));
  CHECK_THAT(text("Tensor[B, D, T], by"), Contains("symbolic size"));
}

TEST_CASE("completion begins an empty file") {
  Client client;
  client.open(uri, "");
  client.wait_until_idle();
  std::vector<std::string> labels;
  Json asked = {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 0}, {"character", 0}}}};
  Json found = client.request("textDocument/completion", asked);
  for (const Json& item : found["items"]) labels.push_back(item["label"]);
  for (std::string name : {"def", "const", "from"}) CHECK_THAT(labels, Catch::VectorContains(name));
  CHECK(client.diagnostics(uri) == Json::array());
}

TEST_CASE("completion offers what may stand there") {
  Client client;
  client.open(
      uri,
      program +
          "\n@\n\ndef typing(x: Tensor[B, S, f32], flag: bool):\n    local = x\n    \n\nfrom tessera.nn import \n");
  auto labels = [&](const std::string& text, size_t into) {
    std::vector<std::string> list;
    Json found = client.request("textDocument/completion", client.at(uri, text, into));
    for (const Json& item : found["items"]) list.push_back(item["label"]);
    return list;
  };
  using Catch::VectorContains;
  using Strings = std::vector<std::string>;
  auto inside = labels("    local = x\n    ", 18);
  for (std::string name : {"x", "flag", "local", "scaled", "WIDTH", "gelu", "return", "S"})
    CHECK_THAT(inside, VectorContains(name));
  CHECK_THAT(inside, !VectorContains(std::string("y")));
  auto outside = labels("    local = x\n    \n", 19);
  for (std::string name : {"typing", "WIDTH", "def", "const"}) CHECK_THAT(outside, VectorContains(name));
  for (std::string name : {"flag", "local", "S", "return"}) CHECK_THAT(outside, !VectorContains(name));
  auto arguments = labels("by=0.5", 0);
  CHECK_THAT(arguments, VectorContains(std::string("by=")));
  CHECK(labels("self.w", 5) == Strings{"w", "__call__", "I", "O"});
  CHECK_THAT(labels("\n@\n", 2), VectorContains(std::string("kernel.schedule")));
  client.replace(uri, "\n@\n", "\n@kernel.\n");
  CHECK(labels("\n@kernel.\n", 9) == Strings{"schedule", "autotune", "auto"});
  client.replace(uri, "\n@kernel.\n", "\n@verify.\n");
  CHECK(labels("\n@verify.\n", 9) == Strings{"numerics"});
  client.replace(uri, "\n@verify.\n", "\n@\n");
  CHECK_THAT(labels("Tensor[B, S, f32], flag", 13), VectorContains(std::string("bf16")));
  CHECK_THAT(labels("from tessera.nn import \n", 23), VectorContains(std::string("conv2d")));
  CHECK_THAT(labels("from tessera.nn import layer", 5), VectorContains(std::string("tessera.nn")));
  // The parameters of a declaration are no arguments: their names are the user's to choose.
  CHECK(labels("(x: Tensor[B, S, f32], flag", 1).empty());
  CHECK(labels("f32], flag: bool", 6).empty());
  CHECK(labels("module Linear(I", 14).empty());
  CHECK_THAT(labels("I: dim", 3), VectorContains(std::string("dim")));
  auto defaults = labels("by: float = 2.0", 12);
  CHECK_THAT(defaults, VectorContains(std::string("WIDTH")));
  CHECK_THAT(defaults, !VectorContains(std::string("by=")));
  Json items = client.request("textDocument/completion", client.at(uri, "return gelu", 7))["items"];
  for (const Json& item : items) {
    if (item["label"] != "rmsnorm") continue;
    Json resolved = client.request("completionItem/resolve", item);
    CHECK_THAT(resolved["documentation"]["value"].get<std::string>(), Catch::Contains("sqrt(mean(x^2) + eps)"));
  }
}

TEST_CASE("names of functions and arguments of calls have documentation when they are offered") {
  Client client;
  client.open(uri, program);
  client.wait_until_idle();
  auto documented = [&](const Json& place, const std::string& label) -> std::string {
    Json items = client.request("textDocument/completion", place)["items"];
    for (const Json& item : items) {
      if (item["label"] != label) continue;
      return client.request("completionItem/resolve", item)["documentation"]["value"].get<std::string>();
    }
    return "not offered";
  };
  std::string local = documented(client.at(uri, "return gelu", 7), "h");
  CHECK_THAT(local, Contains("*variable*") && Contains("here: `Tensor[B, 64, f32]`"));
  CHECK_THAT(documented(client.at(uri, "return gelu", 7), "x"), Contains("x: Tensor[B, WIDTH, f32]"));
  std::string argument = documented(client.at(uri, "by=0.5", 0), "by=");
  CHECK_THAT(argument, Contains("by: float = 2.0") && Contains("*argument* of `scaled`") &&
                           Contains("Each element times a number."));
  // Of a text that has changed since nothing is said, or what is there now.
  Json items = client.request("textDocument/completion", client.at(uri, "return gelu", 7))["items"];
  client.replace(uri, program, "const A = 1\n");
  for (const Json& item : items) client.request("completionItem/resolve", item);
}

TEST_CASE("signatures show which argument is being given") {
  Client client;
  client.open(uri, program + "\ndef half(x):\n    return scaled(x, rmsnorm(x, eps=1");
  Json outer = client.request("textDocument/signatureHelp", client.at(uri, "scaled(x, rms", 10));
  CHECK(outer["signatures"][0]["label"] == "scaled(x: Tensor[B, D, T], by: float = 2.0) -> Tensor[B, D, T]");
  CHECK(outer["activeParameter"] == 1);
  Json inner = client.request("textDocument/signatureHelp", client.at(uri, "eps=1", 5));
  CHECK(inner["signatures"][0]["label"] == "rmsnorm(x, scale=None, eps=1e-6)");
  CHECK(inner["activeParameter"] == 2);
  client.open(uri, program + "\ndef half(x):\n    if scaled(x");
  Json condition = client.request("textDocument/signatureHelp", client.at(uri, "if scaled(x", 10));
  CHECK(condition["signatures"][0]["label"].get<std::string>().substr(0, 7) == "scaled(");
  CHECK(client.request("textDocument/signatureHelp", client.at(uri, "def half(x", 9)).is_null());
}

TEST_CASE("signatures show a parameter also within a lambda, and where a name is being typed") {
  Client client;
  auto active = [&](const std::string& call) {
    client.open(uri, "def scaled(x, by=2.0, *, offset=0.0, only=None):\n    return x\n\ndef f(q):\n    return " + call);
    Json help = client.request("textDocument/signatureHelp", client.at(uri, call, call.size()));
    return help["signatures"][0]["parameters"][help["activeParameter"].get<size_t>()]["label"].dump();
  };
  auto label = [&](const std::string& name) {
    std::string signature = "scaled(x, by=2.0, *, offset=0.0, only=None)";
    size_t begin = signature.find(name);
    return Json{begin, signature.find_first_of(",)", begin)}.dump();
  };
  CHECK(active("scaled(q, only=lambda s, b, h: s") == label("only="));
  CHECK(active("scaled(q, only=lambda s, b") == label("only="));
  CHECK(active("scaled(lambda s, b: s, ") == label("by="));
  CHECK(active("scaled(lambda s, b: lambda c, d: (s, b), ") == label("by="));
  CHECK(active("scaled(q, 2.0, o") == label("offset="));
  CHECK(active("scaled(q, 2.0, on") == label("only="));
  CHECK(active("scaled(q, offset=1.0, o") == label("only="));
  CHECK(active("scaled(q, offset=1.0, ") == label("by="));
  CHECK(active("scaled(q, by=1.0, ofset=") == label("offset="));
  CHECK(active("scaled(q, 1.0, offset=1.0, only=None, ") == label("only="));
}

TEST_CASE("names are coloured by what they mean") {
  Client client;
  client.open(uri, program + "\n%if defined(WIDE)\nconst WIDER = 2\n%endif\n");
  Json legend = client.initialized()["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"];
  Json data = client.request("textDocument/semanticTokens/full", {{"textDocument", {{"uri", uri}}}})["data"];
  REQUIRE(data.size() % 5 == 0);
  std::map<std::string, std::string> colours;
  int line = 0, character = 0;
  for (size_t i = 0; i < data.size(); i += 5) {
    int down = data[i];
    line += down;
    character = down == 0 ? character + data[i + 1].get<int>() : data[i + 1].get<int>();
    Json range = {{"start", {{"line", line}, {"character", character}}},
                  {"end", {{"line", line}, {"character", character + data[i + 2].get<int>()}}}};
    colours[client.in_range(uri, range)] = legend[data[i + 3].get<size_t>()];
  }
  CHECK(colours["scaled"] == "function");
  CHECK(colours["Linear"] == "class");
  CHECK(colours["by"] == "parameter");
  CHECK(colours["B"] == "typeParameter");
  CHECK(colours["f32"] == "type");
  CHECK(colours["jit"] == "decorator");
  CHECK(colours["module"] == "keyword");
  CHECK(colours["w"] == "property");
  CHECK(colours["2.0"] == "number");
  CHECK(colours["if"] == "keyword");
  CHECK(colours["endif"] == "keyword");
  CHECK(colours["WIDE"] == "macro");
  Json part = client.request(
      "textDocument/semanticTokens/range",
      {{"textDocument", {{"uri", uri}}},
       {"range", {{"start", {{"line", 5}, {"character", 0}}}, {"end", {{"line", 6}, {"character", 0}}}}}});
  CHECK(part["data"][0] == 5);
  CHECK(part["data"].size() < data.size());
}

TEST_CASE("blocks, imports and comments can be folded") {
  Client client;
  client.open(uri, program);
  Json folds = client.request("textDocument/foldingRange", {{"textDocument", {{"uri", uri}}}});
  bool found = false;
  for (const Json& fold : folds) found = found || (fold["startLine"] == 5 && fold["endLine"] == 8);
  CHECK(found);
}

TEST_CASE("a range that can be folded for two reasons is reported once") {
  Client client;
  client.open(uri, "def f(x):\n%if A\n    y = x\n    z = y\n%else\n    z = x\n    y = z\n%endif\n    return z\n");
  std::set<std::pair<int, int>> lines;
  Json folds = client.request("textDocument/foldingRange", {{"textDocument", {{"uri", uri}}}});
  for (const Json& fold : folds) CHECK(lines.emplace(fold["startLine"], fold["endLine"]).second);
  CHECK(lines.count({1, 3}) == 1);
  CHECK(lines.count({4, 6}) == 1);
}

TEST_CASE("positions are counted as agreed") {
  for (std::string encoding : {"utf-8", "utf-16"}) {
    Client client(encoding);
    CHECK(client.initialized()["capabilities"]["positionEncoding"] == encoding);
    client.open(uri, "@jit\ndef f(x: Tensor[4, f32]):\n    \"\xF0\x9D\x84\x9E \xC3\xA9\"; return x + missing\n");
    client.wait_until_idle();
    REQUIRE(client.tags(uri) == std::vector<std::string>{"unknown-name"});
    CHECK(client.in_range(uri, client.diagnostics(uri)[0]["range"]) == "missing");
  }
}

TEST_CASE("edits and places outside of a text mean its nearest end") {
  Client client;
  client.open(uri, "const A = 1\n");
  Json range = {{"start", {{"line", 90}, {"character", 7}}}, {"end", {{"line", 3}, {"character", -4}}}};
  Json change = {{"range", range}, {"text", "const B = 2\n"}};
  client.notify("textDocument/didChange",
                {{"textDocument", {{"uri", uri}, {"version", 2}}}, {"contentChanges", Json::array({change})}});
  CHECK(client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}}).size() == 2);
  Json far = {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 4000000000}, {"character", 1}}}};
  CHECK(client.request("textDocument/hover", far).is_null());
  CHECK(client.request("textDocument/hover", {{"textDocument", 3}, {"position", "x"}}).is_null());
}

TEST_CASE("an include that vanishes is a diagnostic, and one that comes back is none") {
  Client client;
  std::string other = "file:///work-space/part.tsr";
  client.open(other, "const D = 8\n");
  client.open(uri, "%include \"part.tsr\"\n@jit\ndef f(x: Tensor[D, f32]):\n    return x\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  client.close(other);
  client.wait_until_idle();
  CHECK(client.tags(uri)[0] == "include-not-found");
  client.open(other, "const D = 8\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
}

TEST_CASE("who calls a function, and what it calls") {
  Client client;
  client.open(uri, program);
  Json items = client.request("textDocument/prepareCallHierarchy", client.at(uri, "scaled(layernorm"));
  REQUIRE(items.size() == 1);
  CHECK(items[0]["name"] == "scaled");
  Json incoming = client.request("callHierarchy/incomingCalls", {{"item", items[0]}});
  REQUIRE(incoming.size() == 1);
  CHECK(incoming[0]["from"]["name"] == "entry");
  CHECK(client.in_range(uri, incoming[0]["fromRanges"][0]) == "scaled");
  Json outgoing = client.request("callHierarchy/outgoingCalls", {{"item", incoming[0]["from"]}});
  REQUIRE(outgoing.size() == 2);
  CHECK(outgoing[0]["to"]["name"] == "scaled");
  CHECK(outgoing[1]["to"]["name"] == "layernorm");
}

TEST_CASE("calls of instances are calls of their method") {
  Client client;
  client.open(uri,
              "module Gain(D: dim):\n"
              "    def __call__(self, x: Tensor[D, f32]):\n"
              "        return self.scaled(x)\n"
              "    def scaled(self, x: Tensor[D, f32]):\n"
              "        return x * 2.0\n"
              "net = Gain(4)\n"
              "nets = [Gain(4)] * 2\n"
              "def entry(x: Tensor[4, f32]):\n"
              "    other = net\n"
              "    return nets[0](net(x))\n");
  Json items = client.request("textDocument/prepareCallHierarchy", client.at(uri, "__call__"));
  REQUIRE(items.size() == 1);
  Json incoming = client.request("callHierarchy/incomingCalls", {{"item", items[0]}});
  REQUIRE(incoming.size() == 1);
  CHECK(incoming[0]["from"]["name"] == "entry");
  REQUIRE(incoming[0]["fromRanges"].size() == 2);
  CHECK(client.in_range(uri, incoming[0]["fromRanges"][0]) == "nets");
  CHECK(client.in_range(uri, incoming[0]["fromRanges"][1]) == "net");
  Json outgoing = client.request("callHierarchy/outgoingCalls", {{"item", items[0]}});
  REQUIRE(outgoing.size() == 1);
  CHECK(outgoing[0]["to"]["name"] == "scaled");
  outgoing = client.request("callHierarchy/outgoingCalls", {{"item", incoming[0]["from"]}});
  REQUIRE(outgoing.size() == 1);
  CHECK(outgoing[0]["to"]["name"] == "__call__");
  CHECK(outgoing[0]["fromRanges"].size() == 2);
}

TEST_CASE("hovers and hints show that calls from several functions differ") {
  Client client;
  client.open(uri,
              "def doubled(x: Tensor[N, f32]):\n"
              "    y = x + x\n"
              "    return y\n"
              "@jit\n"
              "def first(x: Tensor[4, f32]):\n"
              "    return doubled(x)\n"
              "@jit\n"
              "def second(x: Tensor[8, f32]):\n"
              "    return doubled(x)\n");
  client.wait_until_idle();
  auto hover = [&](const std::string& text) {
    return client.request("textDocument/hover", client.at(uri, text))["contents"]["value"].get<std::string>();
  };
  CHECK_THAT(hover("y = x"), Catch::Contains("here: `Tensor[4, f32]`, `Tensor[8, f32]`"));
  CHECK_THAT(hover("doubled(x: "), Catch::Contains("gives: `Tensor[4, f32]`, `Tensor[8, f32]`"));
  Json range = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 99}, {"character", 0}}}};
  Json hints = client.request("textDocument/inlayHint", {{"textDocument", {{"uri", uri}}}, {"range", range}});
  REQUIRE(hints.size() == 1);
  CHECK(hints[0]["label"] == ": Tensor[4, f32] | …");
}

TEST_CASE("types of variables and names of parameters are shown where they are not written") {
  Client client;
  client.open(uri, program + "\n@jit\ndef shown(x: Tensor[B, 8, f32]):\n    y = sum(x, 1, True)\n    return y\n");
  client.wait_until_idle();
  Json range = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 99}, {"character", 0}}}};
  Json hints = client.request("textDocument/inlayHint", {{"textDocument", {{"uri", uri}}}, {"range", range}});
  std::vector<std::string> labels;
  for (const Json& hint : hints) labels.push_back(hint["label"]);
  CHECK(labels == std::vector<std::string>{": Tensor[B, 64, f32]", ": Tensor[B, 64, f32]", ": Tensor[B, 1, f32]",
                                           "axis=", "keepdims="});
  Json hover = client.request("textDocument/hover", client.at(uri, "y = sum"));
  CHECK_THAT(hover["contents"]["value"].get<std::string>(), Catch::Contains("here: `Tensor[B, 1, f32]`"));
  hover = client.request("textDocument/hover", client.at(uri, "entry(x"));
  CHECK_THAT(hover["contents"]["value"].get<std::string>(),
             Catch::Contains("gives: `Tensor[B, 64, f32]`") && Catch::Contains("effects: none"));
}

TEST_CASE("formatting a document, a range and a line that was ended") {
  Client client;
  client.open(uri, "@jit\ndef f( x:Tensor[4,f32] ):\n    y=x+1.0\n    z  =  y\n    return z\n");
  Json options = {{"tabSize", 4}, {"insertSpaces", true}};
  Json edits = client.request("textDocument/formatting", {{"textDocument", {{"uri", uri}}}, {"options", options}});
  CHECK(!edits.empty());
  Json range = {{"start", {{"line", 2}, {"character", 0}}}, {"end", {{"line", 3}, {"character", 0}}}};
  edits = client.request("textDocument/rangeFormatting",
                         {{"textDocument", {{"uri", uri}}}, {"range", range}, {"options", options}});
  REQUIRE(edits.size() == 1);
  CHECK(edits[0]["newText"] == "    y = x + 1.0\n");
  edits = client.request("textDocument/onTypeFormatting", {{"textDocument", {{"uri", uri}}},
                                                           {"position", {{"line", 3}, {"character", 4}}},
                                                           {"ch", "\n"},
                                                           {"options", options}});
  REQUIRE(edits.size() == 1);
  CHECK(edits[0]["range"]["start"]["line"] == 2);
  std::string empty = "file:///work-space/empty.tsr";
  client.open(empty, "def f(x):\n    a = x\n\n    \n    b = a\n");
  CHECK(client.request("textDocument/onTypeFormatting", {{"textDocument", {{"uri", empty}}},
                                                         {"position", {{"line", 3}, {"character", 4}}},
                                                         {"ch", "\n"},
                                                         {"options", options}}) == Json::array());
  client.replace(uri, "return z", "return (z");
  CHECK(client.request("textDocument/formatting", {{"textDocument", {{"uri", uri}}}, {"options", options}}).is_null());
}

TEST_CASE("lenses stand above what is compiled, and unknown commands are refused") {
  Client client;
  client.open(uri, program);
  Json lenses = client.request("textDocument/codeLens", {{"textDocument", {{"uri", uri}}}});
  REQUIRE(lenses.size() == 5);
  CHECK(lenses[0]["command"]["command"] == "tessera.showGraph");
  CHECK(lenses[0]["range"]["start"] == client.at(uri, "@jit")["position"]);
  CHECK(lenses[0]["command"]["arguments"][0]["position"] == client.at(uri, "entry(x")["position"]);
  CHECK(client.failure("workspace/executeCommand", {{"command", "rm"}, {"arguments", Json::array()}})["code"] ==
        -32602);
  Json incomplete = {{"command", "tessera.lower"}, {"arguments", Json::array({lenses[0]["command"]["arguments"][0]})}};
  CHECK(client.failure("workspace/executeCommand", incomplete)["message"] ==
        "'tessera.lower' takes the command of a lens as 'stage' of its argument");
}

TEST_CASE("texts are plain for clients that show no Markdown") {
  Json plain = {{"textDocument", {{"hover", {{"contentFormat", {"plaintext"}}}}}}};
  Client client("utf-16", plain);
  client.open(uri, program);
  client.wait_until_idle();
  Json hover = client.request("textDocument/hover", client.at(uri, "scaled(layernorm"))["contents"];
  CHECK(hover["kind"] == "plaintext");
  std::string text = hover["value"];
  CHECK(text.find("def scaled(x: Tensor[B, D, T]") == 0);
  CHECK(text.find("function\n") != std::string::npos);
  for (const char* mark : {"```", "`", "*function*"}) CHECK(text.find(mark) == std::string::npos);
  CHECK(tessera::lsp::plain_text("```c\na * b * c `d`\n```\n*x* (*y*) 2*`n`*m a[0] [text](http://a/b) `*p*`\n") ==
        "a * b * c `d`\nx (y) 2*n*m a[0] text *p*");
}

TEST_CASE("settings of a wrong kind are reported") {
  Client client("utf-16", {}, {{"initializationOptions", {{"target", 3}}}});
  Json settings = {{"includePaths", "a"}, {"defines", {1}}, {"compilerPath", {1}}, {"sizes", {{"B", -1}}}};
  client.notify("workspace/didChangeConfiguration", {{"settings", {{"tessera", settings}}}});
  std::vector<std::string> reported;
  for (const Json& message : client.messages()) {
    if (message.value("method", "") == "window/logMessage") reported.push_back(message["params"]["message"]);
  }
  CHECK(reported == std::vector<std::string>{
                        "the setting 'target' is not a text", "the setting 'includePaths' is not a list of texts",
                        "the setting 'defines' is not an object", "the setting 'compilerPath' is not a text",
                        "the setting 'sizes' is not an object of sizes"});
}

TEST_CASE("messages name lines and files as the document has them") {
  Client client;
  client.open(uri, "const A = 1\n\ndef f():\nconst B = 1\n\ndef g(x):\n    return (x]\n");
  client.wait_until_idle();
  std::vector<int> lines;  // of what opened the block and the bracket
  for (const Json& diagnostic : client.diagnostics(uri)) {
    lines.push_back(diagnostic["relatedInformation"][0]["location"]["range"]["start"]["line"]);
  }
  CHECK(lines == std::vector<int>{2, 6});
  client.open(uri, "\n" + std::string(size_t(17) << 20, '#') + "\n");
  client.wait_until_idle();
  REQUIRE(client.diagnostics(uri).size() == 1);
  CHECK_THAT(client.diagnostics(uri)[0]["message"].get<std::string>(), Contains("'/work-space/model.tsr'"));
}

TEST_CASE("the commands of lenses are the server's where the client has none") {
  auto commands = [](const Client& client) {
    return client.initialized()["capabilities"]["executeCommandProvider"]["commands"];
  };
  Json all = {"tessera.lower",    "tessera.showGraph",  "tessera.showSchedule",
              "tessera.showTile", "tessera.showTarget", "tessera.showCode"};
  CHECK(commands(Client()) == all);
  CHECK(commands(Client("utf-16", {}, {{"initializationOptions", {{"ownCommands", true}}}})) == Json{"tessera.lower"});
}

TEST_CASE("files of the library can be opened, and have nothing wrong") {
  Client client;
  client.open(uri, program);
  client.wait_until_idle();
  Json found = client.request("textDocument/definition", client.at(uri, "layernorm(x)"));
  std::string library = found["uri"];
  client.open(library, "from tessera.ops import gelu\n\n\ndef layernorm(x):\n    return gelu(x)\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(library) == Json::array());
  CHECK(client.request("textDocument/hover", client.at(library, "gelu(x)")).is_object());
}

TEST_CASE("a file of 5 MB, in one piece and in many") {
  Client client;
  std::string many;
  for (int i = 0; many.size() < (size_t(5) << 20); ++i) {
    many += "const NAME_" + std::to_string(i) + " = " + (i == 0 ? "1" : "NAME_" + std::to_string(i - 1)) + "  # " +
            std::string(1000, 'x') + "\n";
  }
  client.open(uri, many);
  client.replace(uri, "NAME_0 = 1", "NAME_0 = ");
  client.wait_until_idle();
  CHECK(!client.diagnostics(uri).empty());
  CHECK(client.request("textDocument/hover", client.at(uri, "NAME_7 =")).is_object());
  std::string other = "file:///work-space/one.tsr";
  client.open(other, "A = \"\"\"" + std::string(size_t(5) << 20, 'y') + "\n");
  client.wait_until_idle();
  CHECK(client.tags(other) == std::vector<std::string>{"unterminated-string"});
}

TEST_CASE("what the compiler knows to mend is a quick fix") {
  Client client;
  client.open(uri, program);
  client.replace(uri, "return gelu(h)", "return gellu(h)");
  client.wait_until_idle();
  Json range = client.diagnostics(uri)[0]["range"];
  Json params = {{"textDocument", {{"uri", uri}}}, {"range", range}, {"context", {{"diagnostics", Json::array()}}}};
  Json actions = client.request("textDocument/codeAction", params);
  REQUIRE(actions.size() == 1);
  CHECK(actions[0]["kind"] == "quickfix");
  Json edit = actions[0]["edit"]["changes"][uri][0];
  CHECK(edit["newText"] == "gelu");
  CHECK(client.in_range(uri, edit["range"]) == "gellu");
  client.replace(uri, "gellu(h)", "gellu(h) ");
  CHECK(client.request("textDocument/codeAction", params).empty());
}

TEST_CASE("a missing import is a quick fix, and completion adds it") {
  Client client;
  std::string file = "file:///work-space/imports.tsr";
  client.open(file,
              "# About the file.\nfrom tessera.nn import var\n\n@jit\ndef f(x: Tensor[B, 8, f32]):\n"
              "    return x + leaky_relu(x)\n");
  client.wait_until_idle();
  REQUIRE(client.tags(file) == std::vector<std::string>{"unknown-name"});
  Json range = client.diagnostics(file)[0]["range"];
  Json params = {{"textDocument", {{"uri", file}}}, {"range", range}, {"context", {{"diagnostics", Json::array()}}}};
  Json actions = client.request("textDocument/codeAction", params);
  REQUIRE(actions.size() == 1);
  Json edit = actions[0]["edit"]["changes"][file][0];
  CHECK(edit["newText"] == ", leaky_relu");
  CHECK(edit["range"]["start"] == Json{{"line", 1}, {"character", 26}});

  auto offered = [&](const std::string& name) {
    Json found = client.request("textDocument/completion", client.at(file, "leaky_relu(x)", 2));
    for (const Json& item : found["items"]) {
      if (item["label"] == name) return item;
    }
    return Json();
  };
  Json item = offered("one_hot");
  REQUIRE(item["additionalTextEdits"].size() == 1);
  CHECK(item["additionalTextEdits"][0]["newText"] == ", one_hot");
  CHECK(item["additionalTextEdits"][0]["range"]["start"] == Json{{"line", 1}, {"character", 26}});
  CHECK_FALSE(offered("var").contains("additionalTextEdits"));
  CHECK_FALSE(offered("softmax").contains("additionalTextEdits"));
  client.replace(file, "from tessera.nn import var\n", "");
  item = offered("one_hot");
  REQUIRE(item["additionalTextEdits"].size() == 1);
  CHECK(item["additionalTextEdits"][0]["newText"] == "from tessera.nn import one_hot\n\n");
  CHECK(item["additionalTextEdits"][0]["range"]["start"]["line"] == 2);
}

TEST_CASE("a hover shows the values of calls of a function, whichever file it is from") {
  Client client;
  std::string part = "file:///work-space/part.tsr";
  client.open("file:///work-space/empty.tsr", "\n");
  std::string head = GENERATE("", "%include \"empty.tsr\"\n");
  client.open(part, head + "# é\ndef helper(x):\n    return x * 2.0\n\ndef unused(x: Tensor[3, f32]):\n    return x\n");
  std::string import = GENERATE("from part import helper, unused\n", "%include \"part.tsr\"\n");
  client.open(uri, "from tessera.nn import mish\n" + import +
                       "@jit\ndef f(x: Tensor[B, 8, f32]):\n    return mish(helper(x))\n");
  client.wait_until_idle();
  auto hover = [&](const std::string& name, size_t n = 0) {
    return client.request("textDocument/hover", client.at(uri, name, 0, n))["contents"]["value"].get<std::string>();
  };
  const std::string gives = "gives: `Tensor[B, 8, f32]`\n\neffects: none";
  CHECK_THAT(hover("helper("), Contains(gives));
  if (import.starts_with("from")) CHECK_THAT(hover("helper, "), Contains(gives));
  if (import.starts_with("from")) CHECK_THAT(hover("unused"), Contains("effects: none"));
}

TEST_CASE("a document is the same however its URI is written") {
  Client client;
  std::string opened = "file:///work-space/%7Aenc.tsr", other = "file:///work-space/zenc.tsr";
  client.open(opened, "const A = 1\n");
  client.wait_until_idle();
  Json change = {{"text", "const A = missing\n"}};
  client.notify("textDocument/didChange",
                {{"textDocument", {{"uri", other}, {"version", 2}}}, {"contentChanges", Json::array({change})}});
  client.wait_until_idle();
  CHECK(client.tags(opened) == std::vector<std::string>{"unknown-name"});
  CHECK(client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", other}}}}).size() == 1);
  client.notify("textDocument/didClose", {{"textDocument", {{"uri", other}}}});
  client.wait_until_idle();
  CHECK(client.diagnostics(opened) == Json::array());
  CHECK(client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", opened}}}}).empty());
}

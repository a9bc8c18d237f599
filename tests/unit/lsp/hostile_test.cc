// Malformed messages from an editor, and files of unusual size.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "unit/lsp/client.h"
#include "unit/lsp/uri.h"

using lsp_test::Client;
using lsp_test::Json;

namespace {

namespace fs = std::filesystem;

/// A folder on disk that is gone at the end.
class HostileFolder {
 public:
  HostileFolder() : path_(fs::temp_directory_path() / ("lsp_hostile_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~HostileFolder() { fs::remove_all(path_); }
  std::string uri(const std::string& name) const { return "file://" + (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

 private:
  fs::path path_;
};

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a file that appears on disk is read in the middle of an analysis of others") {
  HostileFolder folder;
  std::string importer = folder.uri("importer.tsr"), large = folder.uri("large.tsr");
  std::string text = "import late\n";
  for (int i = 0; i < 50; ++i) {
    text += "def f" + std::to_string(i) + "(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    return late.g(x) + x\n\n";
  }
  text += "@jit\ndef entry(x: Tensor[4, f32]) -> Tensor[4, f32]:\n    return f0(x)\n";
  Client client;
  client.open(importer, text);
  client.wait_until_idle();
  CHECK(client.tags(importer) == std::vector<std::string>{"unknown-module"});
  client.open(large, repeated("# a line of a text that is closed again and then holds memory\n", 80'000));
  client.close(large);
  folder.write("late.tsr", "def g(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    return x * 2.0\n");
  Json change = {{"uri", folder.uri("late.tsr")}, {"type", 1}};
  client.notify("workspace/didChangeWatchedFiles", {{"changes", Json::array({change})}});
  client.wait_until_idle();
  CHECK(client.diagnostics(importer) == Json::array());
  Json hover = client.request("textDocument/hover", client.at(importer, "f0(x)"));
  CHECK_THAT(hover["contents"]["value"].get<std::string>(), Catch::Contains("Tensor[4, f32]"));
}

TEST_CASE("values that are nested without end are refused, whatever they are in") {
  Client client;
  std::string deep = repeated("[", 200'000) + repeated("]", 200'000);
  auto error = [&](const std::string& method, const std::string& before, const std::string& behind) {
    client.raw(R"({"jsonrpc":"2.0","id":"deep","method":")" + method + R"(","params":)" + before + deep + behind + "}");
    Json last = client.messages().back();
    CHECK(last["id"] == "deep");
    return last["error"]["code"].get<int>();
  };
  CHECK(error("workspace/executeCommand", R"({"command":"tessera.lower","arguments":)", "}") == -32700);
  CHECK(error("completionItem/resolve", R"({"label":"x","data":)", "}") == -32700);
  CHECK(error("textDocument/hover", R"({"textDocument":{"uri":"file:///a"},"position":)", "}") == -32700);
  client.raw(R"({"method":"workspace/didChangeConfiguration","params":{"settings":{"defines":{"A":)" + deep + "}}}}");
  CHECK(client.messages().back()["error"]["code"] == -32700);
  // Brackets in a text are no levels.
  client.open(uri, "const A = \"" + repeated("[", 1000) + "\"\n");
  CHECK(client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}}).size() == 1);
}

TEST_CASE("an edit with bytes or halves of characters that are none is taken") {
  for (std::string broken : {"\xFF", "\xC3", "\xED\xA0\x80", "\\ud834", "\\udd1e", "\\ud834\\u0041"}) {
    INFO(broken);
    Client client;
    client.open(uri, "const A = 1\n");
    client.raw(R"({"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":")" + uri +
               R"(","version":2},"contentChanges":[{"text":"const B = 2 # )" + broken + R"(\nconst C = 3\n"}]}})");
    Json symbols = client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}});
    REQUIRE(symbols.size() == 2);
    CHECK(symbols[0]["name"] == "B");
    CHECK(symbols[1]["name"] == "C");
  }
}

TEST_CASE("a character that is none counts as one, and a pair of escapes as the character that it is") {
  Client client;
  client.open(uri, "const A = 1\n");
  auto change = [&](int version, const std::string& text) {
    client.raw(R"({"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":")" + uri +
               R"(","version":)" + std::to_string(version) + R"(},"contentChanges":[)" + text + "]}}");
  };
  change(2, R"({"text":"# \ud834 \ud834\udd1e\nconst B = 2\n"})");
  // Behind the note of five units, which are "# ? " and one character of two.
  change(3, R"({"range":{"start":{"line":0,"character":6},"end":{"line":0,"character":6}},"text":"\nconst C = 3"})");
  change(4, R"({"range":{"start":{"line":1,"character":6},"end":{"line":1,"character":7}},"text":"D\\ud834\\\ud834"})");
  change(5, R"({"range":{"start":{"line":1,"character":7},"end":{"line":1,"character":15}},"text":""})");
  Json symbols = client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}});
  REQUIRE(symbols.size() == 2);
  CHECK(symbols[0]["name"] == "D");
  CHECK(symbols[1]["name"] == "B");
}

TEST_CASE("of tens of thousands of errors a thousand are shown, and that there are more") {
  std::string text;
  for (int i = 0; i < 1900; ++i) {
    text += "def f" + std::to_string(i) + "(x: int) -> int:\n" + repeated("    y = = x + 1\n", 3) + "    return x\n\n";
  }
  Client client;
  client.open(uri, text);
  client.wait_until_idle();
  for (int round = 0; round < 2; ++round) {
    Json list = client.diagnostics(uri);
    REQUIRE(list.size() == 1001);
    CHECK(list[0]["range"]["start"]["line"] == 1 + round);
    CHECK(list[999]["code"] == "expected-expression");
    CHECK(list[1000]["message"] == "no more than 1000 messages of a file are shown, and there are more");
    CHECK(list[1000]["severity"] == 3);
    client.replace(uri, "def f0", "\ndef f0");
    client.wait_until_idle();
  }
}

TEST_CASE("an error of a file that several import is published once") {
  Client client;
  std::string shared = "file:///work-space/shared.tsr";
  client.open(shared, "def g(x):\n    return x +\n");
  for (std::string name : {"one", "two"}) {
    client.open("file:///work-space/" + name + ".tsr",
                "from shared import g\n@jit\ndef f(x: Tensor[4, f32]):\n    return g(x)\n");
  }
  client.wait_until_idle();
  CHECK(client.diagnostics(shared).size() == 1);
}

TEST_CASE("a text with a carriage return in it is formatted where the client counts its lines") {
  Client client;
  client.open(uri, "\"\"\"doc\rmore\"\"\"\nx=1\ny=2\n");
  Json options = {{"tabSize", 4}, {"insertSpaces", true}};
  auto edits = [&](const std::string& method, Json more) {
    more.update(Json{{"textDocument", {{"uri", uri}}}, {"options", options}});
    return client.request("textDocument/" + method, more);
  };
  auto place = [](int line, int character) { return Json{{"line", line}, {"character", character}}; };
  auto at = [&](const Json& edit) { return std::pair(edit["range"]["start"], edit["range"]["end"]); };
  Json all = edits("formatting", Json::object());
  REQUIRE(all.size() == 1);
  CHECK(at(all[0]) == std::pair(place(2, 0), place(4, 0)));
  CHECK(all[0]["newText"] == "x = 1\ny = 2\n");
  Json range = edits("rangeFormatting", {{"range", {{"start", place(3, 0)}, {"end", place(4, 0)}}}});
  REQUIRE(range.size() == 1);
  CHECK(at(range[0]) == std::pair(place(3, 0), place(4, 0)));
  Json typed = edits("onTypeFormatting", {{"position", place(3, 0)}, {"ch", "\n"}});
  REQUIRE(typed.size() == 1);
  CHECK(at(typed[0]) == std::pair(place(2, 0), place(3, 0)));
}

TEST_CASE("a line of many tokens is coloured without counting each from the line's start") {
  // Counted so, this many take minutes.
  std::string text = "const x = [" + repeated("1, ", 200'000) + "1]\n";
  Client client;
  client.open(uri, text);
  Json data = client.request("textDocument/semanticTokens/full", {{"textDocument", {{"uri", uri}}}})["data"];
  CHECK(data.size() > 5 * 200'000);
  CHECK(data[data.size() - 4] == 3);
}

TEST_CASE("brackets in brackets over thousands of lines are folded") {
  // Going over the lines of each pair, this takes minutes.
  std::string text = "x = " + repeated("(\n", 100'000) + "1\n" + repeated(")\n", 100'000) + "y = 2\n";
  Client client;
  client.open(uri, text);
  Json folds = client.request("textDocument/foldingRange", {{"textDocument", {{"uri", uri}}}});
  CHECK(folds.size() > 1);
}

TEST_CASE("a list of names that is cut has those that match, and says that it is incomplete") {
  std::string text;
  for (int i = 0; i < 2500; ++i) text += "const NAME_" + std::to_string(i) + " = 1\n";
  text += "\ndef f(x):\n    y = gel\n    return y\n";
  Client client;
  client.open(uri, text);
  Json found = client.request("textDocument/completion", client.at(uri, "gel", 3));
  CHECK(found["isIncomplete"] == true);
  bool has_gelu = false;
  for (const Json& item : found["items"]) has_gelu = has_gelu || item["label"] == "gelu";
  CHECK(has_gelu);
  CHECK(found["items"].size() < 100);
  found = client.request("textDocument/completion", client.at(uri, "gel", 0));
  CHECK(found["isIncomplete"] == true);
  CHECK(found["items"].size() == 2000);
}

TEST_CASE("the analysis of a file as a whole ends for a newer edit") {
  std::vector<Json> out;
  bool newer = true;
  tessera::lsp::Server server([&](const std::string& body) { out.push_back(Json::parse(body)); },
                              {.version = "test", .has_newer_edit = [&] { return newer; }});
  auto say = [&](Json message) { server.receive(message.dump()); };
  say({{"id", 1}, {"method", "initialize"}, {"params", {{"capabilities", Json::object()}}}});
  HostileFolder folder;
  folder.write("part.tsr", "const D = 4\n");
  std::string text = "%include \"part.tsr\"\n@jit\ndef f(x: Tensor[D, f32]):\n    return x + missing\n";
  Json document = {{"uri", folder.uri("model.tsr")}, {"languageId", "tessera"}, {"version", 1}, {"text", text}};
  say({{"method", "textDocument/didOpen"}, {"params", {{"textDocument", document}}}});
  CHECK(server.work());
  CHECK(out.size() == 1);
  CHECK(server.has_work());
  newer = false;
  CHECK(server.work());
  REQUIRE(out.size() == 2);
  CHECK(out[1]["params"]["diagnostics"][0]["code"] == "unknown-name");
}

TEST_CASE("a file on disk that changes is read again, whether the client watches files or not") {
  HostileFolder folder;
  std::string importer = folder.uri("importer.tsr");
  bool watches = GENERATE(true, false);
  Json capabilities;
  capabilities["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"] = watches;
  Client client("utf-16", capabilities);
  std::string part = "def g(x):\n    return x\n";
  folder.write("part.tsr", part);
  client.open(importer, "from part import g\n@jit\ndef f(x: Tensor[4, f32]):\n    return g(x)\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(importer) == Json::array());
  folder.write("part.tsr", "def other(x):\n    return x\n");
  Json change = {{"uri", folder.uri("part.tsr")}, {"type", 2}};
  if (watches) {
    client.notify("workspace/didChangeWatchedFiles", {{"changes", Json::array({change})}});
  } else {
    client.replace(importer, "f(x: T", "h(x: T");
  }
  client.wait_until_idle();
  CHECK(client.diagnostics(importer).size() == 1);
  folder.write("part.tsr", part + "# as before\n");
  client.notify("textDocument/didSave", {{"textDocument", {{"uri", importer}}}});
  client.wait_until_idle();
  CHECK(client.diagnostics(importer).size() == (watches ? 1 : 0));
}

TEST_CASE("a line that was ended is formatted with its declaration where the file is long") {
  std::string text = "A  = 1\n" + repeated("# a comment that makes the file long\n", 3000);
  text += "\ndef f( x ):\n    y=x\n    return  y\n";
  Client client;
  client.open(uri, text);
  auto typed = [&](int line) {
    Json params = {{"textDocument", {{"uri", uri}}},
                   {"position", {{"line", line}, {"character", 0}}},
                   {"ch", "\n"},
                   {"options", {{"tabSize", 4}, {"insertSpaces", true}}}};
    return client.request("textDocument/onTypeFormatting", params);
  };
  Json edits = typed(3004);
  REQUIRE(edits.size() == 1);
  CHECK(edits[0]["newText"] == "    y = x\n");
  CHECK(edits[0]["range"]["start"]["line"] == 3003);
  CHECK(edits[0]["range"]["end"]["line"] == 3004);
  CHECK(typed(1).is_null());
}

TEST_CASE("of a document with an edit that cannot be read nothing is said until its text is known again") {
  Client client;
  client.open(uri, "const x = gellu\n");
  client.open("file:///work-space/other.tsr", "const y = gellu\n");
  client.wait_until_idle();
  REQUIRE(client.tags(uri).size() == 1);
  bool is_any = false;
  std::string head = R"({"jsonrpc":"2.0","method":"textDocument/didChange","params":)";
  SECTION("as it is not JSON") { client.raw(head + R"({"textDocument":{"uri":")" + uri + R"("},"contentChanges":[)"); }
  SECTION("as it nests without end") {
    client.raw(head + R"({"textDocument" : { "uri" : ")" + uri + R"("},"contentChanges":)" + std::string(300, '[') +
               std::string(300, ']') + "}}");
  }
  SECTION("as it has no text") {
    client.notify("textDocument/didChange",
                  {{"textDocument", {{"uri", uri}, {"version", 2}}}, {"contentChanges", {{{"range", nullptr}}}}});
  }
  SECTION("as nobody can say which one it is of") {
    client.raw(head + R"({"contentChanges":[{"text":"\"uri\": \"file:///x\"")");
    is_any = true;
  }
  client.wait_until_idle();
  CHECK(client.diagnostics(uri) == Json::array());
  CHECK(client.tags("file:///work-space/other.tsr").size() == size_t(is_any ? 0 : 1));
  Json shown;
  for (const Json& message : client.messages()) {
    if (message.value("method", "") == "window/showMessage") shown = message["params"];
  }
  CHECK(shown["message"].get<std::string>().find("an edit of") != std::string::npos);
  constexpr int content_modified = -32801;
  CHECK(client.failure("textDocument/hover", client.at(uri, "x"))["code"] == content_modified);
  Json part = {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 0}}}};
  auto change = [&](const Json& changes) {
    client.notify("textDocument/didChange",
                  {{"textDocument", {{"uri", uri}, {"version", 3}}}, {"contentChanges", changes}});
    client.wait_until_idle();
  };
  change(Json::array({{{"range", part}, {"text", "z"}}}));
  CHECK(client.diagnostics(uri) == Json::array());
  change(Json::array({{{"range", part}, {"text", "z"}}, {{"text", "const x = gellu\n"}}}));
  CHECK(client.tags(uri).size() == 1);
  client.request("textDocument/hover", client.at(uri, "x"));
}

TEST_CASE("a document whose text came in no message is unknown until it is opened again") {
  Client client;
  client.raw(R"({"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":")" + uri +
             R"(","text)");
  Json place = {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 0}, {"character", 6}}}};
  client.failure("textDocument/hover", place);
  client.close(uri);
  client.request("textDocument/hover", place);
  client.open(uri, "const x = 1\n");
  CHECK(client.request("textDocument/hover", place).is_object());
}

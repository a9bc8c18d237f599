// When diagnostics are published, and for which text.

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "unit/lsp/client.h"

using lsp_test::Client;
using lsp_test::Json;

TEST_CASE("what was found in a longer text is gone when another document is looked at first") {
  Client client;
  std::string shrinking = "file:///work-space/shrinking.tsr", other = "file:///work-space/other.tsr";
  client.open(shrinking, "# " + std::string(5000, 'x') + "\nconst A = (");
  client.open(other, "const B = 1\n");
  client.wait_until_idle();
  CHECK(client.diagnostics(shrinking).size() == 1);
  Json change = {{"text", "const A = 1\n"}};
  client.notify("textDocument/didChange", {{"textDocument", {{"uri", shrinking}, {"version", 2}}},
                                           {"contentChanges", Json::array({change})}});
  client.replace(other, "1", "2");
  client.wait_until_idle();
  CHECK(client.diagnostics(shrinking) == Json::array());
  CHECK(client.diagnostics(other) == Json::array());
}

namespace {

/// Files on disk, as long as the test lasts.
class PublishedFolder {
 public:
  PublishedFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("lsp_publisher_{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~PublishedFolder() { std::filesystem::remove_all(path_); }
  PublishedFolder(const PublishedFolder&) = delete;

  /// Writes a file: its URI.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return "file://" + (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

const std::string twice = "def twice(x):\n    return x + x\n";
const std::string entry = "@jit\ndef f(x: Tensor[B, f32]):\n    return twice(x)\n";

}  // namespace

TEST_CASE("what others find in a file that is closed they find in it as it is on disk") {
  PublishedFolder folder;
  std::string wrong = GENERATE("x + zz", "x + (");
  std::string head = GENERATE("from part import twice\n", "%include \"part.tsr\"\n");
  Client client;
  std::string part = folder.write("part.tsr", twice), whole = folder.write("whole.tsr", head + entry);
  client.open(part, twice);
  client.open(whole, head + entry);
  client.replace(part, "x + x", wrong);
  client.wait_until_idle();
  CHECK(client.diagnostics(part).size() == 1);
  client.close(part);
  CHECK(client.diagnostics(part) == Json::array());
  client.wait_until_idle();
  CHECK(client.diagnostics(part) == Json::array());
  CHECK(client.diagnostics(whole) == Json::array());
}

TEST_CASE("an error on disk is reported for the file after it is closed, and goes when it is fixed") {
  PublishedFolder folder;
  Client client;
  std::string head = "from part import twice\n", wrong = "def twice(x):\n    return x + zz\n";
  std::string part = folder.write("part.tsr", wrong), whole = folder.write("whole.tsr", head + entry);
  client.open(part, twice);
  client.open(whole, head + entry);
  client.wait_until_idle();
  client.close(part);
  client.wait_until_idle();
  CHECK(client.tags(part) == std::vector<std::string>{"unknown-name"});
  folder.write("part.tsr", twice + "\n");
  client.replace(whole, "twice(x)", "twice(x) ");
  client.wait_until_idle();
  CHECK(client.diagnostics(part) == Json::array());
}

TEST_CASE("a file that an open one includes means there what it means") {
  PublishedFolder folder;
  std::string text = "const CC = HID + 1\n";
  std::string child = folder.write("child.tsr", text);
  std::string parent = "file:///work-space/parent.tsr", head = "const HID = 4\n";
  std::string include = "%include \"" + child.substr(7) + "\"\n";
  std::string tail = "@jit\ndef f(x: Tensor[CC, f32]):\n    return x\n";
  Client client;
  client.open(child, text);
  client.wait_until_idle();
  CHECK(client.tags(child) == std::vector<std::string>{"unknown-name"});
  client.open(parent, head + include + tail);
  client.wait_until_idle();
  CHECK(client.diagnostics(child) == Json::array());
  CHECK(client.diagnostics(parent) == Json::array());
  client.replace(child, "HID + 1", "HID + missing");
  client.wait_until_idle();
  REQUIRE(client.tags(child) == std::vector<std::string>{"unknown-name"});
  CHECK_THAT(client.diagnostics(child)[0]["message"].get<std::string>(), Catch::Contains("'missing'"));
  client.replace(child, "missing", "1");
  client.replace(parent, head, "");
  client.wait_until_idle();
  CHECK(client.tags(child) == std::vector<std::string>{"unknown-name"});
  client.replace(parent, "@jit", head + "@jit");
  client.replace(parent, include, "");
  client.replace(parent, "CC", "HID");
  client.wait_until_idle();
  CHECK(client.tags(child) == std::vector<std::string>{"unknown-name"});
  client.replace(parent, "@jit", include + "@jit");
  client.wait_until_idle();
  CHECK(client.diagnostics(child) == Json::array());
  client.close(parent);
  client.wait_until_idle();
  CHECK(client.tags(child) == std::vector<std::string>{"unknown-name"});
}

TEST_CASE("a file is a part of what is imported by an open one, too") {
  PublishedFolder folder;
  std::string child = folder.write("child.tsr", "const CC = HID + 1\n");
  folder.write("parent.tsr", "const HID = 4\n%include \"child.tsr\"\n");
  std::string text = "from parent import CC\n@jit\ndef f(x: Tensor[CC, f32]):\n    return x\n";
  std::string user = folder.write("user.tsr", text);
  Client client;
  client.open(child, "const CC = HID + 1\n");
  client.open(user, text);
  client.wait_until_idle();
  CHECK(client.diagnostics(child) == Json::array());
}

TEST_CASE("a syntax error in an included file is reported once") {
  PublishedFolder folder;
  std::string child = folder.write("child.tsr", ""), parent = "file:///work-space/parent.tsr";
  Client client;
  client.open(child, "def g(x:\n    return x\n");
  client.open(parent, "%include \"" + child.substr(7) + "\"\nconst D = 4\n");
  client.wait_until_idle();
  CHECK(client.tags(child) == std::vector<std::string>{"unclosed-bracket"});
}

TEST_CASE("the fix of an error in an included file is offered where the error is reported") {
  PublishedFolder folder;
  std::string child = folder.write("child.tsr", ""), parent = "file:///work-space/parent.tsr";
  Client client;
  client.open(child, "const CC = HIDE + 1\n");
  client.open(parent, "const HID = 4\nconst LAST = 5\n%include \"" + child.substr(7) + "\"\n");
  client.wait_until_idle();
  REQUIRE(client.diagnostics(child).size() == 1);
  auto actions = [&] {
    Json range = client.diagnostics(child)[0]["range"];
    return client.request("textDocument/codeAction", {{"textDocument", {{"uri", child}}},
                                                      {"range", range},
                                                      {"context", {{"diagnostics", Json::array()}}}});
  };
  REQUIRE(actions().size() == 1);
  CHECK(actions()[0]["edit"]["changes"][child][0]["newText"] == "HID");
  client.replace(parent, "LAST", "OTHER");
  CHECK(actions() == Json::array());
}

// The messages to another server that takes over.

#include "lsp/server/session.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using tessera::lsp::Json;
using tessera::lsp::Session;

namespace {

Json opened(const std::string& uri, const std::string& text) {
  Json document = {{"uri", uri}, {"languageId", "tessera"}, {"version", 1}, {"text", text}};
  return {{"method", "textDocument/didOpen"}, {"params", {{"textDocument", document}}}};
}

Json changed(const std::string& uri, int version, int line, int from, int to, const std::string& text) {
  Json range = {{"start", {{"line", line}, {"character", from}}}, {"end", {{"line", line}, {"character", to}}}};
  Json changes = Json::array({{{"range", range}, {"text", text}}});
  return {{"method", "textDocument/didChange"},
          {"params", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", changes}}}};
}

Json initialize(const std::string& encoding) {
  Json capabilities = {{"general", {{"positionEncodings", {encoding}}}}};
  return {{"id", 0}, {"method", "initialize"}, {"params", {{"capabilities", capabilities}}}};
}

Json document_of(const Json& message) { return message["params"]["textDocument"]; }

}  // namespace

TEST_CASE("a session has documents as they are now, and settings as they were last") {
  Session session;
  session.note(initialize("utf-16"));
  session.note(opened("file:///a", "one\ntwo\n"));
  session.note(opened("file:///b", "three\n"));
  session.note(changed("file:///a", 2, 1, 0, 3, "zwei"));
  session.note({{"method", "textDocument/didClose"}, {"params", {{"textDocument", {{"uri", "file:///b"}}}}}});
  for (int i : {1, 2}) session.note({{"method", "workspace/didChangeConfiguration"}, {"params", {{"settings", i}}}});
  std::vector<Json> messages = session.replay();
  REQUIRE(messages.size() == 3);
  CHECK(messages[0]["method"] == "initialize");
  CHECK(messages[1]["params"]["settings"] == 2);
  CHECK(document_of(messages[2]) ==
        Json{{"uri", "file:///a"}, {"languageId", "tessera"}, {"version", 2}, {"text", "one\nzwei\n"}});
}

TEST_CASE("edits of a session are counted as the client agreed") {
  for (auto [encoding, at] : {std::pair("utf-8", 4), std::pair("utf-16", 2)}) {
    Session session;
    session.note(initialize(encoding));
    session.note(opened("file:///a", "\xF0\x9D\x84\x9E!"));
    session.note(changed("file:///a", 2, 0, at, at + 1, "?"));
    CHECK(document_of(session.replay().back())["text"] == "\xF0\x9D\x84\x9E?");
  }
}

TEST_CASE("a document that is set aside comes back as it is then") {
  Session session;
  session.note(opened("file:///a", "x"));
  session.set_aside("file:///a");
  session.set_aside("file:///unknown");
  CHECK(session.sets_aside());
  CHECK(session.replay().empty());
  CHECK(session.replay(true).size() == 1);
  session.note(changed("file:///a", 7, 0, 1, 1, "y"));
  CHECK(document_of(session.take_back("file:///a"))["text"] == "xy");
  CHECK(!session.sets_aside());
  CHECK(document_of(session.replay().at(0))["version"] == 7);
}

TEST_CASE("a session takes any message") {
  Session session;
  const char* const messages[] = {
      R"({})",
      R"({"method": 3})",
      R"({"method": "textDocument/didOpen"})",
      R"({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "a", "text": 3}}})",
      R"({"method": "textDocument/didChange", "params": {"textDocument": {"uri": "a"}, "contentChanges": 3}})",
      R"({"method": "textDocument/didClose", "params": []})",
  };
  for (const char* text : messages) session.note(Json::parse(text));
  CHECK(session.replay().empty());
}

TEST_CASE("a session reports a lost document until it is whole again") {
  Session session;
  session.note(initialize("utf-16"));
  session.note(opened("file:///a", "one\n"));
  session.note(opened("file:///b", "two\n"));
  session.set_aside("file:///a");
  session.lose({true, "file:///a"});
  CHECK_FALSE(session.is_set_aside("file:///a"));
  session.note(changed("file:///a", 2, 0, 0, 1, "O"));
  CHECK(session.replay()[1] == tessera::lsp::lost_message("file:///a"));
  CHECK(document_of(session.replay()[2])["text"] == "two\n");
  Json whole = changed("file:///a", 3, 0, 0, 1, "O");
  whole["params"]["contentChanges"].push_back({{"text", "three\n"}});
  session.note(whole);
  CHECK(document_of(session.replay()[1])["text"] == "three\n");
  session.lose({true, ""});
  CHECK(session.replay()[2] == tessera::lsp::lost_message("file:///b"));
  session.note(opened("file:///b", "four\n"));
  CHECK(document_of(session.replay()[2])["text"] == "four\n");
}

TEST_CASE("a document of a session is the same however its URI is written") {
  Session session;
  session.note(opened("file:///%7Aenc.tsr", "one\n"));
  session.note(changed("file:///zenc.tsr", 2, 0, 0, 3, "two"));
  CHECK(document_of(session.replay().back())["text"] == "two\n");
  CHECK(document_of(session.replay().back())["uri"] == "file:///%7Aenc.tsr");
  CHECK(session.is_open("file:///zenc.tsr"));
  session.note({{"method", "textDocument/didClose"}, {"params", {{"textDocument", {{"uri", "file:///zenc.tsr"}}}}}});
  CHECK(session.replay().empty());
}

#include "unit/lsp/client.h"

#include <catch2/catch.hpp>

namespace lsp_test {

namespace {

Json full_capabilities(const std::string& encoding) {
  Json made;
  made["general"]["positionEncodings"] = {encoding};
  Json& text = made["textDocument"];
  text["hover"]["contentFormat"] = {"markdown", "plaintext"};
  text["completion"]["completionItem"] = {{"documentationFormat", {"markdown"}}, {"snippetSupport", true}};
  text["documentSymbol"]["hierarchicalDocumentSymbolSupport"] = true;
  text["publishDiagnostics"]["relatedInformation"] = true;
  text["publishDiagnostics"]["tagSupport"]["valueSet"] = {1, 2};
  text["codeAction"]["codeActionLiteralSupport"]["codeActionKind"]["valueSet"] = {"quickfix"};
  text["signatureHelp"]["signatureInformation"]["parameterInformation"]["labelOffsetSupport"] = true;
  made["workspace"]["workspaceEdit"]["documentChanges"] = true;
  return made;
}

/// UTF-16 units of the character at `at`, and its bytes.
std::pair<size_t, size_t> character(const std::string& text, size_t at) {
  auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {1, 1};
  if (lead < 0xE0) return {1, 2};
  if (lead < 0xF0) return {1, 3};
  return {2, 4};
}

}  // namespace

Client::Client(const std::string& encoding, Json capabilities, Json options) : utf8_(encoding == "utf-8") {
  server_ = std::make_unique<tessera::lsp::Server>(
      [this](const std::string& body) { messages_.push_back(Json::parse(body)); },
      tessera::lsp::ServerOptions{"test", {}, {}});
  Json all = full_capabilities(encoding);
  if (capabilities.is_object()) all.merge_patch(capabilities);
  Json params = {{"capabilities", all}, {"processId", nullptr}, {"rootUri", nullptr}};
  if (options.is_object()) params.merge_patch(options);
  initialized_ = request("initialize", params);
  notify("initialized", Json::object());
}

Json Client::answer(int id) {
  for (const Json& message : messages_) {
    if (message.contains("id") && message["id"] == id && !message.contains("method")) return message;
  }
  FAIL("no answer to request " << id);
  return {};
}

Json Client::request(const std::string& method, Json params) {
  int id = next_id_++;
  raw(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}.dump());
  Json message = answer(id);
  INFO(message.dump());
  REQUIRE(message.contains("result"));
  return message["result"];
}

Json Client::failure(const std::string& method, Json params) {
  int id = next_id_++;
  raw(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}.dump());
  Json message = answer(id);
  INFO(message.dump());
  REQUIRE(message.contains("error"));
  return message["error"];
}

void Client::notify(const std::string& method, Json params) {
  raw(Json{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}.dump());
}

void Client::open(const std::string& uri, const std::string& text, int version) {
  texts_[uri] = text;
  versions_[uri] = version;
  notify("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"languageId", "tessera"}, {"version", version}, {"text", text}}}});
}

void Client::replace(const std::string& uri, const std::string& old_text, const std::string& new_text) {
  std::string& text = texts_.at(uri);
  size_t at = text.find(old_text);
  REQUIRE(at != std::string::npos);
  Json range = {{"start", position(text, at)}, {"end", position(text, at + old_text.size())}};
  text.replace(at, old_text.size(), new_text);
  Json change = {{"range", range}, {"text", new_text}};
  notify("textDocument/didChange",
         {{"textDocument", {{"uri", uri}, {"version", ++versions_[uri]}}}, {"contentChanges", Json::array({change})}});
}

void Client::close(const std::string& uri) {
  texts_.erase(uri);
  notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}});
}

void Client::wait_until_idle() {
  while (server_->work()) {
  }
}

Json Client::diagnostics(const std::string& uri) const {
  Json found;
  for (const Json& message : messages_) {
    bool about = message.value("method", "") == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri;
    if (about) found = message["params"]["diagnostics"];
  }
  return found;
}

std::vector<std::string> Client::tags(const std::string& uri) const {
  std::vector<std::string> list;
  for (const Json& diagnostic : diagnostics(uri)) list.push_back(diagnostic["code"]);
  return list;
}

Json Client::position(const std::string& text, size_t offset) const {
  int line = 0;
  size_t count = 0;
  for (size_t at = 0; at < offset;) {
    auto [units, bytes] = character(text, at);
    if (text[at] == '\n') {
      ++line;
      count = 0;
    } else {
      count += utf8_ ? bytes : units;
    }
    at += bytes;
  }
  return {{"line", line}, {"character", count}};
}

size_t Client::offset(const std::string& text, const Json& position) const {
  size_t at = 0;
  for (int line = 0; line < position["line"].get<int>(); ++line) at = text.find('\n', at) + 1;
  size_t count = 0;
  while (count < position["character"].get<size_t>()) {
    auto [units, bytes] = character(text, at);
    count += utf8_ ? bytes : units;
    at += bytes;
  }
  return at;
}

Json Client::at(const std::string& uri, const std::string& text, size_t into, size_t n) const {
  const std::string& all = texts_.at(uri);
  size_t place = all.find(text);
  for (size_t i = 0; i < n && place != std::string::npos; ++i) place = all.find(text, place + 1);
  INFO("looking for '" << text << "'");
  REQUIRE(place != std::string::npos);
  return {{"textDocument", {{"uri", uri}}}, {"position", position(all, place + into)}};
}

std::string Client::in_range(const std::string& uri, const Json& range) const {
  const std::string& all = texts_.at(uri);
  size_t begin = offset(all, range["start"]);
  return all.substr(begin, offset(all, range["end"]) - begin);
}

}  // namespace lsp_test

#include "lsp/server/session.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lsp/protocol/text_edit.h"
#include "lsp/protocol/uri.h"
#include "lsp/server/capabilities.h"

namespace tessera::lsp {

namespace {

struct OpenText {
  Json opened;  ///< the message, without its text
  int64_t version = 0;
  std::string text;
  bool is_set_aside = false;
  bool is_lost = false;  ///< what its text is nobody knows
};

Json open_message(const OpenText& document) {
  if (document.is_lost) return lost_message(text_at(document.opened["params"]["textDocument"], "uri"));
  Json message = document.opened;
  message["params"]["textDocument"]["text"] = document.text;
  message["params"]["textDocument"]["version"] = document.version;
  return message;
}

}  // namespace

struct Session::State {
  Encoding encoding = Encoding::Utf16;
  Json initialize;
  Json settings;
  std::vector<Json> folders;  ///< changes of the workspace's folders
  std::map<std::string, OpenText> documents;  ///< by URI, as it was opened

  /// The document of a URI, or of a URI of the same file in another spelling.
  std::map<std::string, OpenText>::iterator find(const std::string& uri) {
    auto known = documents.find(uri);
    if (known != documents.end()) return known;
    return std::find_if(documents.begin(), documents.end(),
                        [path = path_of(uri)](const auto& entry) { return path_of(entry.first) == path; });
  }
};

Session::Session() : state_(std::make_unique<State>()) {}

Session::~Session() = default;

std::string uri_in(const Json& message) { return uri_in_params(member(message, "params")); }

std::string uri_in_params(const Json& params) {
  std::string uri = text_at(member(params, "textDocument"), "uri");
  if (uri.empty()) uri = text_at(member(params, "item"), "uri");
  const Json& arguments = member(params, "arguments");
  if (uri.empty() && arguments.is_array() && !arguments.empty()) uri = text_at(arguments[0], "uri");
  return uri;
}

void Session::note(const Json& message) {
  std::string method = text_at(message, "method"), uri = uri_in(message);
  const Json& params = member(message, "params");
  const Json& document = member(params, "textDocument");
  auto known = state_->find(uri);
  if (method == "initialize" && state_->initialize.is_null()) {
    state_->initialize = message;
    state_->encoding = choose_encoding(params);
  } else if (method == "workspace/didChangeConfiguration") {
    state_->settings = message;
  } else if (method == "workspace/didChangeWorkspaceFolders") {
    state_->folders.push_back(message);
  } else if (method == "textDocument/didOpen" && !uri.empty() && member(document, "text").is_string()) {
    OpenText& opened = state_->documents[uri];
    opened = {message, integer_at(document, "version").value_or(0), text_at(document, "text")};
    opened.opened["params"]["textDocument"].erase("text");
  } else if (method == "textDocument/didChange" && known != state_->documents.end()) {
    OpenText& open = known->second;
    open.version = integer_at(document, "version").value_or(0);
    auto edits = read_edits(member(params, "contentChanges"));
    open.is_lost = !edits || (open.is_lost && !replace_all(*edits));
    if (!open.is_lost) apply(open.text, *edits, state_->encoding);
  } else if (method == "textDocument/didClose" && known != state_->documents.end()) {
    state_->documents.erase(known);
  }
}

const Json& Session::initialize() const { return state_->initialize; }

bool Session::is_open(const std::string& uri) const { return state_->find(uri) != state_->documents.end(); }

void Session::lose(const LostText& lost) {
  for (auto& [uri, document] : state_->documents) {
    bool is_meant = lost.is_lost && (lost.uri.empty() || path_of(lost.uri) == path_of(uri));
    if (!is_meant) continue;
    document.is_lost = true;
    document.is_set_aside = false;
    document.text.clear();
  }
}

void Session::set_aside(const std::string& uri) {
  auto known = state_->find(uri);
  if (known != state_->documents.end()) known->second.is_set_aside = true;
}

bool Session::is_set_aside(const std::string& uri) const {
  auto known = state_->find(uri);
  return known != state_->documents.end() && known->second.is_set_aside;
}

bool Session::sets_aside() const {
  return std::any_of(state_->documents.begin(), state_->documents.end(),
                     [](const auto& entry) { return entry.second.is_set_aside; });
}

Json Session::take_back(const std::string& uri) {
  OpenText& document = state_->find(uri)->second;
  document.is_set_aside = false;
  return open_message(document);
}

std::vector<Json> Session::replay(bool all) const {
  std::vector<Json> messages;
  if (!state_->initialize.is_null()) messages.push_back(state_->initialize);
  if (!state_->settings.is_null()) messages.push_back(state_->settings);
  messages.insert(messages.end(), state_->folders.begin(), state_->folders.end());
  for (const auto& [uri, document] : state_->documents) {
    if (all || !document.is_set_aside) messages.push_back(open_message(document));
  }
  return messages;
}

}  // namespace tessera::lsp

#include "lsp/server.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "lsp/capabilities.h"
#include "lsp/features/features.h"
#include "lsp/jobs.h"
#include "lsp/lower.h"
#include "lsp/publisher.h"
#include "lsp/rpc.h"
#include "lsp/uri.h"

namespace tessera::lsp {

namespace {

enum class Life { New, Initialized, ShutDown, Exited };

using Request = Json (*)(Context& context, const Json& params);
using FallibleRequest = Json (*)(Context& context, const Json& params, std::string& error);

const std::map<std::string_view, Request>& requests() {
  static const std::map<std::string_view, Request> table = {
      {"textDocument/documentSymbol", document_symbols},
      {"workspace/symbol", workspace_symbols},
      {"textDocument/foldingRange", folding_ranges},
      {"textDocument/selectionRange", selection_ranges},
      {"textDocument/semanticTokens/full", semantic_tokens},
      {"textDocument/semanticTokens/range", semantic_tokens_in_range},
      {"textDocument/definition", definition},
      {"textDocument/references", references},
      {"textDocument/documentHighlight", document_highlights},
      {"textDocument/hover", hover},
      {"textDocument/completion", completion},
      {"completionItem/resolve", resolve_completion},
      {"textDocument/signatureHelp", signature_help},
      {"textDocument/inlayHint", inlay_hints},
      {"textDocument/codeAction", code_actions},
      {"textDocument/formatting", format_document},
      {"textDocument/rangeFormatting", format_range},
      {"textDocument/onTypeFormatting", format_on_type},
      {"textDocument/codeLens", code_lenses},
      {"textDocument/prepareCallHierarchy", prepare_call_hierarchy},
      {"callHierarchy/incomingCalls", incoming_calls},
      {"callHierarchy/outgoingCalls", outgoing_calls},
  };
  return table;
}

const std::map<std::string_view, FallibleRequest>& fallible_requests() {
  static const std::map<std::string_view, FallibleRequest> table = {
      {"textDocument/prepareRename", prepare_rename},
      {"textDocument/rename", rename},
  };
  return table;
}

}  // namespace

struct Server::State {
  State(std::function<void(const std::string&)> out, ServerOptions given)
      : send_body(std::move(out)),
        options(std::move(given)),
        context{workspace, {}, {}, {}},
        publisher(context, [this](const std::string& method, Json params) {
          send(make_notification(method, std::move(params)));
        }),
        jobs(options.wake) {
    context.analysis = [this](const FileModel& file) -> const AnalysisResult* {
      Document* document = workspace.document_of(file.path());
      return document ? publisher.result(document->uri) : nullptr;
    };
  }

  void send(const Json& message) { send_body(to_line(message)); }
  void log(const std::string& text) {
    constexpr int warning = 2;
    send(make_notification("window/logMessage", {{"type", warning}, {"message", text}}));
  }

  void request(const Json& id, const std::string& method, const Json& params);
  void notification(const std::string& method, const Json& params);
  void execute(const Json& id, const Json& params);
  bool answer_jobs();
  bool background();
  Json initialize(const Json& params);
  void initialized();
  void open(const Json& params);
  void change(const Json& params);
  void close(const Json& params);
  void folders(const Json& params);
  void settings(const Json& params);
  void watched();

  std::function<void(const std::string&)> send_body;
  ServerOptions options;
  Workspace workspace;
  Context context;
  Publisher publisher;
  Life life = Life::New;
  bool shut_down = false;
  int64_t next_request = 1;
  std::string compiler = find_compiler();
  Jobs jobs;
};

Json Server::State::initialize(const Json& params) {
  life = Life::Initialized;
  context.client = read_abilities(params);
  workspace.options.encoding = choose_encoding(params);
  read_settings(member(params, "initializationOptions"), workspace.options);
  std::string own_compiler = text_at(member(params, "initializationOptions"), "compilerPath");
  if (!own_compiler.empty()) compiler = own_compiler;
  const Json& list = member(params, "workspaceFolders");
  if (list.is_array()) {
    for (const Json& folder : list) workspace.add_root(text_at(folder, "uri"));
  } else if (std::string root = text_at(params, "rootUri"); !root.empty()) {
    workspace.add_root(root);
  }
  return server_capabilities(workspace.options.encoding, options.version);
}

void Server::State::initialized() {
  if (context.client.watched_files) {
    send(make_request(next_request++, "client/registerCapability", watched_files()));
  }
}

void Server::State::request(const Json& id, const std::string& method, const Json& params) {
  if (life == Life::New && method != "initialize") {
    return send(make_error(id, ErrorCode::ServerNotInitialized, "the first request is 'initialize'"));
  }
  if (life == Life::ShutDown) return send(make_error(id, ErrorCode::InvalidRequest, "the server was shut down"));
  if (method == "initialize") {
    if (life != Life::New) return send(make_error(id, ErrorCode::InvalidRequest, "it is initialized already"));
    return send(make_response(id, initialize(params)));
  }
  if (method == "shutdown") {
    life = Life::ShutDown;
    shut_down = true;
    return send(make_response(id, nullptr));
  }
  std::string id_text = to_line(id);
  auto is_cancelled = [&] { return options.is_cancelled && options.is_cancelled(id_text); };
  if (is_cancelled()) return send(make_error(id, ErrorCode::RequestCancelled, "cancelled"));
  context.is_cancelled = is_cancelled;
  if (method == "workspace/executeCommand") return execute(id, params);
  auto plain = requests().find(method);
  auto fallible = fallible_requests().find(method);
  std::string error;
  Json result;
  if (plain != requests().end()) {
    result = plain->second(context, params);
  } else if (fallible != fallible_requests().end()) {
    result = fallible->second(context, params, error);
  } else {
    return send(make_error(id, ErrorCode::MethodNotFound, fmt::format("there is no method '{}'", method)));
  }
  if (is_cancelled()) return send(make_error(id, ErrorCode::RequestCancelled, "cancelled"));
  if (!error.empty()) return send(make_error(id, ErrorCode::RequestFailed, error));
  send(make_response(id, std::move(result)));
}

/// Commands are those of code lenses; `tessera.lower` takes the stage's command as `stage`.
void Server::State::execute(const Json& id, const Json& params) {
  const Json& arguments = member(params, "arguments");
  Json argument = arguments.is_array() && !arguments.empty() ? arguments[0] : Json();
  std::string command = text_at(params, "command");
  if (command == "tessera.lower") command = text_at(argument, "stage");
  std::string error;
  auto job = lower_job(context, compiler, command, argument, error);
  if (!job) return send(make_error(id, ErrorCode::InvalidParams, error));
  std::string text = to_line(id);
  auto is_cancelled = [this, text] { return options.is_cancelled && options.is_cancelled(text); };
  if (!jobs.start(text, std::move(*job), is_cancelled)) {
    send(make_error(id, ErrorCode::RequestFailed, "too many compilations are under way"));
  }
}

bool Server::State::answer_jobs() {
  if (!jobs.has_answers()) return false;
  jobs.collect([this](const std::string& id, Json result, const std::string& error) {
    Json request = Json::parse(id, nullptr, false);
    send(error.empty() ? make_response(request, std::move(result))
                       : make_error(request, ErrorCode::RequestFailed, error));
  });
  return true;
}

/// Analysis; hints and lenses are asked for again when there is none left to do.
bool Server::State::background() {
  context.is_cancelled = [this] { return options.has_newer_edit && options.has_newer_edit(); };
  if (!publisher.work()) return false;
  bool refresh = context.client.refresh_inlay_hints && !publisher.has_work();
  if (refresh) send(make_request(next_request++, "workspace/inlayHint/refresh", nullptr));
  return true;
}

void Server::State::open(const Json& params) {
  const Json& document = member(params, "textDocument");
  std::string uri = text_at(document, "uri");
  if (uri.empty() || !member(document, "text").is_string()) return log("didOpen without a URI or a text");
  Document& opened = workspace.open(uri, integer_at(document, "version").value_or(0), text_at(document, "text"));
  publisher.changed(opened.model->path());
}

void Server::State::change(const Json& params) {
  const Json& document = member(params, "textDocument");
  std::string uri = text_at(document, "uri");
  const Json& changes = member(params, "contentChanges");
  std::vector<TextEdit> edits;
  if (changes.is_array()) {
    for (const Json& change : changes) {
      if (!member(change, "text").is_string()) {
        log("a change without a text is left out");
        continue;
      }
      TextEdit edit;
      const Json& range = member(change, "range");
      if (range.is_object()) edit.range = {read_position(member(range, "start")), read_position(member(range, "end"))};
      edit.text = text_at(change, "text");
      edits.push_back(std::move(edit));
    }
  }
  if (!workspace.change(uri, integer_at(document, "version").value_or(0), edits)) {
    return log(fmt::format("a change of '{}', which is not open", uri));
  }
  publisher.changed(workspace.document(uri)->model->path());
}

void Server::State::close(const Json& params) {
  std::string uri = text_at(member(params, "textDocument"), "uri");
  Document* document = workspace.document(uri);
  if (!document) return log(fmt::format("'{}' is closed and was not open", uri));
  std::string path = document->model->path();
  workspace.close(uri);
  publisher.closed(uri, path);
}

void Server::State::folders(const Json& params) {
  const Json& event = member(params, "event");
  for (const char* side : {"added", "removed"}) {
    const Json& list = member(event, side);
    if (!list.is_array()) continue;
    for (const Json& folder : list) {
      std::string uri = text_at(folder, "uri");
      std::string_view(side) == "added" ? workspace.add_root(uri) : workspace.remove_root(uri);
    }
  }
}

void Server::State::settings(const Json& params) {
  const Json& all = member(params, "settings");
  const Json& own = member(all, "tessera");
  read_settings(own.is_object() ? own : all, workspace.options);
  watched();
}

void Server::State::watched() {
  workspace.forget_disk();
  publisher.all_changed();
}

void Server::State::notification(const std::string& method, const Json& params) {
  if (method == "exit") {
    life = Life::Exited;
  } else if (life != Life::Initialized) {
    return;  // as the protocol says
  } else if (method == "initialized") {
    initialized();
  } else if (method == "textDocument/didOpen") {
    open(params);
  } else if (method == "textDocument/didChange") {
    change(params);
  } else if (method == "textDocument/didClose") {
    close(params);
  } else if (method == "workspace/didChangeWorkspaceFolders") {
    folders(params);
  } else if (method == "workspace/didChangeConfiguration") {
    settings(params);
  } else if (method == "workspace/didChangeWatchedFiles" || method == "textDocument/didSave") {
    watched();
  }
}

Server::Server(std::function<void(const std::string&)> send, ServerOptions options)
    : state_(std::make_unique<State>(std::move(send), std::move(options))) {}

Server::~Server() = default;

void Server::refuse(const std::string& reason) { state_->send(make_error(nullptr, ErrorCode::ParseError, reason)); }

void Server::receive(std::string_view body) {
  Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded()) return refuse("the message is no JSON");
  const Json& id = member(message, "id");
  const Json& method = member(message, "method");
  if (method.is_string()) {
    if (is_id(id)) return state_->request(id, method.get<std::string>(), member(message, "params"));
    if (id.is_null()) return state_->notification(method.get<std::string>(), member(message, "params"));
  }
  bool answers = message.is_object() && method.is_null() && (message.contains("result") || message.contains("error"));
  if (answers) return;
  state_->send(make_error(is_id(id) ? id : Json(), ErrorCode::InvalidRequest, "the message is no request"));
}

bool Server::work() { return state_->answer_jobs() || state_->background(); }

bool Server::has_work() const { return state_->publisher.has_work() || state_->jobs.has_answers(); }

bool Server::has_jobs() const { return state_->jobs.any(); }

bool Server::has_exited() const { return state_->life == Life::Exited; }

int Server::exit_code() const { return state_->shut_down ? 0 : 1; }

}  // namespace tessera::lsp

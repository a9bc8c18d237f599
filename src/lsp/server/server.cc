#include "lsp/server/server.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lsp/features/features.h"
#include "lsp/protocol/numbers.h"
#include "lsp/protocol/rpc.h"
#include "lsp/protocol/uri.h"
#include "lsp/server/capabilities.h"
#include "lsp/server/jobs.h"
#include "lsp/server/lower.h"
#include "lsp/server/publisher.h"
#include "lsp/server/reports.h"
#include "lsp/server/session.h"
#include "support/file.h"

namespace tessera::lsp {

namespace {

/// Compilations beside the server.
constexpr size_t most_jobs = 4;

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
        context{workspace, {}, {}, {}, {}, {}},
        publisher(
            context,
            [this](const std::string& method, Json params) { send(make_notification(method, std::move(params))); },
            [this](const std::string& uri) { work_on(uri); }),
        jobs(options.wake, options.starts_programs ? most_jobs : 0) {
    context.analysis = [this](const FileModel& file) -> const AnalysisResult* {
      Document* document = workspace.document_of(file.path());
      return document ? publisher.result(document->uri) : nullptr;
    };
    context.diagnostics = [this](const FileModel& file) { return publisher.said_of(file.path()); };
    context.report = [this](const FileModel& file, const Symbol& symbol) {
      return reports.about(file, symbol, context.analysis(file));
    };
  }

  void send(const Json& message) { send_body(to_line(message)); }
  void log(const std::string& text) {
    send(make_notification("window/logMessage", {{"type", number::Severity::warning}, {"message", text}}));
  }

  void work_on(const std::string& uri) {
    if (!options.working_on) return;
    Document* document = workspace.document(uri);
    options.working_on(uri, document ? document->model->text() : std::string_view());
  }

  void request(const Json& id, const std::string& method, const Json& params);
  void notification(const std::string& method, const Json& params);
  void execute(const Json& id, const Json& params);
  void show_text(const std::string& title, const std::string& file, const std::string& text);
  bool answer_jobs();
  void tidy();
  bool background();
  Json initialize(const Json& params);
  void initialized();
  void open(const Json& params);
  void change(const Json& params);
  void close(const Json& params);
  bool forget(const std::string& uri);
  void lose(const LostText& lost);
  void lose(const std::string& uri);
  void folders(const Json& params);
  void take_settings(const Json& given);
  void settings(const Json& params);
  void watched(const Json& params);
  void saved();

  std::function<void(const std::string&)> send_body;
  ServerOptions options;
  Workspace workspace;
  Context context;
  Publisher publisher;
  std::set<std::string> lost;  ///< paths of documents whose text nobody knows
  Life life = Life::New;
  bool shut_down = false;
  int64_t next_request = 1;
  CompilerSettings compiler;
  Jobs jobs;
  Reports reports{workspace, compiler, jobs};
};

Json Server::State::initialize(const Json& params) {
  life = Life::Initialized;
  context.client = read_abilities(params);
  workspace.options.encoding = choose_encoding(params);
  take_settings(member(params, "initializationOptions"));
  const Json& list = member(params, "workspaceFolders");
  if (list.is_array()) {
    for (const Json& folder : list) workspace.add_root(text_at(folder, "uri"));
  } else if (std::string root = text_at(params, "rootUri"); !root.empty()) {
    workspace.add_root(root);
  }
  return server_capabilities(workspace.options.encoding, context.client, options.version);
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
  if (!lost.empty() && lost.count(path_of(uri_in_params(params))) != 0) {
    return send(make_error(id, ErrorCode::ContentModified, "the text is not known until it is opened again"));
  }
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

/// Commands are those of code lenses, after which the client is also shown what it asked for; `tessera.lower` takes the
/// stage's command as `stage`, and the client shows it.
void Server::State::execute(const Json& id, const Json& params) {
  const Json& arguments = member(params, "arguments");
  Json argument = arguments.is_array() && !arguments.empty() ? arguments[0] : Json();
  std::string command = text_at(params, "command"), stage = command;
  bool shows = command != "tessera.lower";
  if (!shows) stage = text_at(argument, "stage");
  std::string error;
  auto job = lower_job(context, compiler, stage, argument, error);
  if (!job) {
    if (stage.empty()) error = fmt::format("'{}' takes the command of a lens as 'stage' of its argument", command);
    return send(make_error(id, ErrorCode::InvalidParams, error));
  }
  auto is_cancelled = [this, text = to_line(id)] { return options.is_cancelled && options.is_cancelled(text); };
  std::string file = shows ? stage_file(*job) : "", title = fmt::format("{} of '{}'", job->stage, job->function);
  auto work = [job = std::move(*job)](const Jobs::Stop& stop, std::string& why) {
    return run_lower_job(job, stop, why);
  };
  auto done = [this, id, is_cancelled, file, title](Json result, const std::string& why) {
    if (is_cancelled()) return send(make_error(id, ErrorCode::RequestCancelled, "cancelled"));
    if (!why.empty()) return send(make_error(id, ErrorCode::RequestFailed, why));
    std::string text = text_at(result, "text");
    send(make_response(id, std::move(result)));
    if (!file.empty()) show_text(title, file, text);
  };
  if (jobs.start(work, done, is_cancelled) == 0) {
    send(make_error(id, ErrorCode::RequestFailed, "too many compilations are running"));
  }
}

/// Shows a text to a client that does nothing with it by itself.
void Server::State::show_text(const std::string& title, const std::string& file, const std::string& text) {
  std::string problem;
  if (!write_file(file, text, problem)) return log(fmt::format("'{}' cannot be written: {}", file, problem));
  if (context.client.show_document) {
    send(make_request(next_request++, "window/showDocument", {{"uri", uri_of(file)}, {"takeFocus", false}}));
  } else {
    std::string message = fmt::format("{} is in {}", title, file);
    send(make_notification("window/showMessage", {{"type", number::Severity::information}, {"message", message}}));
  }
}

/// Between two messages, where nobody holds pieces of a file. What is known of values is about the old ones.
void Server::State::tidy() {
  if (workspace.renew_if_due()) publisher.all_changed();
}

bool Server::State::answer_jobs() {
  if (!jobs.has_answers()) return false;
  jobs.collect();
  return true;
}

/// Analysis; hints are asked for again when there is none left to do.
bool Server::State::background() {
  tidy();
  if (!context.client.watched_files && publisher.has_work()) workspace.look_again();
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
  lost.erase(path_of(uri));
  Document& opened = workspace.open(uri, integer_at(document, "version").value_or(0), text_at(document, "text"));
  publisher.changed(opened.model->path());
}

void Server::State::change(const Json& params) {
  const Json& document = member(params, "textDocument");
  std::string uri = text_at(document, "uri");
  int64_t version = integer_at(document, "version").value_or(0);
  std::optional<std::vector<TextEdit>> edits = read_edits(member(params, "contentChanges"));
  if (!edits) return uri.empty() ? log("a change of no document") : lose(uri);
  if (lost.count(path_of(uri)) != 0) {
    if (!replace_all(*edits)) return;
    workspace.open(uri, version, "");
    lost.erase(path_of(uri));
  }
  if (!workspace.change(uri, version, *edits)) return log(fmt::format("a change of '{}', which is not open", uri));
  publisher.changed(workspace.document(uri)->model->path());
}

void Server::State::close(const Json& params) {
  std::string uri = text_at(member(params, "textDocument"), "uri");
  bool was_open = lost.erase(path_of(uri)) != 0 || forget(uri);
  if (!was_open) log(fmt::format("'{}' is closed and was not open", uri));
}

/// False where the document is not open.
bool Server::State::forget(const std::string& uri) {
  Document* document = workspace.document(uri);
  if (!document) return false;
  std::string path = document->model->path(), opened = document->uri;
  workspace.close(opened);
  reports.forget(path);
  publisher.closed(opened, path);
  return true;
}

/// From now on the client's text and the one here differ: no more is reported of it.
void Server::State::lose(const std::string& uri) {
  bool was_open = forget(uri);
  if (!lost.insert(path_of(uri)).second) return;
  std::string name = std::filesystem::path(path_of(uri)).filename().string();
  std::string how = was_open ? "an edit of" : "the text of";
  std::string text = fmt::format("tessera-lsp could not read {} {}; please close it and open it again", how, name);
  send(make_notification("window/showMessage", {{"type", number::Severity::warning}, {"message", text}}));
}

void Server::State::lose(const LostText& text) {
  if (!text.is_lost || life != Life::Initialized) return;
  if (!text.uri.empty()) return lose(text.uri);
  std::vector<std::string> uris;
  for (const auto& [uri, document] : workspace.documents()) uris.push_back(uri);
  for (const std::string& uri : uris) lose(uri);
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

void Server::State::take_settings(const Json& given) {
  read_settings(given, workspace.options);
  read_compiler_settings(given, compiler);
  for (const std::string& wrong : wrong_settings(given)) log(wrong);
}

void Server::State::settings(const Json& params) {
  const Json& all = member(params, "settings");
  const Json& own = member(all, "tessera");
  take_settings(own.is_object() ? own : all);
  workspace.forget_disk();
  publisher.all_changed();
}

void Server::State::watched(const Json& params) {
  const Json& changes = member(params, "changes");
  if (!changes.is_array()) return log("didChangeWatchedFiles without a list of changes");
  for (const Json& change : changes) workspace.changed_on_disk(workspace.canonical(path_of(text_at(change, "uri"))));
  publisher.look_again();
}

/// What is saved was known before; a client that watches no files may have had others changed meanwhile.
void Server::State::saved() {
  if (context.client.watched_files) return;
  workspace.forget_disk();
  publisher.look_again();
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
  } else if (method == lost_method) {
    lose(LostText{true, text_at(member(params, "textDocument"), "uri")});
  } else if (method == "workspace/didChangeWorkspaceFolders") {
    folders(params);
  } else if (method == "workspace/didChangeConfiguration") {
    settings(params);
  } else if (method == "workspace/didChangeWatchedFiles") {
    watched(params);
  } else if (method == "textDocument/didSave") {
    saved();
  }
}

std::vector<std::string> request_methods() {
  std::vector<std::string> methods = {"workspace/executeCommand"};
  for (const auto& [method, request] : requests()) methods.emplace_back(method);
  for (const auto& [method, request] : fallible_requests()) methods.emplace_back(method);
  return methods;
}

Server::Server(std::function<void(const std::string&)> send, ServerOptions options)
    : state_(std::make_unique<State>(std::move(send), std::move(options))) {}

Server::~Server() = default;

void Server::refuse(const std::string& reason, std::string_view bytes) {
  state_->send(make_error(nullptr, ErrorCode::ParseError, reason));
  state_->lose(lost_text(bytes));
}

void Server::receive(std::string_view body) {
  state_->tidy();
  std::string problem;
  Json message = read_message(body, problem);
  const Json& id = member(message, "id");
  if (!problem.empty()) {
    state_->send(make_error(is_id(id) ? id : Json(), ErrorCode::ParseError, problem));
    return state_->lose(lost_text(body));
  }
  const Json& method = member(message, "method");
  bool is_call = method.is_string() && (is_id(id) || id.is_null());
  if (is_call) {
    const Json& params = member(message, "params");
    state_->work_on(uri_in(message));
    id.is_null() ? state_->notification(method.get<std::string>(), params)
                 : state_->request(id, method.get<std::string>(), params);
    return state_->work_on("");
  }
  bool answers = message.is_object() && method.is_null() && (message.contains("result") || message.contains("error"));
  if (answers) return;
  state_->send(make_error(is_id(id) ? id : Json(), ErrorCode::InvalidRequest, "the message is not a request"));
}

bool Server::work() { return state_->answer_jobs() || state_->background(); }

bool Server::has_work() const { return state_->publisher.has_work() || state_->jobs.has_answers(); }

bool Server::has_jobs() const { return state_->jobs.any(); }

bool Server::has_exited() const { return state_->life == Life::Exited; }

int Server::exit_code() const { return state_->shut_down ? 0 : 1; }

}  // namespace tessera::lsp

#include "lsp/server/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "lsp/protocol/numbers.h"
#include "lsp/protocol/positions.h"
#include "lsp/protocol/rpc.h"
#include "lsp/protocol/transport.h"
#include "lsp/protocol/uri.h"
#include "lsp/server/session.h"
#include "support/reproducer.h"

namespace tessera::lsp {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_failures = 5;
constexpr std::chrono::seconds failure_span(60);
/// The most bytes to buffer from one side while the other one does not read.
constexpr size_t most_waiting_bytes = size_t(256) << 20;

/// Bytes that are written to a file as it accepts them.
class Outgoing {
 public:
  void put(const std::string& bytes) {
    bytes_.erase(0, sent_);
    sent_ = 0;
    bytes_ += bytes;
  }
  bool is_empty() const { return sent_ == bytes_.size(); }
  bool is_full() const { return bytes_.size() - sent_ > most_waiting_bytes; }
  void clear() {
    bytes_.clear();
    sent_ = 0;
  }
  /// Writes what can be written without waiting; false where nobody reads any more.
  bool write_to(int out);

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

bool Outgoing::write_to(int out) {
  // A pipe that can be written to takes this much at least.
  constexpr size_t part = 4096;
  while (!is_empty()) {
    pollfd wait{out, POLLOUT, 0};
    if (poll(&wait, 1, 0) <= 0) break;
    ssize_t count = ::write(out, bytes_.data() + sent_, std::min(part, bytes_.size() - sent_));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (count <= 0) return false;
    sent_ += size_t(count);
  }
  if (is_empty()) clear();
  return true;
}

Json show_error(const std::string& text) {
  return make_notification("window/showMessage", {{"type", number::Severity::error}, {"message", text}});
}

class Supervisor {
 public:
  Supervisor(int in, int out, const Serve& serve, const WorkerLimits& limits)
      : in_(in), out_(out), serve_(serve), limits_(limits) {}
  int run();

 private:
  void start_worker();
  void from_client(std::string body);
  void from_worker(const std::string& body);
  void worker_ended();
  void answer_pending(const std::string& reason);
  void set_aside(const std::string& uri, const std::string& reason);
  void publish(const std::string& uri, Json diagnostics) {
    Json params = {{"uri", uri}, {"diagnostics", std::move(diagnostics)}};
    to_client(make_notification("textDocument/publishDiagnostics", std::move(params)));
  }
  std::string write_reproducer(const std::string& uri) const;
  void refuse(const Json& message);
  void lose(std::string_view bytes);
  bool read_from(int from, FrameReader& reader);
  void move_bytes();
  void to_client(const Json& message) { client_.put(frame(to_line(message))); }
  void to_worker(const std::string& body) {
    if (worker_) queue_.put(frame(body));
  }
  /// The process that started us; 0 where none is known, or not in our name space of processes.
  void note_client();
  bool is_orphaned() const { return client_pid_ != 0 && kill(client_pid_, 0) != 0 && errno == ESRCH; }
  bool is_over() const { return exits_ || !client_reads_ || !client_writes_; }
  void check_worker();
  int pause() const;

  int in_;
  int out_;
  const Serve& serve_;
  const WorkerLimits& limits_;
  Session session_;
  std::unique_ptr<Worker> worker_;
  FrameReader requests_;
  FrameReader answers_;
  Outgoing client_;
  Outgoing queue_;                     ///< for the worker
  std::map<std::string, Json> pending_;  ///< requests that are not answered, by their ids as lines
  std::optional<std::string> swallowed_;  ///< the id of an answer that the client has had
  std::deque<Clock::time_point> failures_;
  std::optional<int> exit_code_;
  std::optional<Clock::time_point> asked_to_leave_;
  std::string passed_limit_;  ///< that the worker was ended for
  pid_t client_pid_ = 0;
  bool client_writes_ = true;
  bool client_reads_ = true;
  bool exits_ = false;       ///< the client said so
  bool shut_down_ = false;   ///< and before, that it will
};

void Supervisor::start_worker() {
  answers_ = FrameReader();
  queue_.clear();
  worker_ = std::make_unique<Worker>(serve_, limits_.memory);
  if (worker_->has_started()) return;
  worker_.reset();
  to_client(show_error("tessera-lsp cannot start another process"));
}

void Supervisor::from_client(std::string body) {
  // In the common case the client pays only for the pipes.
  bool passes = worker_ && !session_.sets_aside();
  if (passes) to_worker(body);
  if (passes && !queue_.write_to(worker_->in())) queue_.clear();  // it has ended, as will be noticed
  std::string problem;
  Json message = read_message(body, problem);
  if (!problem.empty() || !message.is_object()) {
    session_.lose(lost_text(body));
    if (!passes) to_worker(body);
    return;
  }
  bool was_set_aside = session_.is_set_aside(uri_in(message));
  session_.note(message);
  const Json& id = member(message, "id");
  std::string method = text_at(message, "method");
  if (method == "initialize") note_client();
  exits_ = exits_ || method == "exit";
  shut_down_ = shut_down_ || method == "shutdown";
  bool is_request = is_id(id) && !method.empty();
  if (is_request) pending_[to_line(id)] = message;
  if (passes) return;
  if (!worker_ || (is_request && was_set_aside)) {
    if (is_request) refuse(message);
  } else if (was_set_aside && method == "textDocument/didChange") {
    to_worker(to_line(session_.take_back(uri_in(message))));
  } else if (was_set_aside && method == "textDocument/didClose") {
    publish(uri_in(message), Json::array());
  } else {
    to_worker(body);
  }
}

void Supervisor::note_client() {
  auto pid = integer_at(member(session_.initialize(), "params"), "processId");
  bool lives = pid && *pid > 0 && *pid <= INT32_MAX && (kill(pid_t(*pid), 0) == 0 || errno != ESRCH);
  client_pid_ = lives ? pid_t(*pid) : 0;
}

/// A message that the worker does not get to see may have changed a text.
void Supervisor::lose(std::string_view bytes) {
  LostText lost = lost_text(bytes);
  session_.lose(lost);
  if (lost.is_lost) to_worker(to_line(lost_message(lost.uri)));
}

void Supervisor::refuse(const Json& message) {
  const Json& id = message["id"];
  pending_.erase(to_line(id));
  if (text_at(message, "method") == "shutdown") return to_client(make_response(id, nullptr));
  to_client(make_error(id, ErrorCode::InternalError,
                       worker_ ? "the server failed at this text; it is read again when it changes"
                               : "the server has failed too often"));
}

void Supervisor::from_worker(const std::string& body) {
  bool forward_first = !swallowed_;
  if (forward_first) client_.put(frame(body));
  if (forward_first && client_reads_) client_reads_ = client_.write_to(out_);
  if (forward_first && pending_.empty()) return;
  Json message = Json::parse(body, nullptr, false);
  bool answers = message.is_object() && !message.contains("method") && message.contains("id");
  std::string id = answers ? to_line(message["id"]) : "";
  bool swallows = answers && swallowed_ == id;
  if (swallows) swallowed_.reset();
  if (!swallows && !forward_first) client_.put(frame(body));
  if (answers && !swallows) pending_.erase(id);
}

/// All messages that make a worker fail again, for `tessera-lsp --replay`; empty where it cannot be
/// written.
std::string Supervisor::write_reproducer(const std::string& uri) const {
  std::string text;
  for (const Json& message : session_.replay(true)) text += frame(to_line(message));
  for (const auto& [id, message] : pending_) {
    if (text_at(message, "method") != "initialize") text += frame(to_line(message));
  }
  std::string stem = std::filesystem::path(path_of(uri)).stem().string();
  return write_crash_file("tessera-lsp", (stem.empty() ? "" : "-" + stem) + ".messages", text);
}

void Supervisor::answer_pending(const std::string& reason) {
  for (auto& [id, message] : std::exchange(pending_, {})) {
    std::string method = text_at(message, "method");
    if (method == "initialize" && worker_) {
      pending_[id] = message;  // the next worker answers it
    } else if (method == "shutdown") {
      to_client(make_response(message["id"], nullptr));
    } else {
      to_client(make_error(message["id"], ErrorCode::InternalError, reason));
    }
  }
}

/// Leaves the document out until its text changes; its results are no longer valid.
void Supervisor::set_aside(const std::string& uri, const std::string& reason) {
  if (!session_.is_open(uri)) return;
  session_.set_aside(uri);
  Json start = to_json(Position{}), range = {{"start", start}, {"end", start}};
  Json diagnostic = {
      {"range", range}, {"severity", number::Severity::error}, {"source", "tessera"}, {"message", reason}};
  publish(uri, Json::array({std::move(diagnostic)}));
}

void Supervisor::worker_ended() {
  std::string uri = worker_->busy_with();
  int code = worker_->wait();
  if (worker_->wanted_memory()) passed_limit_ = fmt::format("it took more than {} MiB", limits_.memory >> 20);
  worker_.reset();
  if (is_over()) {
    exit_code_ = code < 0 || !shut_down_ ? 1 : code;
    return;
  }
  Clock::time_point now = Clock::now();
  failures_.push_back(now);
  while (now - failures_.front() > failure_span) failures_.pop_front();
  std::string path = write_reproducer(uri);
  std::string where = uri.empty() ? "" : fmt::format(" at {}", std::filesystem::path(path_of(uri)).filename().string());
  std::string how = code < 0 ? fmt::format("signal {}", -code) : fmt::format("exit status {}", code);
  if (!passed_limit_.empty()) how = std::exchange(passed_limit_, {});
  std::string text = fmt::format("tessera-lsp failed{} ({})", where, how);
  text += path.empty() ? "." : fmt::format("; `tessera-lsp --replay {}` shows it.", path);
  text += " This is a bug in Tessera; please report it.";
  if (failures_.size() > most_failures) {
    text += " It has failed too often and is not started again.";
  } else {
    start_worker();
  }
  to_client(show_error(text));
  answer_pending(fmt::format("the server failed{}", where));
  if (!worker_) return;
  set_aside(uri, "the language server failed at this text; it is read again when it changes");
  for (const Json& message : session_.replay()) to_worker(to_line(message));
  const Json& initialize = session_.initialize();
  bool was_answered = !initialize.is_null() && pending_.count(to_line(initialize["id"])) == 0;
  swallowed_ = was_answered ? std::optional(to_line(initialize["id"])) : std::nullopt;
}

/// Reads what there is, and takes its messages; false at the end.
bool Supervisor::read_from(int from, FrameReader& reader) {
  static std::string buffer(size_t(1) << 16, '\0');
  ssize_t count = read(from, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  reader.append(std::string_view(buffer).substr(0, size_t(count)));
  bool is_client = &reader == &requests_;
  std::string body, error;
  for (FrameReader::Status status; (status = reader.next(body, error)) != FrameReader::Status::NeedsMore;) {
    if (status == FrameReader::Status::Error) {
      if (is_client) to_client(make_error(nullptr, ErrorCode::ParseError, error));
      if (is_client) lose(reader.refused());
    } else if (is_client) {
      from_client(body);
    } else {
      from_worker(body);
    }
  }
  return count > 0;
}

/// Ends a worker that takes too long.
void Supervisor::check_worker() {
  if (!worker_) return;
  Clock::time_point now = Clock::now();
  if (!asked_to_leave_ && (shut_down_ || is_over())) asked_to_leave_ = now;
  // It may have answered that it leaves, and begun with a text all the same.
  bool is_busy = !pending_.empty() || worker_->busy_for() > limits_.leave;
  bool is_asked = asked_to_leave_ && (is_over() || is_busy);
  if (is_asked && now - *asked_to_leave_ > limits_.leave) {
    worker_.reset();
    return answer_pending("the server is shut down");
  }
  if (worker_->busy_for() > limits_.busy) {
    passed_limit_ = fmt::format("it took more than {} s", limits_.busy.count() / 1000.0);
    worker_->end();
  }
}

/// Milliseconds until somebody has to look again though nothing has come.
int Supervisor::pause() const {
  constexpr int soon = 100, often_enough = 3000;
  bool ends = worker_ && (shut_down_ || is_over());
  return ends ? soon : int(std::min<int64_t>(often_enough, std::max<int64_t>(limits_.busy.count(), 1)));
}

/// Waits until something can be read or written, and does that.
void Supervisor::move_bytes() {
  enum { FromClient, ToClient, FromWorker, ToWorker };
  bool reads_client = client_writes_ && !queue_.is_full() && !exits_;
  bool reads_worker = worker_ && !client_.is_full();
  pollfd waits[4] = {{reads_client ? in_ : -1, POLLIN, 0},
                     {client_reads_ && !client_.is_empty() ? out_ : -1, POLLOUT, 0},
                     {reads_worker ? worker_->out() : -1, POLLIN, 0},
                     {worker_ && !queue_.is_empty() ? worker_->in() : -1, POLLOUT, 0}};
  if (poll(waits, 4, pause()) < 0) return;
  // Its ends of the pipes may be held by others that it started.
  if (is_orphaned()) client_reads_ = client_writes_ = false;
  if (waits[FromClient].revents != 0) client_writes_ = read_from(in_, requests_);
  if (waits[FromWorker].revents != 0 && !read_from(worker_->out(), answers_)) worker_ended();
  if (client_reads_) client_reads_ = client_.write_to(out_);
  if (!client_reads_) client_.clear();
  if (!worker_ || worker_->in() < 0) return;
  // A worker that reads no more has ended, or will.
  if (!queue_.write_to(worker_->in())) queue_.clear();
  if (is_over() && queue_.is_empty()) worker_->close_in();
}

int Supervisor::run() {
  start_worker();
  while (!exit_code_) {
    move_bytes();
    check_worker();
    bool ends = !worker_ && is_over();
    if (ends && !exit_code_) exit_code_ = shut_down_ ? 0 : 1;
  }
  while (client_reads_ && !client_.is_empty()) {
    pollfd wait{out_, POLLOUT, 0};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) break;
    client_reads_ = client_.write_to(out_);
  }
  return *exit_code_;
}

}  // namespace

int supervise(int in, int out, const Serve& serve, const WorkerLimits& limits) {
  return Supervisor(in, out, serve, limits).run();
}

}  // namespace tessera::lsp

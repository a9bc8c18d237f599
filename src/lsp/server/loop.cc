#include "lsp/server/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "lsp/protocol/rpc.h"
#include "lsp/protocol/transport.h"
#include "lsp/server/server.h"
#include "support/file.h"

namespace tessera::lsp {

namespace {

/// Cancellations of requests that are unknown are forgotten past this many.
constexpr size_t most_cancelled = 1000;
/// A client that sends faster than the server works waits.
constexpr size_t most_queued_bytes = size_t(256) << 20;

struct Incoming {
  std::string body;
  std::string error;  ///< why this is no body, but what was refused
  bool is_edit = false;
};

/// The queue between the two threads.
class Inbox {
 public:
  void put(Incoming message) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return bytes_ < most_queued_bytes || closed_; });
    bytes_ += message.body.size();
    if (message.is_edit) ++edits_;
    queue_.push_back(std::move(message));
    ready_.notify_one();
  }
  void cancel(std::string id) {
    std::lock_guard lock(mutex_);
    if (cancelled_.size() >= most_cancelled) cancelled_.clear();
    cancelled_.insert(std::move(id));
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.notify_one();
    room_.notify_one();
  }
  /// The next message. Without one: waits if `wait`, else false; also false at the end.
  bool take(Incoming& message, bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) ready_.wait(lock, [&] { return !queue_.empty() || closed_ || woken_; });
    woken_ = false;
    if (queue_.empty()) return false;
    message = std::move(queue_.front());
    queue_.pop_front();
    bytes_ -= message.body.size();
    if (message.is_edit) --edits_;
    room_.notify_one();
    return true;
  }
  /// There is work to do beside messages.
  void wake() {
    std::lock_guard lock(mutex_);
    woken_ = true;
    ready_.notify_one();
  }
  bool at_end() {
    std::lock_guard lock(mutex_);
    return closed_ && queue_.empty();
  }
  bool is_cancelled(const std::string& id) {
    std::lock_guard lock(mutex_);
    return cancelled_.count(id) != 0;
  }
  bool has_edit() const { return edits_ != 0; }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::deque<Incoming> queue_;
  size_t bytes_ = 0;
  std::atomic<size_t> edits_ = 0;
  std::set<std::string> cancelled_;
  bool closed_ = false;
  bool woken_ = false;
};

bool is_edit(std::string_view body) {
  // Keys may come in any order, but texts are long only in the parameters.
  return body.find("\"textDocument/didChange\"") != std::string_view::npos;
}

/// Reads until the pipe ends or `stop` is closed.
void read_messages(int in, int stop, Inbox& inbox) {
  FrameReader reader;
  std::string buffer(size_t(1) << 16, '\0');
  while (true) {
    pollfd waits[2] = {{in, POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno == EINTR) continue;
    if (waits[1].revents != 0) break;
    ssize_t count = read(in, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    reader.append(std::string_view(buffer).substr(0, size_t(count)));
    while (true) {
      Incoming message;
      FrameReader::Status status = reader.next(message.body, message.error);
      if (status == FrameReader::Status::NeedsMore) break;
      if (status == FrameReader::Status::Message) {
        std::string id = cancelled_id(message.body);
        if (!id.empty()) inbox.cancel(std::move(id));
        message.is_edit = is_edit(message.body);
      } else {
        message.body = reader.refused();
      }
      inbox.put(std::move(message));
    }
  }
  inbox.close();
}

}  // namespace

int serve(int in, int out, const std::string& version, const WorkingOn& working_on) {
  Inbox inbox;
  bool broken = false;
  ServerOptions options;
  options.version = version;
  options.working_on = working_on;
  options.is_cancelled = [&](const std::string& id) { return inbox.is_cancelled(id); };
  options.wake = [&] { inbox.wake(); };
  options.has_newer_edit = [&] { return inbox.has_edit(); };
  Server server([&](const std::string& body) { broken = broken || !write_all(out, frame(body)); }, options);
  // A compiler that is started must not hold an end: the reader would not see that the other one is closed.
  int stop[2];
  if (pipe2(stop, O_CLOEXEC) != 0) return 1;
  std::thread reading(read_messages, in, stop[0], std::ref(inbox));
  while (!server.has_exited() && !broken && !inbox.at_end()) {
    Incoming message;
    if (inbox.take(message, !server.has_work())) {
      message.error.empty() ? server.receive(message.body) : server.refuse(message.error, message.body);
    } else {
      server.work();
    }
  }
  inbox.close();
  ::close(stop[1]);
  reading.join();
  ::close(stop[0]);
  return server.exit_code();
}

int replay(const std::string& path, const std::string& version, const WorkingOn& working_on) {
  FrameReader reader;
  std::string text, problem;
  if (!read_file(path, text, problem)) {
    std::fprintf(stderr, "tessera-lsp: '%s' cannot be read: %s\n", path.c_str(), problem.c_str());
    return 1;
  }
  reader.append(text);
  Server server([](const std::string& body) { std::printf("%s\n", body.c_str()); },
                {.version = version, .working_on = working_on, .starts_programs = false});
  while (true) {
    std::string body;
    FrameReader::Status status = reader.next(body, problem);
    if (status == FrameReader::Status::NeedsMore) return 0;
    status == FrameReader::Status::Message ? server.receive(body) : server.refuse(problem, reader.refused());
    while (server.work()) {
    }
  }
}

}  // namespace tessera::lsp

#include "lsp/protocol/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

extern char** environ;

namespace tessera::lsp {

namespace {

/// Both ends of a pipe; children inherit neither.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  void close_end(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  bool good() const { return ends[0] >= 0; }
};

/// Reads what there is; false at the end.
bool drain(int from, std::string& out) {
  char buffer[1 << 14];
  ssize_t count = read(from, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  out.append(buffer, size_t(count));
  return count > 0;
}

constexpr int tick = 50;  // milliseconds between two looks at whether anybody waits

/// Why the child has to be ended now, if it has to.
using GiveUp = std::function<std::optional<ChildEnd>()>;

/// Feeds and reads the child until it closes its output, or has to be ended.
std::optional<ChildEnd> exchange(Pipe& in, Pipe& out, Pipe& errors, std::string_view input, ChildResult& result,
                                 const GiveUp& give_up) {
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  while (out.ends[0] >= 0 || errors.ends[0] >= 0) {
    if (input.empty()) in.close_end(1);
    pollfd waits[3] = {{out.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    if (poll(waits, 3, tick) < 0 && errno != EINTR) return ChildEnd::Stopped;
    if (waits[0].revents != 0 && !drain(out.ends[0], result.out)) out.close_end(0);
    if (waits[1].revents != 0 && !drain(errors.ends[0], result.errors)) errors.close_end(0);
    if (waits[2].revents != 0) {
      ssize_t count = write(in.ends[1], input.data(), input.size());
      // A child that does not read all of it has its reasons.
      input = count >= 0 ? input.substr(size_t(count)) : errno == EAGAIN ? input : std::string_view();
    }
    if (result.out.size() + result.errors.size() > max_child_output) return ChildEnd::TooMuchOutput;
    if (auto why = give_up()) return why;
  }
  return std::nullopt;
}

/// Waits for the end of a child that has closed its output, or until it has to be ended.
std::optional<ChildEnd> wait_for(pid_t child, int& status, const GiveUp& give_up) {
  for (int pause = 1; true; pause = std::min(2 * pause, tick)) {
    pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return ChildEnd::ByItself;
    if (auto why = give_up()) return why;
    poll(nullptr, 0, pause);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, const std::string& folder, const std::string& input,
                      int seconds, const std::function<bool()>& stop) {
  ChildResult result;
  Pipe in, out, errors;
  if (command.empty() || !in.good() || !out.good() || !errors.good()) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return result;
  in.close_end(0);
  out.close_end(1);
  errors.close_end(1);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  GiveUp give_up = [&]() -> std::optional<ChildEnd> {
    if (stop()) return ChildEnd::Stopped;
    if (std::chrono::steady_clock::now() > deadline) return ChildEnd::OutOfTime;
    return std::nullopt;
  };
  int status = 0;
  std::optional<ChildEnd> end = exchange(in, out, errors, input, result, give_up);
  if (!end) end = wait_for(child, status, give_up);
  result.end = *end;
  if (result.end == ChildEnd::ByItself) {
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }
  kill(child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace tessera::lsp

#include "lsp/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

extern char** environ;

namespace tessera::lsp {

namespace {

constexpr size_t most_output = size_t(64) << 20;

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

/// Feeds and reads the child until it closes its output; false when it has to be ended.
bool exchange(Pipe& in, Pipe& out, Pipe& errors, std::string_view input, ChildResult& result,
              const std::function<bool()>& stop) {
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  while (out.ends[0] >= 0 || errors.ends[0] >= 0) {
    if (input.empty()) in.close_end(1);
    pollfd waits[3] = {{out.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}, {in.ends[1], POLLOUT, 0}};
    constexpr int tick = 50;  // milliseconds between two looks at `stop`
    if (poll(waits, 3, tick) < 0 && errno != EINTR) return false;
    if (waits[0].revents != 0 && !drain(out.ends[0], result.out)) out.close_end(0);
    if (waits[1].revents != 0 && !drain(errors.ends[0], result.errors)) errors.close_end(0);
    if (waits[2].revents != 0) {
      ssize_t count = write(in.ends[1], input.data(), input.size());
      // A child that does not read all of it has its reasons.
      input = count >= 0 ? input.substr(size_t(count)) : errno == EAGAIN ? input : std::string_view();
    }
    if (stop() || result.out.size() + result.errors.size() > most_output) return false;
  }
  return true;
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
  result.started = true;
  in.close_end(0);
  out.close_end(1);
  errors.close_end(1);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  result.ended = exchange(in, out, errors, input, result,
                          [&] { return stop() || std::chrono::steady_clock::now() > deadline; });
  if (!result.ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace tessera::lsp

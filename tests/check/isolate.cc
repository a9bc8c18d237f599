#include "check/isolate.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace tessera::check {

namespace {

void send_line(int to, const std::string& line) {
  std::string text = line + "\n";
  for (size_t at = 0; at < text.size();) {
    ssize_t written = write(to, text.data() + at, text.size() - at);
    if (written <= 0) _exit(1);
    at += size_t(written);
  }
}

/// Reads lines until the other end closes; false after so many seconds of silence.
bool receive_lines(int from, const std::function<void(const std::string&)>& receive, int seconds) {
  std::string text;
  for (;;) {
    pollfd wait{from, POLLIN, 0};
    if (poll(&wait, 1, seconds * 1000) == 0) return false;
    char buffer[4096];
    ssize_t count = read(from, buffer, sizeof buffer);
    if (count <= 0) return true;
    text.append(buffer, size_t(count));
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      receive(text.substr(0, end));
    }
  }
}

}  // namespace

Ending run_isolated(const std::function<void(const std::function<void(const std::string&)>& send)>& work,
                    const std::function<void(const std::string&)>& receive, int seconds) {
  int ends[2];
  if (pipe(ends)) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    work([&](const std::string& line) { send_line(ends[1], line); });
    _exit(0);
  }
  close(ends[1]);
  bool finished = receive_lines(ends[0], receive, seconds);
  close(ends[0]);
  if (!finished) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!finished) return Ending::TimedOut;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Ending::Done : Ending::Crashed;
}

}  // namespace tessera::check

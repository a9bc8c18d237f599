#include "lsp/server/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "lsp/protocol/transport.h"

namespace tessera::lsp {

using Clock = std::chrono::steady_clock;

/// Memory that both processes see: it outlives the one that fails. It has room for any URI that a message can have; of
/// most of that no page is ever touched.
struct Worker::Board {
  static constexpr size_t most = max_message_bytes;
  std::atomic<size_t> size = 0;
  std::atomic<Clock::rep> since = 0;  ///< of the clock's ticks
  std::atomic<bool> wanted_memory = false;
  char uri[most];

  void write(std::string_view text) {
    size = 0;
    text = text.substr(0, most);
    std::memcpy(uri, text.data(), text.size());
    since = Clock::now().time_since_epoch().count();
    size = text.size();
  }
};

namespace {

/// The standard files are the client's: the worker has pipes, and nothing else that it prints is
/// taken for a message.
void let_go_of_client() {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
}

std::atomic<bool>* wanted_memory = nullptr;  // of a worker: who asks for memory has nothing to find it by

/// The system gives no more than that, and the first one that is refused ends the process.
void limit_memory(size_t bytes, std::atomic<bool>& wanted) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
  rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
#endif
  wanted_memory = &wanted;
  std::set_new_handler([] {
    *wanted_memory = true;
    _exit(1);
  });
}

}  // namespace

Worker::Worker(const Serve& serve, size_t memory) {
  constexpr int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
  void* shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (shared == MAP_FAILED) return;
  board_ = new (shared) Board;
  int to[2] = {-1, -1}, from[2] = {-1, -1};
  bool has_pipes = pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0;
  pid_t parent = getpid();
  pid_ = has_pipes ? fork() : -1;
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setpgid(0, 0);
    close(to[1]);
    close(from[0]);
    let_go_of_client();
    limit_memory(memory, board_->wanted_memory);
    Board* board = board_;
    _exit(serve(to[0], from[1], [board](std::string_view uri, std::string_view) { board->write(uri); }));
  }
  if (pid_ > 0) setpgid(pid_, pid_);  // whoever comes first
  for (int end : {to[0], from[1]}) {
    if (end >= 0) close(end);
  }
  in_ = to[1];
  out_ = from[0];
  if (in_ >= 0) fcntl(in_, F_SETFL, O_NONBLOCK);
}

Worker::~Worker() {
  if (has_started()) {
    end();
    wait();
  }
  close_in();
  if (out_ >= 0) close(out_);
  if (board_) munmap(board_, sizeof(Board));
}

void Worker::close_in() {
  if (in_ >= 0) close(std::exchange(in_, -1));
}

void Worker::end() { kill(-pid_, SIGKILL); }

int Worker::wait() {
  int status = 0;
  siginfo_t ended;
  while (waitid(P_PID, id_t(pid_), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  end();  // what it started and left behind, as long as the number of its group is its own
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::chrono::steady_clock::duration Worker::busy_for() const {
  if (board_->size == 0) return {};
  return Clock::now().time_since_epoch() - Clock::duration(board_->since);
}

bool Worker::wanted_memory() const { return board_->wanted_memory; }

std::string Worker::busy_with() const { return {board_->uri, std::min(board_->size.load(), Board::most)}; }

}  // namespace tessera::lsp

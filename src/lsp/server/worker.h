#pragma once
// A server in a process of its own, on a pipe each way, and the document it was last busy with. It
// leads a process group, so that the compilers it starts end with it.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace tessera::lsp {

/// Reports what the server is busy with: called with the document's URI and text, and with nothing
/// when that is done.
using WorkingOn = std::function<void(std::string_view uri, std::string_view text)>;
/// Serves a client; the result is the exit code.
using Serve = std::function<int(int in, int out, const WorkingOn& working_on)>;

class Worker {
 public:
  /// Starts one that gets at most so many bytes of memory, as does each compiler that it starts. The process must have
  /// no other threads.
  Worker(const Serve& serve, size_t memory);
  /// Ends it where it still runs.
  ~Worker();
  Worker(const Worker&) = delete;

  bool has_started() const { return pid_ > 0; }
  int in() const { return in_; }    ///< what is written here, without blocking, it reads
  int out() const { return out_; }  ///< what it writes
  void close_in();
  /// Ends it at once, with what it started.
  void end();
  /// Waits for its end: the exit code, or minus the signal.
  int wait();
  /// The URI of the document it is, or was at its end, busy with; empty for none.
  std::string busy_with() const;
  /// How long it has been busy with that.
  std::chrono::steady_clock::duration busy_for() const;
  /// Whether it ended as it wanted more memory.
  bool wanted_memory() const;

 private:
  struct Board;
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  Board* board_ = nullptr;
};

}  // namespace tessera::lsp

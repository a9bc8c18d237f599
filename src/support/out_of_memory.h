#pragma once
// Handles memory exhaustion: the program reports it and exits, whichever thread and library asked
// for memory. Nothing is unwound: destructors may need memory themselves, and LLVM is built without
// exceptions.

#include <string>

namespace tessera {

/// Lets failing allocations of `new` end the process by end_for_memory.
void install_memory_handler();

/// Prints "error: memory ran out", removes what RemovedOnExit names, and exits with status 1. Uses no memory of its own
/// beyond a reserve that it frees first.
[[noreturn]] void end_for_memory();

/// A file or folder that end_for_memory removes, while this lives. `path` outlives it and stays where it is in memory.
/// Needs no memory: nothing can end the process between making a file and naming it here.
class RemovedOnExit {
 public:
  explicit RemovedOnExit(const std::string& path);
  ~RemovedOnExit();
  RemovedOnExit(const RemovedOnExit&) = delete;
  RemovedOnExit& operator=(const RemovedOnExit&) = delete;

  const std::string& path() const { return path_; }
  const RemovedOnExit* next() const { return next_; }

 private:
  const std::string& path_;
  RemovedOnExit* previous_ = nullptr;
  RemovedOnExit* next_ = nullptr;
};

}  // namespace tessera

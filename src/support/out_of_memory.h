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

/// A folder that end_for_memory removes, while this lives. Of more than eight at a time the ninth is not removed.
class RemovedOnExit {
 public:
  explicit RemovedOnExit(const std::string& folder);
  ~RemovedOnExit();
  RemovedOnExit(const RemovedOnExit&) = delete;
  RemovedOnExit& operator=(const RemovedOnExit&) = delete;

 private:
  int slot_ = -1;
};

}  // namespace tessera

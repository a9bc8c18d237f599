#pragma once
// What a program does when memory ends: it says so and ends, whichever thread and library asked for it. There is
// nothing to unwind to: destructors may want memory themselves, and LLVM is built without exceptions.

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

#include "support/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>

namespace tessera {

namespace {

constexpr size_t reserve_bytes = size_t(256) << 10;
char* reserve = nullptr;

/// A folder that is to be removed, in memory that is there when there is none left.
struct Slot {
  enum class State { Free, Writing, Set };
  std::atomic<State> state = State::Free;
  char folder[4096];
};
Slot slots[8];
std::atomic_flag ending = ATOMIC_FLAG_INIT;

}  // namespace

void install_memory_handler() {
  if (!reserve) reserve = new char[reserve_bytes];
  std::set_new_handler(end_for_memory);
}

void end_for_memory() {
  // A second failure has nothing to add: here there is no memory to clean up with, another thread waits for the end.
  thread_local bool is_here = false;
  if (is_here) _exit(1);
  is_here = true;
  while (ending.test_and_set()) ::pause();
  delete[] reserve;
  static constexpr char text[] = "error: memory ran out\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
  std::error_code ignored;
  for (const Slot& slot : slots) {
    if (slot.state == Slot::State::Set) std::filesystem::remove_all(slot.folder, ignored);
  }
  _exit(1);
}

RemovedOnExit::RemovedOnExit(const std::string& folder) {
  if (folder.empty() || folder.size() >= sizeof slots[0].folder) return;
  for (int i = 0; i < int(std::size(slots)); ++i) {
    Slot::State free = Slot::State::Free;
    if (!slots[i].state.compare_exchange_strong(free, Slot::State::Writing)) continue;
    std::memcpy(slots[i].folder, folder.c_str(), folder.size() + 1);
    slots[i].state = Slot::State::Set;
    slot_ = i;
    return;
  }
}

RemovedOnExit::~RemovedOnExit() {
  if (slot_ >= 0) slots[slot_].state = Slot::State::Free;
}

}  // namespace tessera

#include "support/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <thread>

namespace tessera {

namespace {

constexpr size_t reserve_bytes = size_t(256) << 10;
char* reserve = nullptr;

/// What is to be removed: a list of objects that live elsewhere. Nobody asks for memory while it is locked.
class ToRemove {
 public:
  ToRemove() {
    while (busy_.test_and_set()) std::this_thread::yield();
  }
  ~ToRemove() { busy_.clear(); }
  RemovedOnExit*& first() { return first_; }

 private:
  static inline std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  static inline RemovedOnExit* first_ = nullptr;
};
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
  ToRemove list;
  for (const RemovedOnExit* entry = list.first(); entry; entry = entry->next()) {
    std::error_code ignored;
    if (::unlink(entry->path().c_str()) != 0) std::filesystem::remove_all(entry->path(), ignored);
  }
  _exit(1);
}

RemovedOnExit::RemovedOnExit(const std::string& path) : path_(path) {
  ToRemove list;
  next_ = list.first();
  if (next_) next_->previous_ = this;
  list.first() = this;
}

RemovedOnExit::~RemovedOnExit() {
  ToRemove list;
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : list.first()) = next_;
}

}  // namespace tessera

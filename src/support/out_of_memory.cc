#include "support/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>

namespace tessera {

namespace {

constexpr size_t reserve_bytes = size_t(256) << 10;
char* reserve = nullptr;

char folder_to_remove[4096];
std::atomic<bool> has_folder = false;
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
  if (has_folder) std::filesystem::remove_all(folder_to_remove, ignored);
  _exit(1);
}

RemovedOnExit::RemovedOnExit(const std::string& folder) {
  if (folder.empty() || folder.size() >= sizeof folder_to_remove) return;
  std::memcpy(folder_to_remove, folder.c_str(), folder.size() + 1);
  has_folder = true;
}

RemovedOnExit::~RemovedOnExit() { has_folder = false; }

}  // namespace tessera

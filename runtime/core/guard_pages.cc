#include "runtime/core/guard_pages.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace tessera::runtime {

namespace {

/// What the handler may read: it takes no lock. Allocations beyond these are guarded, but not named.
struct Slot {
  std::atomic<uintptr_t> begin = 0;  ///< of the mapping; 0 when free
  std::atomic<uintptr_t> end = 0;
  std::atomic<uintptr_t> memory = 0;
  std::atomic<size_t> bytes = 0;
};
constexpr size_t slot_count = 4096;
Slot slots[slot_count];
/// Read by the handler in the thread that faults. In the model "initial-exec" reading it allocates nothing.
[[gnu::tls_model("initial-exec")]] constinit thread_local const char* volatile running = nullptr;
struct sigaction former_action;

size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Text put together without anything that a signal handler may not do.
class Line {
 public:
  void add(const char* text) {
    while (*text && size_ < sizeof text_) text_[size_++] = *text++;
  }
  void add(size_t number) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = char('0' + number % 10);
    while (number /= 10);
    while (count > 0 && size_ < sizeof text_) text_[size_++] = digits[--count];
  }
  void write() const {
    ssize_t written = ::write(STDERR_FILENO, text_, size_);
    static_cast<void>(written);  // there is nobody to tell
  }

 private:
  char text_[512];
  size_t size_ = 0;
};

void report_fault(uintptr_t at) {
  for (const Slot& slot : slots) {
    uintptr_t begin = slot.begin.load();
    if (begin == 0 || at < begin || at >= slot.end.load()) continue;
    uintptr_t memory = slot.memory.load();
    size_t bytes = slot.bytes.load();
    Line line;
    line.add("tessera: ");
    line.add(running ? running : "outside of a launch");
    line.add(at < memory ? ": an access " : ": an access at byte ");
    line.add(at < memory ? memory - at : at - memory);
    line.add(at < memory ? " bytes before the start of an allocation of " : " of an allocation of ");
    line.add(bytes);
    line.add(" bytes\n");
    return line.write();
  }
}

/// Reports, and lets the access happen again under the handler that was there before.
void handle_fault(int, siginfo_t* info, void*) {
  report_fault(reinterpret_cast<uintptr_t>(info->si_addr));
  sigaction(SIGSEGV, &former_action, nullptr);
}

/// Others may have taken the signal since, and given it back to whoever had it before.
void install_handler() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle_fault) return;
  former_action = now;
  struct sigaction action = {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);  // without it faults are as they were
}

size_t take_slot(char* begin, size_t mapped, char* memory, size_t bytes) {
  for (size_t i = 0; i < slot_count; ++i) {
    uintptr_t free = 0;
    if (!slots[i].begin.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(begin))) continue;
    slots[i].memory = reinterpret_cast<uintptr_t>(memory);
    slots[i].bytes = bytes;
    slots[i].end = reinterpret_cast<uintptr_t>(begin) + mapped;
    return i;
  }
  return slot_count;
}

}  // namespace

GuardedPages::GuardedPages() {
  install_handler();
}

Status GuardedPages::allocate(size_t bytes, void** memory) {
  *memory = nullptr;
  const size_t page = page_bytes();
  if (bytes > SIZE_MAX / 4) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
  size_t rounded = (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
  size_t inside = (rounded + page - 1) / page * page;
  size_t mapped = inside + 2 * page;
  void* begin = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
  char* first = static_cast<char*>(begin) + page;
  if (inside > 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(begin, mapped);
    return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
  }
  char* data = first + inside - rounded;
  size_t slot = take_slot(static_cast<char*>(begin), mapped, data, bytes);
  std::lock_guard lock(mutex_);
  mappings_[data] = {static_cast<char*>(begin), mapped, slot};
  *memory = data;
  return ok();
}

void GuardedPages::free(void* memory) {
  if (!memory) return;
  std::lock_guard lock(mutex_);
  auto found = mappings_.find(memory);
  if (found == mappings_.end()) return;
  const Mapping& mapping = found->second;
  if (mapping.slot < slot_count) {
    slots[mapping.slot].end = 0;
    slots[mapping.slot].begin = 0;
  }
  munmap(mapping.begin, mapping.bytes);
  mappings_.erase(found);
}

RunningLaunch::RunningLaunch(const char* text) : former_(running) {
  running = text;
}

RunningLaunch::~RunningLaunch() {
  running = former_;
}

const char* RunningLaunch::current() {
  return running;
}

}  // namespace tessera::runtime

#include "runtime/handles/handles.h"

#include <atomic>
#include <mutex>
#include <new>

#include "runtime/files/text.h"

namespace tessera::runtime {

namespace {

// A ticket from its highest bit down: a mark that no address of a program has, the kind, the take of the slot (from 1
// on), the slot.
constexpr uint64_t mark = 0b10101;
constexpr int mark_shift = 59, kind_shift = 56, take_shift = 24;
constexpr uint32_t last_take = UINT32_MAX;
constexpr uint32_t most_slots = 1u << take_shift;
static_assert(sizeof(void*) == sizeof(uint64_t));

struct Slot {
  std::atomic<uint64_t> ticket = 0;  ///< of the object; 0: there is none
  std::atomic<void*> object = nullptr;
  std::atomic<uint32_t> takes = 0;
  uint32_t next_free = 0;
};

// Slots come in blocks that never move.
constexpr uint32_t block_slots = 1024;
std::atomic<Slot*> blocks[most_slots / block_slots];

std::mutex mutex;         // guards what follows, and which slots are free
uint32_t made_slots = 1;  // slot 0 stands for none
uint32_t first_free = 0;

struct KindText {
  const char* name;
  const char* one;  ///< with its article
  const char* end;  ///< how it was destroyed
};
constexpr KindText kinds[] = {
    {"context", "a context", "by tsrDestroyContext"}, {"module", "a module", "by tsrUnloadModule or with its context"},
    {"kernel", "a kernel", "with its module"},        {"stream", "a stream", "by tsrDestroyStream or with its context"},
    {"function", "a function", "with its module"},    {"event", "an event", "by tsrDestroyEvent or with its context"},
};

uint64_t head_of(HandleKind kind) {
  return mark << (mark_shift - kind_shift) | uint64_t(kind);
}

Slot* slot_of(uint64_t ticket) {
  uint32_t index = uint32_t(ticket) % most_slots;
  Slot* block = blocks[index / block_slots].load(std::memory_order_acquire);
  return block ? block + index % block_slots : nullptr;
}

/// Whether the library has given out this ticket at some time.
bool was_made(uint64_t ticket) {
  bool is_marked = ticket >> mark_shift == mark && (ticket >> kind_shift) - head_of({}) < std::size(kinds);
  const Slot* slot = is_marked ? slot_of(ticket) : nullptr;
  uint32_t take = uint32_t(ticket >> take_shift);
  return slot && take > 0 && take <= slot->takes.load(std::memory_order_relaxed);
}

/// The mutex is held.
uint32_t take_slot() {
  if (uint32_t index = first_free) {
    first_free = slot_of(index)->next_free;
    return index;
  }
  if (made_slots == most_slots) throw std::bad_alloc();
  std::atomic<Slot*>& block = blocks[made_slots / block_slots];
  if (!block.load(std::memory_order_relaxed)) block.store(new Slot[block_slots], std::memory_order_release);
  return made_slots++;
}

}  // namespace

uint64_t open_handle(HandleKind kind, void* object) {
  std::lock_guard lock(mutex);
  uint32_t index = take_slot();
  Slot& slot = *slot_of(index);
  uint32_t take = slot.takes.load(std::memory_order_relaxed) + 1;
  uint64_t ticket = head_of(kind) << kind_shift | uint64_t(take) << take_shift | index;
  slot.takes.store(take, std::memory_order_relaxed);
  slot.object.store(object, std::memory_order_relaxed);
  slot.ticket.store(ticket, std::memory_order_release);
  return ticket;
}

void* find_handle(uint64_t ticket, HandleKind kind) noexcept {
  const Slot* slot = ticket >> kind_shift == head_of(kind) ? slot_of(ticket) : nullptr;
  bool lives = slot && slot->ticket.load(std::memory_order_acquire) == ticket;
  return lives ? slot->object.load(std::memory_order_relaxed) : nullptr;
}

void* close_handle(uint64_t ticket, HandleKind kind) noexcept {
  Slot* slot = ticket >> kind_shift == head_of(kind) ? slot_of(ticket) : nullptr;
  if (!slot) return nullptr;
  std::lock_guard lock(mutex);
  if (slot->ticket.load(std::memory_order_relaxed) != ticket) return nullptr;
  slot->ticket.store(0, std::memory_order_relaxed);
  if (slot->takes.load(std::memory_order_relaxed) < last_take) {
    slot->next_free = first_free;
    first_free = uint32_t(ticket) % most_slots;
  }
  return slot->object.load(std::memory_order_relaxed);
}

std::string explain_handle(uint64_t ticket, HandleKind kind, std::string_view role) {
  const KindText& wanted = kinds[size_t(kind)];
  std::string title = role.empty() ? format::cat("the ", wanted.name) : std::string(role);
  if (ticket == 0) return title + " is NULL";
  if (!was_made(ticket)) return title + " is not a handle that this library made";
  const KindText& given = kinds[(ticket >> kind_shift) - head_of({})];
  if (&given != &wanted) return format::cat(title, ": it is ", given.one, ", not ", wanted.one);
  return format::cat(title, " was destroyed, ", wanted.end);
}

}  // namespace tessera::runtime

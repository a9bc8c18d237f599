#pragma once
// Handles of the C interface are tickets, not addresses: the number of a slot in a table of the process, how often the
// slot has been taken, and the kind of the object. Slots stay for as long as the process and count on when they are
// taken again, so that any 64 bits can be looked up and no ticket comes twice. Looking up reads two words and takes no
// lock; only making and ending an object does.

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/include/tessera.h"

namespace tessera::runtime {

enum class HandleKind : uint8_t { Context, Module, Kernel, Stream, Function, Event };

/// A ticket for the object; throws std::bad_alloc where there is no room for one more.
uint64_t open_handle(HandleKind kind, void* object);
/// The object, or null where the ticket is of none of this kind that lives.
void* find_handle(uint64_t ticket, HandleKind kind) noexcept;
/// The same, and ends the ticket: only one of those who try gets the object.
void* close_handle(uint64_t ticket, HandleKind kind) noexcept;
/// Why there is no object. `role` names the argument, such as "the end event"; empty: by its kind.
std::string explain_handle(uint64_t ticket, HandleKind kind, std::string_view role = {});

struct Context;
struct Module;
struct Kernel;
struct ContextStream;
struct Function;
struct Event;

template <typename Of, HandleKind of_kind>
struct HandleFacts {
  using Object = Of;
  static constexpr HandleKind kind = of_kind;
};
/// What stands behind a handle of the interface.
template <typename Public>
struct HandleOf;
template <>
struct HandleOf<tsr_context_t> : HandleFacts<Context, HandleKind::Context> {};
template <>
struct HandleOf<tsr_module_t> : HandleFacts<Module, HandleKind::Module> {};
template <>
struct HandleOf<tsr_kernel_t> : HandleFacts<Kernel, HandleKind::Kernel> {};
template <>
struct HandleOf<tsr_stream_t> : HandleFacts<ContextStream, HandleKind::Stream> {};
template <>
struct HandleOf<tsr_function_t> : HandleFacts<Function, HandleKind::Function> {};
template <>
struct HandleOf<tsr_event_t> : HandleFacts<Event, HandleKind::Event> {};

template <typename Public>
uint64_t ticket_of(Public handle) {
  return reinterpret_cast<uint64_t>(handle);
}

/// The object behind the handle, or null.
template <typename Public>
typename HandleOf<Public>::Object* object_of(Public handle) noexcept {
  using Facts = HandleOf<Public>;
  return static_cast<typename Facts::Object*>(find_handle(ticket_of(handle), Facts::kind));
}

/// The handle of the object that has it as a member; it ends with the object, if not before.
template <typename Public>
class Handle {
 public:
  explicit Handle(typename HandleOf<Public>::Object* object) : ticket_(open_handle(HandleOf<Public>::kind, object)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_handle(ticket_, HandleOf<Public>::kind); }

  Public get() const { return reinterpret_cast<Public>(ticket_); }

 private:
  const uint64_t ticket_;
};

}  // namespace tessera::runtime

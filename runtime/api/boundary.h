#pragma once
// From handles to objects: how the functions of the C interface begin.

#include "runtime/handles/callbacks.h"
#include "runtime/core/context.h"

namespace tessera::runtime {

template <typename Public>
using Object = typename HandleOf<Public>::Object;

template <typename Public>
Status bad_handle(Public handle, std::string_view role = {}) {
  return invalid(explain_handle(ticket_of(handle), HandleOf<Public>::kind, role));
}

/// The object of the handle; `role` names the argument, where its kind does not.
template <typename Public>
Status find(Public handle, Object<Public>** object, std::string_view role = {}) {
  *object = object_of(handle);
  return *object ? ok() : bad_handle(handle, role);
}

/// The stream for work on the context: NULL stands for its default one.
inline Status find_stream(Context& context, tsr_stream_t handle, Stream** stream) {
  *stream = context.default_stream.get();
  if (!handle) return ok();
  ContextStream* found = nullptr;
  if (Status status = find(handle, &found); status.failed()) return status;
  if (&found->context != &context) return invalid("the stream belongs to another context");
  *stream = found->work.get();
  return ok();
}

/// Runs the body of a C function on the object of its handle.
template <typename Public, typename Body>
tsr_status_t with(Public handle, Body body) noexcept {
  return at_boundary([&] {
    Object<Public>* object = nullptr;
    Status status = find(handle, &object);
    return status.failed() ? std::move(status) : body(*object);
  });
}

/// For functions that callbacks may not call: they may wait for work, which may be what called back, or change what it
/// uses.
inline Status check_caller() {
  if (!InCallback::is()) return ok();
  return invalid("a callback may not call this function; tessera.h marks those that it may with [any]");
}

/// The context that an object belongs to.
inline Context& context_of(Context& context) { return context; }
inline Context& context_of(ContextStream& stream) { return stream.context; }
inline Context& context_of(Event& event) { return event.context; }
inline Context& context_of(Module& module) { return *module.context; }
inline Context& context_of(Kernel& kernel) { return *kernel.module->context; }
inline Context& context_of(Function& function) { return *function.module->context; }

/// The same as with() for them.
template <typename Public, typename Body>
tsr_status_t with_waiting(Public handle, Body body) noexcept {
  return with(handle, [&](Object<Public>& object) {
    if (Status status = check_caller(); status.failed()) return status;
    context_of(object).clear_away();
    return body(object);
  });
}

/// Ends the handle, then lets `end` end its object, also in callbacks. NULL is allowed.
template <typename Public, typename End>
tsr_status_t destroy_anywhere(Public handle, End end) noexcept {
  return at_boundary([&] {
    if (!handle) return ok();
    void* object = close_handle(ticket_of(handle), HandleOf<Public>::kind);
    if (!object) return bad_handle(handle);
    end(*static_cast<Object<Public>*>(object));
    return ok();
  });
}

/// The same of what callbacks may not end.
template <typename Public, typename End>
tsr_status_t destroy(Public handle, End end) noexcept {
  if (Status status = check_caller(); handle && status.failed()) {
    return at_boundary([&] { return std::move(status); });
  }
  return destroy_anywhere(handle, [&](Object<Public>& object) {
    context_of(object).clear_away();
    end(object);
  });
}

}  // namespace tessera::runtime

#pragma once
// Failures inside the runtime: a status of the C interface and the sentence for the user.

#include <new>
#include <string>
#include <utility>

#include "runtime/files/text.h"
#include "runtime/include/tessera.h"

namespace tessera::runtime {

struct [[nodiscard]] Status {
  tsr_status_t code = TSR_SUCCESS;
  std::string text;
  bool failed() const { return code != TSR_SUCCESS; }
};

inline Status ok() {
  return {};
}

template <typename... Pieces>
Status fail(tsr_status_t code, const Pieces&... pieces) {
  return {code, format::cat(pieces...)};
}
template <typename... Pieces>
Status invalid(const Pieces&... pieces) {
  return fail(TSR_EINVAL, pieces...);
}

/// Keeps the text for tsrGetLastError of this thread and returns the code.
tsr_status_t report(Status status) noexcept;

/// Runs the body of a C function: nothing that the standard library throws gets through.
template <typename Body>
tsr_status_t at_boundary(Body body) noexcept {
  try {
    return report(body());
  } catch (const std::bad_alloc&) {
    return report({TSR_EOOM, ""});
  } catch (...) {
    return report({TSR_EINTERNAL, ""});
  }
}

}  // namespace tessera::runtime

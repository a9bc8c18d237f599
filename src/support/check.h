#pragma once
// Checks for bugs of ours. A user's mistake is a diagnostic (diagnostic.h), never a check.

#include <string>
#include <string_view>

namespace tessera {

/// What the compiler was doing when a check failed; the pass manager keeps it up to date.
struct InternalErrorContext {
  std::string pass;
  std::string op;
  /// Writes a reproducer and returns its path; empty when there is nothing to reproduce.
  std::string (*write_reproducer)() = nullptr;
};

/// The context of the calling thread.
InternalErrorContext& internal_error_context();

/// Prints message, place, pass, op and reproducer to stderr and ends the process with status 70.
[[noreturn]] void internal_error(const char* file, int line, std::string_view message);

}  // namespace tessera

#define TSR_CHECK(condition, message) \
  ((condition) ? void(0) : ::tessera::internal_error(__FILE__, __LINE__, (message)))
#define TSR_UNREACHABLE(message) ::tessera::internal_error(__FILE__, __LINE__, (message))

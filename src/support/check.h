#pragma once
// Checks for bugs of ours. A user's error is a diagnostic (diagnostic.h), never a check.

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The state of the compiler when a check failed; the pass manager keeps it up to date.
struct InternalErrorContext {
  std::string pass;
  std::string op;
  /// Writes a reproducer and returns its path; empty when there is nothing to reproduce.
  std::string (*write_reproducer)() = nullptr;
};

/// The context of the calling thread.
InternalErrorContext& internal_error_context();

/// Prints message, place, pass, op and reproducer to stderr and ends the process with status 70, or throws them.
[[noreturn]] void internal_error(const char* file, int line, std::string_view message);

/// An internal error where it is thrown: the only exception of ours.
struct InternalError {
  std::string message;
  std::vector<std::string> facts;  ///< a line each: "at src/…:12", "in pass cse", "reproducer written to …"
};

/// As long as one lives, an internal error of this thread is thrown: a library must not end the program that called
/// it. What was being made is lost, and is destroyed as it is.
class ThrowInternalErrors {
 public:
  ThrowInternalErrors();
  ~ThrowInternalErrors();
  ThrowInternalErrors(const ThrowInternalErrors&) = delete;
  ThrowInternalErrors& operator=(const ThrowInternalErrors&) = delete;
};

}  // namespace tessera

#define TSR_CHECK(condition, message) \
  ((condition) ? void(0) : ::tessera::internal_error(__FILE__, __LINE__, (message)))
#define TSR_UNREACHABLE(message) ::tessera::internal_error(__FILE__, __LINE__, (message))

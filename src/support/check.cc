#include "support/check.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tessera {

namespace {

thread_local int throwers = 0;

/// The facts of a failed check, without the reproducer.
InternalError known_of(const char* file, int line, std::string_view message) {
  const InternalErrorContext& context = internal_error_context();
  InternalError error{std::string(message), {"at " + std::string(file) + ":" + std::to_string(line)}};
  if (!context.pass.empty()) error.facts.push_back("in pass " + context.pass);
  if (!context.op.empty()) error.facts.push_back("at op " + context.op);
  return error;
}

/// The path of the reproducer, which is written once; empty where there is none.
std::string write_reproducer() {
  auto* write = std::exchange(internal_error_context().write_reproducer, nullptr);
  return write ? write() : "";
}

}  // namespace

InternalErrorContext& internal_error_context() {
  thread_local InternalErrorContext context;
  return context;
}

ThrowInternalErrors::ThrowInternalErrors() { ++throwers; }
ThrowInternalErrors::~ThrowInternalErrors() { --throwers; }

void internal_error(const char* file, int line, std::string_view message) {
  InternalError error = known_of(file, line, message);
  if (throwers > 0) {
    std::string path = write_reproducer();
    if (!path.empty()) error.facts.push_back("reproducer written to " + path);
    throw error;
  }
  // Said first: what writes the reproducer may have the same bug.
  std::fprintf(stderr, "internal error: %s\n", error.message.c_str());
  for (const std::string& fact : error.facts) std::fprintf(stderr, "  %s\n", fact.c_str());
  std::string path = write_reproducer();
  if (!path.empty()) std::fprintf(stderr, "  reproducer written to %s\n", path.c_str());
  std::fprintf(stderr, "This is a bug in Tessera; please report it with %s.\n",
               path.empty() ? "the input and the command line" : "the reproducer");
  std::_Exit(70);
}

}  // namespace tessera

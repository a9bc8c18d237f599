#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace tessera {

InternalErrorContext& internal_error_context() {
  thread_local InternalErrorContext context;
  return context;
}

void internal_error(const char* file, int line, std::string_view message) {
  InternalErrorContext& context = internal_error_context();
  std::fprintf(stderr, "internal error: %.*s\n  at %s:%d\n", int(message.size()), message.data(),
               file, line);
  if (!context.pass.empty()) std::fprintf(stderr, "  in pass %s\n", context.pass.c_str());
  if (!context.op.empty()) std::fprintf(stderr, "  at op %s\n", context.op.c_str());
  bool written = false;
  if (auto* write = context.write_reproducer) {
    context.write_reproducer = nullptr;
    std::string path = write();
    written = !path.empty();
    if (written) std::fprintf(stderr, "  reproducer written to %s\n", path.c_str());
  }
  std::fprintf(stderr, "This is a bug in Tessera; please report it with %s.\n",
               written ? "the reproducer" : "the input and the command line");
#ifdef TESSERA_FUZZ
  std::abort();
#else
  std::_Exit(70);
#endif
}

}  // namespace tessera

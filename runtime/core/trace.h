#pragma once
// Telling a watcher of a context which tensors flow through a call (tsrSetTrace).

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/format/plan.h"
#include "runtime/include/tessera.h"

namespace tessera::runtime {

struct Frame;

/// Who watches; nobody when the function is null.
struct Trace {
  tsr_trace_t function = nullptr;
  void* user = nullptr;
};

/// Where messages go.
struct Log {
  tsr_log_t function = nullptr;
  void* user = nullptr;

  void tell(tsr_log_kind_t kind, const std::string& text) const;
  /// What a kernel prints; to standard error where there is no log.
  void print(const std::string& text) const;
};

/// Inputs and parameters of a call, before its first step.
void trace_arguments(const Trace& trace, const Frame& frame);
/// What a launch reads and writes; `at` is the number of its step.
void trace_launch(const Trace& trace, const Frame& frame, size_t at, const format::LaunchStep& step,
                  int64_t programs);
/// A copy, or a fill (`from` is no_index).
void trace_move(const Trace& trace, const Frame& frame, size_t at, const char* what, uint32_t from,
                uint32_t to);
/// After the last step is queued.
void trace_outputs(const Trace& trace, const Frame& frame);

}  // namespace tessera::runtime

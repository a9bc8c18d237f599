#pragma once
// tsr run --trace-shapes: each tensor of a call as it flows, with its shape.

#include <string>

#include "runtime/include/tessera.h"

namespace tessera::tool {

/// Prints what calls of a context report (tsrSetTrace) to standard output: what a call is given, then
/// for each step what it reads and writes, then the outputs.
class ShapePrinter {
 public:
  /// What the `trace` of tsrSetTrace is; `user` is the printer.
  static void print(void* user, const tsr_trace_tensor_t* tensor);

 private:
  void begin(const tsr_trace_tensor_t& tensor);

  std::string section_;  ///< of the line before: a call, a step or the outputs
  bool wrote_ = false;   ///< the step has printed a result
};

}  // namespace tessera::tool

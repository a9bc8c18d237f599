#pragma once
// Calls of a user's kernels in a graph that is interpreted. A bundle has for each a host program
// that launches the kernel, and the kernel at tile level, from which all code for it was made.

#include <map>
#include <memory>
#include <vector>

#include "ir/core/module.h"
#include "ir/graph/eval.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::tool {

class KernelCalls {
 public:
  /// The calls that `function` makes; each is in the module `<function>.<n>` of those given.
  KernelCalls(Op* function, const std::vector<std::unique_ptr<Module>>& modules);

  bool empty() const { return calls_.empty(); }

  /// The results of a call, under the function's dims: held as `mode` holds them, computed in the
  /// dtypes of the kernel. A call without a module, or with one that is not of its types, is
  /// reported. `may_go_on` is that of the kernels' run.
  Result<std::vector<TensorValue>> run(Op* call, const std::vector<const TensorValue*>& operands,
                                       const DimValues& dims, graph::EvalMode mode,
                                       const std::function<bool()>& may_go_on,
                                       DiagnosticEngine& diagnostics) const;

 private:
  std::map<Op*, Op*> calls_;  ///< a gir.kernel_call's host.func; null when there is none
};

}  // namespace tessera::tool

#pragma once
// Where kernels come from: the front end builds a sched.kernel from the source of a @kernel function, for
// given operand types. graph_to_schedule asks by name and knows nothing of the source language.

#include <map>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "support/result.h"

namespace tessera::schedule {

struct KernelRequest {
  std::string kernel;           ///< name in the standard library or in the user's file: "matmul"
  std::vector<Type> operands;   ///< tensor types, dims in the caller's symbols
  std::map<std::string, Attr> arguments;  ///< compile-time arguments by name (keyword parameters)
  std::map<std::string, Attr> schedule;   ///< overrides of the schedule, by key (schedule_keys.def)
  std::string symbol;           ///< the kernel op's symbol
  std::string machine;          ///< the target's name: picks the row of the schedule table
  Loc loc;                      ///< the op that asks, for diagnostics
};

/// A kernel built for a request.
struct KernelInstance {
  Op* kernel = nullptr;               ///< a sched.kernel in the module that was given
  std::vector<Type> results;          ///< result types in the caller's symbols
  std::map<std::string, Dim> dims;    ///< the kernel's free dims in the caller's symbols
};

class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  /// Builds the kernel into `module` (level schedule). Mistakes of the kernel's source are reported.
  virtual Result<KernelInstance> instantiate(Module& module, const KernelRequest& request) = 0;
};

}  // namespace tessera::schedule

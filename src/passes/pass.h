#pragma once
// What a pass is: a function on a module, a row in passes.def, a line in pipeline.cc.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

namespace schedule {
class KernelLibrary;
}
namespace layout {
class Layout;
class SharedLayout;
}  // namespace layout

namespace pipeline {
struct LoopPipeline;
}

/// How the threads of a block access a tile in shared memory: `width` elements of a thread at a time.
struct SharedAccess {
  Op* kernel;
  Op* op;
  const layout::Layout& layout;
  const layout::SharedLayout& shared;
  int width;
};

/// What passes are given besides the module.
struct PassContext {
  DiagnosticEngine& diagnostics;
  /// The target below Graph level, which the module then names; null at Graph level.
  const Machine* machine = nullptr;
  /// Instantiates stdlib and user kernels; null where no source is at hand.
  schedule::KernelLibrary* kernels = nullptr;
  /// The entry that graph_to_schedule lowers.
  std::string entry;
  /// Options of the pass being run, as written.
  std::map<std::string, std::string, std::less<>> options;
  /// Hears which launches compute ops of the graph, once for each group of them; empty: nobody does.
  std::function<void(std::span<Op* const> ops, std::span<Op* const> launches)> launched = {};
  /// Hears of each access of shared memory that is lowered; empty: nobody does.
  std::function<void(const SharedAccess&)> accessed = {};
  /// Hears which pipeline each loop of a GPU's kernel can have; empty: nobody does, and none is looked for.
  std::function<void(Op* kernel, const pipeline::LoopPipeline&)> pipelined = {};

  /// An option as an integer, or `otherwise` when it was not given.
  int64_t option(std::string_view name, int64_t otherwise) const;
  /// An option as a list of integers, `[128,64]`; empty when it was not given.
  std::vector<int64_t> list_option(std::string_view name) const;
};

#define PASS(name, reads, leaves, needs, gives, ends, options, summary) \
  Status name(Module& module, PassContext& context);
#include "passes/passes.def"
#undef PASS

}  // namespace tessera

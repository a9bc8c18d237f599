#pragma once
// State shared by the parts of graph_to_schedule: one function of a graph on its way to kernels and
// a host program.

#include <string>
#include <vector>

#include "ir/schedule/kernel_library.h"
#include "passes/graph/to_schedule/host_program.h"
#include "passes/graph/to_schedule/kernel_memory.h"
#include "passes/pass.h"

namespace tessera {

/// A library kernel on its way to a launch.
struct AnchorKernel {
  Op* kernel = nullptr;
  std::map<std::string, Dim> dims;  ///< its free dims in the caller's symbols
  bool in_caller_symbols = false;   ///< the kernel has been rewritten to use these
  bool takes_members = false;       ///< it has a place for the ops that follow
  std::vector<Value*> operands;
};

class GraphLowering {
 public:
  GraphLowering(Module& module, PassContext& context, Op* function)
      : module_(module),
        context_(context),
        table_(module.context().dims()),
        entry_(symbol_name(function)),
        reads_(function, context.machine && !context.machine->is_gpu()),
        host_(module, function) {}

  Status run();

 private:
  Status check_policies(Op* op);

  // generated_kernel.cc
  Status lower_generated(const FusionGroup& group);
  Op* build_generated(const FusionGroup& group, const KernelSpace& space, const MemoryPlan& inputs,
                      const MemoryPlan& outputs, const std::vector<Dim>& extents);

  // anchor_kernel.cc
  Status lower_anchor(const FusionGroup& group);
  Result<schedule::KernelInstance> instantiate(const FusionGroup& group, const AnchorForm& form, size_t choice);
  Op* finish_anchor(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form);
  void use_caller_symbols(AnchorKernel& anchor);
  void bind_operands(AnchorKernel& anchor, Op* op, const AnchorForm& form);
  void fold_members(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form,
                    Op* store);
  Status check_instance(Op* anchor, const AnchorForm& form,
                        const schedule::KernelInstance& instance);

  // What both use (lowering.cc).
  /// Adds an operand for each symbol that a kernel in the caller's symbols mentions and no
  /// parameter's type has.
  void add_carriers(Op* kernel, std::vector<Value*>& operands);
  /// True if the group makes a gir.dim that is no constant.
  bool mentions_dims(const FusionGroup& group) const;
  std::string next_symbol() const;
  /// Gives the kernel back, or an equal one that was built before.
  Op* keep_kernel(Op* kernel);

  Module& module_;
  PassContext& context_;
  DimTable& table_;
  std::string entry_;
  GraphReads reads_;
  HostProgram host_;
  std::vector<Op*> kernels_;
  size_t named_ = 0;  ///< kernels that are no variants
};

}  // namespace tessera

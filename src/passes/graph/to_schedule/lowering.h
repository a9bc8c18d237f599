#pragma once
// State shared by the parts of graph_to_schedule: one function of a graph on its way to kernels and
// a host program. Each block of it is lowered by itself.

#include <functional>
#include <optional>
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
  std::vector<schedule::KernelRegion> regions = {};  ///< operands that it changes
  std::vector<schedule::KernelPrint> prints = {};
  Attr grid = nullptr;  ///< of a kernel that prints
};

/// A generated kernel on its way to a launch.
struct GeneratedKernel {
  Op* kernel = nullptr;
  std::map<std::string, Dim> dims;  ///< its free dims in the caller's symbols
  std::vector<Value*> operands;
  bool across = false;  ///< KernelSpace::across
};

struct PartsForm;
struct Reading;
struct AlignedCopy;

/// What the lowering of all blocks of a function adds to.
struct LoweredFunction {
  LoweredFunction(Module& module, Op* function)
      : entry(symbol_name(function)), host(module, function) {}

  std::string entry;
  HostProgram host;
  std::vector<Op*> kernels;
  size_t named = 0;  ///< kernels that are no variants
};

class GraphLowering {
 public:
  /// `in_parts`: rows of the block are parts of rows, or results of parts.
  GraphLowering(Module& module, PassContext& context, LoweredFunction& function, Block* block, bool in_parts = false)
      : module_(module),
        context_(context),
        table_(module.context().dims()),
        function_(function),
        host_(function.host),
        reads_(block, context.machine),
        in_parts_(in_parts) {}

  /// Lowers the block and gives the buffers that its terminator names.
  Result<std::vector<Value*>> run();

 private:
  Status check_policies(Op* op);
  Status lower_host(Op* op);
  std::vector<Value*> updated_by(Op* branch) const;

  /// How often tiles of the group's kernels are halved, as the module notes for its call.
  int64_t halvings(const FusionGroup& group) const;

  // fitting.cc
  /// The groups of the block, cut until the machine's programs can run each.
  std::vector<FusionGroup> fitting_groups();

  // generated_kernel.cc
  /// The group without outputs that have no elements: none is stored to.
  FusionGroup with_elements(const FusionGroup& group) const;
  Status lower_generated(const FusionGroup& group);
  Status lower_as_kernel(const FusionGroup& group);
  /// The kernel of a group; for rows of at most `most` elements, if that is given, and none where it takes no several.
  std::optional<GeneratedKernel> make_generated(const FusionGroup& group, std::optional<int64_t> most);
  std::vector<Op*> short_row_kernels(const FusionGroup& group, const GeneratedKernel& general);
  Op* build_generated(const FusionGroup& group, const KernelSpace& space, const MemoryPlan& inputs,
                      const MemoryPlan& outputs, const std::vector<Dim>& extents);
  Value* updated_buffer(const FusionGroup& group);

  // row_parts.cc
  Status lower_rows(const FusionGroup& group);
  std::optional<std::vector<DimFact>> few_long_rows(const FusionGroup& group);
  std::vector<Op*> ops_with_views(const FusionGroup& group) const;
  Status lower_row_parts(const FusionGroup& group, const std::vector<DimFact>& when);

  // anchor_kernel.cc
  /// Where an operand of an anchor lies that is not read where the graph has it, and what is read there.
  struct PlacedOperand {
    Value* buffer = nullptr;
    Access access;
  };
  using PlacedOperands = std::map<unsigned, PlacedOperand>;
  /// `only_general`: without the kernels that are for some sizes.
  Status lower_whole(const FusionGroup& group, const AnchorForm& form, const PlacedOperands& placed, bool only_general);
  schedule::KernelRequest request_of(Op* anchor, const AnchorForm& form, int64_t halvings) const;
  /// `block`, if there is one, takes the place of the schedule's.
  Result<schedule::KernelInstance> instantiate(const FusionGroup& group, const AnchorForm& form, size_t choice,
                                               int64_t halvings, Attr block = nullptr);
  Result<std::vector<schedule::KernelInstance>> short_row_instances(const FusionGroup& group, const AnchorForm& form,
                                                                    size_t choice, schedule::KernelInstance& general);
  Result<int64_t> fitting_halvings(const FusionGroup& group, const AnchorForm& form);
  Op* finish_anchor(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form,
                    const PlacedOperands& placed);
  Op* finish_kernel(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form, bool may_take);
  void use_caller_symbols(AnchorKernel& anchor);
  Value* kept_region(Op* anchor, const schedule::KernelRegion& region);
  Status add_parts(Op* anchor, const AnchorForm& form, const schedule::KernelRegion& region, Op* launch);
  void bind_operands(AnchorKernel& anchor, Op* op, const AnchorForm& form, const PlacedOperands& placed);
  void bind_operand(AnchorKernel& anchor, unsigned position, Value* buffer, const Access& access,
                    const std::vector<Dim>& dims);
  void fold_members(AnchorKernel& anchor, const FusionGroup& group, const AnchorForm& form,
                    Op* store);
  Status check_instance(Op* anchor, const AnchorForm& form,
                        const schedule::KernelInstance& instance);

  // anchor_parts.cc
  struct Parts;
  Status lower_anchor(const FusionGroup& group);
  bool reads_fit(Op* anchor, const AnchorForm& form) const;
  Result<std::optional<Parts>> plan_parts(const FusionGroup& group);
  Result<Reading> finest_reading(const FusionGroup& group, const PartsForm& form);
  Status lower_parts(const FusionGroup& group, const Parts& parts);
  Result<Op*> launch_parts(const FusionGroup& group, const Parts& parts);

  // anchor_alignment.cc
  struct Alignment;
  Status lower_by_one(const FusionGroup& group);
  std::vector<Alignment> plan_alignments(const FusionGroup& group);
  std::vector<Alignment> matmul_alignments(Op* anchor, Dim each);
  std::vector<Alignment> convolution_alignments(Op* anchor, Dim each);
  Status lower_aligned(const FusionGroup& group, const Alignment& alignment);
  Result<PlacedOperand> copy_aligned(const FusionGroup& group, const AnchorForm& form, const AlignedCopy& copy);

  // What both use (lowering.cc).
  /// Adds an operand for each symbol that a kernel in the caller's symbols mentions and no
  /// parameter's type has.
  void add_carriers(Op* kernel, std::vector<Value*>& operands);
  /// Adds an operand for each of the dims, which are bound to sizes of the caller, that no parameter's type has.
  void add_carriers(Op* kernel, const std::map<std::string, Dim>& dims, std::vector<Value*>& operands);
  /// True if the group makes a gir.dim that is no constant.
  bool mentions_dims(const FusionGroup& group) const;
  /// Makes the group's values in one of two ways, as sizes choose; what is known of sizes leaves one of them.
  Status lower_either(const FusionGroup& group, const std::vector<DimFact>& when,
                      const std::function<Status()>& taken, const std::function<Status()>& otherwise);
  std::string next_symbol() const;
  /// Gives the kernel back, or an equal one that was built before.
  Op* keep_kernel(Op* kernel);

  Module& module_;
  PassContext& context_;
  DimTable& table_;
  LoweredFunction& function_;
  HostProgram& host_;
  GraphReads reads_;
  bool in_parts_;
};

}  // namespace tessera

#pragma once
// Writes a block of the old program as stages under the bindings in force; see
// split_to_fragments.cc.

#include <map>
#include <set>
#include <vector>

#include "passes/tile/cpu/fragment_emitter.h"

namespace tessera {

class BackToBackDot;

/// Choices for a kernel by the machine and the schedule.
struct FragmentChoice {
  int64_t lanes = 16;  ///< columns of a fragment are a multiple of it, or 1
  int64_t width = 64;  ///< columns of a fragment in a stage
  int64_t rows = 1;    ///< rows of a fragment
  int64_t unroll = 1;  ///< steps of k in one iteration of the innermost loop
  int64_t run = 16;    ///< steps of k that lie together in a panel of the left operand
  int64_t steps = 1;   ///< elements of an axis, other than the columns at hand, that an iteration takes as rows
  int64_t copies = 1;  ///< fragments of an iteration, but for the last ones, where their extent is not known
  bool keeps = true;   ///< values that several stages need may be kept in scratch memory
};

class FragmentStages {
 public:
  FragmentStages(FragmentEmitter& emitter, const FragmentChoice& shape)
      : emitter_(emitter), shape_(shape) {}

  /// Whether a loop of a dot was written of which the schedule may copy steps.
  bool unrolls() const { return unrolls_; }
  /// Writes all that the block does: its stores, reductions, dots and loops, in order.
  void block(Block* old);
  /// Copies operands of `dot` that can be read at any time and do not lie along the columns at hand
  /// to scratch memory where they do.
  void transpose_operands(Op* dot);
  /// From now on `made` computes `dot`.
  void multiply_by(Op* dot, BackToBackDot* made) { back_to_back_[dot] = made; }

 private:
  /// An op that a loop over fragments is written for.
  struct Root {
    Op* op;
    std::vector<int> unbound;  ///< axes of its result that no loop binds yet
    int axis = -1;  ///< the one axis it loops over; -1 when there is none or there are several
    Value* domain = nullptr;  ///< the old limit on that axis
  };
  /// Roots that share one loop.
  struct Stage {
    std::vector<Root> roots;
    std::vector<Value*> kept = {};  ///< values that it stores in scratch memory for later stages
    std::vector<int> around = {};   ///< axes of loops around it that the kept values run along, too
  };

  Root root(Op* op);
  std::vector<Stage> plan(Block* old);
  static bool goes_against(const Stage& stage, const Root& root);
  bool joins(const Stage& stage, const Root& root);
  void choose_kept(std::vector<Stage>& stages);
  void keep_scans(std::vector<Stage>& stages);
  bool is_left(Op* scan) const;
  bool reads_elsewhere(const Stage& stage, const Root& scan) const;
  void find_expensive(Value* value, Block* block, std::set<Value*>& expensive, std::set<Value*>& seen);
  bool can_keep(Value* value, const Root& root);
  bool can_keep_operand(Value* value, const Root& root);
  static bool waits_for(Value* value, const std::vector<Stage>& stages, size_t first, size_t last);

  /// The stages of a block; kept values stay in memory for the values that the block yields.
  void write_stages(Block* old);
  void write(const Stage& stage);
  /// The fragment of a store or scatter.
  void write_out(Op* op);
  void write_shared_loop(const Stage& stage);
  FragmentEmitter::Values combine(const Stage& stage, const FragmentEmitter::Values& carried);
  void write_nested(const Root& root);
  Stage alone(Op* op, const std::vector<int>& around);
  void write_nested(const Root& root, const std::vector<int>& axes, size_t depth);
  Value* start(const Root& root, int64_t width);
  int64_t rows_along(const Stage& stage);
  Value* scan(const Root& root, Value* before);
  Value* reduce(const Root& root, Value* before);
  FragmentMemory keep(Value* value, const Stage& stage);
  void write_dot(const Root& root);
  BackToBackDot* back_to_back_dot(Op* dot) const;
  /// Stores the dot that a matrix unit computes of the rows and columns at hand to its scratch
  /// memory.
  void write_matrix(Op* dot, BackToBackDot* made, const std::vector<int>& unbound);
  /// Rows of its fragments at a time.
  int64_t rows_of(Op* op) const;
  void write_loop(const Root& root);
  void write_branch(const Root& root);
  FragmentEmitter::Values enter_loop(Op* loop, std::vector<bool>& in_memory);
  FragmentEmitter::Values end_iteration(Op* loop, const std::vector<bool>& in_memory);
  /// Writes the fragments of `value` along `axes` to `memory`.
  void store_all(Value* value, const std::vector<int>& axes, const FragmentMemory& memory);
  /// True where the rows of fragments may be chosen: the columns are bound, and no rows are.
  bool may_choose_rows() const;
  Value* read_up_to(Op* op, int axis) const;
  void keep_operands(std::vector<Stage>& stages, const std::vector<std::set<Value*>>& used);
  /// Scratch memory for a value: the fragment at hand along bound rows and columns, all of the axes
  /// in `unbound`.
  FragmentMemory scratch_for(Value* value, const std::vector<int>& unbound);
  bool runs_along(Value* value, int axis) const;
  int64_t width_of(int axis) const;
  Value* domain_on(Op* op, int axis) const;

  FragmentEmitter& emitter_;
  const FragmentChoice& shape_;
  bool unrolls_ = false;
  std::map<Op*, BackToBackDot*> back_to_back_;
  std::map<std::pair<Value*, std::vector<int>>, FragmentMemory> scratch_;
};

/// True for a load of memory that the program itself writes.
bool is_private_load(Op* op);
/// True for a store to memory of the program.
bool is_private_store(Op* op);

/// True for ops that become loops over fragments: everything with an effect on memory and all that
/// combines elements.
bool is_fragment_root(Op* op, const TileAxes& axes);

/// True if no stage has to run before `value` can be read.
bool is_readable(Value* value, const TileAxes& axes);

}  // namespace tessera

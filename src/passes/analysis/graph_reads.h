#pragma once
// What each op of a block of a graph function reads, seen through ops that need no kernel: views
// (broadcast, transpose, slice, windows, reshape) and widening casts, which a consumer does while it loads.
//
// Values from outside the block are buffers, and so is everything that regions of its ops use.
//
// A value is *forced* when somebody needs it as a buffer although its op is one of those (it is a
// result of the function, or strides cannot say what is read through it). Its op is then computed
// like any other.

#include <map>
#include <optional>
#include <vector>

#include "ir/graph/op_facts.h"
#include "ir/numbers/machine.h"
#include "passes/analysis/access.h"
#include "passes/analysis/anchor_form.h"

namespace tessera {

/// A value as its reader sees it.
struct Read {
  Value* base = nullptr;     ///< neither a view nor a widening cast, unless forced
  std::vector<DType> casts;  ///< applied to what is read from the base, in order
  /// True if each axis is an axis of the base or repeats: `base_axes` has the number, -1 for a
  /// repeated axis or one of extent 1.
  bool relabels = true;
  std::vector<int> base_axes;
  Access access;  ///< of the base's elements, were it a contiguous buffer
};

/// One reader of a base: operand `position` of `op`.
struct ReadSite {
  Op* op;
  unsigned position;
};

/// What an op is to the lowering: its row's role, and a constant of one element is a source.
using GraphRole = graph::Role;
GraphRole graph_role(Op* op);
/// True for a cast that loses nothing and costs nothing beside a load.
bool is_widening_cast(Op* op);
/// Whether the op is computed again in each kernel that reads it, in place of being kept in memory.
bool is_made_where_read(Op* op);

class GraphReads {
 public:
  /// On a CPU matmuls read windows that strides cannot say as they lie (window_matmul_form), and with a copy engine
  /// also those of padded images (image_windows_of); otherwise these are copied first. So are operands of matmuls
  /// that the machine's instruction cannot read as they lie (reads_along_k). `machine` may be null.
  explicit GraphReads(Block* block, const Machine* machine = nullptr);

  /// The ops that are computed or are anchors, in order; dead ones are left out.
  const std::vector<Op*>& ops() const { return ops_; }
  /// What operand `position` of an op in ops(), or of the return, reads. A forced view has one
  /// operand, seen in its result's axes; a loop or branch has what its regions use after its
  /// operands.
  const Read& read(Op* op, unsigned position) const { return reads_.at({op, position}); }
  unsigned operand_count(Op* op) const;
  /// How an anchor becomes a kernel.
  const AnchorForm& form(Op* anchor) const { return forms_.at(anchor); }
  /// The readers of a base, in order of the program.
  const std::vector<ReadSite>& sites(Value* base) const;
  bool forced(Value* value) const { return forced_.count(value) != 0; }
  /// Position of an op in its function.
  size_t position(Op* op) const { return positions_.at(op); }
  Op* terminator() const { return terminator_; }
  DimTable& dims() const { return *dims_; }
  const Machine* machine() const { return machine_; }

 private:
  void find_image_windows();
  Value* operand_of(Op* op, unsigned position) const;
  void find_live();
  void add(Op* op);
  void add_host(Op* op);
  void add_operand(Op* op, unsigned position, Read read);
  void force(Value* value);
  Read resolve(Value* value);
  Read own(Value* value);
  std::optional<Read> through(Op* op);
  Read anchor_operand(Op* op, unsigned position);
  bool can_multiply(Op* op, unsigned position, const Access& operand) const;
  bool take_windows(Op* reshape);
  Read returned(Value* value);

  DimTable* dims_;
  const Machine* machine_;
  std::map<Op*, AnchorForm> forms_;
  std::map<Op*, Value*> windows_;  ///< of matmuls: what they read in place of their first operand
  Block* block_;
  Op* terminator_ = nullptr;
  std::vector<Op*> live_;
  std::vector<Op*> ops_;
  std::map<Value*, Read> resolved_;
  std::map<Value*, Read>
      forced_;  ///< what a forced op itself reads; empty base when it has no operand
  std::map<std::pair<Op*, unsigned>, Read> reads_;
  std::map<Value*, std::vector<ReadSite>> sites_;
  std::map<Op*, size_t> positions_;
  std::map<Op*, std::vector<Value*>> captured_;  ///< of ops with regions
};

}  // namespace tessera

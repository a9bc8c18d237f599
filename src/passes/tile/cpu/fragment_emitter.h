#pragma once
// Writes the fragments of a program's tiles on demand; see split_to_fragments.cc for the idea.
//
// A program axis is *bound* inside of a loop that steps along it: a binding says where the fragment
// starts, how many elements it spans and, in a tail, how many of them are there. `demand` gives the
// fragment of an old tile under the bindings in force: [rows, columns], spanning the row axis and
// the column axis where the tile runs along them. Every op is written in the outermost loop in
// which all that it depends on is known, and once.

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/tile/build.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"

namespace tessera {

/// One fragment's place on a program axis.
struct AxisBinding {
  Value* start = nullptr;   ///< first element
  int64_t extent = 1;       ///< elements that the fragment spans
  Value* rest = nullptr;    ///< elements that are there, in a tail; null: all
  Value* domain = nullptr;  ///< the old limit up to which the loop runs; null: the whole extent
  size_t level = 0;         ///< the scope in which it holds
  // Along the k of a dot: start = block + within, block a multiple of the panels' run along k.
  // In a part of a fragment: block is the fragment's start.
  Value* block = nullptr;
  Value* within = nullptr;
};

/// Memory as fragments are loaded from it: a window with the program axis that each dim follows.
struct FragmentMemory {
  Value* memory = nullptr;      ///< in the new kernel: parameter or alloc
  Type type = nullptr;          ///< dtype, and the window's dims, strides and offset
  std::vector<int> axes;        ///< per dim; -1: none
  std::vector<Value*> offsets;  ///< per dim, old; null: 0
  std::vector<Value*> limits;   ///< per dim, old; null: the whole extent
  std::vector<bool> local;      ///< per dim: holds only the fragment at hand, from element 0
};

/// How the loop over an axis ends when the fragment's extent does not divide it.
enum class TailKind {
  Limited,  ///< one fragment with limits
  Ones,     ///< fragments of extent 1
};

/// How far parts of a fragment reach in a tail.
enum class Reach {
  Present,  ///< to the elements that are there
  Whole,    ///< to the end of the fragment
};

class FragmentEmitter {
 public:
  /// `parameters` stand for those of the old kernel.
  FragmentEmitter(Op* kernel, PassContext& context, const TileAxes& axes, Block* body,
                  const std::vector<Value*>& parameters);

  /// At the end of the innermost scope.
  Builder& builder() {
    enter(scopes_.size() - 1);
    return builder_;
  }
  Context& context() { return builder_.context(); }
  const TileAxes& axes() const { return axes_; }
  bool failed() const { return failed_; }
  /// Reports a limit of this pass; ops written afterwards are discarded.
  void reject(Op* op, const std::string& reason, const std::string& help = "");

  // Axes.
  bool is_bound(int axis) const { return axis < 0 || bindings_.contains(axis); }
  const AxisBinding& binding(int axis) const { return bindings_.at(axis); }
  /// Program axes of a value that no loop binds yet.
  std::vector<int> unbound(Value* tile) const;
  int row() const { return row_; }
  int column() const { return column_; }
  void set_shape(int row, int column) { row_ = row, column_ = column; }
  /// From now on iterations of whole fragments do so many of them.
  void set_copies(int64_t copies) { copies_ = copies; }

  /// Runs `body` for the fragments of `axis` in order, up to the limit `domain` (old; null: the
  /// whole extent), carrying values from one to the next; gives the last ones.
  using Values = std::vector<Value*>;
  using LoopBody = std::function<Values(const Values&)>;
  Values loop(int axis, int64_t extent, Value* domain, TailKind tail, const Values& inits,
              const LoopBody& body);
  /// The same from the last fragment to the first; the tail is one with limits.
  Values reverse_loop(int axis, int64_t extent, Value* domain, const Values& inits, const LoopBody& body);
  /// The same for the fragments from `lo` on, below `hi`.
  void range_loop(int axis, Value* lo, Value* hi, int64_t extent, Value* domain, TailKind tail,
                  const LoopBody& body);
  /// The same for the k of a dot: in blocks of `run` steps of 1, `unroll` of them copied, then
  /// the rest.
  Values contraction_loop(int axis, int64_t run, int64_t unroll, Value* domain, const Values& inits,
                          const LoopBody& body);
  /// The same without a tail: the last fragment may reach past the end.
  Values whole_loop(int axis, int64_t extent, Value* domain, const Values& inits,
                    const LoopBody& body);
  /// Inside of the fragment that `axis` is bound to, runs `body` for smaller ones of it, carrying
  /// values.
  Values subdivide(int axis, int64_t extent, Reach reach, const Values& inits,
                   const LoopBody& body);
  /// A loop of the old program: new index and carried values are known to `demand` inside of
  /// `body`, but for those that are `in_memory`.
  Values old_loop(Op* loop, const std::vector<bool>& in_memory, const Values& inits,
                  const LoopBody& body);
  /// A branch of the old program, with results of these types; `body` writes a region and returns
  /// the values that it yields.
  Values old_branch(Op* branch, const std::vector<Type>& types, const std::function<Values(unsigned)>& body);

  // Values.
  /// The fragment of an old tile, or the new value of an old scalar. The builder stays where it is.
  Value* demand(Value* old);
  /// From now on `value` is what demand(old) gives in this scope and those inside.
  void remember(Value* old, Value* value);
  /// Already written in this scope or one around it.
  bool is_known(Value* old) const { return find(old) != nullptr; }
  /// From now on demand(old) loads from there.
  void keep_in(Value* old, FragmentMemory memory) { kept_[old] = std::move(memory); }
  /// The values kept now, to restore them: another clone of the same ops keeps its own.
  std::map<Value*, FragmentMemory> kept() const { return kept_; }
  void set_kept(std::map<Value*, FragmentMemory> kept) { kept_ = std::move(kept); }
  /// The same for a dot's operand in panels: `load` writes the load.
  using PanelLoad = std::function<Value*()>;
  void keep_in_panels(Value* old, PanelLoad load) { panels_[old] = std::move(load); }
  bool is_in_panels(Value* old) const { return panels_.contains(old); }
  /// Takes what is known of panels away, or puts it back: panels are filled from the operands
  /// themselves.
  std::map<Value*, PanelLoad> take_panels() { return std::exchange(panels_, {}); }
  void put_panels(std::map<Value*, PanelLoad> panels) { panels_.merge(panels); }

  Type fragment_type(Value* old);
  /// The number of elements of an axis up to an old limit.
  Value* total(int axis, Value* domain);
  /// Writes the fragment of `value` where `memory` says.
  void store(Value* value, const FragmentMemory& memory);
  /// The memory of an old load or store.
  FragmentMemory memory_of(Op* access, unsigned memory_slot, unsigned offsets_slot,
                           unsigned limits_slot, Value* tile);
  /// Loads the fragment of an old load now, from memory that the program itself writes.
  Value* load_here(Op* load);
  /// Writes the fragments of an old scatter.
  void scatter(Op* op);
  /// New scratch memory, made at the start of the kernel.
  Value* scratch(Dim elements, DType dtype);
  /// A view at the start of the kernel.
  Value* view(Value* memory, const std::vector<Dim>& dims, const std::vector<Dim>& strides,
              Dim offset);
  Value* zero() { return zero_; }
  Value* index(int64_t value);

 private:
  struct Known {
    Value* value;
    size_t level;
  };
  /// Axis, row axis, column axis, start, extent, domain.
  using IterationKey = std::tuple<int, int, int, int64_t, int64_t, Value*>;
  struct Scope {
    Block* block = nullptr;
    Op* inner = nullptr;  ///< the op that the next scope is inside of
    std::map<Value*, Known> known;
    /// Values known in single-iteration loops of this scope; later ones with the same fragments
    /// start from them.
    std::map<IterationKey, std::map<Value*, Known>> iterations;
  };

  const Known* find(Value* old) const;
  Known resolve(Value* old);
  Known write(Value* old);
  Known write_elementwise(Op* op);
  Known write_memory_load(const FragmentMemory& memory, Type type, Attr fill);
  Known write_load(Op* op);
  Known write_gather(Op* op);
  Known write_take(Op* op);
  Value* whole_memory(Value* memory);
  Value* own_memory(Value* alloc);
  Known write_iota(Op* op);
  Value* coordinates(int axis, Value* start, Type type);
  Known write_broadcast(Value* from, size_t level, Type type);
  Known write_scalar(Op* op);
  /// Puts the builder at the end of the ops of that scope.
  void enter(size_t level);
  /// Calls `body` inside of a new scope in `block`, or in the scope's own block where `inner` is
  /// null.
  Values inside(Op* inner, Scope scope, const LoopBody& body, const Values& arguments);
  /// Calls `body` inside of `loop`, in a new scope and with the values the loop carries.
  Values in_loop(Op* loop, const LoopBody& body);
  Values bound_iteration(int axis, int64_t start, int64_t extent, Value* rest, Value* domain,
                    const Values& inits, const LoopBody& body);
  /// The whole fragments below `hi`, which is a multiple of `extent`, the last first.
  Values descending_loop(int axis, Value* hi, int64_t extent, Value* domain, const Values& inits, const LoopBody& body);
  /// `total` is given in a tail: the number of elements, from which each iteration's rest follows.
  Values bound_loop(int axis, Value* lo, Value* hi, int64_t extent, Value* total, Value* domain,
                    const Values& inits, const LoopBody& body);
  /// Iterations of as many fragments as are copied.
  Values copied_loop(int axis, Value* hi, int64_t extent, Value* domain, const Values& inits, const LoopBody& body);
  Values tail_loop(int axis, Value* lo, Value* total, int64_t extent, Value* domain, TailKind tail,
                   const Values& inits, const LoopBody& body);
  Values run_within(int axis, Value* block, Value* count, int64_t unroll, Value* domain,
                    const Values& inits, const LoopBody& body);
  size_t level_of(const std::vector<int>& axes) const;
  /// The limit of a fragment on an axis whose memory has an old limit; null: none.
  Value* fragment_limit(int axis, Value* old_limit, size_t& level);

  struct Access {
    Value* memory;
    Values offsets;
    Values limits;
    size_t level;
  };
  /// Lets the limit of a dim of one element, which is there or not, limit a fragment's rows and columns.
  void limit_by_one(Value* (&limits)[2], Type fragment, Value* limit);
  Access access(const FragmentMemory& memory, Type fragment);
  /// The memory with its dims in that order; -1 stands for a dim of 1.
  Value* window(const FragmentMemory& memory, const std::vector<int>& order);
  /// Makes a value behind the ops at the kernel's start, where the builder then returns from.
  Value* at_start(const std::function<Value*()>& make);

  Builder builder_;
  Op* kernel_;
  PassContext& pass_;
  const TileAxes& axes_;
  std::vector<Scope> scopes_;
  std::map<int, AxisBinding> bindings_;
  std::map<Value*, FragmentMemory> kept_;
  std::map<Value*, PanelLoad> panels_;
  std::map<std::tuple<Value*, Type>, Value*> views_;
  std::map<int64_t, Value*> indices_;
  Op* start_ = nullptr;  ///< the last of the ops at the kernel's start
  Value* zero_ = nullptr;
  int row_ = -1;
  int column_ = -1;
  int64_t copies_ = 1;  ///< fragments of an iteration
  uint32_t first_op_ = 0;  ///< number of the first op that is written
  bool failed_ = false;
};

}  // namespace tessera

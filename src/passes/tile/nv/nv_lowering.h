#pragma once
// The state of tile_to_nv for one kernel. One method per tile op, spread over files by family.
//
// A tile is one register group of each thread: lane r of the group is register r of its layout. All threads run the
// same code; which elements a thread holds follows from its lane and warp by the layout's thread terms.

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/core/dim_facts.h"
#include "ir/layout/conversion.h"
#include "ir/layout/layout.h"
#include "ir/layout/matrix_access.h"
#include "ir/layout/reduction.h"
#include "ir/layout/scan.h"
#include "ir/layout/shared_layout.h"
#include "ir/layout/wgmma_descriptor.h"
#include "ir/numbers/machine.h"
#include "ir/numbers/mma.h"
#include "ir/target/ops.h"
#include "passes/analysis/divisibility.h"
#include "passes/pass.h"
#include "passes/target/target_builder.h"
#include "passes/tile/common/access_check.h"
#include "passes/tile/common/neighbours.h"
#include "passes/tile/common/sizes.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

inline constexpr int widest_access = 16;  // bytes
/// A load or store of a vector, whose width was chosen so that it is aligned as a whole.
Op* aligned(Op* access);

class NvLowering {
 public:
  NvLowering(Op* kernel, const PassContext& context);
  /// Makes the target.func of the kernel, before it.
  /// Fails after a report where the machine has no instruction for an op.
  Status run();

 private:
  /// The threads that run the code at hand: all of the program, or those of a role.
  struct Threads {
    Value* lane = nullptr;  ///< i32
    Value* warp = nullptr;  ///< i32, from the first of these threads on
    int64_t warps = 0;
    int64_t barrier = 0;    ///< the named barrier of these threads
    int64_t order = 0;      ///< the first of the named barriers at which its warpgroups wait for their turn
    bool single = false;    ///< one thread runs all of it
    Op* place = nullptr;    ///< what depends on lane and warp alone is computed before this op
    std::map<std::pair<std::string_view, int>, Value*> coordinates = {};
  };

  /// Memory that a view, parameter, alloc or slot names: its address and type.
  struct Memory {
    Value* base;
    Type type;
  };

  /// One access of a tile in memory, for any of its registers.
  struct Access {
    Access(const layout::Layout& layout, DType dtype) : layout(layout), dtype(dtype) {}

    layout::Layout layout;           ///< as accesses take registers
    std::vector<int64_t> registers;  ///< of it, for each register of the tile's layout; empty: the same
    DType dtype;
    Value* base = nullptr;           ///< address of the thread's part of the coordinates
    std::vector<Dim> strides;        ///< elements, per axis of the tile (global memory)
    std::vector<Value*> remaining;   ///< i32 per axis: registers' parts below it are there; null: all are
    std::vector<int32_t> grain;      ///< neighbours of which all are below the limit or none, per axis
    Value* allowed = nullptr;        ///< bool: nothing happens where it is false; null: it happens
    int axis = -1;                   ///< the contiguous axis
    int width = 1;                   ///< elements along it of one access
    std::map<std::vector<int32_t>, Value*> rows;
    std::map<std::pair<int, int32_t>, Value*> below;
  };

  // nv_lowering.cc: kernel, threads, scalars, elementwise ops.
  Op* declare();
  void make_entry();
  void lower_block(Block* block);
  void lower(Op* op);
  void lower_elementwise(Op* op);
  void lower_splat(Op* op);
  /// An op of the target without operands and results.
  void machine_op(target::OpKind kind, std::vector<OpAttr> attributes = {});
  std::vector<Value*> decode_block(std::vector<Dim> grid);
  std::vector<Value*> places_in_cluster();
  Value* block_number();
  Value* block_count();
  Value* value(Value* tile_value) const { return values_.at(tile_value); }
  std::vector<Value*> values(const std::vector<Value*>& tile_values) const;
  void define(Value* tile_value, Value* target_value) { values_[tile_value] = target_value; }
  Type lowered_type(Type type);
  Value* uniform(Value* value);
  Value* i32(int64_t number) { return b_.integer(b_.context().scalar(DType::I32), number); }
  Value* natural(int64_t number) { return b_.integer(b_.context().scalar(DType::U32), number); }
  Value* as_i32(Value* index) { return b_.cast(index, DType::I32); }
  const layout::Layout& layout_of(Type tile);
  const layout::SharedLayout& shared_layout_of(Type view);
  Value* dim(Dim dim) { return sizes_.of(dim); }

  // thread_index.cc: where a thread's elements are.
  Value* thread_coordinate(const layout::Layout& layout, int axis);
  Value* field(Value* index, const layout::IndexField& field);
  Value* term(const layout::ThreadTerm& term);
  Value* is_zero(Value* index, const std::vector<layout::IndexField>& fields);
  /// True in the one thread of those that hold copies of the same elements that acts for them; null when there are
  /// no copies.
  Value* is_canonical(const layout::Layout& layout);
  /// Runs what `body` emits in one thread of the current ones.
  template <typename F>
  void in_one_thread(F&& body);
  template <typename F>
  void where(Value* condition, F&& body);

  // lower_access.cc: loads and stores.
  /// Limits are values of the tile level, null or left out where there are none.
  Access edges(Type tile, const std::vector<Value*>& limits);
  Value* is_cut(Op* op, const std::vector<Value*>& limits);
  Value* below_limits(Type tile, const std::vector<Value*>& limits);
  Access global_access(Memory memory, Type tile, const std::vector<Value*>& offsets,
                       const std::vector<Value*>& limits);
  int64_t access_alignment(const Access& access, Memory memory, const std::vector<Value*>& offsets,
                   const std::vector<Value*>& limits);
  Value* address(Access& access, const layout::Point& part);
  Value* is_there(Access& access, const layout::Point& part);
  Value* stride_bytes(Dim stride, DType dtype, int64_t count);
  void lower_view(Op* op);
  void lower_load(Op* op);
  void lower_store(Op* op);
  void lower_gather(Op* op);

  // lower_coordinates.cc
  std::pair<Value*, Value*> place_of(Memory memory, const std::vector<Value*>& index, int64_t r);
  /// How many registers one access by coordinates can move: neighbours in memory, aligned as a whole, and all of them
  /// inside of it and below the limits, or none.
  int neighbours(Memory memory, Type tile, const std::vector<Value*>& index, const std::vector<Value*>& limits);
  std::vector<int64_t> registers(int64_t first, int count);
  void lower_take(Op* op);
  void lower_scatter(Op* op);

  // check_access.cc: with a log, accesses outside of memory are reported and do not happen.
  void check_access(Op* op);
  std::vector<CheckedRange> checked_ranges(Value* memory, Type tile, const std::vector<Value*>& offsets,
                                           const std::vector<Value*>& limits);
  void check_rows(Op* gather);

  // lower_shared.cc: shared memory.
  void lower_alloc_shared(Op* op);
  void lower_slot(Op* op);
  /// Memory without a layout is accessed as global memory is.
  bool has_layout(Type memory) const { return memory->is(TypeKind::View) && !memory->layout.empty(); }
  Value* shared_offset(const layout::SharedLayout& shared, const std::vector<Value*>& coordinates);
  std::vector<Value*> shared_addresses(Memory memory, const layout::Layout& layout, int width, bool few = false);
  Value* load_shared(Memory memory, Type tile);
  void store_shared(Value* stored, Memory memory, Type tile);
  Value* load_matrices(Memory memory, Type tile, const layout::MatrixAccess& access);
  void store_matrices(Value* stored, Memory memory, const layout::MatrixAccess& access);

  // lower_shape.cc: the same elements in other registers.
  std::vector<int64_t> register_map(const layout::Layout& from, const layout::Layout& to,
                                    const std::vector<int>& axes, const layout::Point& start = {});
  void lower_same_elements(Op* op);
  void lower_iota(Op* op);
  void lower_merge(Op* op);
  void lower_convert(Op* op);
  Value* in_lanes(uint32_t mask);
  Value* exchange_lanes(Value* from, const layout::Conversion& plan, int registers);
  Value* shuffled(Value* offered, const layout::Conversion& plan, const layout::ShuffleRound& round);
  Value* pick(Value* reg, const std::vector<int64_t>& lanes);
  Value* concat(const std::vector<Value*>& parts);

  // lower_reduce.cc
  void lower_reduce(Op* op);
  /// The operand of an op that combines elements along an axis, with what lies past the limit (null: nothing does)
  /// replaced by the number that changes nothing.
  Value* mask_past_limit(Op* op, Value* limit, Value* reg);
  Value* within_thread(Op* reduce, const layout::Reduction& plan, ElementwiseKind kind);
  Value* combine_registers(const layout::Reduction& plan, ElementwiseKind kind, Value* reg);
  Value* combine(ElementwiseKind kind, std::vector<Value*> values);
  Value* across_warps(Op* op, const layout::Reduction& plan, ElementwiseKind kind, Value* partial);

  // lower_scan.cc
  struct ScanState;
  void lower_scan(Op* op);
  void scan_registers(ScanState& scan, const layout::ScanStep& step);
  void scan_lanes(ScanState& scan, const layout::ScanStep& step);
  void scan_warps(ScanState& scan, const layout::ScanStep& step);
  /// `running` comes before what the group's registers have, where the condition holds (null: everywhere).
  void put_before(ScanState& scan, int group, Value* running, Value* where);

  // lower_control.cc
  void lower_for(Op* op);
  void lower_if(Op* op);
  Value* warpgroup();
  Value* next_warpgroup();
  void order_barrier(target::OpKind kind, Value* warpgroup);
  void begin_order(Op* role);
  void lower_role(Op* op);

  // lower_async.cc: copies, barriers, matrix units.
  void lower_copy_async(Op* op);
  void lower_copy_by_threads(Op* op);
  void lower_store_async(Op* op);
  void lower_store_wait(Op* op);
  void lower_barriers(Op* op);
  void lower_barrier_expect(Op* op);
  void lower_barrier_arrive(Op* op);
  void lower_barrier_wait(Op* op);
  void lower_barrier();
  void lower_mma(Op* op);
  void lower_wgmma(Op* op, const MmaInstruction& instruction);
  std::vector<Value*> left_factors(Op* mma, int32_t rows, int32_t steps);
  Value* matrix_descriptor(Value* base, int64_t bytes, const layout::WgmmaOperand& operand);
  void lower_mma_sync(Op* op, const MmaInstruction& instruction);
  void lower_fma(Op* op);
  void lower_mma_wait(Op* op);
  /// The part of a tile that this block copies for its cluster: rows, of the axis that is not contiguous.
  struct CopyPart {
    int64_t parts = 1;        ///< of as many rows each
    Value* row = nullptr;     ///< the first one, i32; null: the block copies the whole tile for itself
    Value* offset = nullptr;  ///< of that row in shared memory, bytes, i32
    Value* blocks = nullptr;  ///< a bit for each block of the cluster that gets it, i32
  };
  CopyPart part_of_copy(Op* copy);
  /// The parameter that describes boxes of a global tensor to the copy engine: tiles, or one of `parts` of their rows.
  Value* descriptor(Value* global, Type shared, int64_t parts = 1);
  Value* descriptor_argument(Attr map);
  /// Coordinates of a window's begin and of a tap, the last axis first; after those of windows the image's number.
  struct WindowPlace {
    std::vector<Value*> begin, taps;
  };
  Value* window_descriptor(Op* windows, const layout::SharedLayout& shared, int64_t parts);
  template <typename F>
  void where_known(Value* known, F&& emit);
  WindowPlace window_place(Op* windows, const std::vector<Value*>& offsets, Value* before);
  void load_box(Value* map, const std::vector<Value*>& at, Value* address, Value* barrier, const CopyPart& part,
                const std::vector<Value*>& taps);
  void lower_window_copy(Op* op, Op* windows, Value* map, const CopyPart& part);
  template <typename F>
  void for_each_column(Value* global, Value* shared, const std::vector<Value*>& offsets, const CopyPart& part,
                       F&& emit);

  Op* kernel_;
  Op* current_ = nullptr;  ///< that is being lowered
  const PassContext& context_;
  const Machine& machine_;
  DiagnosticEngine& diagnostics_;
  bool failed_ = false;
  Op* func_;
  TargetBuilder b_;
  Sizes sizes_{b_};
  Divisibility divisibility_;
  Neighbours neighbours_{divisibility_};
  std::vector<DimFact> facts_;  ///< what the kernel assumes
  Threads threads_;
  int64_t roles_ = 0;
  bool has_roles_ = false;
  int64_t order_barriers_ = 16;  ///< named barriers from there on are taken
  std::vector<Value*> program_ids_;
  Value* shared_base_ = nullptr;
  Value* log_ = nullptr;      ///< of a checked kernel
  Value* allowed_ = nullptr;  ///< whether the access at hand may happen; null where it surely may
  std::unordered_map<Value*, Value*> values_;
  std::unordered_map<Value*, Memory> memories_;
  std::map<std::string_view, layout::Layout> layouts_;
  std::map<std::string_view, layout::SharedLayout> shared_layouts_;
  std::vector<Attr> descriptors_;
  std::map<Attr, Value*> descriptor_args_;
};

}  // namespace tessera

#pragma once
// The state of tile_to_x86 for one kernel. One method per tile op, spread over files by family.

#include <unordered_map>
#include <unordered_set>

#include "ir/numbers/machine.h"
#include "ir/target/ops.h"
#include "passes/pass.h"
#include "passes/target/target_builder.h"
#include "passes/tile/common/access_check.h"
#include "passes/tile/common/sizes.h"
#include "passes/tile/x86/fragment.h"

namespace tessera {

/// What memory holds elements of that dtype as.
inline DType stored_dtype(DType dtype) { return dtype == DType::Bool ? DType::U8 : dtype; }

class KernelLowering {
 public:
  KernelLowering(Op* kernel, Op* func, const Machine& machine);
  /// Fills `func`, an empty target.func, with the kernel's body.
  void run();

 private:
  /// Memory that a view or parameter names: its address and type.
  struct Memory {
    Value* base;
    Type type;
  };

  /// One access of a fragment: the address of its first element, per axis of the tile the stride in elements and
  /// the limit (null where all elements are there).
  struct Access {
    Value* address;
    FragmentShape shape;
    DType dtype;
    std::vector<Dim> strides;
    std::vector<Value*> limits;
  };

  /// Elements by their coordinates: bytes from the base, and whether they are in the memory.
  struct Places {
    Value* base;
    Value* bytes;
    Value* inside;
  };

  // kernel_lowering.cc: kernel, programs, scalars, elementwise ops.
  void make_entry();
  void lower_block(Block* block);
  void lower(Op* op);
  void lower_elementwise(Op* op);
  void lower_constant(Op* op);
  void lower_splat(Op* op);
  Value* scalar(Value* tile_value) const { return values_.at(tile_value).front(); }
  void define(Value* tile_value, std::vector<Value*> parts) { values_[tile_value] = std::move(parts); }
  /// The fragment of a tile value.
  Fragment fragment(Value* tile_value) const;
  FragmentShape shape_of(Value* tile_value) const;
  FragmentShape shape_of(Type tile) const;
  std::vector<Type> part_types(Value* tile_value) const;

  Value* dim(Dim dim) { return sizes_.of(dim); }

  // lower_control.cc
  void lower_for(Op* op);
  Block* lower_iterations(Op* op, Value* from, Value* bound, int64_t copies,
                          std::vector<Value*>& carried, Value*& index);
  void lower_if(Op* op);
  std::vector<Value*> flatten(const std::vector<Value*>& tile_values) const;
  void unflatten(const std::vector<Value*>& tile_values, const std::vector<Value*>& parts);

  // lower_access.cc: addresses, limits, loads and stores.
  Memory memory(Value* memory) const { return memories_.at(memory); }
  Access access(Memory memory, Type tile, FragmentShape shape, const std::vector<Value*>& offsets,
                const std::vector<Value*>& limits);
  Value* bytes(Value* elements, DType dtype);
  Value* row_address(const Access& access, const std::vector<int64_t>& index);
  Value* element_address(const Access& access, Value* row, int64_t column);
  /// How many columns of a row are there; null for all.
  Value* row_count(const Access& access, const std::vector<int64_t>& index);
  void lower_view(Op* op);
  void lower_alloc(Op* op);
  void lower_load(Op* op);
  std::vector<Value*> load_parts(const Access& access, Value* fill);
  Value* load_part(const Access& access, Value* row, Value* count, int64_t part, Value* fill);
  Value* load_strided(const Access& access, Value* row, Value* count, int64_t part, Value* fill);
  Value* load_one(Value* address, Type type, Value* count, Value* fill);
  void lower_store(Op* op);
  void store_parts(const Access& access, const std::vector<Value*>& parts);
  void store_part(const Access& access, Value* row, Value* count, int64_t part, Value* value);
  void store_one(Value* value, Value* address, Value* count);
  void lower_gather(Op* op);

  // lower_coordinates.cc
  Places places_of(Memory memory, const std::vector<Value*>& index, size_t part, int64_t lanes);
  void lower_take(Op* op);
  Value* take_lanes(const Places& places, int64_t lanes, Value* outside);
  void lower_scatter(Op* op);
  void put_element(bool adds, Value* element, Value* address, Value* wanted);
  static bool is_transposed(const Access& access);
  static Access transposed(const Access& access);

  // check_access.cc: with a log, accesses outside of memory are reported and the program is left.
  void check_access(Op* op);
  std::vector<CheckedRange> checked_ranges(Value* memory, Type tile, const std::vector<Value*>& offsets,
                                           const std::vector<Value*>& limits);
  std::vector<CheckedRange> gathered_ranges(Op* gather);

  // lower_shape.cc
  void lower_broadcast(Op* op);
  void lower_reshape(Op* op);
  /// Defines a value as a fragment with extents of 1 inserted or removed.
  void define_reshaped(Value* tile_value, const Fragment& from);
  void lower_transpose(Op* op);
  void lower_iota(Op* op);
  void lower_merge(Op* op);
  Value* element(const Fragment& from, int64_t row, int64_t column);
  struct Place {
    int64_t row;
    int64_t column;
  };
  /// The part whose element i is the element of `from` at places[i].
  Value* assemble(const Fragment& from, DType dtype, const std::vector<Place>& places);
  std::vector<Value*> transpose_last_two(const Fragment& from, DType dtype);

  // lower_reduce.cc
  void lower_reduce(Op* op);
  Value* reduce_row(ElementwiseKind kind, std::vector<Value*> parts, Value* identity);
  Value* combine(ElementwiseKind kind, std::vector<Value*> values);
  /// The number that changes nothing, bit for bit: -0 for a sum.
  Value* neutral_of(ElementwiseKind kind, DType dtype);
  Value* mask_past(Fragment& from, size_t axis, Value* tile_limit, Value* with);

  // lower_scan.cc
  struct ScanLine;
  void lower_scan(Op* op);
  Value* scan_line(ScanLine& line, Value* before);
  void join_halves(ScanLine& line, int64_t half);
  Value* join_runs(ScanLine& line, Value* running);
  void put_before(ScanLine& line, size_t part, Value* prefix);
  Value* scan_element(const ScanLine& line, const std::vector<Value*>& parts, int64_t element);
  Value* scan_spread(const ScanLine& line, Value* element, size_t part);

  // lower_dot.cc
  void lower_dot(Op* op);
  bool only_multiplies(Value* value) const;

  // lower_tiles.cc: dots in tile registers.
  void find_tile_dots();
  bool is_accumulator(Value* tile_value) const { return accumulators_.contains(tile_value); }
  void zero_accumulators(Value* sum);
  void multiply_tiles(Op* op);
  void store_accumulators(Value* sum, const Access& access);
  void move_tile(target::OpKind kind, const Access& access, int64_t row, int64_t column, int64_t tile);
  void machine_op(target::OpKind kind, std::vector<Value*> operands, std::vector<OpAttr> attributes);

  // lower_pairs.cc: dots of pairs.
  void find_pair_operands();
  void lower_pair_operand(Op* load);
  void lower_dot_pairs(Op* op);
  void lower_pair_rows(Op* op);
  bool loads_pairs(Op* load, const Access& access) const;
  std::vector<Value*> load_pairs(const Access& access, Value* fill);

  Op* kernel_;
  const Machine& machine_;
  TargetBuilder b_;
  Sizes sizes_{b_};
  int64_t lanes_;
  Value* scratch_ = nullptr;
  Value* log_ = nullptr;      ///< of a checked kernel
  Value* program_ = nullptr;  ///< the number of the program at hand
  Block* latch_ = nullptr;    ///< goes on to the next program
  std::vector<Value*> program_ids_;
  std::unordered_map<Value*, std::vector<Value*>> values_;
  std::unordered_map<Value*, Memory> memories_;
  std::unordered_set<Value*> accumulators_;               ///< tile values in tile registers
  std::unordered_map<Value*, Access> pair_operands_;      ///< loads that the dot itself does
  std::unordered_set<Value*> paired_;                     ///< loads that give their rows in pairs already
  Op* func_;
};

/// Why a tile.dot_pairs has no form on that machine; empty where it has one.
std::string pair_dot_problem(Op* dot, const Machine& machine);
/// The same for a dot that is not sequential, whose factors are loads.
std::string matrix_unit_problem(Op* dot, const Machine& machine);
/// Rows lie anywhere, but each in one piece.
bool has_whole_rows(Value* memory);

}  // namespace tessera

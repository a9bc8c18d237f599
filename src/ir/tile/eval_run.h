#pragma once
// A run of a kernel. Ops are methods, by family: eval.cc control and roles, eval_tiles.cc values,
// eval_reduce.cc reductions, eval_scan.cc scans, eval_sort.cc sorts, eval_memory.cc loads and stores, eval_async.cc
// copies and MMAs, eval_barriers.cc barriers and channels.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/layout/layout.h"
#include "ir/tile/eval.h"
#include "ir/tile/eval_role.h"

namespace tessera::tile {

Element element_of(Attr value, DType dtype);
int64_t count_of(const std::vector<int64_t>& dims);
/// c + a x b with rows, columns and k as given; `a` and `b` are in c's dtype.
void add_dot(DType dtype, std::span<const Element> a, std::span<const Element> b,
                 std::span<Element> c, size_t columns, size_t k, size_t present);

class KernelRun {
 public:
  KernelRun(Op* kernel, const DimValues& dims, DiagnosticEngine& diagnostics,
            const RunOptions& options)
      : kernel_(kernel),
        dims_(dims),
        diagnostics_(diagnostics),
        options_(options),
        random_(options.seed.value_or(0)),
        values_(kernel->module()->value_count()) {}

  Status run(std::span<TensorValue* const> parameters);

 private:
  using Position = std::vector<int64_t>;

  EvalValue& at(Value* value) { return values_[value->id()]; }
  int64_t index(Value* value) { return at(value).index(); }
  void fail(const std::string& message) { fail(message, {}, ""); }
  void fail(const std::string& message, const std::vector<DiagnosticNote>& notes,
            const std::string& help);
  int64_t workers() const;
  int64_t size(Dim dim);
  Position sizes(const std::vector<Dim>& dims);

  // Programs and roles.
  bool bind(Block* body, std::span<TensorValue* const> parameters);
  void run_program(Position program);
  void begin_program();
  EvalRole* next_role();
  bool is_ready(EvalRole& role);
  void run_role(EvalRole& role);
  void step(EvalRole& role);
  void end_role(EvalRole& role);
  void end_program();
  void report_stuck();
  std::string lacking(const EvalWait& wait) const;
  uint64_t random(uint64_t below);

  // Control.
  void run_op(Op* op);
  Element number(Op* op);
  void run_for(Op* op);
  void begin_iteration(EvalRole::Frame& frame, std::vector<EvalValue> carried);
  void run_if(Op* op);
  void run_yield(Op* op);
  void run_role_op(Op* op);
  void run_barrier(Op* op);
  void resolve_operands(Op* op);

  // Values.
  EvalValue& make(Op* op, unsigned result = 0);
  void scalar(Op* op, Element value) { make(op).elements[0] = value; }
  void fill(Op* op, Element value);
  void run_elementwise(Op* op);
  void run_same(Op* op);
  void run_iota(Op* op);
  void run_broadcast(Op* op);
  void run_transpose(Op* op);
  void run_merge(Op* op);
  void run_slice(Op* op);
  void run_reduce(Op* op);
  void run_scan(Op* op);
  void run_sort(Op* op);
  void run_dot(Op* op);
  void run_pair_rows(Op* op);
  void run_dot_pairs(Op* op);
  std::vector<Element> widened(const std::vector<Element>& elements, DType from, DType to);
  bool below(const Position& position, const std::vector<Value*>& limits);

  // Memory.
  void window(Value* value, EvalMemory* memory, size_t base, Type type);
  void run_view(Op* op);
  void run_slot(Op* op);
  void run_alloc(Op* op);
  void run_alloc_shared(Op* op);
  void new_scratch(size_t bytes);
  EvalMemory* new_shared(size_t bytes);
  std::optional<int64_t> in_image(const EvalValue& view, const Position& position);
  /// The byte where the element is; nothing of windows outside of their image, or where an error was reported.
  std::optional<size_t> address(const EvalValue& window, const Position& position, DType dtype);
  Element read(const EvalValue& window, const Position& position, DType dtype,
               const AccessMade& made, uint8_t warp);
  Position shifted(const std::vector<Value*>& offsets, const Position& position);
  void run_load(Op* op);
  void run_store(Op* op);
  std::optional<size_t> place_of(const EvalValue& window, const std::vector<Value*>& index, size_t flat, DType dtype);
  void run_take(Op* op);
  void run_scatter(Op* op);
  void run_gather(Op* op);
  AccessMade make_access(Stream stream, uint32_t number, bool write);
  AccessMade plain_access(const EvalValue& window, bool write);
  void touch(EvalMemory& memory, size_t byte, size_t bytes, const AccessMade& made, uint8_t warp);
  void report_conflict(const Conflict& conflict, const AccessMade& made);
  const std::vector<uint8_t>& warps_of(Type tile, bool stores);

  // Copies and MMAs.
  void run_copy_async(Op* op);
  void run_copy_wait(Op* op);
  void run_store_async(Op* op);
  void run_store_wait(Op* op);
  void run_mma(Op* op);
  void run_mma_wait(Op* op);
  void touch_all(const EvalValue& window, DType dtype, const AccessMade& made);
  void move(const EvalCopy& copy);
  void land(size_t which);
  void multiply(EvalMma& mma);
  std::vector<Element> contents(const EvalValue& window, DType dtype, DType to);
  uint32_t waited(Op* op, uint32_t issued);

  // Barriers.
  void run_barriers(Op* op);
  void run_channel(Op* op);
  EvalBarrier& barrier_of(Value* value);
  void arrive(EvalBarrier& barrier, int64_t count, Knowledge knowledge, int64_t bytes);
  bool wait_for(EvalBarrier& barrier, int64_t phase);
  void run_arrive(Op* op);
  void run_barrier_wait(Op* op);
  struct Iteration {
    EvalChannel* channel;
    int64_t number, slot, round;
  };
  std::optional<Iteration> iteration_of(Op* op);
  void run_acquire(Op* op);
  void run_channel_wait(Op* op);
  void run_release(Op* op);

  Op* kernel_;
  const DimValues& dims_;
  DiagnosticEngine& diagnostics_;
  const RunOptions& options_;
  uint64_t random_;
  std::vector<EvalValue> values_;
  std::vector<EvalMemory> buffers_;
  std::map<std::string_view, layout::SharedLayout> shared_layouts_;
  std::map<std::pair<std::string_view, bool>, std::vector<uint8_t>> tile_warps_;

  // Of the program that is being run.
  std::vector<int64_t> program_;
  std::deque<EvalMemory> scratch_;
  std::deque<EvalMemory> shared_;
  std::vector<std::unique_ptr<std::byte[]>> arena_;
  std::vector<MemoryAccess> accesses_;
  std::deque<EvalRole> roles_;  ///< the first runs the ops outside of roles
  std::deque<std::vector<EvalBarrier>> barriers_;
  std::deque<EvalChannel> channels_;
  std::vector<EvalCopy> in_flight_;  ///< copies that count at barriers
  uint32_t copies_ = 0;
  size_t role_count_ = 0;

  EvalRole* role_ = nullptr;
  Op* op_ = nullptr;
  bool failed_ = false;
};

}  // namespace tessera::tile

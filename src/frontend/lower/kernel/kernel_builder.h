#pragma once
// Builds a sched.kernel from the source of a @kernel function, for given operand types. The
// function's body is run by an Evaluator: what is known at compile time is computed, what is not
// becomes Schedule ops. Axes and grid come from `tile.context`, extents of tiles from the schedule,
// which is merged from the target's table, the decorators and the request, in that order.
//
// The kernel has its own dimension symbols, those of its signature. A dimension that is constant in
// the operands is substituted, so it is a number everywhere in the body.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/lower/kernel/kernel_function.h"
#include "frontend/lower/kernel/tile_ops.h"
#include "frontend/values/schedule_table.h"
#include "ir/schedule/kernel_library.h"
#include "ir/text/window_shape.h"

namespace tessera::frontend {

class KernelBuilder final : public Lowering {
 public:
  using FunctionTable = std::map<std::string, const Function*, std::less<>>;
  /// `table` may be null; `functions` are those that arguments name.
  KernelBuilder(Session& session, Module& module, const Function& function,
                const schedule::KernelRequest& request, const ScheduleTable* table,
                const FunctionTable& functions, Arguments arguments = Arguments::Given);
  KernelBuilder(const KernelBuilder&) = delete;

  /// The kernel; nothing is left in the module when an error was reported.
  Result<schedule::KernelInstance> build();

 private:
  using LoopTiles = KernelFunction::LoopTiles;
  using Region = KernelFunction::Region;
  using Tuned = KernelFunction::Tuned;

  // What the evaluation asks.
  std::optional<Datum> elementwise(ElementwiseKind kind, std::span<const Datum> operands,
                                   const OperatorPlace& at) override;
  std::optional<Datum> matmul(const Datum& a, const Datum& b, const OperatorPlace& at) override;
  std::optional<Datum> attribute(const Datum& object, const ast::Identifier& name, Loc loc) override;
  std::optional<Datum> subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) override;
  std::optional<Datum> call_builtin(const Builtin& builtin, const BoundArguments& arguments, Loc loc) override;
  std::optional<Datum> call_object(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc) override;
  std::optional<Datum> call_function(const Function& function, std::vector<CallArgument>& arguments,
                                     Loc loc) override;
  std::optional<Datum> param(const ParamDeclaration& declaration, Loc loc) override;
  std::optional<Flow> for_each(const Datum& iterable, const ast::For& loop, Scope& scope) override;
  std::optional<Flow> branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) override;
  std::optional<Flow> while_loop(const ast::While&, Scope&) override { return std::nullopt; }
  Datum annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc) override;
  Datum assigned(std::string_view name, Datum value, Loc loc) override;
  bool expression_statement(const ast::Expr& expr, const Datum& value, Scope& scope) override;
  void enter(const Placement&, Loc) override {}
  void opened(const Scope& scope) override { kernel_.own_scopes.insert(&scope); }
  Datum received(const Scope& from, Datum value) override;
  Loc declared_at(const Value* value) const override;
  Dim size_of(const IrValue&) override { return nullptr; }
  bool is_counted(Dim) const override { return false; }
  Dim as_written(Dim dim) override { return dim; }
  Module* built() const override { return nullptr; }
  bool may_grow(Loc loc) override;

  Session& session() const { return evaluator_.session(); }
  Context& context() const { return evaluator_.context(); }
  DimTable& dims() const { return evaluator_.dims(); }
  const Blame& blame() const { return evaluator_.blame(); }
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) const {
    return evaluator_.report(kind, loc, args...);
  }

  // Operators, members and calls of values of the IR (kernel_values.cc).
  Datum refuse_subscript(const Datum& tensor, ast::ExprList indices, Scope& scope, Loc loc);
  Datum report_builtin(const Builtin& builtin, Loc loc);

  // Signature and parameters (kernel_builder.cc).
  bool check_signature();
  bool bind_operands();
  void bind_arguments();
  bool check_operands();
  bool define_sizes(Scope& scope, bool own);
  bool define_dtypes();
  std::string_view size_name(std::string_view name) const;
  void unify_sizes(const ast::Expr& clause);
  void unify_sizes(std::string_view left, std::string_view right);
  bool define_symbols();
  bool check_where();
  std::vector<TypePattern> result_patterns() const;
  bool create_kernel();
  std::optional<std::vector<CallArgument>> arguments();
  Type operand_of(const SignatureParameter& parameter, size_t& next) const;
  Datum from_attr(Attr attr);
  bool store_results(const CallFrame& done);
  bool store_result(const Datum& result, size_t n, Loc written);
  bool help_transposed(DiagnosticEngine::Builder& builder, std::string_view given, std::string_view wanted, Loc loc);
  Value* with_result_dtype(Value* value, DType dtype, size_t n, Loc loc);
  void finish_kernel(schedule::KernelInstance& instance);

  // Sizes of the caller (kernel_sizes.cc).
  Dim own_size(Dim of_caller) const;
  Dim captured_size(Dim of_source);
  Datum captured(const Datum& value);
  Datum own_argument(Attr attr);

  // Axes and schedule (kernel_context.cc).
  Datum open_context(const Datum& axes, Loc loc);
  bool declare_axes(const Datum& axes, Loc loc);
  bool infer_axes(Loc loc);
  bool tie_axis(std::string_view name, const SignatureParameter& parameter,
                const std::vector<Dim>& extents, size_t dim, Loc loc);
  bool add_axis(std::string_view name, Dim extent, const ast::Expr* source, Loc loc);
  std::string new_axis_name(Dim extent) const;
  bool check_results();
  void choose_grid();
  bool read_decorators(std::vector<ScheduleLayer>& layers);
  bool read_decorator(const ast::Decorator& decorator, std::vector<ScheduleLayer>& layers);
  bool choose_blocks(Loc loc);
  bool is_shared_by_columns(std::string_view axis) const;
  int64_t tile_extent(int64_t chosen, Dim extent) const;
  bool check_keywords(const ast::Decorator& decorator, bool is_tuned);
  bool report_keys(const ast::Decorator& decorator, bool is_tuned);
  void warn_of_replaced(const std::vector<ScheduleLayer>& layers);
  bool check_tuning(const ast::Argument& argument, const Datum& value);
  void warn_of_tuning(const Tuned& tuned, const std::map<std::string, int64_t>& block);
  std::map<std::string, int64_t> block_of(const ScheduleLayer& layer) const;
  void warn_if_unread(std::string_view key, Attr value, Loc loc, std::string_view where = "the schedule");
  bool apply(const ScheduleLayer& layer, std::map<std::string, int64_t>& block, Loc loc);
  bool is_used(const KernelAxis& axis);
  void create_grid();
  /// The axis of each dimension of a type, if it has one; no axis is given twice.
  std::vector<const KernelAxis*> match_axes(const std::vector<DimPattern>& patterns,
                                            const std::vector<Dim>& dims) const;
  const KernelAxis* find_axis(std::string_view name) const;
  Datum context_member(const ast::Identifier& name);

  // Intrinsics (kernel_intrinsics.cc).
  bool has_errors() const { return session().error_count() != kernel_.errors_before; }
  bool has_context(std::string_view what, Loc loc);
  bool check_extents(const std::vector<Dim>& extents, Loc loc);
  Datum call_tile(const Builtin& builtin, const BoundArguments& arguments, Loc loc);
  bool report_displaced_sum(const BoundArguments& arguments);
  Datum call_common(const Builtin& builtin, const BoundArguments& arguments, Loc loc);
  Datum reduce(std::string_view kind, const BoundArguments& arguments, size_t axis, Loc loc);
  Datum mean(Value* tile, const std::vector<int64_t>& axes, const Datum& sum, Loc loc);
  Datum scan(const BoundArguments& arguments);
  Datum cast_to(const Datum& value, const Datum& dtype, Loc loc, Loc dtype_loc);
  Datum full(const BoundArguments& arguments, const Datum& value, const Datum& dtype);
  Datum arange(const BoundArguments& arguments);
  bool check_coordinates(bool rows, const std::vector<const KernelAxis*>& grid, Loc call);
  Datum coordinates(bool rows, const BoundArguments& arguments);
  const KernelAxis* axis_of_index(const Datum& index) const;
  const KernelAxis* axis_of_index(const Value* index) const;
  std::optional<bool> keepdims(const BoundArguments& arguments, size_t at);

  // Ends of axes that no load sees (kernel_edges.cc).
  std::vector<const KernelAxis*> axes_of(const Datum& shape) const;
  Datum made(Datum tile, std::vector<const KernelAxis*> axes);
  Value* numbered(const TilePlace& place, Loc loc);
  const KernelAxis* axis_along(Value* tile, size_t axis);
  Value* tile_of(const KernelAxis& axis, Op* user) const;
  bool is_counted(const TilePlace& place) const;
  Value* limit_of(const TilePlace& place, Op* user);
  bool is_whole(const TilePlace& place) const;
  bool end_apart(const std::vector<TilePlace>& places) const;
  Value* filled_limit(const std::vector<TilePlace>& places, Op* user);
  bool check_yielded(Op* op, const std::vector<TilePlace>& places);
  bool limit_operand(Op* op, unsigned operand, const std::vector<std::vector<std::pair<Value*, size_t>>>& sources);
  std::vector<Op*> combining_ops() const;
  std::set<std::string> combined_single_axes();
  bool limit_tiles();
  void count_means();
  Value* elements_along(Value* tile, size_t axis, Op* user);

  // Warnings (warnings/). Axes of which one part is read (kernel_coverage.cc).
  struct OnePart {
    std::string why, help;
  };
  struct TakenPart {
    Op* op;
    const SignatureParameter* of;
    size_t dim;
    const KernelAxis* axis;  ///< null for none
    Value* index;
    Dim tile, extent;
  };
  std::vector<TakenPart> taken_parts();
  bool is_only_part(const TakenPart& taken, const std::vector<TakenPart>& all) const;
  std::pair<const LoopTiles*, bool> loop_over(const TakenPart& taken) const;
  std::optional<OnePart> one_part_of(const TakenPart& taken, const std::vector<TakenPart>& all) const;
  bool is_stored_along(const TakenPart& taken) const;
  void warn_of_parts();
  static bool has_bounds(const Value* counter);
  void warn_of_extents();
  std::vector<const KernelAxis*> combined_axes_of(Op* op);
  bool reaches_block(Value* value, const KernelAxis& axis, std::set<const Value*>& seen) const;
  bool has_part_for_each_block(const KernelAxis& axis) const;
  void warn_of_blocks();
  bool has_use(const KernelAxis& axis) const;
  void warn_of_unused_axes();

  // Loops whose iterations replace what others made (kernel_iterations.cc).
  void warn_of_carried(Op* loop);
  void warn_of_stored(Op* loop);
  void warn_of_counter(Op* loop);
  void warn_of_iterations();
  void warn_of_means();
  void warn_of_sums();

  // What is asked for and not used (kernel_unread.cc).
  void warn_of_memory();
  bool is_placed(Value* numbers, const KernelAxis& axis, std::set<const Value*>& seen) const;
  void warn_of_numbers();

  // Axes that are one tile for no need (kernel_blocks.cc).
  bool is_added_up(Value* sum);
  void find_combined(std::set<const KernelAxis*>& whole);
  std::set<const KernelAxis*> whole_axes();
  std::vector<std::string> suggested_blocks();
  void warn_of_one_program();

  // A parameter of type KVCache (kernel_cache.cc).
  bool bind_cache(const SignatureParameter& parameter, size_t first);
  Dim own_dim(Dim of_caller) const;
  Datum add_cache(const SignatureParameter& parameter, size_t& next);
  Datum cache_member(const CacheParameter& cache, const ast::Identifier& name);
  Datum cache_length(Loc loc);
  bool is_cache_shape(const std::vector<Dim>& shape) const;
  Value* index_over_cache();
  Datum past_length(const Datum& scores, Loc loc);

  // Softmax over blocks (kernel_softmax.cc).
  Datum apply_kind(ElementwiseKind kind, std::initializer_list<Datum> operands, Loc loc);
  Datum as_column(const Datum& rows);
  struct SoftmaxBase {
    Datum scale;     ///< what a score is multiplied by
    Datum exponent;  ///< the maximum times that
  };
  SoftmaxBase softmax_base(const Datum& most, const Datum& scale, Loc loc);
  Datum softmax_power(const Datum& exponent, Loc loc);
  Datum softmax_weights(const Datum& scores, const SoftmaxBase& base, Loc loc);
  Datum softmax_factor(const Datum& most, const SoftmaxBase& base, Loc loc);
  Datum softmax_online(const BoundArguments& arguments);
  Datum softmax_accumulate(const BoundArguments& arguments);
  Datum mask_causal(const BoundArguments& arguments);
  Datum materialised(const Datum& datum);
  Datum divisor(const Datum& by, Loc loc);

  // Regions (kernel_regions.cc).
  using Place = std::vector<std::pair<Value*, Dim>>;  ///< per dimension: the index and extent of a tile
  // Tiles by the axes that they are of (kernel_places.cc).
  std::vector<const KernelAxis*> grid_axes_along(Value* tile, size_t axis);
  bool lies_otherwise(Value* tile, const Place& place, std::string& given, std::string& wanted);

  // What the axes of tiles run along (kernel_lines.cc).
  /// An axis of the kernel, or a loop over tiles of something else.
  struct Line {
    const KernelAxis* axis = nullptr;
    const LoopTiles* loop = nullptr;
    Dim extent() const { return axis ? axis->extent : loop->extent; }
    Dim tile() const { return axis ? axis->tile : loop->step; }
  };
  using TileAxis = std::pair<Value*, size_t>;
  using Pair = std::pair<Line, Line>;
  std::optional<Line> line_of(const TilePlace& place) const;
  static bool differ(const Line& a, const Line& b);
  std::optional<std::string> other_loop(Value* tile, size_t axis, const KernelAxis& of) const;
  std::optional<Pair> unrelated(EdgeSearch& search, TileAxis a, TileAxis b) const;
  std::optional<Pair> unrelated_in(EdgeSearch& search, Op* op) const;
  const KernelAxis* axis_along(EdgeSearch& search, Value* tile, size_t axis) const;
  void help_transpose(DiagnosticEngine::Builder& builder, EdgeSearch& search, Op* dot) const;
  bool help_column(DiagnosticEngine::Builder& builder, EdgeSearch& search, Op* op) const;
  bool check_lines();

  // What indices count (kernel_indices.cc).
  struct Counter {
    std::string name;
    Loc loc;                         ///< of the loop; unknown for a program's index
    const KernelAxis *over, *steps;  ///< the axis that is counted along, and that of the steps; null for no axis
    Dim extent, step;
  };
  const KernelAxis* axis_over(const ast::For& loop) const;
  std::optional<Counter> counter_of(const Value* index) const;
  struct WrongIndex {
    std::string counts, wanted;  ///< `wanted` with {} for the dimension
    const KernelAxis* axis;      ///< whose index it should be; null for 0
  };
  std::optional<WrongIndex> wrong_index(const Counter& counter, const KernelAxis* axis, const KernelAxis* asked,
                                        bool is_whole) const;
  std::string index_text(const KernelAxis& axis, Op* op) const;
  bool check_indices();
  size_t parts_of(const Value* memory) const;
  std::string asked_text(Op* op, size_t axis, Dim extent, Dim tile) const;
  bool check_loop_extents();

  // Tiles by the axes that they are of, continued (kernel_places.cc).
  void warn_of_elements(const Datum& index, Dim tile, std::string_view by);
  std::optional<std::vector<Datum>> split_index(const Datum& index, const IrValue& tensor, size_t tile_rank, Loc call,
                                                std::string_view by);
  Value* tile_number(const Datum& index, Dim extent, Dim tile, Loc loc, std::string_view by);
  bool check_privileges(const TypePattern& type);
  bool declare_regions();
  Region* region_of(const Value* tensor);
  bool check_load(const Value* tensor, Loc loc);
  /// The region that is written to, and what is written in its dtype; null when an error was
  /// reported.
  Region* written_region(const Datum& tensor, Loc loc, std::string_view by);
  Value* value_for(const Region& region, const Datum& stored, Loc loc);
  bool report_swapped(const Datum& stored, const Datum& to, const BoundArguments& arguments);
  Datum store(const BoundArguments& arguments);
  std::optional<Place> stored_place(const IrValue& tensor, Value* value, const BoundArguments& arguments);
  std::vector<const KernelAxis*> unused_axes(const Place& place) const;
  bool covers(const Region& region, const Place& place);
  bool store_tile(Region& region, Value* value, const Place& place, Loc loc);
  bool add_part(Region& region, Value* value, const Place& place, Loc loc);
  bool check_regions();
  void describe_regions(schedule::KernelInstance& instance,
                        const std::map<std::string, Dim, std::less<>>& to_caller);

  // Explicit memory (kernel_memory.cc).
  bool is_memory(const Datum& datum) const;
  Datum alloc(const BoundArguments& arguments);
  Datum slot(const Datum& memory, ast::ExprList indices, Scope& scope, Loc loc);
  Datum load_memory(const Datum& memory, const BoundArguments& arguments);
  Datum store_memory(const Datum& memory, const Datum& stored, const BoundArguments& arguments);
  Datum async_copy(const BoundArguments& arguments);
  Datum wait(const BoundArguments& arguments);
  Datum barrier(const BoundArguments& arguments);
  bool check_memory();

  // Elements by their coordinates (kernel_coordinates.cc).
  std::optional<std::vector<Value*>> coordinates_of(const IrValue& tensor, const Datum& given, Loc loc,
                                                    std::vector<Dim>& dims);
  std::optional<Datum> rows_and_columns(const IrValue& tensor, const Datum& rows, Type tile, Loc loc);
  bool check_scatter(const Region& region, bool adds, const BoundArguments& arguments);
  Datum take(const IrValue& tensor, const BoundArguments& arguments);
  Datum scatter(const BoundArguments& arguments, bool adds);

  // Random numbers (kernel_random.cc).
  Datum random_uniform(const BoundArguments& arguments);
  Datum load_seed_of_call(Loc loc);
  Datum undropped(const BoundArguments& arguments, double p, const std::vector<Dim>& dims, bool weights);
  Datum dropout(const BoundArguments& arguments);
  Datum dropped(const Datum& x, const Datum& kept, double factor, Loc loc);
  Value* seed_key(const Datum& seed, size_t rank, Loc loc);
  Value* element_numbers(const std::vector<Dim>& dims, bool weights, Loc loc);

  // Prints under --debug (kernel_print.cc).
  struct PrintPlace;
  Datum print(const BoundArguments& arguments);
  Value* printed_tile(const Datum& value, Loc loc);
  PrintPlace print_place(int64_t first);
  void add_print(const std::string& label, Value* tile, int64_t first, Loc loc);
  Value* print_output(DType dtype, const std::vector<Dim>& dims);
  bool is_print(Op* scatter) const;
  void describe_prints(schedule::KernelInstance& instance, const std::map<std::string, Dim, std::less<>>& to_caller);

  // Branches (kernel_branch.cc).
  struct Arm;
  Datum branch_condition(const Datum& condition, Loc loc);
  void run_arm(Arm& arm, const ast::If& stmt, size_t first, bool holds, Scope& scope);
  Flow run_branch(const Datum& condition, const ast::If& stmt, size_t first, Scope& scope);
  Flow run_arms(const ast::If& stmt, size_t first, Scope& scope);
  void join_arms(Op* op, std::vector<Arm>& arms, const ast::If& stmt, Scope& scope);

  // Loads (kernel_loads.cc).
  void help_tensor_first(DiagnosticEngine::Builder& builder, const BoundArguments& arguments);
  Datum load(const BoundArguments& arguments);
  bool add_hint(const std::string& key, int64_t value, Loc loc);
  Datum load_scalar(const IrValue& tensor, const BoundArguments& arguments);
  Datum load_instance(const IrValue& tensor, const BoundArguments& arguments);
  Datum load_at(const IrValue& tensor, const BoundArguments& arguments);
  Datum load_tied(const IrValue& tensor, const BoundArguments& arguments);
  Datum make_load(const IrValue& tensor, std::vector<Value*> index, const std::vector<Dim>& tile,
                  size_t drop, const BoundArguments& arguments, std::vector<const KernelAxis*> asked = {});
  bool is_windows(const Datum& datum) const;
  std::optional<std::vector<int64_t>> window_numbers(const BoundArguments& arguments, size_t which, size_t axes,
                                                     int64_t least, std::string_view what);
  bool window_padding(const BoundArguments& arguments, WindowShape& shape);
  Datum windows(const BoundArguments& arguments);
  Datum load_windows(const IrValue& windows, const BoundArguments& arguments);
  Datum gather(const BoundArguments& arguments);
  void label_axes(DiagnosticEngine::Builder& builder);
  std::optional<std::pair<Value*, Dim>> instance_tile(const IrValue& tensor, size_t dim, Loc loc);

  // Loops (kernel_loops.cc).
  Datum tile_range(const BoundArguments& arguments, bool of_shape);
  bool bound_range(TileRange& range, const BoundArguments& arguments, size_t at);
  void warn_of_tiles(Value* bound, std::string_view what, Loc loc);
  struct Carried {
    std::string_view name;
    Datum before;
  };
  std::vector<Carried> carried_names(const ast::For& loop, Scope& scope);
  Value* carried_out(const Carried& name, const Datum& now, Loc loc);
  const KernelAxis* axis_of_range(const TileRange& range) const;
  Op* create_pipeline(const TileRange& range, const std::vector<Value*>& inits, Loc loc);
  void close_loop(Op* pipeline, const std::vector<Carried>& names,
                  const std::vector<Carried>& constants, Scope& inner, Scope& scope, Loc loc);

  Evaluator evaluator_;
  const Function& function_;
  const schedule::KernelRequest& request_;
  const ScheduleTable* table_;
  const FunctionTable& functions_;
  Module& module_;
  size_t first_op_;  ///< number of the first op that is built
  TileOps ops_;
  KernelFunction kernel_;
};

}  // namespace tessera::frontend

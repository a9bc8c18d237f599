#pragma once
// Builds graph functions from source: an Evaluator runs the compile-time part, and what has to do with tensors becomes
// gir ops here. Calls are inlined, so each call is checked with the dims it has.
//
// Numerics. A value of type T @accum(A) is stored as T and computed in A. A handle (IrValue) knows
// both: its bits are in the dtype of the IR value, which is T where it was just read or rounded and
// A where it was computed. An op on elements first widens its operands to A; the cast back to T is
// written where the value is returned from a function, given to an annotated name or enters a
// contraction, and nowhere else.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/evaluate/evaluate.h"
#include "frontend/lower/graph/graph_function.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/values/runtime_range.h"
#include "ir/graph/build.h"

namespace tessera::graph {
class Backward;
class DerivativeLibrary;
class Forward;
struct NoDerivative;
}

namespace tessera::frontend {

class GradientFunction;
class MappedFunction;

/// The dtype that an op's operands are promoted to.
struct NumericType {
  DType storage = DType::F32;
  Policies policies;
  bool weak = false;  ///< no operand has a dtype of its own

  DType compute() const { return compute_dtype(storage, policies); }
};

/// The type of a param.
struct ParamType {
  std::vector<Dim> dims;
  std::vector<Loc> dim_places;
  DType storage = DType::F32;
  Policies policies;
};

/// An axis of a value; null for none.
struct ValueAxis {
  const Value* value = nullptr;
  size_t axis = 0;
};

class GraphBuilder final : public Lowering {
 public:
  GraphBuilder(Session& session, Module& module, SourceKernels& kernels, Arguments arguments = Arguments::Given);
  GraphBuilder(const GraphBuilder&) = delete;

  /// Runs what is built.
  Evaluator& evaluator() { return evaluator_; }
  /// Adds the gir.func of an entry of that name; nothing is left of it when an error was reported.
  void build_entry(const Function& function, std::string_view symbol);
  /// Reports entries that leave a dtype open and that no other entry calls.
  void finish_entries();
  /// Whether the function is a built entry, or a call of it was looked at.
  bool was_run(const ast::Def& def) const { return called_.count(&def) != 0; }
  /// @custom_vjp and @custom_jvp are given functions, whether or not a derivative is taken.
  void check_rules(const Function& function);
  /// Runs a function that nothing calls for its errors; nothing is left of it. Of a builder with open arguments.
  /// What calls have to make equal is only said of one that nothing calls and that is of no instance.
  void explore_function(const Function& function, bool is_called = false) { explore(function, is_called, nullptr); }
  /// The same of a module that nothing makes an instance of: its fields, and the methods that nothing runs.
  void explore_module(const ModuleReference& module, const std::function<bool(const ast::Def&)>& lacks_run);
  /// Adds the functions that give params their initial values.
  void build_initialisers();

 private:
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
  std::optional<Datum> call_body(const Function& function, std::vector<CallArgument>& arguments, Loc loc);
  std::optional<Datum> param(const ParamDeclaration& declaration, Loc loc) override;
  std::optional<Flow> for_each(const Datum& iterable, const ast::For& loop, Scope& scope) override;
  std::optional<Flow> branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) override;
  std::optional<Flow> while_loop(const ast::While& loop, Scope& scope) override;
  Datum annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc) override;
  Datum assigned(std::string_view name, Datum value, Loc loc) override;
  bool expression_statement(const ast::Expr&, const Datum&, Scope&) override { return false; }
  void enter(const Placement& placement, Loc loc) override;
  void opened(const Scope&) override {}
  Datum received(const Scope&, Datum value) override { return value; }
  Loc declared_at(const Value* value) const override;
  Dim size_of(const IrValue& value) override;
  bool is_counted(Dim size) const override;
  std::optional<WrittenLoop> loop() const override {
    bool is_here =
        !function_.runtime_loops.empty() && function_.runtime_loops.back().written.frames == evaluator_.frames().size();
    return is_here ? std::optional(function_.runtime_loops.back().written) : std::nullopt;
  }
  void enter_loop(RuntimeLoop loop, WrittenLoop written);
  Dim as_written(Dim dim) override;
  Module* built() const override { return &module_; }
  bool may_grow(Loc) override { return true; }

  Session& session() const { return evaluator_.session(); }
  Context& context() const { return evaluator_.context(); }
  DimTable& dims() const { return evaluator_.dims(); }
  const Blame& blame() const { return evaluator_.blame(); }
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) const {
    return evaluator_.report(kind, loc, args...);
  }

  // Handles and dtypes (graph_values.cc).
  /// Poison, and a diagnostic, for a tensor whose size overflows.
  Datum handle(Value* value, const NumericType& type, Loc loc);
  Value* under_facts(Value* value);
  bool check_extents_constant(std::span<const Dim> extents, Loc loc);
  NumericType type_of(const IrValue& value) const {
    return {value.storage, value.policies, value.weak};
  }
  /// The bits in the dtype they are computed in, or rounded to the dtype they are stored in.
  Value* computed(const IrValue& value);
  Value* stored(const IrValue& value);
  Value* convert(Value* value, DType dtype);
  /// The same of a value that may be weak, which has the digits of the dtype then.
  Value* in_dtype(const IrValue& value, DType dtype);
  Value* round_to(Value* value, const NumericType& type, Loc loc);
  Value* round_stochastically(Value* value, const NumericType& type, Loc loc);
  /// The dtype that the operands of one op are promoted to; reports dtypes that have no common one.
  std::optional<NumericType> promote(std::span<const Datum> operands, bool real, const OperatorPlace& at);
  std::optional<NumericType> promote(const NumericType& a, const NumericType& b, const OperatorPlace& at);
  /// An operand's value in a dtype and with these dims; null when an error was reported.
  Value* operand(const Datum& datum, DType dtype, const std::vector<Dim>& dims, const OperatorPlace& at);
  Value* with_unknown(Value* value, const std::vector<Dim>& dims);
  Value* number(const Datum& datum, DType dtype, const std::vector<Dim>& dims, const OperatorPlace& at);
  /// The tensor that an argument of a function is; a number becomes one of rank 0.
  std::optional<IrValue> expect_tensor(const Datum& datum, Loc loc, std::string_view what);
  /// A dimension of a value for messages; an unnamed value is called `otherwise`.
  DimPlace place(const IrValue& value, size_t axis, std::string_view otherwise) const;
  /// Where the size of an axis comes from.
  Loc place_of(const IrValue& value, size_t axis) const;
  /// The axis of a declared tensor that an axis has its size from; null where that is not known.
  Loc made_at(const IrValue& value) const;
  ValueAxis declared_axis(const IrValue& value, size_t axis) const;
  std::optional<IrValue> expect_float(const Datum& datum, Loc loc, std::string_view function);

  // Elementwise ops (graph_elementwise.cc).
  /// Whether what nothing calls goes on as if two sizes were equal; then it has been warned of where it is to be.
  bool is_assumed(Dim a, Dim b);
  Dim unknown_size();
  std::optional<std::vector<Dim>> common_dims(std::span<const Datum> operands, const OperatorPlace& at);
  bool check_class(ElementwiseKind kind, DType dtype, const OperatorPlace& at);
  bool check_numbers(std::span<const Datum> operands, DType storage, const OperatorPlace& at);
  Datum select(std::span<const Datum> operands, const OperatorPlace& at);
  Datum small_power(const Datum& x, int64_t exponent, const OperatorPlace& at);

  // Contractions and what neural networks are made of (graph_math.cc).
  bool check_matmul(const IrValue& a, const IrValue& b, const OperatorPlace& at);
  ShapeQuestion ask_matmul(const OperatorPlace& at, const IrValue& a, const IrValue& b);
  std::optional<std::vector<Dim>> wanted_result(const OperatorPlace& at);
  std::optional<std::vector<Dim>> match_leading(const IrValue& a, const IrValue& b, const OperatorPlace& at);
  Datum softmax(const BoundArguments& arguments);
  Datum rmsnorm(const BoundArguments& arguments);
  Datum embedding(const BoundArguments& arguments);
  Datum cross_entropy(const BoundArguments& arguments);
  bool report_swapped(const BoundArguments& arguments);
  void help_function(DiagnosticEngine::Builder& builder, const ast::Identifier& name, std::string_view subject,
                     Loc loc, std::optional<std::vector<Edit>> import);
  Datum reduce(std::string_view kind, const BoundArguments& arguments, size_t axis);
  Value* divide_by_count(Value* sum, std::span<const Dim> reduced);

  // einsum (graph_einsum.cc).
  struct Term;
  Datum einsum(const BoundArguments& arguments);
  std::optional<std::vector<Term>> einsum_terms(const std::vector<std::string>& letters,
                                                const BoundArguments& arguments);
  ShapeQuestion ask_einsum(const std::vector<std::string>& letters, const BoundArguments& arguments) const;
  bool same_extents(const Term& a, const Term& b, const std::vector<std::string>& letters,
                    const BoundArguments& arguments);
  Term arranged(const Term& term, const std::string& letters, Loc loc);
  std::optional<Term> multiplied(const Term& a, const Term& b, const std::string& kept, Loc loc);
  std::optional<Term> summed(Term term, const std::string& kept, Loc loc);

  // Attention (graph_attention.cc).
  struct AttentionTensors {
    IrValue q, k, v;
    NumericType type;
  };
  std::optional<AttentionTensors> attention_tensors(const BoundArguments& arguments);
  bool report_exchanged_axes(const AttentionTensors& tensors, const BoundArguments& arguments);
  bool check_attention_dims(const AttentionTensors& tensors, const BoundArguments& arguments);
  bool attention_numbers(const BoundArguments& arguments, graph::Attention& options);
  bool warn_of_bias(const IrValue& bias, const AttentionTensors& tensors, std::span<const Dim> weights,
                    const BoundArguments& arguments);
  Value* attention_bias(const AttentionTensors& tensors, const BoundArguments& arguments);
  Datum flash_attention(const BoundArguments& arguments);
  /// The kernel call that attention with functions of the scores is.
  bool check_parameters(const Function& function, bool is_of_scores, Loc loc);
  bool attention_constants(const graph::Attention& options, const BoundArguments& arguments,
                           std::vector<NamedAttr>& constants);
  Datum attention_kernel(const AttentionTensors& tensors, const graph::Attention& options,
                         const BoundArguments& arguments);
  /// A tensor that a function has around it; null if it has none.
  const Binding* captured_tensor(const Function& function);
  void add_captured(std::vector<OpAttr>& attributes, const Function* kernel, std::span<const Datum> arguments);

  // Shapes (graph_shape.cc, graph_index.cc).
  std::optional<int64_t> expect_axis(const Datum& datum, size_t rank, Loc loc, std::string_view of);
  std::optional<std::vector<int64_t>> expect_axes(const Datum& datum, size_t rank, Loc loc,
                                                  std::string_view of);
  bool lacks_shape(const BoundArguments& arguments, std::string_view function);
  std::optional<std::vector<Dim>> rest_shape(const BoundArguments& arguments, size_t at);
  bool expect_size(Dim dim, Loc loc);
  void report_reshape(const IrValue& x, std::span<const Dim> shape, Dim count, Dim wanted, Dim known,
                      const BoundArguments& arguments);
  Datum reshape(const BoundArguments& arguments);
  Datum transpose(const BoundArguments& arguments);
  Datum transpose(const IrValue& x, const std::vector<int64_t>& perm, Loc loc);
  Datum broadcast_to(const BoundArguments& arguments);
  Datum windows(const BoundArguments& arguments);
  Datum concat(const BoundArguments& arguments);
  void help_axis(DiagnosticEngine::Builder& builder, std::span<const IrValue> parts, const BoundArguments& arguments);
  struct Slicing;
  Datum named_axis(const IrValue& x, const ast::String& name);
  bool check_indices(const IrValue& indices, Loc loc);
  bool index_axis(Slicing& slicing, const ast::Expr& index, Scope& scope);
  std::optional<int64_t> slice_step(const ast::Slice& slice, Scope& scope);
  bool slice_axis(Slicing& slicing, const ast::Slice& slice, Scope& scope);
  struct SliceBound {
    Dim at;       ///< counted from the start
    Dim written;  ///< negative where it counts from the end
  };
  std::optional<Dim> from_start(Dim written, Dim extent, Loc loc);
  std::optional<SliceBound> slice_bound(const ast::Expr* expr, Dim otherwise, Dim extent, Scope& scope);
  bool check_bound(Dim low, Dim high, Dim index, Loc loc, const std::string& what);
  Datum moved(std::string_view function, const Datum& x, std::vector<Datum> arguments, Loc loc);
  Datum gather_axes(const Datum& x, size_t axis, std::vector<Datum> indices, Loc loc);

  // Values from nothing, functions of tiles on whole tensors (graph_create.cc).
  bool is_of_tiles();
  Datum call_tile(const Builtin& builtin, const BoundArguments& arguments, Loc loc);
  Datum create(BuiltinId id, const BoundArguments& arguments);
  Datum arange(const BoundArguments& arguments);
  Datum random(BuiltinId id, const BoundArguments& arguments);
  Datum cast(const BoundArguments& arguments);
  struct Target {
    std::vector<Dim> dims;
    DType dtype = DType::F32;
  };
  std::optional<Target> target(const BoundArguments& arguments, size_t shape, size_t dtype,
                               std::string_view function);

  // Calls (graph_calls.cc).
  /// Binds the arguments that are in `scope` to a signature and defines its symbols there; false
  /// when an error was reported.
  bool bind_seed(const Function& function, const Signature& signature, Scope& scope, std::vector<Loc>& locs, Loc loc);
  static void define_unknown(const Signature& signature, Scope& scope);
  static void define_symbols(const Bindings& bindings, const Function& function, Scope& scope);
  ShapeQuestion ask_arguments(const Signature& signature, Scope& scope, const std::vector<Loc>& locs,
                              std::vector<const TypePattern*>& patterns) const;
  bool bind_signature(const Function& function, const Signature& signature, Scope& scope,
                      const std::vector<Loc>& locs, Loc loc);
  bool bind_constant(const SignatureParameter& parameter, const Datum& value, Loc loc,
                     Bindings& bindings);
  ArgumentType argument_type(const IrValue& value, std::string_view parameter, Loc loc) const;
  Datum finish_result(const Function& function, const Signature& signature, const CallFrame& done, Scope& scope);
  bool is_within_library(const Function& function, Loc call) const;
  Datum call_kernel(const Function& function, std::vector<CallArgument> arguments, Loc loc);
  void widen_operands(const Signature& signature, Scope& scope,
                      std::map<std::string, NumericType, std::less<>>& narrow);
  std::vector<Datum> cache_parts(const Datum& cache, Loc loc);
  bool kernel_operands(const Signature& signature, Scope& scope, const std::vector<Loc>& locs,
                       std::vector<Value*>& operands, std::vector<NamedAttr>& constants, std::vector<Attr>& numbers);
  Attr to_attr(const Datum& value, Loc loc);

  // Written types (graph_types.cc).
  enum class Use { Argument, Stored };
  /// The value in a written type: dtype and dims are checked, and for Use::Stored it is rounded to
  /// the storage dtype. `what` is the subject of messages; poison when an error was reported.
  Datum conform(const TypePattern& pattern, const Datum& value, Scope& scope, Use use, Loc loc,
                const std::string& what);
  Datum conform_tensor(const TypePattern& pattern, const Datum& value, Scope& scope, Use use,
                       Loc loc, const std::string& what);
  Value* in_written_shape(const TypePattern& pattern, Value* value, Scope& scope);
  bool check_dims(const TypePattern& pattern, const IrValue& value, Scope& scope, Loc loc,
                  const std::string& what);
  bool check_widening(const TypePattern& pattern, const NumericType& type, const IrValue& value,
                      Loc loc, const std::string& what);
  /// Reports a dtype that tensors in memory cannot have, i4; `what` has it, such as "parameter 'x'".
  bool check_memory(DType dtype, Loc loc, std::string_view what);
  std::optional<NumericType> written_type(const TypePattern& pattern, Scope& scope);
  Datum rounded(const Datum& value, Loc loc);

  // Sizes and dtypes of an entry (graph_sizes.cc).
  bool default_dtype(const Signature& signature, const DeclaredSymbol& symbol, Scope& scope);
  bool add_size(const Function& function, const SignatureParameter& parameter, Scope& scope);
  static const DeclaredSymbol* open_dtype(const Signature& signature);
  void report_open(const Function& function, const DeclaredSymbol& symbol);
  static const SignatureParameter* open_parameter(const Signature& signature);
  void report_open_state(const SignatureParameter& parameter);
  /// `loc`: where the condition is written.
  void add_guard(const DimFact& fact, std::string_view text, Loc loc);
  bool is_int(Value* value) const;
  Dim computed_size(Value* value);
  /// A bool that is true where all of the facts hold, or where not all do.
  struct SizeCondition {
    std::vector<DimFact> facts;
    bool holds;
  };
  bool is_of_sizes(Value* value) const;
  std::optional<DimFact> size_comparison(Value* value);
  std::optional<SizeCondition> size_condition(Value* value);
  bool compares_sizes(const ast::Compare& compare, Scope& scope);
  bool check_entry_clause(const ast::Expr& clause, Scope& scope);

  // Promises and hints (graph_facts.cc).
  bool record_numerics(const Function& function);
  void check_promise(const Function& function, const Datum& result, const Op* before, Loc loc);
  void add_facts();

  // Run-time loops and branches (graph_control.cc).
  struct Carried;
  struct Branches;
  Carried carried_names(ast::StmtList body, Scope& scope);
  void define_carried(const Carried& carried, const std::vector<Value*>& values, Scope& scope, Loc loc);
  bool may_fit(const Datum& a, const Datum& b, const std::string& what, Loc loc, std::string_view in_a = "",
               std::string_view in_b = "");
  std::optional<std::vector<Value*>> carried_out(const Carried& carried, ast::StmtList body, Scope& inner,
                                                 Scope& outer);
  void spend(const Datum& state, Loc loc);
  void spend_carried(const Carried& carried, Loc loc);
  Block* add_block(Op* op, unsigned region, const std::vector<Value*>& like);
  Op* region_op(graph::OpKind kind, const std::vector<Value*>& operands, const std::vector<Value*>& like,
                std::vector<OpAttr> attributes, Loc loc);
  void yield(const std::vector<Value*>& values, Loc loc);
  static std::vector<Value*> results_of(Op* op);
  void leave(Op* op);
  bool fill_body(const Carried& carried, ast::StmtList body, Block* block, Scope& inner, Scope& outer, Loc loc);
  Flow loop_over_sizes(const RuntimeRange& range, const ast::For& loop, Scope& scope);
  Flow loop_over_values(const RuntimeRange& range, const ast::For& loop, Scope& scope);
  Value* truth(const Datum& condition, Loc loc);
  Flow fill_branch(const ast::If& stmt, size_t arm, bool taken, Block* block, Scope& inner);
  Op* branches_op(const Branches& branches, const std::vector<Value*>& like, Loc loc);
  void rename_under_facts(Scope& around, Scope& inner);
  bool fill_branches(Branches& branches, Scope& scope, Loc loc,
                     const std::function<bool(unsigned branch, Scope& inner)>& fill);
  void report_no_return(Loc chooses);
  Flow returning_branch(Branches& branches, const ast::If& stmt, size_t arm, Loc place, Scope& scope);
  void revive(size_t since);
  std::vector<std::string> names_of_arms(const ast::If& stmt, size_t arm);
  void join_dims(const Branches& branches, IrValue& first, IrValue& second);
  bool join(const Branches& branches, Scope& scope, Loc loc);

  // Derivatives (graph_derive.cc).
  struct Record;
  Value* separate(Value* value, Loc loc);
  void add_params(const Datum& value, Loc loc);
  Datum separated(const Datum& value, Loc loc, Record& record);
  bool has_floats(const Datum& value, Loc loc);
  Datum derivative_of(const Datum& value, const std::vector<Value*>& derivatives, size_t& next, Loc loc);
  bool record_call(const Datum& function, std::vector<CallArgument> arguments, const std::vector<bool>& by,
                   const std::vector<Value*>* directions, Record& record);
  bool refuse_derivative(const graph::NoDerivative& refused, Loc loc);
  std::optional<std::vector<Value*>> pull_back(const Record& record,
                                               const std::vector<std::pair<Value*, Value*>>& cotangents);
  Value* add_rows(Value* ids, Value* rows, Type table, Loc loc);
  std::optional<std::vector<size_t>> differentiated(const GradientFunction& gradient,
                                                    const std::vector<CallArgument>& arguments, Loc loc);
  Datum call_gradient(const GradientFunction& gradient, std::vector<CallArgument> arguments, Loc loc);
  Datum jvp(const BoundArguments& arguments);
  bool collect_directions(const Datum& primal, const Datum& direction, Loc loc, std::vector<Value*>& directions);
  Datum vjp(const BoundArguments& arguments);
  std::unique_ptr<graph::DerivativeLibrary> derivative_library(Loc loc);
  bool push_attention(Op* op, graph::Forward& forward);
  void pull_attention(Op* op, Op& attention, graph::Backward& backward, Loc loc);
  std::optional<Datum> call_transform(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc);

  // Functions with derivatives of their own (graph_custom.cc).
  class Library;
  bool has_rule(const Function& function) const;
  Datum record_custom(const Function& function, std::vector<CallArgument> arguments, Loc loc);
  Datum call_rule(const CustomCall& call, const ast::Expr& rule, const std::vector<Value*>& inputs, Datum result,
                  Datum derivatives, Loc loc);
  Value* derivative_like(const Datum& given, Value* value, const CustomCall& call, Loc rule, Loc loc);
  void dissolve_records();

  // Functions whose values are computed again (graph_checkpoint.cc).
  bool is_kept_apart() const;
  Datum record_checkpoint(const CheckpointPolicy& policy, const std::function<Datum()>& run, Loc loc);
  Datum checked_result(Datum result, const std::string& of, Loc loc);
  Datum run_checkpoint(const CheckpointPolicy& policy, const std::function<Datum()>& run, Loc loc);
  void warn_of_unused_names(const CheckpointPolicy& policy, Loc loc);
  Datum call_checkpointed(const CheckpointedFunction& function, std::vector<CallArgument> arguments, Loc loc);
  Datum checkpoint_name(const BoundArguments& arguments);

  // Entries for derivatives (graph_halves.cc).
  bool add_derivatives(const Function& function, std::vector<Attr>& names, std::vector<Value*>& returned);
  void build_halves(const Function& function, const Signature& signature, const std::string& symbol);

  // Functions of many examples and of one after the other (graph_vmap.cc, graph_scan.cc).
  class Examples;
  Datum call_mapped(const MappedFunction& mapped, std::vector<CallArgument> arguments, Loc loc);
  std::optional<Dim> length_of(const BoundArguments& arguments, const Datum& xs, const Datum* length,
                               std::string_view name);
  Datum scan_over(const BoundArguments& arguments, std::string_view name, const Datum& init, const Datum& xs, Dim count,
                  const std::function<Datum(const Datum& carry, const Datum& x)>& step);
  bool scanned(const BoundArguments& arguments, std::string_view name, const Datum& init, const Datum& result,
               const std::string& counter, std::vector<Value*>& ends, std::vector<Value*>& ys);
  Datum numbers_to_tensors(const Datum& value, Loc loc);
  void spend_all(const Datum& value, Loc loc);
  Datum scan(const BoundArguments& arguments);
  Datum map(const BoundArguments& arguments);
  Datum reduce_by(const BoundArguments& arguments);

  // Trees (graph_trees.cc).
  std::optional<Dictionary> parts_of(const Datum& tree, Loc loc);
  bool flatten(const Datum& tree, const std::vector<Datum>& beside, const std::string& path, Loc loc,
               std::vector<std::vector<Datum>>& rows);
  Datum tree_map(const BoundArguments& arguments);
  Datum tree_leaves(const BoundArguments& arguments);
  const ParamDeclaration* param_of(const Datum& value) const;
  bool update_param(const Datum& param, const Datum& value, const BoundArguments& arguments);
  bool refuse_step(const BoundArguments& arguments);
  Datum update(const BoundArguments& arguments);
  Datum state_form(const Datum& of, const std::string& path, Loc loc,
                   std::vector<std::pair<std::string, std::vector<Dim>>>& params);
  static std::optional<Datum> state_tree(const StateValue& state, std::string_view field);

  // State objects (graph_state.cc).
  Datum state_input(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope);
  void add_field(StateValue::Fields& fields, const std::string& state, std::string_view field,
                 const std::vector<Dim>& extents, const NumericType& type, Loc loc);
  Datum held_state(const TypePattern& pattern, const std::string& name, StateValue::Fields fields, Datum form);
  Datum optimiser_state(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope);
  bool replace_field(StateValue::Fields& fields, const std::string& name, const Datum& given, Loc loc);
  Datum conform_state(const TypePattern& pattern, const Datum& value, Scope& scope, Loc loc,
                      const std::string& what);
  Datum state_member(const Datum& state, const ast::Identifier& name);
  Datum call_method(const StateMethod& method, std::vector<CallArgument> arguments, Loc loc);
  Datum append(const Datum& cache, const std::vector<CallArgument>& arguments, Loc loc);
  bool check_kept(const StateValue& cache, const CallArgument& kept);
  Datum prune(const Datum& cache, const std::vector<CallArgument>& arguments, Loc loc);
  Datum replace(const Datum& state, const std::vector<CallArgument>& arguments, Loc loc);
  Datum updated(const Datum& state, StateValue::Fields fields, Loc loc);
  Value* appended_part(const StateValue& cache, const IrValue& part, std::string_view what, Loc loc);
  bool is_current(const StateValue& state, Loc loc);
  bool check_append(const StateValue& cache, Value* k, Loc loc);
  bool check_states_returned(const Function& function);

  // Functions of the module (graph_entry.cc).
  bool add_input(const Function& function, const Signature& signature,
                 const SignatureParameter& parameter, Scope& scope);
  bool add_tensor(const SignatureParameter& parameter, Scope& scope);
  Datum tensor_input(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope);
  void report_default(const SignatureParameter& parameter);
  /// What a function that nothing calls is run with.
  struct OpenChoice {
    bool gives_tensors = false;    ///< optional ones are given; nothing else is known
    std::optional<size_t> number;  ///< of the values that parameters have which are no tensors; unknown without one
    bool states_sizes = false;     ///< relations are warned of, too, between sizes of a module that have defaults
  };
  class OpenModule;
  void explore(const Function& function, bool is_called, OpenModule* module);
  void explore_initialisers(const ModuleInstance& instance, const SizeFacts& facts);
  Datum chosen_argument(const SignatureParameter& parameter, size_t number, const OpenChoice& choice, Scope& scope);
  void explore_usual_sizes(const std::function<bool(const OpenChoice&)>& explore);
  void explore_choices(size_t choices, const std::function<bool(const OpenChoice&)>& explore);
  Datum open_argument(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope);
  void explore_body(const Function& function, const Signature& signature, const DTypeChoices& dtypes,
                    const OpenChoice& choice);
  bool add_state(const TypePattern& pattern, const SignatureParameter& parameter, Scope& scope);
  void add_updated_params(std::vector<Attr>& names, std::vector<Value*>& returned);
  bool add_state_result(const StateValue& state, Loc loc, std::vector<Attr>& names,
                        std::vector<Value*>& returned);
  bool declare_symbols(const Signature& signature, Scope& scope);
  bool assume_where(const Function& function, const Signature& signature, Scope& scope);
  bool assume(const ast::Compare& compare, const Signature& signature, Scope& scope);
  bool unify(Dim left, Dim right, const Signature& signature, Scope& scope);
  bool unify_part(Dim zero, const Signature& signature, Scope& scope);
  bool add_inputs(const Function& function, const Signature& signature, Scope& scope);
  bool add_results(const CallFrame& done, const Datum& result);
  bool add_body(const Function& function, const Signature& signature, Scope& scope);
  bool check_bound_symbols(const Function& function);
  Op* make_function(std::string_view role, Loc loc);
  void begin_function(std::string_view role, std::string_view symbol, Loc loc);
  void end_function();
  std::string place_text(Loc loc) const;
  Value* add_argument(std::string_view name, std::string_view kind, Type type,
                      std::vector<Loc> dim_places = {});
  void check_sizes();
  void donate(Attr& argument);
  void finish_arguments();
  void check_argument_names(const Function& function);
  Value* seed(Loc loc);
  std::string next_stream();
  void build_initialiser(const ParamDeclaration& declaration);
  void share_initialiser(const ParamDeclaration& declaration);
  const ParamType* param_type(const ParamDeclaration& declaration);
  Value* param_argument(const ParamDeclaration& declaration, const ParamType& type);

  Evaluator evaluator_;
  Module& module_;
  SourceKernels& kernels_;
  Builder builder_;
  GraphFunction function_;  ///< that is built; none between functions
  Block* nowhere_;          ///< of no function: where constants leave their intermediate ops
  std::vector<const Function*> open_entries_;  ///< that leave a dtype to their callers
  std::set<const ast::Def*> called_;
  /// What checkpoint_name has named in the checkpoint that is run.
  struct NamedValues {
    size_t loops = 0;  ///< around the checkpoint
    std::set<std::string, std::less<>> names;
  };
  NamedValues named_;
  std::set<const ast::Def*> with_rules_;  ///< of which the rules were looked at
  std::map<const ParamDeclaration*, std::optional<ParamType>> param_types_;
  struct Initialiser {
    Op* function = nullptr;
    std::vector<Attr> params;  ///< keys of those that begin so
  };
  std::map<std::string, Initialiser> initialisers_;  ///< by their text
};

/// The state in a type that does not say of what size it is; null when there is none.
const TypePattern* open_state(const TypePattern& pattern);
/// "'x'" for a named value, else `otherwise`.
std::string subject(const IrValue& value, std::string_view otherwise);
/// "dimension 1 of 'x'".
std::string dimension_of(size_t axis, std::string_view what);
/// Says why a number is none of a float dtype.
void help_range(DiagnosticEngine::Builder& builder, const Datum& number, DType dtype, const OperatorPlace& at);
/// "a list of 2 values"; of what is no sequence its description.
std::string with_count(const Datum& value);

}  // namespace tessera::frontend

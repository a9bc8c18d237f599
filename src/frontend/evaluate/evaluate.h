#pragma once
// Runs the compile-time part of a program. The base class knows numbers, dims, tuples, dicts,
// functions and statements; whatever has an IR operand goes to a hook, which GraphBuilder answers
// with gir ops and the kernel builder with sched ops. Loops over compile-time sequences unroll;
// functions are inlined at each call.
//
// Work is bounded (budget.h): steps, memory, nesting, call depth and the depth and parts of values have limits with
// diagnostics, so no source text can hang the compiler or exhaust its stack or memory.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/evaluate/placement.h"
#include "frontend/evaluate/session.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/dims.h"
#include "frontend/values/scope.h"
#include "frontend/values/value.h"

namespace tessera {
class Module;
}

namespace tessera::frontend {

/// Whether what is run has the arguments of a call.
enum class Arguments : uint8_t {
  Given,
  Open,  ///< nothing calls it: poison stands for values that a call would give, and everything is looked at
};

/// How a block ended.
enum class Flow : uint8_t { Next, Return };

/// What gives a function an effect: an op, a declaration, or a call of a function that has it.
struct EffectSite {
  Loc loc;     ///< in the function's own body
  Loc origin;  ///< of the op or the declaration
  /// The calls from there to the origin, the innermost first, with the names of what is called.
  std::vector<std::pair<std::string, Loc>> calls;
};

/// A call in progress.
struct CallFrame {
  std::string_view name;               ///< of the function, or of the module that is made
  std::string_view kind = "call";      ///< or "instance"
  const Function* function = nullptr;  ///< null for a module
  Loc call;  ///< where it is called; unknown for the outermost
  bool is_clause = false;  ///< a `where` clause of the function is looked at, not its body
  Datum result = Datum::none();
  bool lacks_names = false;            ///< fewer names than values were given a meaning, which is said
  Loc result_loc;                      ///< of the `return` that was reached
  /// Found so far, with the places in the function's own body that have them.
  std::map<std::string, std::vector<EffectSite>> effects;
};

/// The statements after a statement, in its block and in those of the function around it.
struct Continuation {
  ast::StmtList rest;
  const Continuation* outer = nullptr;
  bool repeats = false;  ///< the iterations of an unrolled loop come next, too
};

/// A callable whose parameters a call gives arguments for.
struct Callable {
  std::string_view name;
  std::string_view call = "call";  ///< what giving the arguments is
  std::span<const ast::Parameter> parameters;
  Loc loc;  ///< of the definition
  const ast::Node* definition = nullptr;
  Scope* scope = nullptr;  ///< around it

  Callable(const Function& function)  // NOLINT(google-explicit-constructor): a function is one
      : name(function.name),
        parameters(function.parameters()),
        loc(function.loc),
        definition(function.node()),
        scope(function.scope) {}
  explicit Callable(const ModuleReference& module)
      : name(module.name()),
        call("instance"),
        parameters(module.stmt().parameters),
        loc(module.stmt().name.loc),
        definition(&module.stmt()),
        scope(module.scope()) {}
};

/// The text of a node that lies on one line.
std::string source_text(const SourceManager& sources, Loc loc);

/// How the language writes an op on single elements: "+", "exp".
std::string operator_text(ElementwiseKind kind);

class Evaluator {
 public:
  explicit Evaluator(Session& session, Arguments arguments = Arguments::Given)
      : session_(session), arguments_(arguments) {}
  virtual ~Evaluator() = default;
  Evaluator(const Evaluator&) = delete;

  Session& session() const { return session_; }
  Context& context() const { return session_.context(); }
  DimTable& dims() const { return session_.dims(); }

  Datum evaluate(const ast::Expr& expr, Scope& scope);
  /// Runs statements until the end or a return, which leaves its value in the current frame.
  Flow execute(ast::StmtList body, Scope& scope);
  /// Calls anything callable with evaluated arguments.
  Datum call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  /// Reports a name that stands where a dtype is needed, and that nothing defines.
  void unknown_dtype(const ast::Name& name);
  /// A name's meaning in a scope; reports an unknown one and gives poison.
  Datum lookup(std::string_view name, Scope& scope, Loc loc);
  /// The value of a binding, evaluating a pending declaration.
  Datum resolve(Binding& binding, Scope& scope, std::string_view name, Loc loc);

  /// Reports with a note for each call in progress, unless already reported at that place. What goes wrong inside a
  /// function of the standard library is reported where the user's source calls it.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) {
    Report place = place_of_report(loc);
    auto builder = session_.report(kind, place.loc, args...);
    add_call_notes(builder, place, loc);
    return builder;
  }
  /// Says to convert an operand, as a fix where it is written on one line.
  void help_conversion(DiagnosticEngine::Builder& builder, Loc operand, DType to, std::string_view function = "cast");
  /// Reports two dtypes of operands of which neither widens to the other; `to` is the better one.
  DiagnosticEngine::Builder report_mixed_dtypes(Loc loc, DType left, DType right, DType to,
                                                std::string_view function = "cast");
  /// Reports a value's dtype: where a call chose it, with a better one if there is such, else at `loc`, of which `use`
  /// says what is the case there.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report_dtype(DiagKind<N> kind, Loc loc, const Value* value, std::optional<DType> better,
                                         std::string_view use, const Args&... args) {
    Loc chosen = chosen_dtype(value);
    auto builder = report(kind, chosen.known() ? chosen : loc, args...);
    chosen.known() ? label_choice(builder, chosen, loc, value, better, use) : label_dtype(builder, value, loc);
    return builder;
  }
  /// The operator as the source has it: `and` is computed as `&` is.
  std::string written(ElementwiseKind kind, Loc loc) const;
  /// Where the call that made a value was given its dtype, if nothing else has it from there;
  /// unknown where a declaration or the rules of ops give it, and for null.
  Loc chosen_dtype(const Value* value) const;
  /// Reports a function that ends without a value, at the one that its last statement computes for nothing if there
  /// is one; `result` is where its type is written. What it returns may be the None of another, which is then reported.
  DiagnosticEngine::Builder report_missing_return(const Function& function, Loc result = {});
  /// Whether a value is the None of a function that ends without a value, which is then reported.
  bool report_valueless(const Datum& value, Loc loc, std::string_view what);
  /// Reports a value of the wrong kind, or the function that ends without one.
  void report_wrong_kind(Loc loc, std::string_view what, const Datum& value, std::string_view wanted);
  /// Marks the operands of the operator that is applied with the dtypes that they are accumulated in.
  void label_accumulation(DiagnosticEngine::Builder& builder, DType left, DType right);
  /// Marks where a value has its dtype from, unless that is on the line that is reported.
  void label_dtype(DiagnosticEngine::Builder& builder, const Value* value, Loc reported);
  /// Says what to write behind an operand of the operator that is applied, as a fix where it is a name.
  void fix_operand(DiagnosticEngine::Builder& builder, const Value* operand, std::string_view suffix,
                   std::string message);
  /// The same of the operand of the operator that is applied which has that dtype.
  void label_operand(DiagnosticEngine::Builder& builder, DType dtype, Loc reported);
  /// " of 'f'" inside a call from entry f, whose signature is the one that sizes come from.
  std::string of_entry() const {
    return frames_.size() > 1 ? fmt::format(" of '{}'", frames_[0].name) : "";
  }
  /// Says which clause lets the checker take it that a relation holds, if one does.
  void help_clause(DiagnosticEngine::Builder& builder, const DimFact& asked,
                   std::string_view when = "if it always holds");
  /// Whether two sizes are different whatever they are, given the facts.
  bool certainly_differ(Dim a, Dim b) const { return decide(dims(), ast::CompareOp::Equal, a, b, facts_) == false; }
  /// Says that something parses but is not lowered yet, once per cause; gives poison.
  Datum unsupported(Loc loc, std::string_view what);
  /// Counts steps, before they are made, and says whether so many more bytes may be held. False, with a diagnostic
  /// the first time, when the budget is spent.
  bool may_spend(size_t steps, Loc loc, size_t bytes = 0);
  /// The same for making a list of so many elements.
  bool may_make(size_t elements, Loc loc) { return may_spend(elements, loc, elements * sizeof(Datum)); }

  // Conversions that report: `what` is the subject of the message ("the axis of 'sum'").
  std::optional<int64_t> expect_int(const Datum& datum, Loc loc, std::string_view what);
  std::optional<double> expect_number(const Datum& datum, Loc loc, std::string_view what);
  std::optional<bool> expect_bool(const Datum& datum, Loc loc, std::string_view what);
  std::optional<DType> expect_dtype(const Datum& datum, Loc loc, std::string_view what);
  Dim expect_dim(const Datum& datum, Loc loc, std::string_view what);
  /// A tuple or list of dims, or one dim.
  std::optional<std::vector<Dim>> expect_shape(const Datum& datum, Loc loc, std::string_view what);

 protected:
  /// Where something is reported, and how many calls that place is in.
  struct Report {
    Loc loc;
    size_t frames;
  };
  /// For a place in the standard library, the place of the user's call that led there.
  Report place_of_report(Loc loc) const;

  // Hooks. Operands are never poison, and at least one is an Ir or an Object, or a Dim whose value
  // the operation needs at run time (sqrt(D), B / 2).

  /// An op on single elements: operators, comparisons, and/or/not, math functions, where.
  virtual Datum elementwise(ElementwiseKind kind, std::span<const Datum> operands, Loc loc);
  virtual Datum matmul(const Datum& a, const Datum& b, Loc loc);
  virtual Datum attribute(const Datum& object, const ast::Identifier& name, Loc loc);
  /// `indices` are not evaluated yet.
  virtual Datum subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc);
  /// A builtin that is not a compile-time function of its arguments; operands may all be
  /// compile-time values.
  virtual Datum call_builtin(const Builtin& builtin, const BoundArguments& arguments, Loc loc);
  /// A call of an Object.
  virtual Datum call_object(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  /// A def or lambda: by default inlined here.
  virtual Datum call_function(const Function& function, std::vector<CallArgument> arguments,
                              Loc loc);
  /// The value of a param's name.
  virtual Datum param(const ParamDeclaration& declaration, Loc loc);
  /// The value that `name: annotation = value` gives the name.
  virtual Datum annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc);
  /// Called when a name is assigned.
  virtual Datum assigned(std::string_view name, Datum value, Loc loc);
  /// A for loop over something that is no compile-time sequence.
  virtual Flow for_each(const Datum& iterable, const ast::For& loop, Scope& scope);
  /// An expression statement; `value` is what it gave (an op for its effect).
  virtual void expression_statement(const ast::Expr& expr, const Datum& value, Scope& scope);
  /// A condition that is no compile-time value, of `if`: runs the statement or reports.
  virtual Flow branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope);
  /// A while loop whose condition is no compile-time value: runs it or reports.
  virtual Flow while_loop(const ast::While& loop, Scope& scope);

  /// The IR that is built, of which each op is work for passes, too.
  virtual Module* built() const { return nullptr; }
  /// Whether what is built may still grow; says so when it may not.
  virtual bool may_grow(Loc) { return true; }
  /// A scope inside of another, for what is evaluated here.
  virtual Scope* open_scope(Scope* parent) { return session_.new_scope(parent); }
  /// Converts the value of a name of another scope: kernels have sizes of their own.
  virtual Datum received(const Scope&, Datum value) { return value; }
  /// Where an argument of the function under construction is declared; unknown for anything else.
  virtual Loc declared_at(const Value* value) const;
  /// Whether a size has its own number in each iteration of a run-time loop.
  virtual bool is_counted(Dim) const { return false; }
  /// A size in which the counters of loops have the names that the source gives them.
  virtual Dim as_written(Dim dim) { return dim; }
  /// The size that a value of the IR stands for; null for one that is no size.
  virtual Dim size_of(const IrValue& value);
  /// A `with` or `on` statement begins: what is placed, fetched ahead or spread over devices.
  virtual void enter(const Placement& placement, Loc loc);

  std::vector<CallFrame>& frames() { return frames_; }
  /// The call that ended last.
  const CallFrame& finished() const { return finished_; }
  /// Matches arguments to a builtin's parameters; nullopt when an error was reported.
  std::optional<BoundArguments> bind_arguments(const Builtin& builtin,
                                               std::vector<CallArgument> arguments, Loc loc);
  /// Matches arguments to parameters and evaluates defaults in `scope`, in which each
  /// parameter is then defined; positions of what was given are in `locs`. False when an error was
  /// reported. A default that names a symbol of `signature` is left as a LateDefault.
  bool bind_parameters(const Callable& callee, std::vector<CallArgument> arguments, Scope& scope,
                       Loc loc, std::vector<Loc>& locs, const Signature* signature = nullptr);
  /// The value as an int, dim, dtype, … parameter takes it; poison when an error was reported.
  Datum conform_constant(const TypePattern& pattern, const Datum& value, Loc loc,
                         const std::string& what);

  /// Whether a relation between dims holds, given the facts; reports when it cannot be decided.
  std::optional<bool> decide_dims(ast::CompareOp op, Dim a, Dim b, Loc loc);
  /// Whether clauses of a call hold in a scope that has its parameters; reports one that does not.
  bool check_clauses(const Callable& callee, ast::ExprList where, Scope& scope, Loc loc);
  /// Relations between dims that hold throughout: `where` clauses of the entry.
  std::vector<DimFact>& facts() { return facts_; }
  /// The dim as the facts let it be written: 64*(S//64) is S where S % 64 == 0.
  Dim simplified(Dim dim) const { return one_form(dims(), dim, facts_); }
  /// Binds `target` (a name, or a tuple of targets) to a value.
  void assign(const ast::Expr& target, const Datum& value, Scope& scope);
  /// A scope around a closure: the locals it sees now, by value, over the file's scope.
  Scope* capture(Scope& scope);
  /// Runs the body of a def or lambda, whose parameters are defined in `scope`, in a new frame.
  Datum run_body(const Function& function, Scope& scope, Loc loc);
  /// Reports to the observer that a name has a value.
  void observe(std::string_view name, Loc loc, const Datum& value) {
    EvaluationObserver* observer = session_.observer();
    if (observer && !value.is_poison()) observer->bound(name, loc, as_observed(value));
  }
  /// False, with a diagnostic, when the function is being called already or calls nest too deep.
  bool may_call(const Function& function, Loc loc);
  /// The function in progress does something beside giving its result.
  void record_effect(std::string_view effect, Loc loc) { record_effect(effect, EffectSite{loc, loc, {}}); }
  /// Each place of the function's body is kept once.
  void record_effect(std::string_view effect, EffectSite site);
  /// The effects that a function declares and that no op has: its declaration is all that is known of them.
  /// `call` is known where the function has no frame of its own.
  void record_declared(const Function& function, Loc call = {});
  /// Whether what is evaluated is the value of a file's name, which everything in the file shares.
  bool defines_constant() const { return defines_constant_; }
  /// The call in progress.
  CallFrame& frame() { return frames_.back(); }
  /// The statements after the running one; null at the end of the function.
  const Continuation* continuation() const { return continuation_; }
  /// Runs that, to the end of the function.
  Flow execute_rest(const Continuation* rest, Scope& scope);
  /// Runs an `if` from one of its arms on.
  Flow execute_arms(const ast::If& stmt, size_t arm, Scope& scope);
  /// Stands for a block that cannot be run because of an error: the names it assigns become
  /// poison, and so does the function's result if the block returns.
  Flow skip(ast::StmtList body, Scope& scope);
  /// The same of all arms of an `if`.
  Flow skip_arms(const ast::If& stmt, Scope& scope);

  // What is run though nothing calls it (evaluate_open.cc).
  bool is_open() const { return arguments_ == Arguments::Open; }
  /// Whether another call could give a value instead of this one: it is a size, or computed of sizes.
  bool depends_on_call(const Datum& value) const;
  bool is_unknown(const Datum& value) const { return value.is_poison() || depends_on_call(value); }
  /// Runs a function of which no argument is known.
  void explore(const Function& function, Scope& scope);

 public:
  /// An instance of a module of which none is made, its sizes symbolic; poison when an error was reported.
  Datum open_instance(const ModuleReference& module);

 protected:

 private:
  /// One level of expressions and blocks inside each other, while it lives.
  class Nesting {
   public:
    Nesting(Evaluator& evaluator, Loc loc);
    ~Nesting() { --evaluator_.nesting_; }
    Nesting(const Nesting&) = delete;
    /// False, with a diagnostic, when there are too many.
    bool allowed() const { return allowed_; }

   private:
    Evaluator& evaluator_;
    bool allowed_ = true;
  };
  void add_call_notes(DiagnosticEngine::Builder& builder, const Report& report, Loc loc);

  // What is run though nothing calls it (evaluate_open.cc).
  /// Runs a block that may be run or not; what it does to names and to the result is unknown.
  Flow explore(ast::StmtList body, Scope& scope);
  /// The same of an `if`, of whose arms one from `first` on is run.
  Flow explore_arms(const ast::If& stmt, size_t first, Scope& scope);
  Flow explore_for(const ast::For& stmt, Scope& scope);
  void explore_all(ast::ExprList exprs, Scope& scope);
  /// Checks that a call whose arguments are not all known has as many as it needs.
  void explore_call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  void match_parameters(const Callable& callee, const std::vector<CallArgument>& arguments, Loc loc);

  // The place at fault, and the fix (evaluate_errors.cc).
  /// Names that a definition uses and nothing defines.
  std::vector<std::string> undefined_names(const Callable& callee) const;
  /// Whether a name that is not defined is spelt several times (a member: behind dots), and the nearest one only where
  /// it is defined.
  bool is_misspelt(Loc defined, std::string_view nearest, std::string_view name, bool is_member = false) const;
  bool blames_valueless() const;
  /// Says that a name, or the nearest to it, is imported from tessera.nn; false when that has no such name.
  bool help_import(DiagnosticEngine::Builder& builder, std::string_view name, std::string_view nearest, Loc loc);
  void blame_definition(DiagnosticEngine::Builder& builder, Loc defined, std::string_view nearest,
                        std::string_view name, Loc use);
  void label_operands(DiagnosticEngine::Builder& builder, DType left, DType right, const Value* chosen);
  void label_choice(DiagnosticEngine::Builder& builder, Loc chosen, Loc loc, const Value* value,
                    std::optional<DType> better, std::string_view use);
  /// Remembers the dtype that a call was given.
  void note_choice(const Builtin& builtin, const BoundArguments& arguments, const Datum& result);
  /// The operands of a binary operator, and where they are written.
  struct OperandPlaces {
    Loc left, right;
    const Value* left_value = nullptr;
    const Value* right_value = nullptr;
  };
  /// Checks what was found against `@pure` and `!{…}`.
  void check_effects(const CallFrame& frame);
  void note_origin(DiagnosticEngine::Builder& builder, const std::string& effect, const EffectSite& site);
  bool count_step(Loc loc) { return may_spend(1, loc); }
  /// The value, or poison, with a diagnostic, where it nests too deep or has too many parts.
  Datum bounded(Datum value, Loc loc);
  Datum refuse_parts(Loc loc);
  /// Counts what a look at all parts of two values takes.
  bool may_compare(const Datum& a, const Datum& b, Loc loc);

  // Other reports to the observer (evaluate_observed.cc).
  void observe(const ast::Expr& expr, const Datum& value) {
    EvaluationObserver* observer = session_.observer();
    if (observer && !value.is_poison()) observer->evaluated(expr, as_observed(value));
  }
  Datum as_observed(const Datum& value) {
    return value.is(DatumKind::Dim) ? Datum::dim(as_written(value.as_dim())) : value;
  }
  void observe_parameters(const Function& function, Scope& scope);
  /// Says where what follows is computed.
  void set_device(std::string device);

  /// The value of a constant of that name.
  Datum constant(const ast::Expr& expr, const ast::Identifier& name, Scope& scope);

  // Expressions (evaluate.cc, evaluate_operators.cc).
  Datum evaluate_unguarded(const ast::Expr& expr, Scope& scope);
  Datum evaluate_integer(const ast::Integer& integer);
  std::optional<std::vector<Datum>> evaluate_all(ast::ExprList list, Scope& scope);
  Datum evaluate_dict(const ast::Dict& dict, Scope& scope);
  Datum evaluate_binaries(const ast::Binary& root, Scope& scope);
  Datum evaluate_logical(const ast::Logical& logical, Scope& scope);
  Datum evaluate_compare(const ast::Compare& compare, Scope& scope);
  Datum evaluate_conditional(const ast::Conditional& conditional, Scope& scope);
  Datum evaluate_lambda(const ast::Lambda& lambda, Scope& scope);
  Datum evaluate_comprehension(const ast::Comprehension& comprehension, Scope& scope);
  void run_clauses(const ast::Comprehension& comprehension, size_t clause, Scope& scope,
                   Dictionary& entries, std::vector<Datum>& elements);
  Datum evaluate_call(const ast::Call& call, Scope& scope);
  Datum evaluate_attribute(const ast::Attribute& attribute, Scope& scope);
  void report_list_member(const ast::Attribute& attribute, Scope& scope);
  Datum evaluate_subscript(const ast::Subscript& subscript, Scope& scope);
  Datum index_sequence(const Datum& object, const ast::Expr& index, Scope& scope);
  Datum member_of(const Namespace& name_space, const ast::Identifier& name);
  /// The hook, for operands that may be elements: anything else is reported here.
  Datum apply(ElementwiseKind kind, std::span<const Datum> operands, Loc loc);
  Datum unary(ast::UnaryOp op, const Datum& operand, Loc loc);
  Datum binary(ast::BinaryOp op, const Datum& a, const Datum& b, Loc loc);
  Datum binary_integers(ast::BinaryOp op, int64_t a, int64_t b, Loc loc);
  Datum binary_numbers(ast::BinaryOp op, double a, double b, Loc loc);
  Datum power_of_size(Dim x, int64_t exponent, Loc loc);
  Datum binary_dims(ast::BinaryOp op, const Datum& a, const Datum& b, Loc loc);
  Datum binary_sequences(ast::BinaryOp op, const Datum& a, const Datum& b, Loc loc);
  Datum compare(ast::CompareOp op, const Datum& a, const Datum& b, Loc loc);
  Datum compare_sequences(ast::CompareOp op, const Datum& a, const Datum& b, Loc loc);
  Datum contains(ast::CompareOp op, const Datum& item, const Datum& container, Loc loc);
  /// Whether two data are equal; nothing where that depends on sizes that calls bring, or on values of the machine.
  std::optional<bool> decided_equal(const Datum& a, const Datum& b);

  // Modules of parameters (evaluate_modules.cc).
  Datum apply_module(const ModuleReference& module, std::vector<CallArgument> arguments, Loc loc);
  /// The value with the applications of modules in it made instances: the keys of their params
  /// begin with `prefix` and `name`, in lists also with the place of the element.
  Datum place(const Datum& value, const std::string& prefix, std::string_view name);
  Datum instantiate(const ModuleApplication& application, const std::string& path);
  bool may_instantiate(const ModuleApplication& application);
  bool make_members(const ModuleApplication& application, const std::string& path, Scope& scope,
                    ModuleInstance& instance);
  bool count_made(const std::string& path, Loc loc);
  Datum field(const ast::Assign& field, Scope& scope, const std::string& path, Loc instance);
  Datum instance_member(const ModuleInstance& instance, const ast::Identifier& name);
  Datum unplaced(const ModuleApplication& application, Loc loc);

  // Devices and meshes (placement.cc).
  Datum index_device(const Device& device, ast::ExprList indices, Scope& scope, Loc loc);
  Datum make_device(const BoundArguments& arguments);
  Datum make_prefetch(const BoundArguments& arguments);
  void warn_of_placement(const Placement& placement, Loc loc);
  Datum make_mesh(const BoundArguments& arguments);
  bool check_layout(const Datum& layout, Loc loc);
  Datum mesh_member(const Datum& mesh, const ast::Identifier& name);
  Datum shard(const MeshMember& member, const std::vector<CallArgument>& arguments, Loc loc);
  bool enter_context(const Datum& context, Loc loc);
  Flow execute_with(const ast::With& stmt, Scope& scope);
  Flow execute_on(const ast::On& stmt, Scope& scope);

  // Builtins whose arguments are compile-time values (evaluate_builtin.cc); nullopt: not one of
  // them.
  std::optional<Datum> compile_time_builtin(const Builtin& builtin,
                                            const BoundArguments& arguments);
  std::optional<Datum> number_function(const Builtin& builtin, const BoundArguments& arguments);
  Datum make_range(const BoundArguments& arguments);
  Datum make_open_range(const BoundArguments& arguments);
  Datum make_block(const BoundArguments& arguments);
  Datum enumerated(const BoundArguments& arguments);
  Datum zipped(const BoundArguments& arguments);
  Datum convert_number(BuiltinId id, const BoundArguments& arguments);
  std::optional<Datum> extreme(bool greatest, const BoundArguments& arguments);
  Datum call_builtin_value(const Builtin& builtin, std::vector<CallArgument> arguments, Loc loc);

  // Statements (evaluate_statement.cc).
  Flow execute_statement(const ast::Stmt& stmt, Scope& scope);
  /// Ends the function with poison.
  Flow give_up();
  Flow execute_for(const ast::For& stmt, Scope& scope);
  Flow execute_while(const ast::While& stmt, Scope& scope);
  Flow execute_iteration(ast::StmtList body, Scope& scope);
  void execute_assign(const ast::Assign& stmt, Scope& scope);
  void define(const ast::Def& def, Scope& scope);

  /// Where a value was given its dtype, and the call that it comes from.
  struct DTypeChoice {
    Loc dtype, call;
  };

  Session& session_;
  const Arguments arguments_;
  std::vector<CallFrame> frames_;
  CallFrame finished_;
  bool defines_constant_ = false;
  const Function* valueless_ = nullptr;  ///< the last that gave None, as long as somebody may ask for its value
  std::unordered_map<const Value*, DTypeChoice> dtype_choices_;
  OperandPlaces operands_;  ///< of the operator that is applied; unknown outside of one
  const Continuation* continuation_ = nullptr;
  size_t asked_ = 0;  ///< how often the budget was
  std::optional<size_t> counted_ops_;  ///< of what is built
  std::vector<const ModuleApplication*> instantiating_;
  std::vector<DimFact> facts_;
  std::string device_;  ///< only for the observer
  unsigned nesting_ = 0;
};

}  // namespace tessera::frontend

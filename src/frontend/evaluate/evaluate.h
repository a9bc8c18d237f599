#pragma once
// An interpreter of compile-time values: numbers, dims, tuples, dicts, functions, modules and statements. What has to
// do with values of the IR it asks of a Lowering (lowering.h), and what is wrong it gives to Blame (blame.h). Loops
// over compile-time sequences unroll; functions are inlined at each call.
//
// Work is bounded (budget.h): steps, memory, nesting, call depth and the depth and parts of values have limits with
// diagnostics, so no source text can hang the compiler or exhaust its stack or memory.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/evaluate/blame.h"
#include "frontend/evaluate/call_frame.h"
#include "frontend/evaluate/lowering.h"
#include "frontend/evaluate/session.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/dims.h"
#include "frontend/values/modules.h"
#include "frontend/values/scope.h"
#include "frontend/values/value.h"
#include "support/check.h"

namespace tessera::frontend {

/// Whether what is run has the arguments of a call.
enum class Arguments : uint8_t {
  Given,
  Open,  ///< nothing calls it: poison stands for values that a call would give, and everything is looked at
};

/// How a clause of a call is taken that the sizes leave open.
enum class Undecided : uint8_t {
  Refused,
  Assumed,  ///< it holds
};

class Evaluator {
 public:
  Evaluator(Session& session, Lowering& lowering, Arguments arguments = Arguments::Given)
      : session_(session), lowering_(lowering), arguments_(arguments) {
    facts_.is_called = arguments == Arguments::Given;
  }
  /// Of compile-time values only.
  explicit Evaluator(Session& session, Arguments arguments = Arguments::Given)
      : Evaluator(session, NoLowering::instance(), arguments) {}
  Evaluator(const Evaluator&) = delete;

  Session& session() const { return session_; }
  Context& context() const { return session_.context(); }
  DimTable& dims() const { return session_.dims(); }

  Datum evaluate(const ast::Expr& expr, Scope& scope);
  /// Calls anything callable with evaluated arguments.
  Datum call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  /// A name's meaning in a scope; reports an unknown one and gives poison.
  Datum lookup(std::string_view name, Scope& scope, Loc loc);
  /// The value of a binding, evaluating a pending declaration.
  Datum resolve(Binding& binding, Scope& scope, std::string_view name, Loc loc);
  /// An instance of a module of which none is made; poison when an error was reported.
  Datum open_instance(const ModuleReference& module, std::vector<ModuleApplication::Argument> arguments);

  // Operations on values: the lowering's answer, or that of compile-time values.
  /// An op on single elements. Operands that cannot be elements are reported here.
  Datum apply(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at);
  Datum elementwise(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at);
  Datum matmul(const Datum& a, const Datum& b, const OperatorPlace& at);
  Datum attribute(const Datum& object, const ast::Identifier& name, Loc loc);
  Datum subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc);

  // Statements.
  /// Runs statements until the end or a return, which leaves its value in the current frame.
  Flow execute(ast::StmtList body, Scope& scope);
  /// Runs what follows the running statement, to the end of the function.
  Flow execute_rest(const Continuation* rest, Scope& scope);
  /// Runs an `if` from one of its arms on.
  Flow execute_arms(const ast::If& stmt, size_t arm, Scope& scope);
  /// Stands for a block that cannot be run because of an error: the names it assigns become
  /// poison, and so does the function's result if the block returns.
  Flow skip(ast::StmtList body, Scope& scope);
  /// The same of all arms of an `if`.
  Flow skip_arms(const ast::If& stmt, Scope& scope);
  /// Binds `target` (a name, or a tuple of targets) to a value.
  void assign(const ast::Expr& target, const Datum& value, Scope& scope);
  /// Reports to the observer that a name has a value.
  void observe(std::string_view name, Loc loc, const Datum& value) {
    EvaluationObserver* observer = session_.observer();
    if (observer && !value.is_poison()) observer->bound(name, loc, as_observed(value));
  }

  // Calls.
  /// Matches arguments to parameters and evaluates defaults in `scope`, in which each
  /// parameter is then defined; positions of what was given are in `locs`. False when an error was
  /// reported. A default that names a symbol of `signature` is left as a LateDefault.
  bool bind_parameters(const Callable& callee, std::vector<CallArgument> arguments, Scope& scope, Loc loc,
                       std::vector<Loc>& locs, const Signature* signature = nullptr);
  /// The value as an int, dim, dtype, … parameter takes it; poison when an error was reported.
  Datum conform_constant(const TypePattern& pattern, const Datum& value, Loc loc, const std::string& what);
  /// Whether clauses of a call hold in a scope that has its parameters; reports one that does not.
  /// `locs` are the places of the arguments, where they are known. In a function that nothing calls, what the sizes
  /// leave open is assumed: it is for calls to see to.
  bool check_clauses(const Callable& callee, ast::ExprList where, Scope& scope, Loc loc,
                     std::span<const Loc> locs = {}, Undecided undecided = Undecided::Refused);
  /// How the run-time loop around, whose values keep their form, does what a list does elsewhere that grows by
  /// `element`; poison where that is not known.
  std::string help_for_filling(std::string_view name, const Datum& element) const;
  /// False, with a diagnostic, when the function is being called already or calls nest too deep.
  bool may_call(const Function& function, Loc loc);
  /// Runs the body of a def or lambda, whose parameters are defined in `scope`, in a new frame, and gives that.
  CallFrame run_body(const Function& function, Scope& scope, Loc loc);
  /// The calls in progress, the innermost last.
  const std::vector<CallFrame>& frames() const { return frames_; }
  CallFrame& frame() {
    TSR_CHECK(!frames_.empty(), "no call is in progress");
    return frames_.back();
  }
  /// What is evaluated has an effect, which the call in progress then has. The initial value of a param is in none.
  void add_effect(std::string_view effect, Loc loc) {
    if (!frames_.empty()) frames_.back().add_effect(effect, loc);
  }
  /// It calls a function that nothing runs: the effects that this declares.
  void add_declared(const Function& called, Loc call) {
    if (!frames_.empty()) frames_.back().add_declared(called, call);
  }
  /// A scope inside of another, for what is run.
  Scope* open_scope(Scope* parent);
  /// Whether the value of a file's name is made, which is the same wherever the name is read.
  bool is_shared() const { return !frames_.empty() && frames_.back().is_shared; }

  // Sizes.
  /// Relations between dims that hold throughout: `where` clauses of the entry.
  std::vector<DimFact>& facts() { return facts_.known; }
  void forget_facts() {
    facts_.known.clear();
    facts_.given.clear();
    facts_.are_all = true;
  }
  /// All that is known of sizes, to be taken up later.
  const SizeFacts& size_facts() const { return facts_; }
  void set_size_facts(const SizeFacts& facts) { facts_ = facts; }
  /// A size that calls give as a number.
  Datum given_size(std::string_view name) {
    facts_.given.emplace_back(name);
    return Datum::dim(dims().symbol(name));
  }
  /// What is run is a function that nothing calls.
  void begin_uncalled(std::string function) { facts_.function = std::move(function); }
  /// What a module that nothing makes has as its sizes.
  void begin_unmade(std::string module, std::vector<std::string> sizes) {
    facts_.module = std::move(module);
    facts_.module_sizes = std::move(sizes);
  }
  /// A size of which nothing is known, for values of tensors and the numbers of iterations of loops that calls may
  /// unroll; poison where no tensors are.
  Datum unknown_size(std::string_view name);
  unsigned unknown_sizes() const { return unknown_sizes_; }
  /// Each run counts from there, so that it says the same of the same.
  void count_unknown_from(unsigned number) { unknown_sizes_ = number; }
  /// What is known of `range(start, stop)`, of which the stop is for calls to say.
  Datum unknown_range(const Datum& start, bool is_ascending);
  /// From here on more may hold: what a clause or a condition says is for a call to say.
  void leave_facts_open() { facts_.are_all = false; }
  /// The dim as the facts let it be written: 64*(S//64) is S where S % 64 == 0.
  Dim simplified(Dim dim) const { return one_form(dims(), dim, facts_.known); }
  /// Whether a relation between dims holds, given the facts; reports when it cannot be decided.
  std::optional<bool> decide_dims(ast::CompareOp op, Dim a, Dim b, Loc loc);

  // What is run though nothing calls it (evaluate_open.cc).
  bool is_open() const { return arguments_ == Arguments::Open; }
  /// Whether another call could give a value instead of this one: it is a size, or computed of sizes.
  bool depends_on_call(const Datum& value) const;
  bool is_unknown(const Datum& value) const { return value.is_poison() || depends_on_call(value); }
  /// Runs each arm of an `if` from `first` on, of which a call runs one.
  Flow explore_arms(const ast::If& stmt, size_t first, Scope& scope);
  /// What is known of a value that is one of several.
  Datum joined(std::span<const Datum> values, Loc loc);
  /// Whether calls may have a number where this is a size, or computed of sizes: it may be in more operations.
  bool may_be_number(const Datum& value) const {
    return is_open() && (value.is(DatumKind::Dim) || (value.is_ir() && value.as_ir().weak));
  }

  // Diagnostics.
  /// Says where something is wrong, and why.
  const Blame& blame() const { return blame_; }
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) const {
    return blame_.report(kind, loc, args...);
  }
  /// Says that something parses but is not lowered yet, once per cause; gives poison.
  Datum unsupported(Loc loc, std::string_view what) const;

  // Conversions that report: `what` is the subject of the message ("the axis of 'sum'").
  std::optional<int64_t> expect_int(const Datum& datum, Loc loc, std::string_view what) const;
  std::optional<double> expect_number(const Datum& datum, Loc loc, std::string_view what) const;
  std::optional<bool> expect_bool(const Datum& datum, Loc loc, std::string_view what) const;
  std::optional<DType> expect_dtype(const Datum& datum, Loc loc, std::string_view what) const;
  Dim expect_dim(const Datum& datum, Loc loc, std::string_view what) const;
  /// A tuple or list of dims, or one dim.
  std::optional<std::vector<Dim>> expect_shape(const Datum& datum, Loc loc, std::string_view what) const;

  // The budget.
  /// Counts steps, before they are made, and says whether so many more bytes may be held. False, with a diagnostic
  /// the first time, when the budget is spent.
  bool may_spend(size_t steps, Loc loc, size_t bytes = 0);
  /// The same for making a list of so many elements.
  bool may_make(size_t elements, Loc loc) { return may_spend(elements, loc, elements * sizeof(Datum)); }
  /// Reports a value of more parts than there may be; gives poison.
  Datum refuse_parts(Loc loc) const;

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
  bool count_step(Loc loc) { return may_spend(1, loc); }
  /// The value, or poison, with a diagnostic, where it nests too deep or has too many parts.
  Datum bounded(Datum value, Loc loc) const;

  // Expressions (evaluate.cc, evaluate_operators.cc).
  Datum evaluate_unguarded(const ast::Expr& expr, Scope& scope);
  std::optional<std::vector<Datum>> evaluate_all(ast::ExprList list, Scope& scope);
  bool refuse_unquoted(const ast::Dict& dict, Scope& scope) const;
  Datum evaluate_dict(const ast::Dict& dict, Scope& scope);
  Datum evaluate_binaries(const ast::Binary& root, Scope& scope);
  Datum evaluate_logical(const ast::Logical& logical, Scope& scope);
  Datum evaluate_compare(const ast::Compare& compare, Scope& scope);
  Datum evaluate_conditional(const ast::Conditional& conditional, Scope& scope);
  Datum evaluate_lambda(const ast::Lambda& lambda, Scope& scope);
  Datum evaluate_comprehension(const ast::Comprehension& comprehension, Scope& scope);
  /// False where the number of elements is not known.
  bool run_clauses(const ast::Comprehension& comprehension, size_t clause, Scope& scope, Dictionary& entries,
                   std::vector<Datum>& elements);
  Datum evaluate_call(const ast::Call& call, Scope& scope);
  Datum evaluate_attribute(const ast::Attribute& attribute, Scope& scope);
  Datum evaluate_subscript(const ast::Subscript& subscript, Scope& scope);
  Datum unary(ast::UnaryOp op, const Datum& operand, Loc loc);
  Datum binary(ast::BinaryOp op, const Datum& a, const Datum& b, const OperatorPlace& at);
  Datum compare(ast::CompareOp op, const Datum& a, const Datum& b, const OperatorPlace& at);
  Datum compare_sequences(ast::CompareOp op, const Datum& a, const Datum& b, const OperatorPlace& at);
  Datum contains(ast::CompareOp op, const Datum& item, const Datum& container, const OperatorPlace& at);

  // Operations on values (evaluate_values.cc).
  Datum refuse_operands(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at) const;
  Datum param(const ParamDeclaration& declaration, Loc loc);
  Datum call_builtin(const Builtin& builtin, std::vector<CallArgument> arguments, Loc loc);
  Datum refuse_builtin(const Builtin& builtin, Loc loc) const;
  Datum call_object(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  Datum call_function(const Function& function, std::vector<CallArgument> arguments, Loc loc);

  // Names (evaluate.cc).
  /// The value of a constant of that name.
  Datum constant(const ast::Expr& expr, const ast::Identifier& name, Scope& scope);
  Datum member_of(const Namespace& name_space, const ast::Identifier& name);
  /// The value of a name of another scope, as what is run here takes it.
  Datum received(const Scope& from, Datum value);
  /// A scope around a closure: the locals it sees now, by value, over the file's scope.
  Scope* capture(Scope& scope);

  // Calls (evaluate_call.cc).
  /// Matches arguments to a builtin's parameters; nullopt when an error was reported.
  std::optional<BoundArguments> bind_arguments(const Builtin& builtin, std::vector<CallArgument> arguments, Loc loc);
  void match_parameters(const Callable& callee, const std::vector<CallArgument>& arguments, Loc loc);
  CallFrame& push_frame(std::string_view name, std::string_view kind, Loc call);
  CallFrame pop_frame();

  // Modules of parameters (evaluate_modules.cc).
  Datum apply_module(const ModuleReference& module, std::vector<CallArgument> arguments, Loc loc);
  /// The value with the applications of modules in it made instances: the keys of their params
  /// begin with `prefix` and `name`, in lists also with the place of the element.
  Datum place(const Datum& value, const std::string& prefix, std::string_view name);
  Datum place_unknown(const Datum& value, const std::string& prefix, std::string_view name);
  Datum instantiate(const ModuleApplication& application, const std::string& path);
  bool may_instantiate(const ModuleApplication& application);
  bool make_members(const ModuleApplication& application, const std::string& path, Scope& scope,
                    ModuleInstance& instance);
  bool count_made(const std::string& path, Loc loc);
  Datum field(const ast::Assign& field, Scope& scope, const std::string& path, Loc instance);
  Datum instance_member(const ModuleInstance& instance, const ast::Identifier& name);
  Datum unplaced(const ModuleApplication& application, Loc loc);

  // Statements (evaluate_statement.cc, placement.cc).
  Flow execute_statement(const ast::Stmt& stmt, Scope& scope);
  /// Ends the function with poison.
  Flow give_up();
  Flow execute_for(const ast::For& stmt, Scope& scope);
  Flow execute_while(const ast::While& stmt, Scope& scope);
  bool refuse_endless(const ast::While& stmt, Scope& scope);
  Flow execute_iteration(ast::StmtList body, Scope& scope);
  void execute_assign(const ast::Assign& stmt, Scope& scope);
  void report_part(const ast::Expr& target, Scope& scope, bool exchanges = false, const ast::Expr* value = nullptr);
  bool refuse_part(ast::ExprList targets, const ast::Expr& value, Scope& scope);
  std::string change_in_loop(const ast::Subscript& target, const ast::Expr* value, Scope& scope);
  bool is_of_loop(std::string_view name) const;
  bool refuse_lengthening(const ast::Call& node, Scope& scope);
  void report_list_member(const ast::Attribute& node, Scope& scope, const Datum& element);
  /// Reports a comparison of values of kinds that are never equal, unless names may stand for values of several kinds.
  bool is_never_none(const OperatorPlace::Operand& operand) const;
  bool refuse_truth_in_chain(const ast::Compare& node) const;
  bool refuse_never_equal(const Datum& a, const Datum& b, const OperatorPlace& at);
  bool report_no_tensor(const Datum& object, const ast::Identifier& name) const;
  bool refuse_growth(const ast::AugAssign& stmt, const Datum& before, const Datum& after) const;
  void warn_unused(const ast::Expr& expr, const Datum& value, Scope& scope);
  void define(const ast::Def& def, Scope& scope);
  bool enter_context(const Datum& context, Loc loc);
  Flow execute_with(const ast::With& stmt, Scope& scope);
  Flow execute_on(const ast::On& stmt, Scope& scope);

  // What is run though nothing calls it (evaluate_open.cc).
  /// While it lives, something is run that a call may leave out: what it lets hold of sizes ends with it. `opens`: what
  /// decides that may be about sizes.
  class MayRun {
   public:
    explicit MayRun(Evaluator& evaluator, bool opens = true) : evaluator_(evaluator), before_(evaluator.facts_) {
      if (opens) evaluator.leave_facts_open();
    }
    ~MayRun() { evaluator_.facts_ = std::move(before_); }
    MayRun(const MayRun&) = delete;

   private:
    Evaluator& evaluator_;
    SizeFacts before_;
  };
  /// Runs a function of which no argument is known.
  void explore(const Function& function, Scope& scope);
  /// Runs a block that may be run or not; what it does to names and to the result is unknown.
  Flow explore(ast::StmtList body, Scope& scope);
  /// The same of a block that may be run more than once. `enters` gives the target of a loop the value that it has in
  /// the first iteration, or in any.
  using Enters = std::function<void(bool is_first)>;
  Flow explore_iterations(ast::StmtList body, Scope& scope, const Enters& enters = {});
  /// The same of blocks one of which is run.
  Flow explore_one_of(std::span<const ast::StmtList> bodies, Scope& scope, bool opens);
  Datum joined_lists(std::span<const Datum* const> lists, Loc loc);
  Datum explore_conditional(const ast::Conditional& node, Scope& scope);
  /// A loop over a sequence of unknown length.
  Flow explore_for(const ast::For& stmt, const Datum& iterable, Scope& scope);
  Datum named_element(const ast::Expr& target, const Datum& element);
  Datum first_element(const Datum& element);
  void explore_all(ast::ExprList exprs, Scope& scope);
  /// A call whose arguments are not all known: checks that it has as many as it needs, and gives what is known of its
  /// result.
  Datum explore_call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  Datum explore_sequence(const Builtin& builtin, const BoundArguments& arguments);
  Datum explore_body(const Datum& callee, std::vector<CallArgument> arguments, Loc loc);
  /// The result of the function, where arms that may be run return, too.
  void join_results();
  /// Whether a clause of a call holds, and the comparison of sizes that leaves it open.
  struct ClauseAnswer {
    std::optional<bool> holds;
    std::optional<DimFact> undecided;
  };
  using ClauseAsked = std::function<ClauseAnswer()>;
  /// A clause that the sizes leave undecided. What makes it false where it does not hold is needed, and holds from here
  /// on. Where calls have to see to it, an equation is warned of.
  void assume_clause(const Callable& callee, const ast::Expr& clause, Loc loc, const ClauseAsked& ask,
                     ClauseAnswer answer);
  void warn_of_need(const Callable& callee, const ast::Expr& clause, const DimFact& needed, Loc loc) const;
  /// A comparison of sizes is not known. True where it is one of a clause that is assumed then.
  bool note_undecided(ast::CompareOp op, Dim a, Dim b);

  // Reports to the observer.
  void observe(const ast::Expr& expr, const Datum& value) {
    EvaluationObserver* observer = session_.observer();
    if (observer && !value.is_poison()) observer->evaluated(expr, as_observed(value));
  }
  Datum as_observed(const Datum& value) {
    return value.is(DatumKind::Dim) ? Datum::dim(lowering_.as_written(value.as_dim())) : value;
  }
  void observe_parameters(const Function& function, Scope& scope);
  void set_device(std::string device);

  Session& session_;
  Lowering& lowering_;
  const Arguments arguments_;
  std::vector<CallFrame> frames_;
  SizeFacts facts_;
  bool tries_iteration_ = false;  ///< a trial of an iteration of a loop is in progress (evaluate_open.cc)
  unsigned unknown_sizes_ = 0;    ///< so far
  Blame blame_{session_, frames_, facts_, [this](const Value* value) { return lowering_.declared_at(value); }};
  size_t asked_ = 0;  ///< how often the budget was
  std::optional<size_t> counted_ops_;  ///< of what is built
  std::vector<const ModuleApplication*> instantiating_;
  unsigned nesting_ = 0;
};

}  // namespace tessera::frontend

#pragma once
// What an evaluation asks of the level that it builds: everything that has to do with values of the IR. GraphBuilder
// answers with ops of the graph, KernelBuilder with ops on tiles, and NoLowering knows compile-time values only.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/operator_place.h"
#include "frontend/values/value.h"

namespace tessera {
class Module;
}

namespace tessera::frontend {

/// A run-time loop as the source has it.
struct WrittenLoop {
  std::string variable;  ///< that counts; empty: none does
  std::string stop;      ///< the size that it stays below; empty: one that is computed
  size_t frames = 0;     ///< calls in progress
  Scope* body = nullptr;
};

class Placement;
class Scope;
struct ParamDeclaration;

/// How a block ended.
enum class Flow : uint8_t { Next, Return };

class Lowering {
 public:
  virtual ~Lowering() = default;

  // Values. Operands are never poison, and at least one is an Ir or an Object, or a Dim whose value the operation needs
  // at run time (sqrt(D), B / 2). Nothing: the answer is that of the evaluator, which knows compile-time values.

  /// An op on single elements: operators, comparisons, and/or/not, math functions, where.
  virtual std::optional<Datum> elementwise(ElementwiseKind kind, std::span<const Datum> operands,
                                           const OperatorPlace& at) = 0;
  virtual std::optional<Datum> matmul(const Datum& a, const Datum& b, const OperatorPlace& at) = 0;
  virtual std::optional<Datum> attribute(const Datum& object, const ast::Identifier& name, Loc loc) = 0;
  /// `indices` are not evaluated yet.
  virtual std::optional<Datum> subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) = 0;
  /// A builtin that is not a compile-time function of its arguments; operands may all be compile-time values.
  virtual std::optional<Datum> call_builtin(const Builtin& builtin, const BoundArguments& arguments, Loc loc) = 0;
  /// A call of an Object. The arguments are left as they are where nothing is answered.
  virtual std::optional<Datum> call_object(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc) = 0;
  /// A def or lambda, which the evaluator inlines. The same holds of the arguments.
  virtual std::optional<Datum> call_function(const Function& function, std::vector<CallArgument>& arguments,
                                             Loc loc) = 0;
  /// The value of a param's name.
  virtual std::optional<Datum> param(const ParamDeclaration& declaration, Loc loc) = 0;

  // Statements. Nothing: the evaluator reports what it cannot run.

  /// A for loop over something that is no compile-time sequence.
  virtual std::optional<Flow> for_each(const Datum& iterable, const ast::For& loop, Scope& scope) = 0;
  /// An `if` from one of its arms on, whose condition is no compile-time value.
  virtual std::optional<Flow> branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) = 0;
  /// A while loop whose condition is no compile-time value.
  virtual std::optional<Flow> while_loop(const ast::While& loop, Scope& scope) = 0;
  /// The value that `name: annotation = value` gives the name.
  virtual Datum annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc) = 0;
  /// The value that a name is given.
  virtual Datum assigned(std::string_view name, Datum value, Loc loc) = 0;
  /// An expression statement was run, which gave `value`; whether that is put to use.
  virtual bool expression_statement(const ast::Expr& expr, const Datum& value, Scope& scope) = 0;
  /// A `with` or `on` statement begins: what is placed, fetched ahead or spread over devices.
  virtual void enter(const Placement& placement, Loc loc) = 0;

  // Names and sizes.

  /// A scope was opened for what is run.
  virtual void opened(const Scope& scope) = 0;
  /// The value of a name of another scope: kernels have sizes of their own.
  virtual Datum received(const Scope& from, Datum value) = 0;
  /// Where an argument of what is built is declared; unknown for anything else.
  virtual Loc declared_at(const Value* value) const = 0;
  /// The size that a value of the IR stands for; null for one that is no size.
  virtual Dim size_of(const IrValue& value) = 0;
  /// The innermost run-time loop around what is run in the function that is run.
  virtual std::optional<WrittenLoop> loop() const { return std::nullopt; }
  /// Whether a size has its own number in each iteration of a run-time loop.
  virtual bool is_counted(Dim size) const = 0;
  /// A size in which the counters of loops have the names that the source gives them.
  virtual Dim as_written(Dim dim) = 0;

  // What is built.

  /// The IR, of which each op is work for passes, too; null for none.
  virtual Module* built() const = 0;
  /// Whether it may still grow; says so when it may not.
  virtual bool may_grow(Loc loc) = 0;
};

/// Answers nothing: for what has compile-time values only.
class NoLowering final : public Lowering {
 public:
  /// The one that all evaluations share.
  static NoLowering& instance() {
    static NoLowering none;
    return none;
  }

  std::optional<Datum> elementwise(ElementwiseKind, std::span<const Datum>, const OperatorPlace&) override {
    return std::nullopt;
  }
  std::optional<Datum> matmul(const Datum&, const Datum&, const OperatorPlace&) override { return std::nullopt; }
  std::optional<Datum> attribute(const Datum&, const ast::Identifier&, Loc) override { return std::nullopt; }
  std::optional<Datum> subscript(const Datum&, ast::ExprList, Scope&, Loc) override { return std::nullopt; }
  std::optional<Datum> call_builtin(const Builtin&, const BoundArguments&, Loc) override { return std::nullopt; }
  std::optional<Datum> call_object(const Datum&, std::vector<CallArgument>&, Loc) override { return std::nullopt; }
  std::optional<Datum> call_function(const Function&, std::vector<CallArgument>&, Loc) override {
    return std::nullopt;
  }
  std::optional<Datum> param(const ParamDeclaration&, Loc) override { return std::nullopt; }
  std::optional<Flow> for_each(const Datum&, const ast::For&, Scope&) override { return std::nullopt; }
  std::optional<Flow> branch(const Datum&, const ast::If&, size_t, Scope&) override { return std::nullopt; }
  std::optional<Flow> while_loop(const ast::While&, Scope&) override { return std::nullopt; }
  Datum annotate(const ast::Expr&, Datum value, Scope&, Loc) override { return value; }
  Datum assigned(std::string_view, Datum value, Loc) override { return value; }
  bool expression_statement(const ast::Expr&, const Datum&, Scope&) override { return false; }
  void enter(const Placement&, Loc) override {}
  void opened(const Scope&) override {}
  Datum received(const Scope&, Datum value) override { return value; }
  Loc declared_at(const Value*) const override { return {}; }
  Dim size_of(const IrValue&) override { return nullptr; }
  bool is_counted(Dim) const override { return false; }
  Dim as_written(Dim dim) override { return dim; }
  Module* built() const override { return nullptr; }
  bool may_grow(Loc) override { return true; }
};

}  // namespace tessera::frontend

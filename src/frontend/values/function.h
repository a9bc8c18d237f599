#pragma once
// Functions and files as values.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/syntax/parse.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Scope;

/// A parsed file with its names.
struct SourceModule {
  std::string name;  ///< as imported: "tessera.nn"; the main file has its path
  std::string key_prefix;  ///< of the keys of its params: "" for the main file, else its name
  FileId file = 0;
  ast::SourceUnit unit;
  Scope* scope = nullptr;
  Namespace as_namespace;
  bool builtin = false;  ///< of the embedded standard library
  bool loading = false;
  bool broken = false;  ///< it has syntax errors
};

/// What a function keeps for its derivatives, beside its arguments, of what it computes.
struct CheckpointPolicy {
  bool matmuls = false;            ///< the results of matmuls
  std::vector<std::string> names;  ///< what checkpoint_name calls so
};

enum class FunctionKind : uint8_t { Plain, Jit, Kernel };

/// A def or lambda with the scope around it.
struct Function {
  std::string name;
  FunctionKind kind = FunctionKind::Plain;
  const ast::Def* def = nullptr;        ///< either this
  const ast::Lambda* lambda = nullptr;  ///< or this
  Scope* scope = nullptr;
  Loc loc;
  bool pure = false;        ///< `@pure`
  bool autodiff = false;    ///< `@autodiff`
  bool is_method = false;   ///< of an instance: its first parameter, `self`, is in the scope
  bool of_tiles = false;    ///< a kernel on whole tensors: `tile.dot` is their matmul
  std::string unsupported;  ///< a decorator that is known and not compiled yet
  const ast::Decorator* numerics = nullptr;  ///< `@verify.numerics(…)`
  const ast::Expr* vjp = nullptr;  ///< the rule of `@custom_vjp`
  const ast::Expr* jvp = nullptr;  ///< and of `@custom_jvp`
  std::optional<CheckpointPolicy> checkpoint;  ///< of `@checkpoint`
  std::vector<std::pair<Datum, Loc>> schedules;  ///< of `with_schedule`, beside the decorators'

  /// The parameters that calls give arguments for: of a method without `self`.
  std::span<const ast::Parameter> parameters() const;
  const ast::Node* node() const;
};

/// What a transform makes of a function: a function of its arguments.
class TransformedFunction : public Object {
 public:
  /// `loc`: where it is asked for.
  TransformedFunction(Datum function, Loc loc) : function_(std::move(function)), loc_(loc) {}
  const Datum& function() const { return function_; }
  Loc loc() const { return loc_; }
  /// Of the transform.
  virtual std::string_view name() const = 0;
  std::string describe() const override;
  Measure measure() const override;

 private:
  Datum function_;
  Loc loc_;
};

/// grad(f) and value_and_grad(f).
class GradientFunction : public TransformedFunction {
 public:
  /// `by`: the arguments to differentiate by, an integer, a name, or a tuple of these.
  GradientFunction(Datum function, Datum by, bool gives_value, bool has_aux, Loc loc)
      : TransformedFunction(std::move(function), loc),
        by_(std::move(by)),
        gives_value_(gives_value),
        has_aux_(has_aux) {}
  const Datum& by() const { return by_; }
  bool gives_value() const { return gives_value_; }
  /// Whether f gives a tuple of the result to differentiate and others.
  bool has_aux() const { return has_aux_; }
  std::string_view name() const override { return gives_value_ ? "value_and_grad" : "grad"; }

 private:
  Datum by_;
  bool gives_value_, has_aux_;
};

/// vmap(f): f of each example.
class MappedFunction : public TransformedFunction {
 public:
  /// Axes of examples: an integer, None for what all examples share, or a tuple or list of these, for each argument or
  /// element one.
  MappedFunction(Datum function, Datum in_axes, Datum out_axes, Loc loc)
      : TransformedFunction(std::move(function), loc), in_axes_(std::move(in_axes)), out_axes_(std::move(out_axes)) {}
  const Datum& in_axes() const { return in_axes_; }
  const Datum& out_axes() const { return out_axes_; }
  std::string_view name() const override { return "vmap"; }

 private:
  Datum in_axes_, out_axes_;
};

/// checkpoint(f): f, whose values are computed again where it is taken backwards.
class CheckpointedFunction : public TransformedFunction {
 public:
  CheckpointedFunction(Datum function, CheckpointPolicy policy, Loc loc)
      : TransformedFunction(std::move(function), loc), policy_(std::move(policy)) {}
  const CheckpointPolicy& policy() const { return policy_; }
  std::string_view name() const override { return "checkpoint"; }

 private:
  CheckpointPolicy policy_;
};

/// The policy that a value says: "nothing", "matmuls", or a tuple or list of names; nullopt for any other value.
std::optional<CheckpointPolicy> checkpoint_policy(const Datum& value);
/// The form of such a value, for messages.
inline constexpr std::string_view checkpoint_policies = "'nothing', 'matmuls', or a tuple of names";

/// Whether a value can be called: a function, or what a transform made of one.
bool is_function(const Datum& value);
/// Its parameters' names where they are known: of a def or lambda.
std::vector<std::string_view> parameter_names(const Datum& function);

}  // namespace tessera::frontend

#pragma once
// Functions and files as values.

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
  bool is_method = false;   ///< of an instance: its first parameter, `self`, is in the scope
  bool of_tiles = false;    ///< a kernel on whole tensors: `tile.dot` is their matmul
  std::string unsupported;  ///< a decorator that is known and not compiled yet
  const ast::Decorator* numerics = nullptr;  ///< `@verify.numerics(…)`
  const ast::Expr* vjp = nullptr;  ///< the rule of `@custom_vjp`
  const ast::Expr* jvp = nullptr;  ///< and of `@custom_jvp`
  std::vector<std::pair<Datum, Loc>> schedules;  ///< of `with_schedule`, beside the decorators'

  /// The parameters that calls give arguments for: of a method without `self`.
  std::span<const ast::Parameter> parameters() const;
  const ast::Node* node() const;
};

/// grad(f) and value_and_grad(f): a function of f's arguments.
class GradientFunction : public Object {
 public:
  /// `by`: the arguments to differentiate by, an integer, a name, or a tuple of these. `loc`: where it is asked for.
  GradientFunction(Datum function, Datum by, bool gives_value, bool has_aux, Loc loc)
      : function_(std::move(function)), by_(std::move(by)), gives_value_(gives_value), has_aux_(has_aux), loc_(loc) {}
  const Datum& function() const { return function_; }
  const Datum& by() const { return by_; }
  bool gives_value() const { return gives_value_; }
  /// Whether f gives a tuple of the result to differentiate and others.
  bool has_aux() const { return has_aux_; }
  Loc loc() const { return loc_; }
  std::string_view name() const { return gives_value_ ? "value_and_grad" : "grad"; }
  std::string describe() const override;
  Measure measure() const override;

 private:
  Datum function_, by_;
  bool gives_value_, has_aux_;
  Loc loc_;
};

/// Whether a value can be called: a function, or what a transform made of one.
bool is_function(const Datum& value);
/// Its parameters' names where they are known: of a def or lambda.
std::vector<std::string_view> parameter_names(const Datum& function);

}  // namespace tessera::frontend

#pragma once
// Annotations. A signature is read once per function into patterns, which say which names declare
// symbols; a pattern is then matched against argument types (bind) or made into a type
// (instantiate), per call.
//
// Which bare names declare: a name that stands alone in a dimension position of a *parameter's*
// Tensor or Tile and means nothing in the scopes around the function, or is written as a string, is
// a symbol of the signature; so is every factor of a string dimension of KTile ("B*H"). A parameter
// `n: int` or `n: dim` is a dimension bound by its argument. A bare name in the dtype position that
// is no dtype is a dtype parameter. Everything else is an expression over names declared elsewhere.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/check_numerics.h"
#include "frontend/values/state.h"
#include "frontend/values/value.h"
#include "support/diagnostic.h"

namespace tessera::frontend {

class Blame;
class Evaluator;
class Scope;
class Session;
struct Function;

enum class PatternKind : uint8_t {
  Any,  ///< no annotation
  Tensor,
  Tile,
  KTile,       ///< a Tensor whose first dimension may group several: "B*H"
  Scalar,      ///< int, float, bool or a sized one: dtype says which; `int` is I64, `float` F32
  DimParam,    ///< `n: dim`
  DTypeParam,  ///< `T: dtype`
  String,
  Function,
  Schedule,
  Tuple,
  State,  ///< KVCache[…] or OptimizerState[…]; without dims and dtype any of that kind
  Other,  ///< a type of the language that is not lowered yet; `name` says which
  Poison,
};

/// One dimension as written.
struct DimPattern {
  const ast::Expr* expr = nullptr;  ///< the expression; null for a string dimension
  std::string symbol;               ///< not empty: this bare name, declared by the signature
  std::vector<std::string> group;   ///< KTile: the symbols of a product, all declared
  Loc loc;
};

struct Privilege {
  std::string name;
  Loc loc;
};

/// A type as written.
struct TypePattern {
  PatternKind kind = PatternKind::Any;
  std::vector<DimPattern> dims;
  DType dtype = DType::F32;
  std::string dtype_symbol;  ///< not empty: a dtype parameter
  Policies policies;
  std::string layout;                   ///< empty: the default
  std::vector<Privilege> privileges;    ///< of Region[…]
  std::vector<TypePattern> elements;    ///< Tuple
  StateKind state = StateKind::KVCache;
  StatePolicies state_policies;
  const ast::Expr* state_of = nullptr;  ///< OptimizerState: the parameter
  std::string name;                     ///< Other
  Loc loc;
};

/// The name of the parameter by which a kernel that draws without a seed takes that of its call. No source can name it.
inline constexpr std::string_view seed_of_call = "call.seed";

struct SignatureParameter {
  std::string name;
  TypePattern type;
  const ast::Expr* default_value = nullptr;
  bool keyword_only = false;
  Loc loc;
};

struct DeclaredSymbol {
  std::string name;
  Loc loc;
  unsigned uses = 0;
};

struct Signature {
  std::vector<SignatureParameter> parameters;
  std::optional<TypePattern> result;
  std::vector<DeclaredSymbol>
      dims;  ///< in order of first appearance, `int` and `dim` parameters included
  std::vector<DeclaredSymbol> dtypes;
  bool failed = false;  ///< an error was reported

  bool declares_dim(std::string_view name) const;
  bool declares_dtype(std::string_view name) const;
};

/// Reads the annotations of a def. Errors are reported.
Signature read_signature(Evaluator& evaluator, const Function& function);

/// Reads one annotation in which no name declares anything (a variable's, a param's).
TypePattern read_type(Evaluator& evaluator, const ast::Expr& expr, Scope& scope);

/// The dtype with a policy, `dtype @policy`; nullopt when an error was reported.
std::optional<DTypeValue> with_policy(Evaluator& evaluator, const DTypeValue& dtype, const ast::Expr& policy,
                                      Scope& scope);

/// Where a symbol of a signature got its value.
struct BoundSymbol {
  Dim dim = nullptr;
  Loc loc;           ///< of the argument
  std::string what;  ///< "dimension 1 of 'x'"
  std::string shape = "";  ///< of the argument: "[B, 64]"
};

/// The values of a signature's symbols at one call.
struct Bindings {
  std::map<std::string, BoundSymbol, std::less<>> dims;
  std::map<std::string, DTypeValue, std::less<>> dtypes;
};

/// An argument as the matcher sees it.
struct ArgumentType {
  std::vector<Dim> dims;
  DType dtype = DType::F32;
  Policies policies;
  Loc loc;           ///< of the argument, where it is written
  Loc origin;        ///< where the argument's value was declared or computed; may be unknown
  std::string what;  ///< how messages call it: "argument 'x'"
  std::vector<Loc> dim_places;  ///< where each dim comes from, when that is known

  /// Where a dim comes from, as far as is known.
  Loc place(size_t axis) const;
};

/// A dimension with the place where it comes from, for messages about two that differ.
struct DimPlace {
  Dim dim = nullptr;
  Loc loc;
  std::string what;  ///< "dimension 1 of 'x'"
  std::string from;  ///< the same of the tensor at `loc`, where it is another one
  Loc instance;      ///< where the module is made that has it as a param
  std::string shape = "";  ///< that it is an extent of: "[B, 64]"; empty where that is not known
};

/// Reports a tensor whose size in bytes does not fit in 64 bits; false when it does not.
bool check_size(const Blame& blame, std::span<const Dim> dims, Loc loc);

struct ShapeQuestion;

/// Says that two dimensions have to be equal and are not, or that nothing says so. Of a question, what makes the
/// shapes fit is offered before what makes the sizes equal.
DiagnosticEngine::Builder report_unequal(const Blame& blame, Loc loc, const DimPlace& a, const DimPlace& b,
                                         const ShapeQuestion* question = nullptr);

/// Matches the rank, the dtype parameter and the bare symbols of a Tensor, Tile or KTile pattern
/// and binds what is unbound. `what` names the parameter. False when an error was reported.
bool bind_symbols(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                  std::string_view parameter, Bindings& bindings,
                  const std::function<ShapeQuestion()>& ask = nullptr);
/// Whether tensors of these shapes fit the patterns, as far as symbols, numbers and the constants of `scope` say.
bool binds(std::span<const TypePattern* const> patterns, const std::vector<std::vector<Dim>>& shapes,
           const Bindings& constants, Scope& scope);
/// After all parameters are bound and the symbols are defined in `scope`: checks the dimensions
/// that are expressions. Of a question, what makes the shapes fit is offered first.
bool check_expressions(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                       std::string_view parameter, Scope& scope, const std::function<ShapeQuestion()>& ask = nullptr);
/// The value of a dimension pattern in a scope that has the symbols; null when an error was
/// reported.
Dim evaluate_dim(Evaluator& evaluator, const DimPattern& pattern, Scope& scope);
/// The dims of a Tensor, Tile or KTile pattern; nullopt when an error was reported.
std::optional<std::vector<Dim>> evaluate_dims(Evaluator& evaluator, const TypePattern& pattern,
                                              Scope& scope);

}  // namespace tessera::frontend

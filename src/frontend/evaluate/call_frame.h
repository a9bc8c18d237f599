#pragma once
// Calls: what can be called with arguments, and a call in progress.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/function.h"
#include "frontend/values/modules.h"
#include "frontend/values/value.h"
#include "ir/core/dim_facts.h"

namespace tessera::frontend {

class Blame;

/// What gives a function an effect: an op, a declaration, or a call of a function that has it.
struct EffectSite {
  Loc loc;     ///< in the function's own body
  Loc origin;  ///< of the op or the declaration
  /// The calls from there to the origin, the innermost first, with the names of what is called.
  std::vector<std::pair<std::string, Loc>> calls;
};

/// The statements after a statement, in its block and in those of the function around it.
struct Continuation {
  ast::StmtList rest;
  const Continuation* outer = nullptr;
  bool repeats = false;  ///< the iterations of an unrolled loop come next, too
};

/// A call in progress: what belongs to one run of a function.
struct CallFrame {
  std::string_view name;               ///< of the function, or of the module that is made
  std::string_view kind = "call";      ///< or "instance", "value" of a file's name
  const Function* function = nullptr;  ///< null for a module
  Loc call;  ///< where it is called; unknown for the outermost
  bool is_clause = false;  ///< a `where` clause of the function is looked at, not its body
  /// Of a clause: offers what makes it hold; false where nothing known does.
  std::function<bool(DiagnosticEngine::Builder&)> help;
  /// Of a clause: the first comparison of sizes that is not known, and whether it is an error.
  std::optional<DimFact> undecided = {};
  bool refuses_undecided = true;
  bool is_trip = false;    ///< the condition of a `while` is evaluated, not its body
  /// The value of a file's name is made, which everything in the file shares: by this frame or by one below it.
  bool is_shared = false;
  Datum result = Datum::none();
  /// Of arms that may be run, of which not all return: what is returned after them is one more.
  std::vector<Datum> possible_results;
  bool lacks_names = false;            ///< fewer names than values were given a meaning, which is said
  Loc result_loc;                      ///< of the `return` that was reached
  std::vector<const ast::Expr*> returned;  ///< what it gives; of branches that are chosen at run time, each of them
  /// Found so far, with the places in the function's own body that have them.
  std::map<std::string, std::vector<EffectSite>> effects;
  const Continuation* continuation = nullptr;  ///< after the running statement; null at the end
  std::string device;                          ///< only for the observer

  /// Where the result is written, as far as that is known.
  Loc result_place(Loc otherwise) const { return result_loc.known() ? result_loc : otherwise; }
  /// The function does something beside giving its result. Each place of its body is kept once.
  void add_effect(std::string_view effect, EffectSite site);
  void add_effect(std::string_view effect, Loc loc) { add_effect(effect, {loc, loc, {}}); }
  /// What a call did, its caller does.
  void add_effects(const CallFrame& done);
  /// The effects that a function declares and that no op has: its declaration is all that is known of them.
  /// `at` is known where the function has no frame of its own: the place of its call.
  void add_declared(const Function& called, Loc at = {});
};

/// Checks the effects that were found against `@pure` and `!{…}`.
void check_effects(const Blame& blame, const CallFrame& frame);
/// Warns of effects that an entry declares and that neither an op nor a declaration of what it calls causes. The frame
/// does not have the entry's own declaration yet.
void warn_of_uncaused(const Blame& blame, const CallFrame& frame);

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

}  // namespace tessera::frontend

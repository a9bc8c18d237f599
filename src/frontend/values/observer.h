#pragma once
// The interface through which tools observe an evaluation: values of names and expressions. The
// evaluation works the same with an observer and without one.
//
// A place is reported once for each time it is evaluated: the iterations of an unrolled loop and
// the calls of a function report it again, with the values they have.

#include <set>
#include <string>
#include <string_view>

#include "frontend/syntax/ast.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Scope;
class Session;
struct Binding;

/// Values and functions are valid during the call only: what a tool keeps of them it copies.
class EvaluationObserver {
 public:
  virtual ~EvaluationObserver() = default;

  /// The first thing an observer hears.
  virtual void started(Session& /*session*/) {}
  /// `name`, written at `loc`, has this value from here on: a variable, a parameter of a call, a
  /// dimension of a signature, a field of an instance. Never poison.
  virtual void bound(std::string_view /*name*/, Loc /*loc*/, const Datum& /*value*/) {}
  /// `name`, written at `loc`, is looked up, and `scope` has it.
  virtual void named(std::string_view /*name*/, Loc /*loc*/, const Scope& /*scope*/, const Binding& /*binding*/) {}
  /// The value of an expression. Never poison.
  virtual void evaluated(const ast::Expr& /*expr*/, const Datum& /*value*/) {}
  /// The callee and the arguments of a call are evaluated; the callee is about to be run.
  virtual void called(const ast::Call& /*call*/, const Datum& /*callee*/) {}
  /// A function ended. The result may be poison.
  virtual void returned(const Function& /*function*/, const Datum& /*result*/,
                        const std::set<std::string>& /*effects*/) {}
  /// The following ops run on this device; empty: on the one that the target says.
  virtual void placed(std::string_view /*device*/) {}
};

}  // namespace tessera::frontend

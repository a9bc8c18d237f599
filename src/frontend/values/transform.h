#pragma once
// Functions that are made of functions: grad(f), value_and_grad(f), and what vjp gives beside a value.

#include <memory>
#include <string>
#include <vector>

#include "frontend/values/builtins.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

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

/// The gradient of what has members by name: of a module by its params.
class GradientTree : public Object {
 public:
  GradientTree(std::string of, Dictionary members) : of_(std::move(of)), members_(std::move(members)) {}
  const Datum* member(std::string_view name) const { return members_.get(name); }
  const Dictionary& members() const { return members_; }
  std::string describe() const override { return "the gradient of " + of_; }
  Measure measure() const override;

 private:
  std::string of_;
  Dictionary members_;
};

/// Whether a value can be called: a function, or what a transform made of one.
bool is_function(const Datum& value);
/// Its parameters' names where they are known: of a def or lambda.
std::vector<std::string_view> parameter_names(const Datum& function);

}  // namespace tessera::frontend

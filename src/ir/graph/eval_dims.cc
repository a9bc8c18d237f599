// The facts known on entry: dim symbols from the extents of arguments, and the guards on them.

#include <fmt/format.h>

#include "ir/core/dim_facts.h"
#include "ir/graph/eval.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::graph {

namespace {

class Binder {
 public:
  Binder(Op* function, const std::vector<TensorValue>& arguments, const EvalOptions& options,
         DiagnosticEngine& diagnostics)
      : function_(function),
        body_(function->region()->front()),
        arguments_(arguments),
        options_(options),
        diagnostics_(diagnostics),
        values_(options.dims) {}

  Result<DimValues> run() {
    if (arguments_.size() != body_->arg_count()) {
      diagnostics_.report(diag::eval_argument_count, function_->loc(), symbol_name(function_),
                          body_->arg_count(), arguments_.size());
      return failure;
    }
    for (unsigned i = 0; i < body_->arg_count(); ++i) {
      if (!check_kind(i) || !bind_value(i)) return failure;
    }
    for (unsigned i = 0; i < body_->arg_count(); ++i) bind_symbols(i);
    for (unsigned i = 0; i < body_->arg_count(); ++i) {
      if (!check_extents(i)) return failure;
    }
    if (!check_guards()) return failure;
    return values_;
  }

 private:
  std::string_view name(unsigned i) const {
    return entry::read(function_->attr(attr::Func::args)[i], entry::Argument::name);
  }

  bool check_kind(unsigned i) {
    Type type = body_->arg(i)->type();
    const TensorValue& given = arguments_[i];
    bool held = given.dtype() == held_dtype(options_.mode, type->dtype);
    if ((held || given.dtype() == type->dtype) && given.rank() == type->rank()) return true;
    diagnostics_.report(diag::eval_argument, function_->loc(), name(i), type->text,
                        fmt::format("{} of rank {}", to_string(given.dtype()), given.rank()));
    return false;
  }

  /// An argument may be a dimension's value.
  bool bind_value(unsigned i) {
    auto dim = entry::read(function_->attr(attr::Func::args)[i], entry::Argument::dim);
    if (!dim) return true;
    int64_t value = arguments_[i].get(0).i;
    values_.emplace(*dim, value);
    if (value >= 0) return true;
    diagnostics_.report(diag::eval_negative_dim, function_->loc(), *dim, value);
    return false;
  }

  void bind_symbols(unsigned i) {
    Type type = body_->arg(i)->type();
    for (size_t axis = 0; axis < type->rank(); ++axis) {
      std::string_view symbol = type->dims[axis]->symbol();
      if (!symbol.empty()) values_.emplace(symbol, arguments_[i].dims()[axis]);
    }
  }

  bool check_extents(unsigned i) {
    Type type = body_->arg(i)->type();
    for (size_t axis = 0; axis < type->rank(); ++axis) {
      std::optional<int64_t> wanted = tessera::evaluate(type->dims[axis], values_);
      int64_t given = arguments_[i].dims()[axis];
      if (wanted == given) continue;
      if (!wanted) {
        diagnostics_.report(diag::eval_unknown_dim, function_->loc(), type->dims[axis]->text);
      } else {
        diagnostics_.report(diag::eval_extent, function_->loc(), axis, name(i), given,
                            described(type->dims[axis], *wanted));
      }
      return false;
    }
    return true;
  }

  /// A dim with its value, once when it is a number: "B*S = 12".
  static std::string described(Dim dim, int64_t value) {
    return dim->constant() ? dim->text : fmt::format("{} = {}", dim->text, value);
  }

  bool check_guards() {
    for (Attr guard : function_->attr(attr::Func::guards)) {
      DimFact fact = *read_fact(guard);
      auto [relation, left, right] = fact;
      std::optional<int64_t> a = tessera::evaluate(left, values_);
      std::optional<int64_t> b = tessera::evaluate(right, values_);
      if (a && b && holds(*a, relation, *b)) continue;
      if (!a || !b) {
        diagnostics_.report(diag::eval_unknown_dim, function_->loc(), (a ? right : left)->text);
      } else {
        diagnostics_.report(diag::eval_guard, function_->loc(), fact.text(), described(left, *a), described(right, *b));
      }
      return false;
    }
    return true;
  }

  Op* function_;
  Block* body_;
  const std::vector<TensorValue>& arguments_;
  const EvalOptions& options_;
  DiagnosticEngine& diagnostics_;
  DimValues values_;
};

}  // namespace

Result<DimValues> bind_dims(Op* function, const std::vector<TensorValue>& arguments,
                            const EvalOptions& options, DiagnosticEngine& diagnostics) {
  return Binder(function, arguments, options, diagnostics).run();
}

}  // namespace tessera::graph

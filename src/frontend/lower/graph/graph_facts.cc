// The promises of a function about its results (`@verify.numerics`), and the devices for its work.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "frontend/evaluate/placement.h"
#include "frontend/lower/graph/graph_builder.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// The promises of `@verify.numerics(stable=True, bounded=[-100, 100])`.
struct Promise {
  bool stable = false;
  std::optional<std::pair<double, double>> bounds;
};

bool read_bounds(Evaluator& evaluator, const Datum& value, Loc loc, Promise& promise) {
  bool pair = value.is_sequence() && value.elements().size() == 2 &&
              value.elements()[0].is_number() && value.elements()[1].is_number();
  if (!pair) {
    evaluator.report(diag::wrong_kind, loc, "'bounded'", describe(value),
                     "a list of two numbers, the lowest and the greatest");
    return false;
  }
  double low = value.elements()[0].as_double(), high = value.elements()[1].as_double();
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) {
    auto builder = evaluator.report(diag::malformed_promise, loc,
                                    fmt::format("the bounds {}, which are not a range of numbers", to_text(value)));
    if (low > high) builder.help("the lowest number is the first: bounded=[lowest, greatest]");
    return false;
  }
  promise.bounds = {low, high};
  return true;
}

std::optional<Promise> read_promise(Evaluator& evaluator, const Function& function) {
  Promise promise;
  const char* promises = "it takes stable=True and bounded=[lowest, greatest]";
  if (function.numerics->arguments.empty()) {
    evaluator.report(diag::malformed_promise, function.numerics->loc, "nothing").help(promises);
    return std::nullopt;
  }
  for (const ast::Argument& argument : function.numerics->arguments) {
    Datum value = evaluator.evaluate(*argument.value, *function.scope);
    if (value.is_poison()) return std::nullopt;
    if (argument.name.text == "stable") {
      auto stable = evaluator.expect_bool(value, argument.value->loc, "'stable'");
      if (!stable) return std::nullopt;
      promise.stable = *stable;
    } else if (argument.name.text == "bounded") {
      if (!read_bounds(evaluator, value, argument.value->loc, promise)) return std::nullopt;
    } else {
      evaluator
          .report(diag::malformed_promise, argument.loc,
                  argument.name.text.empty() ? "a value without a name"
                                             : fmt::format("'{}'", argument.name.text))
          .help(promises);
      return std::nullopt;
    }
  }
  return promise;
}

void add_once(std::vector<Attr>& list, Attr attr) {
  if (std::find(list.begin(), list.end(), attr) == list.end()) list.push_back(attr);
}

}  // namespace

bool GraphBuilder::record_numerics(const Function& function) {
  if (!function.numerics) return true;
  auto promise = read_promise(evaluator_, function);
  if (!promise) return false;
  using entry::Numerics;
  Attr bounds = nullptr;
  if (promise->bounds) {
    bounds = context().array({context().number(promise->bounds->first), context().number(promise->bounds->second)});
  }
  bool is_entry = function_.op && evaluator_.frames().empty();
  std::string_view name = is_entry ? symbol_name(function_.op) : std::string_view(function.name);
  Attr stable = context().boolean(promise->stable);
  add_once(function_.numerics,
           entry::make_dict(context(), {Numerics::bounded(bounds), Numerics::function(context(), name),
                                        Numerics::stable(stable)}));
  return true;
}

namespace {

/// The values that the checks of a promise are made of: facts of tensors, bools of rank 0.
class PromiseChecks {
 public:
  explicit PromiseChecks(Builder& builder) : builder_(builder) {}

  /// Every element lies in [low, high]; NaN does not.
  Value* within(Value* value, double low, double high) {
    value = graph::cast(builder_, value, DType::F64);
    Value* least = compare(bound(low), extreme("min", value));
    return both(least, compare(extreme("max", value), bound(high)));
  }

  /// No element is an infinity or NaN.
  Value* finite(Value* value) {
    value = graph::cast(builder_, value, DType::F64);
    Value* size = graph::elementwise(builder_, ElementwiseKind::Abs, {value});
    return compare(extreme("max", size), bound(std::numeric_limits<double>::max()));
  }

  Value* all_finite(const std::vector<Value*>& values) {
    Value* all = graph::full(builder_, 1, {}, DType::Bool);
    for (Value* value : values) {
      if (is_float(value->type()->dtype)) all = both(all, finite(value));
    }
    return all;
  }

  Value* both(Value* a, Value* b) { return graph::elementwise(builder_, ElementwiseKind::And, {a, b}); }
  Value* unless(Value* given, Value* a) {
    Value* absent = graph::elementwise(builder_, ElementwiseKind::Not, {given});
    return graph::elementwise(builder_, ElementwiseKind::Or, {absent, a});
  }

 private:
  Value* bound(double number) { return graph::full(builder_, number, {}, DType::F64); }
  Value* compare(Value* a, Value* b) { return graph::elementwise(builder_, ElementwiseKind::Le, {a, b}); }
  Value* extreme(std::string_view kind, Value* value) {
    std::vector<int64_t> axes(value->type()->rank());
    std::iota(axes.begin(), axes.end(), 0);
    return graph::reduce(builder_, value, kind, axes);
  }

  Builder& builder_;
};

/// What `results` are made of by the ops of a block behind `before` (all of them, where that is null): values that are
/// none of those ops'.
std::vector<Value*> sources_of(Block* block, const Op* before, std::vector<Value*> results) {
  std::set<const Value*> made;
  std::vector<Value*> used = std::move(results);
  auto visit = [&](Op* op) {
    for (unsigned i = 0; i < op->operand_count(); ++i) used.push_back(op->operand(i));
    for (unsigned i = 0; i < op->result_count(); ++i) made.insert(op->result(i));
    for (unsigned r = 0; r < op->region_count(); ++r) {
      for (Block* body = op->region(r)->front(); body; body = body->next()) {
        for (unsigned i = 0; i < body->arg_count(); ++i) made.insert(body->arg(i));
      }
    }
  };
  for (Op* op = before ? before->next() : block->front(); op; op = op->next()) {
    visit(op);
    walk(op, visit);
  }
  std::vector<Value*> sources;
  for (Value* value : used) {
    if (made.insert(value).second) sources.push_back(value);
  }
  return sources;
}

void tensors_of(const Datum& value, std::vector<Value*>& tensors) {
  if (value.is_sequence()) {
    for (const Datum& element : value.elements()) tensors_of(element, tensors);
  } else if (value.is_ir() && value.as_ir().value->type()->dtype != DType::Bool) {
    tensors.push_back(value.as_ir().value);
  }
}

}  // namespace

/// In code that is checked the call ends where a result has an element outside of the bounds, and where a stable
/// function, whose ops are those behind `before`, makes an infinity or NaN of values that have none. The results of an
/// entry are looked at by the runtime.
void GraphBuilder::check_promise(const Function& function, const Datum& result, const Op* before, Loc loc) {
  if (!session().checks_promises() || !function.numerics || result.is_poison()) return;
  auto promise = read_promise(evaluator_, function);
  std::vector<Value*> results;
  tensors_of(result, results);
  if (!promise || results.empty()) return;
  std::vector<Value*> sources = sources_of(builder_.block(), before, results);
  builder_.set_loc(loc);
  PromiseChecks checks(builder_);
  auto check = [&](Value* holds, std::string message) {
    builder_.op(graph::info(graph::OpKind::Check), {{holds}}, {},
                {graph::attr::Check::message(context(), message)});
  };
  for (Value* value : results) {
    if (!promise->bounds) break;
    auto [low, high] = *promise->bounds;
    check(checks.within(value, low, high),
          fmt::format("the result of '{}' has elements outside of {} to {}, the bounds that @verify.numerics gives",
                      function.name, low, high));
  }
  if (!promise->stable) return;
  check(checks.unless(checks.all_finite(sources), checks.all_finite(results)),
        fmt::format("the result of '{}' has infinities or NaN and what it is computed from has none, where "
                    "@verify.numerics says that it is stable",
                    function.name));
}

void GraphBuilder::enter(const Placement& placement, Loc) {
  using entry::Hint;
  if (const auto* on = dynamic_cast<const OnDevice*>(&placement)) {
    add_once(function_.hints, entry::make_dict(context(), {Hint::device(context(), on->device().name()),
                                                           Hint::kind(context(), "device")}));
  } else if (const auto* prefetch = dynamic_cast<const Prefetch*>(&placement)) {
    const Datum& what = prefetch->what();
    std::string of = what.is_ir() ? std::string(what.as_ir().name) : to_text(what);
    add_once(function_.hints,
             entry::make_dict(context(), {Hint::into(context(), prefetch->into()), Hint::kind(context(), "prefetch"),
                                          Hint::of(context(), of), Hint::overlap(context(), prefetch->overlap())}));
  }
}

}  // namespace tessera::frontend

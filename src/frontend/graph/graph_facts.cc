// What a function promises of its results (`@verify.numerics`) and where work is to be done.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/graph/graph_builder.h"

namespace tessera::frontend {

namespace {

/// What `@verify.numerics(stable=True, bounded=[-100, 100])` says.
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
    evaluator.report(diag::malformed_promise, loc,
                     fmt::format("the bounds {}, which are no range of numbers", to_text(value)));
    return false;
  }
  promise.bounds = {low, high};
  return true;
}

std::optional<Promise> read_promise(Evaluator& evaluator, const Function& function) {
  Promise promise;
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
          .help("it takes stable=True and bounded=[lowest, greatest]");
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
  auto promise = read_promise(*this, function);
  if (!promise) return false;
  std::vector<NamedAttr> entries;
  if (promise->bounds) {
    entries.emplace_back("bounded", context().array({context().number(promise->bounds->first),
                                                     context().number(promise->bounds->second)}));
  }
  entries.emplace_back("function", context().string(function.name));
  entries.emplace_back("stable", context().boolean(promise->stable));
  add_once(numerics_, context().dict(std::move(entries)));
  return true;
}

/// In code that is checked the call ends where a result has an element outside of the bounds, or a NaN. The results
/// of an entry are looked at by the runtime.
void GraphBuilder::check_bounds(const Function& function, const Datum& result, Loc loc) {
  if (!session().checks_promises() || !function.numerics || result.is_poison()) return;
  if (result.is_sequence()) {
    for (const Datum& element : result.elements()) check_bounds(function, element, loc);
    return;
  }
  auto promise = read_promise(*this, function);
  if (!promise || !promise->bounds || !result.is_ir()) return;
  Value* value = result.as_ir().value;
  if (value->type()->dtype == DType::Bool) return;
  builder_.set_loc(loc);
  value = graph::cast(builder_, value, DType::F64);
  std::vector<int64_t> axes(value->type()->rank());
  std::iota(axes.begin(), axes.end(), 0);
  auto bound = [&](double number) { return graph::full(builder_, number, {}, DType::F64); };
  auto [low, high] = *promise->bounds;
  Value* least = graph::reduce(builder_, value, "min", axes);
  Value* greatest = graph::reduce(builder_, value, "max", axes);
  Value* above = graph::elementwise(builder_, ElementwiseKind::Le, {bound(low), least});
  Value* below = graph::elementwise(builder_, ElementwiseKind::Le, {greatest, bound(high)});
  Value* within = graph::elementwise(builder_, ElementwiseKind::And, {above, below});
  std::string message = fmt::format("the result of '{}' has elements outside of {} to {}, the bounds that "
                                    "@verify.numerics gives", function.name, low, high);
  builder_.op(graph::info(graph::OpKind::Check), {{within}}, {}, {{"message", context().string(message)}});
}

void GraphBuilder::enter(const Placement& placement, Loc) {
  auto text = [&](std::string_view value) { return context().string(value); };
  if (const auto* on = dynamic_cast<const OnDevice*>(&placement)) {
    add_once(hints_,
             context().dict({{"device", text(on->device().name())}, {"kind", text("device")}}));
  } else if (const auto* prefetch = dynamic_cast<const Prefetch*>(&placement)) {
    const Datum& what = prefetch->what();
    std::string of = what.is_ir() ? std::string(what.as_ir().name) : to_text(what);
    add_once(hints_, context().dict({{"into", text(prefetch->into())},
                                     {"kind", text("prefetch")},
                                     {"of", text(of)},
                                     {"overlap", text(prefetch->overlap())}}));
  }
}

}  // namespace tessera::frontend

// What a function promises of its results (`@verify.numerics`) and where work is to be done.

#include <algorithm>
#include <cmath>

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

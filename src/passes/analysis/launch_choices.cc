#include "passes/analysis/launch_choices.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/host/ops.h"
#include "passes/analysis/kernels.h"

namespace tessera {

namespace {

std::vector<Op*> launches_of(Op* kernel) {
  std::vector<Op*> launches;
  for (Op* function : *kernel->module()->body()) {
    if (!function->is(host::info(host::OpKind::Func))) continue;
    walk(function, [&](Op* op) {
      if (op->is(host::info(host::OpKind::Launch)) && host::may_run(op, kernel)) launches.push_back(op);
    });
  }
  return launches;
}

}  // namespace

bool depend_on_iterations(Op* launch, const std::vector<DimFact>& facts) {
  for (Op* loop = launch->parent(); loop; loop = loop->parent()) {
    if (!loop->is(host::info(host::OpKind::For))) continue;
    std::string_view counter = loop->attr(host::attr::For::counter);
    for (const DimFact& fact : facts) {
      if (mentions(fact.left, counter) || mentions(fact.right, counter)) return true;
    }
  }
  return false;
}

void add_guards(Op* launch, const std::vector<DimFact>& facts, std::vector<DimFact>& known) {
  Context& context = launch->module()->context();
  Op* function = host::function_of(launch);
  std::vector<Attr> all = function->attr(common::Entry::guards);
  for (const DimFact& fact : facts) {
    if (decide(context.dims(), fact, known) == true) continue;
    known.push_back(fact);
    all.push_back(fact_attr(context, fact));
  }
  if (!all.empty()) function->set(common::Entry::guards, std::move(all));
}

bool drop_choice(Op* kernel) {
  std::vector<Op*> launches = launches_of(kernel);
  for (Op* launch : launches) {
    std::vector<Op*> choices = host::choices(launch);
    if (choices.back() != kernel) continue;
    if (choices.size() == 1) return false;
    if (depend_on_iterations(launch, host::assumptions(launch, choices[choices.size() - 2]))) return false;
  }
  for (Op* launch : launches) {
    std::vector<Op*> choices = host::choices(launch);
    bool is_last = choices.back() == kernel;
    std::erase(choices, kernel);
    Op* last = choices.back();
    if (is_last) {
      std::vector<DimFact> known = host::facts_around(launch);
      add_guards(launch, host::assumptions(launch, last), known);
    }
    choices.pop_back();
    launch->set(host::attr::Launch::kernel, symbol_name(last));
    launch->set_node(host::attr::Launch::variants,
                     symbols_attr(kernel->module()->context(), choices));
  }
  return !launches.empty();
}

void drop_fallbacks(Module& module) {
  std::vector<Op*> fallbacks;
  for (Op* op : *module.body()) {
    if (op->has(common::Kernel::fallback)) fallbacks.push_back(op);
  }
  for (Op* fallback : fallbacks) {
    bool is_needed = std::ranges::any_of(launches_of(fallback), [](Op* launch) {
      return host::choices(launch).back()->has(common::Kernel::fallback);
    });
    if (!is_needed && drop_choice(fallback)) fallback->erase();
  }
}

}  // namespace tessera

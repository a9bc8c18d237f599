// checkpoint: functions whose values are computed again where derivatives are taken backwards. While a call is recorded
// for a derivative, its ops are in the region of a gir.checkpoint; src/ir/graph/derive/checkpoint.cc has the rules.

#include <algorithm>
#include <utility>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/function.h"
#include "frontend/values/leaves.h"
#include "ir/graph/regions.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using graph::OpKind;

namespace {

/// The results of a block's ops that are kept: those of the policy, and what has an effect, which is not done twice.
std::vector<Value*> kept_values(Block* block, const CheckpointPolicy& policy) {
  std::vector<Value*> kept;
  for (Op* op : *block) {
    bool is_named = op->is(graph::info(OpKind::Named)) &&
                    std::ranges::find(policy.names, op->attr(graph::attr::Named::name)) != policy.names.end();
    bool is_kept = is_named || !op->is_pure() || (policy.matmuls && op->is(graph::info(OpKind::Gemm)));
    for (unsigned i = 0; is_kept && i < op->result_count(); ++i) kept.push_back(op->result(i));
  }
  return kept;
}

/// Whether a call of checkpoint_name in the program gives a name, or one that it computes.
bool may_name(const Session& session, std::string_view name) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* call = ast::as<ast::Call>(&node);
    const auto* callee = call ? ast::as<ast::Name>(call->callee) : nullptr;
    if (!callee || callee->text != "checkpoint_name" || call->arguments.size() != 2) return;
    const auto* text = ast::as<ast::String>(call->arguments[1].value);
    found = found || !text || text->value == name;
  };
  for (const auto& module : session.modules()) {
    if (module->builtin) continue;
    for (const ast::Declaration& each : module->unit.declarations) ast::walk(*each.stmt, look);
  }
  return found;
}

}  // namespace

/// Whether calls of functions that are computed again are recorded.
bool GraphBuilder::is_kept_apart() const { return function_.recorded > 0 && function_.inside_custom == 0; }

Datum GraphBuilder::record_checkpoint(const CheckpointPolicy& policy, const std::function<Datum()>& run, Loc loc) {
  // What the function gives is known once it has run: an op without results has its ops until then.
  builder_.set_loc(loc);
  Op* empty = region_op(OpKind::Checkpoint, {}, {}, {graph::attr::Checkpoint::kept(context(), 0)}, loc);
  Block* block = empty->region(graph::at::Checkpoint::body)->add_block();
  builder_.set_end(block);
  size_t spent = function_.spent.size(), updated = function_.updated.size();
  Datum result = run();
  if (!result.is_poison() && (function_.spent.size() != spent || function_.updated.size() != updated)) {
    evaluator_.unsupported(loc, "a state object or a param that changes in 'checkpoint'");
    result = Datum::poison();
  }
  result = checked_result(std::move(result), "'checkpoint'", loc);
  std::vector<Value*> given;
  for (const Leaf& leaf : leaves_of(result)) given.push_back(leaf.value);
  size_t count = given.size();
  std::ranges::copy(kept_values(block, policy), std::back_inserter(given));
  yield(given, loc);
  leave(empty);
  Op* op = region_op(OpKind::Checkpoint, {}, given,
                     {graph::attr::Checkpoint::kept(context(), int64_t(given.size() - count))}, loc);
  Block* body = op->region(graph::at::Checkpoint::body)->add_block();
  for (Op* inner : *block) inner->move_to_end(body);
  empty->erase();
  op->set_slot(graph::in::Checkpoint::inputs, graph::captured_values(op));
  leave(op);
  if (result.is_poison()) return result;
  size_t next = 0;
  return with_leaves(result, results_of(op), next);
}

/// The result of a function whose ops are in a region, which only leaves of the result may leave.
Datum GraphBuilder::checked_result(Datum result, const std::string& of, Loc loc) {
  const Datum* other = hiding_tensors(result);
  if (!other) return result;
  report(diag::wrong_kind, loc, "a part of the result of a function with " + of, describe(*other),
         "a tensor, a number, or a tuple, list or tree of these");
  return Datum::poison();
}

/// A name that nothing in the function has keeps nothing. Where no derivative is taken, the function may leave out what
/// it names for one: there only names that the whole program lacks are reported.
void GraphBuilder::warn_of_unused_names(const CheckpointPolicy& policy, Loc loc) {
  for (const std::string& name : policy.names) {
    if (named_.names.contains(name) || (!is_kept_apart() && may_name(session(), name))) continue;
    report(diag::hint_no_effect, loc, fmt::format("'{}' in the policy of 'checkpoint'", name), "any target")
        .help(fmt::format("checkpoint_name(x, \"{}\") names a value in the function, outside of run-time loops and of "
                          "other checkpoints", name));
  }
}

/// Runs a function with a policy.
Datum GraphBuilder::run_checkpoint(const CheckpointPolicy& policy, const std::function<Datum()>& run, Loc loc) {
  NamedValues outer = std::exchange(named_, {function_.runtime_loops.size(), {}});
  Datum result = is_kept_apart() ? record_checkpoint(policy, run, loc) : run();
  if (!result.is_poison()) warn_of_unused_names(policy, loc);
  named_ = std::move(outer);
  return result;
}

/// A call of checkpoint(f).
Datum GraphBuilder::call_checkpointed(const CheckpointedFunction& function, std::vector<CallArgument> arguments,
                                      Loc loc) {
  auto run = [&] { return evaluator_.call(function.function(), std::move(arguments), loc); };
  return run_checkpoint(function.policy(), run, loc);
}

/// checkpoint_name(x, name): x.
Datum GraphBuilder::checkpoint_name(const BoundArguments& arguments) {
  const Datum &x = arguments[0], &name = arguments[1];
  if (x.is_poison() || name.is_poison()) return Datum::poison();
  bool has_name = name.is(DatumKind::String) && !name.as_string().empty();
  if (!x.is_ir() || !has_name) {
    size_t wrong = x.is_ir() ? 1 : 0;
    report(diag::wrong_kind, arguments.locs[wrong],
           fmt::format("{} of 'checkpoint_name'", wrong ? "the name" : "the first argument"),
           describe(arguments[wrong]), wrong ? "a string with at least one character" : "a tensor");
    return Datum::poison();
  }
  if (function_.runtime_loops.size() == named_.loops) named_.names.emplace(name.as_string());
  if (!is_kept_apart()) return x;
  IrValue named = x.as_ir();
  named.value = builder_.value(graph::info(OpKind::Named), {{named.value}},
                               context().tensor(named.value->type()->dims, named.value->type()->dtype),
                               {graph::attr::Named::name(context(), name.as_string())});
  return Datum::ir(named);
}

}  // namespace tessera::frontend

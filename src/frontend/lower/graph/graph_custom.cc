// Functions with derivatives of their own: @custom_jvp and @custom_vjp. While a call is recorded for a derivative, the
// ops of such a function are in the region of a gir.custom_call, so that loops and branches around it can be copied.
// The rules are functions of the program, which are called where tangents are made or taken backwards.

#include <algorithm>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/leaves.h"
#include "ir/graph/derive/backward.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using graph::OpKind;

namespace {

/// The arguments of a call with other tensors.
std::vector<CallArgument> with_tensors(std::vector<CallArgument> arguments, const std::vector<Value*>& tensors) {
  size_t next = 0;
  for (CallArgument& argument : arguments) argument.value = with_leaves(argument.value, tensors, next);
  return arguments;
}

Datum with_tensors(const Datum& value, const std::vector<Value*>& tensors) {
  size_t next = 0;
  return with_leaves(value, tensors, next);
}

/// A value with None for what is no float, and with the floats `derivatives`.
Datum of_floats(const Datum& value, const std::vector<Value*>& derivatives, size_t& next) {
  if (value.is_ir()) {
    if (!is_float(value.as_ir().value->type()->dtype)) return Datum::none();
    IrValue derivative = value.as_ir();
    derivative.value = derivatives[next++];
    return Datum::ir(derivative);
  }
  if (!value.is_sequence()) return Datum::none();
  std::vector<Datum> elements;
  for (const Datum& element : value.elements()) elements.push_back(of_floats(element, derivatives, next));
  return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
}

/// The arguments of a call in the order of the parameters: those by name become positional where nothing is left out
/// before them, so that rules may have names of their own.
std::vector<CallArgument> in_order(const Function& function, const std::vector<CallArgument>& arguments) {
  std::vector<CallArgument> ordered;
  size_t positional = 0;
  while (positional < arguments.size() && arguments[positional].name.empty()) {
    ordered.push_back(arguments[positional++]);
  }
  bool follows = true;
  for (size_t i = positional; i < function.parameters().size(); ++i) {
    const ast::Parameter& parameter = function.parameters()[i];
    auto given = std::ranges::find(arguments, parameter.name.text, &CallArgument::name);
    follows = follows && given != arguments.end() && !parameter.keyword_only;
    if (given == arguments.end()) continue;
    ordered.push_back(*given);
    if (follows) ordered.back().name.clear();
  }
  return ordered;
}

/// Whether a function can be called with arguments by position; by name it is left to the call.
bool takes(const Function& function, const std::vector<CallArgument>& arguments) {
  size_t least = 0, most = 0;
  for (const ast::Parameter& parameter : function.parameters()) {
    most += !parameter.keyword_only;
    least += !parameter.keyword_only && !parameter.default_value;
  }
  bool has_names = std::ranges::any_of(arguments, [](const CallArgument& each) { return !each.name.empty(); });
  return has_names || (arguments.size() >= least && arguments.size() <= most);
}

}  // namespace

/// Runs a call of a function that has a rule, in the region of an op of its own.
Datum GraphBuilder::record_custom(const Function& function, std::vector<CallArgument> arguments, Loc loc) {
  CustomCall call{&function, nullptr, in_order(function, arguments), {}};
  std::vector<Value*> inputs;
  for (const CallArgument& argument : call.arguments) {
    for (const Leaf& leaf : leaves_of(argument.value)) inputs.push_back(leaf.value);
  }
  // What the function gives is known once it has run: an op without results has its ops until then.
  builder_.set_loc(loc);
  int64_t number = int64_t(function_.custom_calls.size());
  Op* empty =
      builder_.op(graph::info(OpKind::CustomCall), {{}}, {}, {graph::attr::CustomCall::call(context(), number)});
  Block* block = empty->region(graph::at::CustomCall::body)->add_block();
  builder_.set_end(block);
  ++function_.inside_custom;
  std::optional<Datum> ran = call_function(function, arguments, loc);
  --function_.inside_custom;
  Datum result = ran ? *ran : evaluator_.call(Datum::function(&function), std::move(arguments), loc);
  result = checked_result(std::move(result), "a rule for its derivative", loc);
  std::vector<Value*> given;
  for (const Leaf& leaf : leaves_of(result)) given.push_back(leaf.value);
  yield(given, loc);
  leave(empty);
  Op* op = region_op(OpKind::CustomCall, inputs, given, {graph::attr::CustomCall::call(context(), number)}, loc);
  Block* body = op->region(graph::at::CustomCall::body)->add_block();
  for (Op* inner : *block) inner->move_to_end(body);
  empty->erase();
  leave(op);
  if (result.is_poison()) return result;
  call.result = result;
  function_.custom_calls.push_back(std::move(call));
  return with_tensors(result, results_of(op));
}

void GraphBuilder::check_rules(const Function& function) {
  bool has_rules = function.vjp || function.jvp;
  if (!has_rules || session().is_builtin(function.loc) || !with_rules_.insert(function.def).second) return;
  for (const ast::Expr* written : {function.vjp, function.jvp}) {
    if (!written) continue;
    Datum rule = evaluator_.evaluate(*written, *function.scope);
    bool is_called = rule.is(DatumKind::Function) || rule.is(DatumKind::Builtin) || rule.is(DatumKind::Object);
    if (is_called || rule.is_poison()) continue;
    report(diag::wrong_kind, written->loc, fmt::format("the rule for derivatives of '{}'", function.name),
           describe(rule), "a function");
  }
}

bool GraphBuilder::has_rule(const Function& function) const {
  return (function.jvp || function.vjp) && function_.recorded > 0 && function_.inside_custom == 0;
}

/// The result of a rule; poison when an error was reported.
Datum GraphBuilder::call_rule(const CustomCall& call, const ast::Expr& rule, const std::vector<Value*>& inputs,
                              Datum result, Datum derivatives, Loc loc) {
  Datum function = evaluator_.evaluate(rule, *call.function->scope);
  if (function.is_poison()) return function;
  std::vector<CallArgument> given{{"", std::move(result), loc}, {"", std::move(derivatives), loc}};
  for (CallArgument& argument : with_tensors(call.arguments, inputs)) given.push_back(std::move(argument));
  bool fits = !function.is(DatumKind::Function) || takes(function.as_function(), given);
  if (fits) return evaluator_.call(function, std::move(given), loc);
  report(diag::wrong_argument_count, rule.loc, fmt::format("the rule of {}", call.function->name),
         counted(function.as_function().parameters().size(), "argument"), counted_verb(given.size()))
      .label(loc, "the derivative is asked for here")
      .help(&rule == call.function->jvp ? "a rule of @custom_jvp takes the result, a tuple of the directions, and the "
                                          "arguments of the function"
                                        : "a rule of @custom_vjp takes the result, its cotangent, and the arguments of "
                                          "the function");
  return Datum::poison();
}

/// A derivative that a rule gave for a value; null when an error was reported.
Value* GraphBuilder::derivative_like(const Datum& given, Value* value, const CustomCall& call, Loc rule, Loc loc) {
  const Type type = value->type();
  bool fits =
      given.is_ir() && is_float(given.as_ir().value->type()->dtype) && given.as_ir().value->type()->dims == type->dims;
  if (fits) return convert(given.as_ir().value, type->dtype);
  if (!given.is_poison()) {
    report(diag::wrong_kind, rule, fmt::format("what the rule of '{}' gives", call.function->name),
           describe(given), fmt::format("a derivative of floats with dims {}", to_text(type->dims)))
        .label(loc, "the derivative is asked for here");
  }
  return nullptr;
}

/// What rules of ops take from the library and the program.
class GraphBuilder::Library final : public graph::DerivativeLibrary {
 public:
  Library(GraphBuilder& graph, Loc loc) : graph_(graph), loc_(loc) {}

  Value* add_rows(Value* ids, Value* rows, Type table) override { return graph_.add_rows(ids, rows, table, loc_); }

  void push(Op* op, graph::Forward& forward) override {
    const CustomCall call = graph_.function_.custom_calls[size_t(op->attr(graph::attr::CustomCall::call))];
    std::vector<Value*> inputs = op->ins(graph::in::CustomCall::inputs), tangents;
    for (Value* input : inputs) {
      if (is_float(input->type()->dtype)) tangents.push_back(forward.tangent_or_zero(input));
    }
    bool backwards = forward.purpose() == graph::Forward::Purpose::Transposed;
    if (call.function->vjp && (backwards || !call.function->jvp)) {
      if (!backwards) {
        return forward.refuse(op,
                              "has a rule for derivatives that are taken backwards, and 'jvp' takes one of "
                              "@custom_jvp");
      }
      return push_linear(op, inputs, tangents, forward);
    }
    size_t next = 0;
    std::vector<Datum> directions;
    for (const CallArgument& argument : call.arguments) directions.push_back(of_floats(argument.value, tangents, next));
    Op* before = graph::last_op(graph_.builder_);
    Datum given = graph_.call_rule(call, *call.function->jvp, inputs, with_tensors(call.result, results_of(op)),
                                   Datum::tuple(std::move(directions)), loc_);
    if (Op* other = graph::find_not_linear(graph::ops_since(graph_.builder_, before), tangents)) {
      return forward.refuse(other, fmt::format("is not linear in the directions that the rule of '{}' is given",
                                               call.function->name));
    }
    set_tangents(op, given, call, forward);
  }

  bool push_fused(Op* op, graph::Forward& forward) override { return graph_.push_attention(op, forward); }

  void pull(Op* op, graph::Backward& backward) override {
    const CustomCall call = graph_.function_.custom_calls[size_t(op->attr(graph::attr::CustomTangent::call))];
    if (call.attention) return graph_.pull_attention(op, *call.attention, backward, loc_);
    std::vector<Value*> inputs = op->ins(graph::in::CustomTangent::inputs);
    std::vector<Value*> cotangents;
    for (Value* tangent : results_of(op)) {
      Value* known = backward.cotangent(tangent);
      const Type type = tangent->type();
      cotangents.push_back(known ? known : graph::full(graph_.builder_, 0, type->dims, type->dtype));
    }
    size_t next = 0;
    Datum result = with_tensors(call.result, op->ins(graph::in::CustomTangent::outputs));
    Datum cotangent = of_floats(call.result, cotangents, next);
    Datum given = graph_.call_rule(call, *call.function->vjp, inputs, std::move(result), std::move(cotangent), loc_);
    add_cotangents(op, given, call, backward);
  }

 private:
  void push_linear(Op* op, const std::vector<Value*>& inputs, const std::vector<Value*>& tangents,
                   graph::Forward& forward) {
    std::vector<Type> types;
    std::vector<Value*> floats;
    for (Value* result : results_of(op)) {
      if (!is_float(result->type()->dtype)) continue;
      floats.push_back(result);
      types.push_back(graph_.context().tensor(result->type()->dims, result->type()->dtype));
    }
    Op* linear = graph_.builder_.op(
        graph::info(OpKind::CustomTangent), {inputs, results_of(op), tangents}, types,
        {graph::attr::CustomTangent::call(graph_.context(), op->attr(graph::attr::CustomCall::call))});
    for (size_t i = 0; i < floats.size(); ++i) forward.set(floats[i], linear->result(unsigned(i)));
  }

  void set_tangents(Op* op, const Datum& given, const CustomCall& call, graph::Forward& forward) {
    std::vector<Datum> parts;
    Loc rule = call.function->jvp->loc;
    if (!parts_of(call.result, given, call, rule, parts)) return forward.refuse(op, "");
    for (size_t i = 0; i < parts.size(); ++i) {
      Value* result = op->result(unsigned(i));
      if (!is_float(result->type()->dtype) || parts[i].is_none()) continue;
      Value* tangent = graph_.derivative_like(parts[i], result, call, rule, loc_);
      if (!tangent) return forward.refuse(op, "");
      forward.set(result, tangent);
    }
  }

  /// One for each argument with tensors, in order; of one alone the cotangent itself.
  void add_cotangents(Op* op, const Datum& given, const CustomCall& call, graph::Backward& backward) {
    std::vector<Datum> arguments, parts;
    for (const CallArgument& argument : call.arguments) {
      if (!leaves_of(argument.value).empty()) arguments.push_back(argument.value);
    }
    Datum all = arguments.size() == 1 ? arguments[0] : Datum::tuple(std::move(arguments));
    Loc rule = call.function->vjp->loc;
    if (!parts_of(all, given, call, rule, parts)) return backward.refuse(op, "");
    std::vector<Value*> inputs = op->ins(graph::in::CustomTangent::inputs);
    std::vector<Value*> tangents = op->ins(graph::in::CustomTangent::tangents);
    size_t next = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!is_float(inputs[i]->type()->dtype)) continue;
      Value* tangent = tangents[next++];
      if (parts[i].is_none()) continue;
      Value* cotangent = graph_.derivative_like(parts[i], tangent, call, rule, loc_);
      if (!cotangent) return backward.refuse(op, "");
      backward.add(tangent, cotangent);
    }
  }

  /// What a rule gave for each tensor of a value; None for 0. False when an error was reported.
  bool parts_of(const Datum& value, const Datum& given, const CustomCall& call, Loc rule, std::vector<Datum>& parts) {
    if (given.is_poison()) return false;
    size_t count = leaves_of(value).size();
    if (count == 0) return true;
    if (given.is_none()) {
      parts.insert(parts.end(), count, Datum::none());
      return true;
    }
    if (value.is_ir() && given.is_ir()) {
      parts.push_back(given);
      return true;
    }
    bool fits = value.is_sequence() && given.is_sequence() && value.elements().size() == given.elements().size();
    if (!fits) {
      std::string wanted = value.is_sequence()
                               ? fmt::format("a tuple of {}", counted(value.elements().size(), "derivative"))
                               : "one derivative";
      std::string what = fmt::format("what the rule of '{}' gives", call.function->name);
      auto builder = graph_.report(diag::wrong_kind, rule, what, with_count(given), wanted);
      builder.label(loc_, "the derivative is asked for here");
      bool is_forward = call.function->jvp && call.function->jvp->loc == rule;
      if (is_forward && value.is_ir()) {
        builder.help("the second argument of the rule is a tuple of directions: dx[0] is that of the first argument");
      } else if (!is_forward) {
        builder.help("the rule gives a derivative for each argument that has tensors, of one alone no tuple");
      }
      return false;
    }
    for (size_t i = 0; i < value.elements().size(); ++i) {
      if (!parts_of(value.elements()[i], given.elements()[i], call, rule, parts)) return false;
    }
    return true;
  }

  GraphBuilder& graph_;
  Loc loc_;
};

std::unique_ptr<graph::DerivativeLibrary> GraphBuilder::derivative_library(Loc loc) {
  return std::make_unique<Library>(*this, loc);
}

/// Leaves no ops of records, which a complete graph does not have: those of the calls are in the place of these.
void GraphBuilder::dissolve_records() {
  std::vector<Op*> calls, names, tangents;
  walk(function_.op, [&](Op* op) {
    bool is_call = op->is(graph::info(OpKind::CustomCall)) || op->is(graph::info(OpKind::Checkpoint));
    bool is_tangent = op->is(graph::info(OpKind::CustomTangent)) || op->is(graph::info(OpKind::CheckpointTangent));
    if (is_call) calls.push_back(op);
    if (is_tangent) tangents.push_back(op);
    if (op->is(graph::info(OpKind::Named))) names.push_back(op);
  });
  for (Op* op : tangents) {
    // Only a record has it, which was taken backwards or is not.
    builder_.set_before(op);
    for (Value* result : results_of(op)) {
      const Type type = result->type();
      if (!result->unused()) result->replace_all_uses(graph::full(builder_, 0, type->dims, type->dtype));
    }
    op->erase();
  }
  for (Op* op : calls) {
    Block* body = op->region(0)->front();
    std::vector<Value*> given = body->terminator()->ins(graph::in::Yield::values);
    body->terminator()->erase();
    for (Op* inner : *body) inner->move_before(op);
    for (size_t i = 0; i < given.size(); ++i) op->result(unsigned(i))->replace_all_uses(given[i]);
    op->erase();
  }
  for (Op* op : names) {
    op->result()->replace_all_uses(op->operand(0));
    op->erase();
  }
}

}  // namespace tessera::frontend

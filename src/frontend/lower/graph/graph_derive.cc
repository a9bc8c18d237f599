// Derivatives of functions. A call of grad(f) runs f as any call does, with values of their own for what it is
// differentiated by. The ops that f left in the block are the record of what it computed: forward mode makes the
// tangents of what depends on these values, and reverse mode takes the tangents backwards (src/ir/graph/derive). What
// both make are ops as others are, so that derivatives of derivatives need nothing more.

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/function.h"
#include "frontend/values/leaves.h"
#include "frontend/values/modules.h"
#include "ir/graph/derive/backward.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using graph::OpKind;

/// What a function was called with and what it gave, with the tangents of both.
struct GraphBuilder::Record {
  std::vector<Datum> arguments;          ///< as given
  std::vector<Value*> values, tangents;  ///< of the floats in the arguments that derivatives are by
  Datum result;
  std::vector<Op*> linear;                    ///< the ops that make tangents
  std::map<const Value*, Value*> tangent_of;  ///< of the results; none where it is 0
  Loc loc;
};

/// vjp's second result: takes cotangents of the results to those of the arguments.
class Pullback : public Object {
 public:
  explicit Pullback(std::shared_ptr<const void> record) : record_(std::move(record)) {}
  const void* record() const { return record_.get(); }
  std::string describe() const override { return "a pullback of 'vjp'"; }

 private:
  std::shared_ptr<const void> record_;
};

namespace {

bool is_differentiated(const IrValue& value) {
  return is_float(value.value->type()->dtype) && !value.weak;
}

/// The value with each leaf replaced by what `replace` gives for it.
template <typename F>
Datum replaced(const Datum& value, F&& replace) {
  std::vector<Value*> values;
  for (const Leaf& leaf : leaves_of(value)) values.push_back(replace(leaf));
  size_t next = 0;
  return with_leaves(value, values, next);
}

/// What an op is to a user.
std::string described(Op* op) {
  if (op->is(graph::info(OpKind::KernelCall))) {
    return fmt::format("kernel '{}'", op->attr(graph::attr::KernelCall::kernel));
  }
  std::string_view name = op->name();
  name.remove_prefix(name.find('.') + 1);
  if (op->is(graph::info(OpKind::For)) || op->is(graph::info(OpKind::While))) return "a run-time loop";
  if (op->is(graph::info(OpKind::Cond))) return "a run-time branch";
  return fmt::format("'{}'", name);
}

}  // namespace

/// A value of its own for a tensor, which nothing else uses.
Value* GraphBuilder::separate(Value* value, Loc loc) {
  builder_.set_loc(loc);
  Type type = context().tensor(value->type()->dims, value->type()->dtype);
  return builder_.value(graph::info(OpKind::Reshape), {{value}}, type);
}

/// Makes the params of modules in a value arguments of the entry.
void GraphBuilder::add_params(const Datum& value, Loc loc) {
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    for (const auto& [name, member] : instance->members()) {
      const auto* reference = member.object_as<ParamReference>();
      if (reference) param(reference->declaration(), loc);
      if (!reference) add_params(member, loc);
    }
  } else if (value.is_sequence()) {
    for (const Datum& element : value.elements()) add_params(element, loc);
  }
}

/// The value with floats of its own in the place of those in it. The params of a module are so for as long as the
/// function runs.
Datum GraphBuilder::separated(const Datum& value, Loc loc, Record& record) {
  auto own = [&](Value* of) {
    record.values.push_back(separate(of, loc));
    return record.values.back();
  };
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    for (const auto& [name, member] : instance->members()) {
      const auto* reference = member.object_as<ParamReference>();
      std::optional<Datum> tensor = reference ? param(reference->declaration(), loc) : separated(member, loc, record);
      bool is_by = reference && tensor && tensor->is_ir() && is_differentiated(tensor->as_ir());
      if (is_by) function_.current[&reference->declaration()] = own(tensor->as_ir().value);
    }
    return value;
  }
  if (value.is_sequence()) {
    std::vector<Datum> elements;
    for (const Datum& element : value.elements()) elements.push_back(separated(element, loc, record));
    return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
  }
  return replaced(value, [&](const Leaf& leaf) { return is_differentiated(leaf) ? own(leaf.value) : leaf.value; });
}

/// Runs a function, and makes the tangents of its results. `by` says which arguments derivatives are by; those of their
/// floats have the tangents `directions`, or, without any, tangents that stand for all directions.
bool GraphBuilder::record_call(const Datum& function, std::vector<CallArgument> arguments, const std::vector<bool>& by,
                               const std::vector<Value*>* directions, Record& record) {
  for (size_t i = 0; i < arguments.size(); ++i) add_params(arguments[i].value, arguments[i].loc);
  std::map<const ParamDeclaration*, Value*> current = function_.current;
  for (size_t i = 0; i < arguments.size(); ++i) {
    record.arguments.push_back(arguments[i].value);
    if (by[i]) arguments[i].value = separated(arguments[i].value, arguments[i].loc, record);
  }
  Op* before = graph::last_op(builder_);
  Block* block = builder_.block();
  ++function_.recorded;
  unsigned inside = std::exchange(function_.inside_custom, 0);
  record.result = evaluator_.call(function, std::move(arguments), record.loc);
  function_.inside_custom = inside;
  --function_.recorded;
  function_.current = std::move(current);
  if (record.result.is_poison()) return false;
  TSR_CHECK(builder_.block() == block, "a call ends where it began");
  std::vector<Op*> ops = graph::ops_since(builder_, before);
  using Purpose = graph::Forward::Purpose;
  auto library = derivative_library(record.loc);
  graph::Forward forward(builder_, directions ? Purpose::Along : Purpose::Transposed, *library);
  for (size_t i = 0; i < record.values.size(); ++i) {
    const Type type = record.values[i]->type();
    record.tangents.push_back(directions ? (*directions)[i] : graph::full(builder_, 0, type->dims, type->dtype));
    forward.set(record.values[i], record.tangents.back());
  }
  before = graph::last_op(builder_);
  if (!forward.push(ops)) return refuse_derivative(forward.refused(), record.loc);
  record.linear = graph::ops_since(builder_, before);
  record.result = replaced(record.result, [&](const Leaf& leaf) { return forward.now(leaf.value); });
  for (const Leaf& leaf : leaves_of(record.result)) {
    if (Value* tangent = forward.tangent(leaf.value)) record.tangent_of[leaf.value] = tangent;
  }
  return true;
}

bool GraphBuilder::refuse_derivative(const graph::NoDerivative& refused, Loc loc) {
  if (refused.why.empty()) return false;  // it was reported
  std::string what = described(refused.op);
  if (refused.op->is(graph::info(OpKind::CustomCall))) {
    size_t number = size_t(refused.op->attr(graph::attr::CustomCall::call));
    what = fmt::format("function '{}'", function_.custom_calls[number].function->name);
  }
  auto builder = report(diag::unsupported_derivative, refused.op->loc(), what, refused.why);
  builder.label(loc, "a derivative is asked for here");
  if (refused.op->is(graph::info(OpKind::KernelCall))) {
    builder.help("a function that calls it has one by a rule before its 'def': @custom_vjp(lambda y, dy, x: …)");
  }
  return false;
}

/// The cotangents of a record's values from those of its results; nullopt when an error was reported.
std::optional<std::vector<Value*>> GraphBuilder::pull_back(const Record& record,
                                                           const std::vector<std::pair<Value*, Value*>>& cotangents) {
  auto library = derivative_library(record.loc);
  graph::Backward backward(builder_, *library);
  for (auto [value, cotangent] : cotangents) {
    auto tangent = record.tangent_of.find(value);
    if (tangent != record.tangent_of.end()) backward.seed(tangent->second, cotangent);
  }
  if (!backward.pull(record.linear, record.tangents)) {
    refuse_derivative(backward.refused(), record.loc);
    return std::nullopt;
  }
  std::vector<Value*> results;
  for (Value* tangent : record.tangents) {
    Value* cotangent = backward.cotangent(tangent);
    const Type type = tangent->type();
    results.push_back(cotangent ? cotangent : graph::full(builder_, 0, type->dims, type->dtype));
  }
  return results;
}

/// scatter_add of stdlib/scattering.tsr, of rows that ids of any rank name.
Value* GraphBuilder::add_rows(Value* ids, Value* rows, Type table, Loc loc) {
  SourceModule* library = session().load_library("tessera.scattering");
  TSR_CHECK(library, "the library has a module for scattering");
  Dim count = dims().constant(1);
  for (Dim extent : ids->type()->dims) count = dims().mul(count, extent);
  NumericType type{table->dtype, {}, false};
  Datum zeros = handle(graph::full(builder_, 0, table->dims, table->dtype), type, loc);
  Datum names = handle(graph::reshape(builder_, ids, {count}), {ids->type()->dtype, {}, false}, loc);
  Datum updates = handle(graph::reshape(builder_, rows, {count, table->dims[1]}), type, loc);
  Datum function = evaluator_.lookup("scatter_add", *library->scope, loc);
  Datum sums = evaluator_.call(function, {{"", zeros, loc}, {"", names, loc}, {"", updates, loc}}, loc);
  return sums.is_ir() ? convert(sums.as_ir().value, table->dtype) : nullptr;
}

/// Whether derivatives can be by something in a value.
bool GraphBuilder::has_floats(const Datum& value, Loc loc) {
  if (value.is_ir()) return is_differentiated(value.as_ir());
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    return std::ranges::any_of(instance->members(), [&](const auto& member) {
      const auto* reference = member.second.template object_as<ParamReference>();
      std::optional<Datum> tensor = reference ? param(reference->declaration(), loc) : std::nullopt;
      return reference ? tensor && has_floats(*tensor, loc) : has_floats(member.second, loc);
    });
  }
  if (const auto* tree = value.object_as<Tree>()) {
    return std::ranges::any_of(tree->members().entries,
                               [&](const auto& member) { return has_floats(member.second, loc); });
  }
  return value.is_sequence() &&
         std::ranges::any_of(value.elements(), [&](const Datum& element) { return has_floats(element, loc); });
}

/// The value with derivatives in the place of its floats, from `next` on; None for what derivatives are not by. Of a
/// module it has those of its params, by their names.
Datum GraphBuilder::derivative_of(const Datum& value, const std::vector<Value*>& derivatives, size_t& next, Loc loc) {
  if (const auto* instance = value.object_as<ModuleInstance>()) {
    Dictionary members;
    for (const auto& [name, member] : instance->members()) {
      const auto* reference = member.object_as<ParamReference>();
      Datum of = reference ? param(reference->declaration(), loc).value_or(Datum::none()) : member;
      if (reference || has_floats(member, loc))
        members.entries.emplace_back(name, derivative_of(of, derivatives, next, loc));
    }
    return Datum::object(std::make_shared<Tree>("the gradient of " + value.as_object().describe(), std::move(members)));
  }
  if (const auto* tree = value.object_as<Tree>()) {
    return tree->replaced([&](const Datum& member) { return derivative_of(member, derivatives, next, loc); });
  }
  if (value.is_ir()) {
    if (!is_differentiated(value.as_ir())) return Datum::none();
    IrValue derivative = value.as_ir();
    derivative.value = derivatives[next++];
    derivative.origin = loc;
    derivative.name = {};
    return Datum::ir(derivative);
  }
  if (!value.is_sequence()) return Datum::none();
  std::vector<Datum> elements;
  for (const Datum& element : value.elements()) elements.push_back(derivative_of(element, derivatives, next, loc));
  return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
}

/// The places of the arguments that a gradient is by; nullopt when an error was reported.
std::optional<std::vector<size_t>> GraphBuilder::differentiated(const GradientFunction& gradient,
                                                                const std::vector<CallArgument>& arguments, Loc loc) {
  std::vector<std::string_view> names = parameter_names(gradient.function());
  std::vector<Datum> wanted{gradient.by()};
  if (gradient.by().is_sequence()) wanted = gradient.by().elements();
  std::vector<size_t> places;
  for (const Datum& by : wanted) {
    size_t place = arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string_view name = arguments[i].name;
      if (name.empty() && i < names.size()) name = names[i];
      bool is_it = by.is(DatumKind::String) ? name == by.as_string()
                   : arguments[i].name.empty()
                       ? by.as_int() == int64_t(i)
                       : by.as_int() < int64_t(names.size()) && names[size_t(by.as_int())] == name;
      if (is_it) place = i;
    }
    if (place == arguments.size()) {
      std::string what = by.is(DatumKind::String) ? by.as_string() : fmt::format("number {}", to_text(by));
      report(diag::missing_argument, loc, what, gradient.name())
          .label(gradient.loc(), "the derivative is by it")
          .help(fmt::format("the call has {} argument{}; argnums= counts them from 0, or gives their names",
                            arguments.size(), arguments.size() == 1 ? "" : "s"));
      return std::nullopt;
    }
    const Datum& value = arguments[place].value;
    if (value.is_poison()) return std::nullopt;
    std::vector<Leaf> leaves = leaves_of(value);
    if (!has_floats(value, loc)) {
      auto builder =
          report(diag::wrong_kind, arguments[place].loc, fmt::format("what '{}' differentiates by", gradient.name()),
                 describe(value), "a tensor of floats");
      if (!leaves.empty()) {
        builder.help(
            "a function of integers jumps between them, and has no derivative: argnums= names other arguments, "
            "and cast(x, f32) makes a float of it before the call");
      }
      return std::nullopt;
    }
    places.push_back(place);
  }
  return places;
}

/// A call of grad(f) or value_and_grad(f).
Datum GraphBuilder::call_gradient(const GradientFunction& gradient, std::vector<CallArgument> arguments, Loc loc) {
  auto places = differentiated(gradient, arguments, loc);
  if (!places) return Datum::poison();
  std::vector<bool> by(arguments.size(), false);
  for (size_t place : *places) by[place] = true;
  Record record;
  record.loc = loc;
  if (!record_call(gradient.function(), std::move(arguments), by, nullptr, record)) return Datum::poison();
  Datum value = record.result;
  if (gradient.has_aux()) {
    if (!value.is(DatumKind::Tuple) || value.elements().size() != 2) {
      report(diag::wrong_kind, loc, "the result of a function with has_aux=True", describe(value),
             "a tuple of the value to differentiate and one other value");
      return Datum::poison();
    }
    value = value.elements()[0];
  }
  bool fits = value.is_ir() && value.as_ir().value->type()->rank() == 0 && is_differentiated(value.as_ir());
  if (!fits) {
    auto builder = report(diag::wrong_kind, loc, fmt::format("the value that '{}' differentiates", gradient.name()),
                          describe(value), "one float: a tensor of rank 0");
    if (value.is_ir()) builder.help("mean(x) or sum(x) makes one number of a tensor; vjp takes a tensor of any shape");
    if (value.is(DatumKind::Tuple)) builder.help("with has_aux=True, a function gives (value, other)");
    return Datum::poison();
  }
  Value* result = value.as_ir().value;
  builder_.set_loc(loc);
  auto cotangents = pull_back(record, {{result, graph::full(builder_, 1, {}, result->type()->dtype)}});
  if (!cotangents) return Datum::poison();
  graph::drop_unused(record.linear);
  std::vector<Datum> all(record.arguments.size());
  size_t next = 0;
  for (size_t i = 0; i < by.size(); ++i) {
    if (by[i]) all[i] = derivative_of(record.arguments[i], *cotangents, next, loc);
  }
  std::vector<Datum> gradients;
  for (size_t place : *places) gradients.push_back(all[place]);
  Datum derivative = gradient.by().is_sequence() ? Datum::tuple(std::move(gradients)) : gradients[0];
  if (gradient.gives_value()) return Datum::tuple({record.result, derivative});
  if (gradient.has_aux()) return Datum::tuple({derivative, record.result.elements()[1]});
  return derivative;
}

/// jvp(f, primals, tangents): the value of f, and its derivative along the tangents.
Datum GraphBuilder::jvp(const BoundArguments& arguments) {
  const Datum& primals = arguments[1];
  const Datum& directions = arguments[2];
  if (!primals.is_sequence() || !directions.is_sequence() ||
      primals.elements().size() != directions.elements().size()) {
    size_t count = primals.is_sequence() ? primals.elements().size() : 1;
    report(diag::wrong_kind, arguments.locs[2], "the third argument of 'jvp'", describe(directions),
           fmt::format("a tuple of {} direction{}, one for each argument in the second,", count, count == 1 ? "" : "s"))
        .help("jvp(f, (x, y), (dx, dy)) is the value of f(x, y) and its derivative along (dx, dy)");
    return Datum::poison();
  }
  std::vector<CallArgument> given;
  std::vector<Value*> along;
  for (size_t i = 0; i < primals.elements().size(); ++i) {
    const Datum& primal = primals.elements()[i];
    given.push_back({"", primal, arguments.locs[1]});
    if (!collect_directions(primal, directions.elements()[i], arguments.locs[2], along)) return Datum::poison();
  }
  Record record;
  record.loc = arguments.call;
  std::vector<bool> by(given.size(), true);
  if (!record_call(arguments[0], std::move(given), by, &along, record)) return Datum::poison();
  std::vector<Value*> derivatives;
  for (const Leaf& leaf : leaves_of(record.result)) {
    if (!is_differentiated(leaf)) continue;
    auto found = record.tangent_of.find(leaf.value);
    const Type type = leaf.value->type();
    bool is_zero = found == record.tangent_of.end();
    derivatives.push_back(is_zero ? graph::full(builder_, 0, type->dims, type->dtype) : found->second);
  }
  size_t next = 0;
  return Datum::tuple({record.result, derivative_of(record.result, derivatives, next, arguments.call)});
}

/// The directions for the floats of an argument; null for None, which is 0. False when an error was reported.
bool GraphBuilder::collect_directions(const Datum& primal, const Datum& direction, Loc loc,
                                      std::vector<Value*>& directions) {
  if (primal.is_sequence()) {
    bool fits = direction.is_sequence() && direction.elements().size() == primal.elements().size();
    for (size_t i = 0; fits && i < primal.elements().size(); ++i) {
      if (!collect_directions(primal.elements()[i], direction.elements()[i], loc, directions)) return false;
    }
    if (fits) return true;
  } else if (!primal.is_ir() || !is_differentiated(primal.as_ir())) {
    if (direction.is_none()) return true;
  } else if (direction.is_none()) {
    directions.push_back(nullptr);
    return true;
  } else if (direction.is_ir() || direction.is_number()) {
    const Type type = primal.as_ir().value->type();
    if (direction.is_ir() && direction.as_ir().value->type()->dims != type->dims) {
      if (may_fit(primal, direction, "the direction", loc)) return false;
      report(diag::wrong_kind, loc, "a direction", describe(direction),
             "a tensor of the dims of its argument, " + to_text(type->dims));
      return false;
    }
    Value* value = operand(direction, type->dtype, type->dims, loc);
    if (value) directions.push_back(value);
    return value != nullptr;
  }
  report(diag::wrong_kind, loc, "a direction", describe(direction), "of the form of its argument, " + describe(primal))
      .help("None is the direction of anything but floats");
  return false;
}

/// vjp(f, *arguments): the value of f, and a function from a cotangent of it to those of the arguments.
Datum GraphBuilder::vjp(const BoundArguments& arguments) {
  std::vector<CallArgument> given;
  for (const Datum& argument : arguments[1].elements()) given.push_back({"", argument, arguments.locs[1]});
  auto record = std::make_shared<Record>();
  record->loc = arguments.call;
  std::vector<bool> by(given.size(), true);
  if (!record_call(arguments[0], std::move(given), by, nullptr, *record)) return Datum::poison();
  Datum value = record->result;
  return Datum::tuple({value, Datum::object(std::make_shared<Pullback>(std::move(record)))});
}

std::optional<Datum> GraphBuilder::call_transform(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc) {
  if (const auto* gradient = callee.object_as<GradientFunction>()) {
    return call_gradient(*gradient, std::move(arguments), loc);
  }
  if (const auto* mapped = callee.object_as<MappedFunction>()) {
    return call_mapped(*mapped, std::move(arguments), loc);
  }
  if (const auto* function = callee.object_as<CheckpointedFunction>()) {
    return call_checkpointed(*function, std::move(arguments), loc);
  }
  const auto* pullback = callee.object_as<Pullback>();
  if (!pullback) return std::nullopt;
  const Record& record = *static_cast<const Record*>(pullback->record());
  if (arguments.size() != 1 || !arguments[0].name.empty()) {
    report(diag::wrong_argument_count, loc, "back", "1 argument", fmt::format("{} are", arguments.size()))
        .help("what vjp gives takes one cotangent: those of several results are a tuple");
    return Datum::poison();
  }
  std::vector<Value*> given;
  if (!collect_directions(record.result, arguments[0].value, arguments[0].loc, given)) return Datum::poison();
  std::vector<std::pair<Value*, Value*>> cotangents;
  size_t next = 0;
  for (const Leaf& leaf : leaves_of(record.result)) {
    if (!is_differentiated(leaf)) continue;
    if (given[next]) cotangents.emplace_back(leaf.value, given[next]);
    ++next;
  }
  auto results = pull_back(record, cotangents);
  if (!results) return Datum::poison();
  next = 0;
  std::vector<Datum> derivatives;
  for (const Datum& argument : record.arguments) derivatives.push_back(derivative_of(argument, *results, next, loc));
  return Datum::tuple(std::move(derivatives));
}

}  // namespace tessera::frontend

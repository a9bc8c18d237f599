// scan, map and reduce: loops over the first axis of tensors, whose results are stacked.

#include <functional>

#include "frontend/evaluate/type_expr.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/leaves.h"
#include "frontend/values/modules.h"
#include "ir/graph/regions.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using graph::OpKind;

/// How many elements there are along the first axes of `xs`, or `length`; nullopt when an error was reported.
std::optional<Dim> GraphBuilder::length_of(const BoundArguments& arguments, const Datum& xs, const Datum* length,
                                           std::string_view name) {
  std::vector<Leaf> leaves = leaves_of(xs);
  Dim count = nullptr;
  DimPlace first{};
  for (const Leaf& leaf : leaves) {
    if (leaf.value->type()->rank() == 0) {
      report(diag::wrong_kind, arguments.locs[name == "scan" ? 2 : 1], fmt::format("what '{}' goes over", name),
             describe(Datum::ir(leaf)), "a tensor with an axis");
      return std::nullopt;
    }
    DimPlace place{leaf.value->type()->dims[0], leaf.origin, "the first axis"};
    if (!count) first = place;
    if (count && count != place.dim) {
      report_unequal(blame(), arguments.call, first, place);
      return std::nullopt;
    }
    count = place.dim;
  }
  if (length && !length->is_none()) {
    Dim wanted = evaluator_.expect_dim(*length, arguments.call, "'length' of 'scan'");
    if (!wanted) return std::nullopt;
    if (auto known = wanted->constant(); known && *known < 0) {
      report(diag::wrong_kind, arguments.locs[3], "'length' of 'scan'", to_text(*length), "a size of at least 0");
      return std::nullopt;
    }
    if (!count || count == wanted) return wanted;
    report_unequal(blame(), arguments.call, first, {wanted, arguments.call, "'length'"});
    return std::nullopt;
  }
  if (count) return count;
  auto builder = report(diag::wrong_kind, arguments.call, fmt::format("what '{}' goes over", name), describe(xs),
                        name == "scan" ? "a tensor, a tree of tensors, or None with length=" : "a tensor or a tree");
  if (name == "map" && xs.is_sequence()) builder.help("a list of values is mapped by [f(v) for v in values]");
  return std::nullopt;
}

/// A loop of `count` iterations: step(carry, x) gives (carry, y). Its result is (carry, ys).
Datum GraphBuilder::scan_over(const BoundArguments& arguments, std::string_view name, const Datum& init,
                              const Datum& xs, Dim count,
                              const std::function<Datum(const Datum& carry, const Datum& x)>& step) {
  Loc loc = arguments.call;
  std::vector<Value*> inits;
  std::vector<Leaf> was = leaves_of(init);
  for (const Leaf& leaf : was) inits.push_back(leaf.held ? stored(leaf) : computed(leaf));
  std::string counter = fmt::format("{}_{}", name, function_.counters++);
  Dim iteration = dims().symbol(counter);
  // What the function gives is known once it has run: an op without results has its ops until then.
  std::vector<OpAttr> attributes = {graph::attr::For::count(context(), count),
                                    graph::attr::For::counter(context(), counter)};
  Op* open = region_op(OpKind::For, inits, {}, attributes, loc);
  Block* block = add_block(open, graph::at::For::body, inits);
  builder_.set_end(block);
  spend_all(init, loc);
  std::vector<Value*> given;
  for (unsigned i = 0; i < block->arg_count(); ++i) given.push_back(block->arg(i));
  size_t next = 0, known = evaluator_.facts().size();
  Datum carry = with_leaves(init, given, next);
  std::vector<Value*> elements;
  for (const Leaf& leaf : leaves_of(xs)) elements.push_back(graph::element(builder_, leaf.value, iteration));
  next = 0;
  Datum x = with_leaves(xs, elements, next);
  evaluator_.facts().push_back({Relation::Less, iteration, count});
  function_.runtime_loops.push_back({iteration, nullptr, dims().constant(0), 1});
  Datum result = numbers_to_tensors(step(carry, x), loc);
  function_.runtime_loops.pop_back();
  evaluator_.facts().resize(known);
  std::vector<Value*> ends, ys;
  bool fits = scanned(arguments, name, init, result, counter, ends, ys);
  leave(open);
  if (!fits) {
    open->erase();
    return Datum::poison();
  }
  builder_.set_before(open);
  builder_.set_loc(loc);
  for (Value* y : ys) {
    std::vector<Dim> stack = y->type()->dims;
    stack.insert(stack.begin(), count);
    inits.push_back(graph::full(builder_, 0, stack, y->type()->dtype));
  }
  auto all = [&](const std::vector<Value*>& values) {
    size_t at = 0;
    Datum last = with_leaves(init, values, at);
    return Datum::tuple({last, with_leaves(result.elements()[1], values, at)});
  };
  if (count->is_constant(0)) {
    leave(open);
    open->erase();
    return all(inits);
  }
  Op* loop = region_op(OpKind::For, inits, inits, attributes, loc);
  Block* body = add_block(loop, graph::at::For::body, inits);
  for (Op* inner : *block) inner->move_to_end(body);
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    block->arg(i)->replace_all_uses(body->arg(i));
    for (Value*& end : ends) end = end == block->arg(i) ? body->arg(i) : end;
    for (Value*& y : ys) y = y == block->arg(i) ? body->arg(i) : y;
  }
  builder_.set_end(body);
  for (size_t i = 0; i < ys.size(); ++i) {
    ends.push_back(graph::with_element(builder_, body->arg(unsigned(was.size() + i)), iteration, ys[i]));
  }
  yield(ends, loc);
  open->erase();
  leave(loop);
  return all(results_of(loop));
}

/// The loop-carried tensors at the end of an iteration, and those to stack; false when an error was reported.
bool GraphBuilder::scanned(const BoundArguments& arguments, std::string_view name, const Datum& init,
                           const Datum& result, const std::string& counter, std::vector<Value*>& ends,
                           std::vector<Value*>& ys) {
  if (result.is_poison()) return false;
  if (!result.is(DatumKind::Tuple) || result.elements().size() != 2) {
    std::string what = describe(result);
    if (result.is_sequence()) what = fmt::format("of {} elements", result.elements().size());
    report(diag::wrong_kind, arguments.locs[0], fmt::format("the result of a function in '{}'", name), what,
           "a tuple (carry, y), of which y may be None,");
    return false;
  }
  const Datum& after = result.elements()[0];
  std::vector<Leaf> was = leaves_of(init), now = leaves_of(after);
  bool fits = same_form(init, after);
  for (size_t i = 0; fits && i < was.size(); ++i) {
    fits = was[i].value->type()->dims == now[i].value->type()->dims && was[i].storage == now[i].storage;
  }
  if (!fits) {
    if (may_fit(init, after, "the carry", arguments.call)) return false;
    auto builder = report(diag::loop_carried_type, arguments.call, "carry", describe(init), describe(after));
    if (init.is_number()) builder.help("start with a tensor, such as zeros((), f32), or full((), value, dtype)");
    return false;
  }
  for (size_t i = 0; i < was.size(); ++i) {
    Value* value = now[i].held ? stored(now[i]) : computed(now[i]);
    DType dtype = (was[i].held ? stored(was[i]) : computed(was[i]))->type()->dtype;
    ends.push_back(convert(value, dtype));
  }
  for (const Leaf& leaf : leaves_of(result.elements()[1])) {
    ys.push_back(stored(leaf));
    for (Dim dim : leaf.value->type()->dims) {
      if (!mentions(dim, counter)) continue;
      report(diag::wrong_kind, arguments.call, fmt::format("what '{}' stacks", name), describe(Datum::ir(leaf)),
             "of the same dims in each iteration");
      return false;
    }
  }
  return true;
}

/// The value with tensors in the places of its numbers, as results of entries have them.
Datum GraphBuilder::numbers_to_tensors(const Datum& value, Loc loc) {
  if (value.is_number() || value.is(DatumKind::Bool) || value.is(DatumKind::Dim)) {
    auto tensor = expect_tensor(value, loc, "a result");
    return tensor ? Datum::ir(*tensor) : Datum::poison();
  }
  if (const auto* tree = value.object_as<Tree>()) {
    return tree->replaced([&](const Datum& part) { return numbers_to_tensors(part, loc); });
  }
  if (!value.is_sequence()) return value;
  std::vector<Datum> elements;
  for (const Datum& element : value.elements()) elements.push_back(numbers_to_tensors(element, loc));
  return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
}

/// Objects that a loop may update are spent where it begins.
void GraphBuilder::spend_all(const Datum& value, Loc loc) {
  spend(value, loc);
  if (!value.is_sequence()) return;
  for (const Datum& element : value.elements()) spend_all(element, loc);
}

Datum GraphBuilder::scan(const BoundArguments& arguments) {
  auto count = length_of(arguments, arguments[2], &arguments[3], "scan");
  if (!count) return Datum::poison();
  Loc loc = arguments.call;
  return scan_over(arguments, "scan", arguments[1], arguments[2], *count, [&](const Datum& carry, const Datum& x) {
    return evaluator_.call(arguments[0], {{"", carry, loc}, {"", x, loc}}, loc);
  });
}

Datum GraphBuilder::map(const BoundArguments& arguments) {
  auto count = length_of(arguments, arguments[1], nullptr, "map");
  if (!count) return Datum::poison();
  Loc loc = arguments.call;
  auto step = [&](const Datum& carry, const Datum& x) {
    Datum y = evaluator_.call(arguments[0], {{"", x, loc}}, loc);
    return y.is_poison() ? y : Datum::tuple({carry, y});
  };
  Datum both = scan_over(arguments, "map", Datum::none(), arguments[1], *count, step);
  return both.is_poison() ? both : both.elements()[1];
}

Datum GraphBuilder::reduce_by(const BoundArguments& arguments) {
  auto count = length_of(arguments, arguments[1], nullptr, "reduce");
  if (!count) return Datum::poison();
  Loc loc = arguments.call;
  auto step = [&](const Datum& carry, const Datum& x) {
    Datum after = evaluator_.call(arguments[0], {{"", carry, loc}, {"", x, loc}}, loc);
    return after.is_poison() ? after : Datum::tuple({after, Datum::none()});
  };
  Datum both = scan_over(arguments, "reduce", arguments[2], arguments[1], *count, step);
  return both.is_poison() ? both : both.elements()[0];
}

}  // namespace tessera::frontend

// Run-time loops and branches: a `for` over a range of symbolic length, a `while` or `if` on a
// tensor, an `if` on sizes that calls have. A name that had a value before and is assigned in such
// a block is loop-carried: it keeps its shape and dtype. It is carried in the dtype it is computed
// in, so that a loop gives the same bits as its unrolled iterations. The contents of an object, such
// as a cache, are rounded whenever the object is updated, and carried in the dtype they are stored
// in. Names that are new in a block end with it.

#include <set>

#include "frontend/binding/names.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/dims.h"
#include "frontend/values/leaves.h"
#include "frontend/values/runtime_range.h"
#include "ir/text/dim_conditions.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

using graph::OpKind;

std::string type_text(const IrValue& value) {
  return fmt::format("{} of {}", to_text(value.value->type()->dims), to_string(value.storage));
}

/// What a loop may begin with where iterations leave `after` in the place of a compile-time value:
/// `zeros((M, N), f32)`; empty where no tensors can stand there.
std::string start_text(const Datum& before, const Datum& after) {
  if (after.is_sequence()) {
    std::string parts;
    for (size_t i = 0; i < after.elements().size(); ++i) {
      bool is_like = before.is_sequence() && before.elements().size() == after.elements().size();
      std::string part = is_like ? start_text(before.elements()[i], after.elements()[i]) : std::string();
      if (part.empty()) return "";
      parts += (i ? ", " : "") + part;
    }
    if (after.is(DatumKind::List)) return "[" + parts + "]";
    return "(" + parts + (after.elements().size() == 1 ? ",)" : ")");
  }
  bool is_size = after.is(DatumKind::Int) || after.is(DatumKind::Dim);
  if (!after.is_ir() && !after.is_scalar() && !after.is(DatumKind::Bool)) return "";
  std::string dims, dtype = is_size ? "i64" : after.is(DatumKind::Bool) ? "bool" : "f32";
  if (after.is_ir()) {
    const std::vector<Dim>& extents = after.as_ir().value->type()->dims;
    for (size_t i = 0; i < extents.size(); ++i) dims += (i ? ", " : "") + std::string(extents[i]->text);
    if (extents.size() == 1) dims += ",";
    dtype = to_string(after.as_ir().storage);
  }
  bool has_number = before.is_number() || before.is(DatumKind::Bool);
  bool is_zero = before.is_number() ? before.as_double() == 0 : !has_number && !before.is_scalar();
  return is_zero ? fmt::format("zeros(({}), {})", dims, dtype)
                 : fmt::format("full(({}), {}, {})", dims, has_number ? to_text(before) : "value", dtype);
}

/// Whether a list or a tuple became longer.
bool grows(const Datum& before, const Datum& after) {
  return before.is_sequence() && after.is_sequence() && after.elements().size() > before.elements().size();
}

}  // namespace

/// The loop-carried values.
struct GraphBuilder::Carried {
  std::vector<std::string> names;
  std::vector<Datum> before;  ///< beside the names
  std::vector<Value*> inits;  ///< all tensors of these
};

GraphBuilder::Carried GraphBuilder::carried_names(ast::StmtList body, Scope& scope) {
  Carried carried;
  for (std::string_view name : names::assigned_names(body)) {
    Binding* binding = scope.find(name);
    if (!binding || binding->state != Binding::State::Ready) continue;
    std::vector<Leaf> leaves = leaves_of(binding->value);
    if (leaves.empty()) continue;
    carried.names.emplace_back(name);
    carried.before.push_back(binding->value);
    for (const Leaf& leaf : leaves) carried.inits.push_back(leaf.held ? stored(leaf) : computed(leaf));
  }
  return carried;
}

/// Defines the carried names by tensors, all those of one name after those of the one before.
void GraphBuilder::define_carried(const Carried& carried, const std::vector<Value*>& values, Scope& scope, Loc loc) {
  size_t next = 0;
  for (size_t i = 0; i < carried.names.size(); ++i) {
    scope.set(carried.names[i], with_leaves(carried.before[i], values, next), loc);
  }
}

/// Of a function that nothing calls: whether calls may give two values one type, which is warned of where the signature
/// could say so.
bool GraphBuilder::may_fit(const Datum& a, const Datum& b, const std::string& what, Loc loc, std::string_view in_a,
                           std::string_view in_b) {
  std::vector<Leaf> left = leaves_of(a), right = leaves_of(b);
  if (!evaluator_.is_open() || !same_form(a, b) || left.size() != right.size()) return false;
  std::optional<std::pair<size_t, size_t>> first;  // the tensors and the axis that differ
  for (size_t i = 0; i < left.size(); ++i) {
    const std::vector<Dim>&x = left[i].value->type()->dims, &y = right[i].value->type()->dims;
    if (x.size() != y.size() || left[i].storage != right[i].storage) return false;
    for (size_t axis = 0; axis < x.size(); ++axis) {
      if (x[axis] == y[axis]) continue;
      if (blame().certainly_differ(x[axis], y[axis])) return false;
      if (!first) first = {i, axis};
    }
  }
  if (!first) return false;
  auto [i, axis] = *first;
  DimPlace one = place(left[i], axis, what), other = place(right[i], axis, what);
  one.what += in_a, other.what += in_b;
  report_unequal(blame(), loc, one, other);
  return true;
}

/// The loop-carried tensors at the end of an iteration; nullopt when an error was reported.
std::optional<std::vector<Value*>> GraphBuilder::carried_out(const Carried& carried, ast::StmtList body,
                                                             Scope& inner, Scope& outer) {
  std::vector<Value*> values;
  for (size_t i = 0; i < carried.names.size(); ++i) {
    Binding* binding = inner.find_here(carried.names[i]);
    const Datum& after = binding->value;
    if (after.is_poison()) return std::nullopt;
    std::vector<Leaf> was = leaves_of(carried.before[i]), now = leaves_of(after);
    bool fits = same_form(carried.before[i], after);
    for (size_t k = 0; fits && k < was.size(); ++k) {
      bool same_dims = was[k].value->type()->dims == now[k].value->type()->dims;
      fits = same_dims && was[k].storage == now[k].storage;
      if (fits) continue;
      std::string what = fmt::format("'{}'", carried.names[i]);
      bool may = may_fit(carried.before[i], after, what, binding->loc, " before an iteration", " after it");
      if (may) return std::nullopt;
      auto builder = blame().report_dtype(diag::loop_carried_type, binding->loc, same_dims ? was[k].value : nullptr,
                                          now[k].storage, "an iteration leaves it here", carried.names[i],
                                          type_text(was[k]), type_text(now[k]));
      if (!session().is_builtin(was[k].origin)) builder.label(was[k].origin, "the value that enters is made here");
      bool begins_as_number = !same_dims && was[k].value->type()->dims.empty() && after.is_ir();
      if (begins_as_number) builder.help("start with what iterations leave: " + start_text(Datum::integer(0), after));
      return std::nullopt;
    }
    if (!fits) {
      auto builder = report(diag::loop_carried_type, binding->loc, carried.names[i], with_count(carried.before[i]),
                            with_count(after));
      if (grows(carried.before[i], after)) {
        builder.help(evaluator_.help_for_filling(carried.names[i], after.elements().back()));
      }
      bool is_scalar = carried.before[i].is_ir() && was[0].value->type()->rank() == 0;
      DType dtype = is_scalar ? was[0].storage : DType::Bool;
      bool fits_dtype = dtype == DType::Bool ? after.is(DatumKind::Bool)
                                             : after.is(DatumKind::Int) || (is_float(dtype) && after.is_number());
      if (is_scalar && fits_dtype) {
        builder.help(fmt::format("a tensor stays one: {} = full((), {}, {})", carried.names[i], to_text(after),
                                 to_string(was[0].storage)));
      }
      return std::nullopt;
    }
    for (size_t k = 0; k < was.size(); ++k) {
      Value* value = now[k].held ? stored(now[k]) : computed(now[k]);
      values.push_back(convert(value, carried.inits[values.size()]->type()->dtype));
    }
  }
  for (std::string_view name : names::assigned_names(body)) {
    Binding* now = inner.find_here(name);
    Binding* before = outer.find(name);
    bool is_carried = std::find(carried.names.begin(), carried.names.end(), name) != carried.names.end();
    if (!now || is_carried || now->value.is_poison()) continue;
    if (!before || before->value.object_as<LocalName>()) {
      outer.set(name, Datum::object(std::make_shared<LocalName>()), now->loc);
    } else if (!equal(before->value, now->value)) {
      std::string start = start_text(before->value, now->value);
      auto builder = report(diag::loop_carried_constant, now->loc, name);
      if (grows(before->value, now->value)) {
        builder.help(evaluator_.help_for_filling(name, now->value.elements().back()));
      } else if (now->value.is(DatumKind::Dict)) {
        builder.help(
            fmt::format("a loop changes tensors, and lists and tuples of them, but no dict: {} = [a, b]", name));
      } else if (!start.empty()) {
        builder.help(
            fmt::format("start with {}: {} = {}", now->value.is_sequence() ? "tensors" : "a tensor", name, start));
      }
      return std::nullopt;
    }
  }
  return values;
}

/// Adds a block that takes values of those types.
Block* GraphBuilder::add_block(Op* op, unsigned region, const std::vector<Value*>& like) {
  Block* block = op->region(region)->add_block();
  for (Value* value : like) block->add_arg(context().tensor(value->type()->dims, value->type()->dtype), value->name());
  return block;
}

namespace {

std::vector<Value*> arguments_of(Block* block) {
  std::vector<Value*> arguments;
  for (unsigned i = 0; i < block->arg_count(); ++i) arguments.push_back(block->arg(i));
  return arguments;
}

}  // namespace

std::vector<Value*> GraphBuilder::results_of(Op* op) {
  std::vector<Value*> results;
  for (unsigned i = 0; i < op->result_count(); ++i) results.push_back(op->result(i));
  return results;
}

/// Goes on after an op whose regions were filled.
void GraphBuilder::leave(Op* op) {
  builder_.set_after(op);
  if (!builder_.before()) builder_.set_end(op->block());
}

Op* GraphBuilder::region_op(OpKind kind, const std::vector<Value*>& operands, const std::vector<Value*>& like,
                            std::vector<OpAttr> attributes, Loc loc) {
  std::vector<Type> types;
  for (Value* value : like) types.push_back(context().tensor(value->type()->dims, value->type()->dtype));
  builder_.set_loc(loc);
  return builder_.op(graph::info(kind), {operands}, std::move(types), std::move(attributes));
}

void GraphBuilder::yield(const std::vector<Value*>& values, Loc loc) {
  builder_.set_loc(loc);
  builder_.op(graph::info(OpKind::Yield), {values}, {});
}

/// Runs the body of a loop in its region and ends the region; false when an error was reported.
bool GraphBuilder::fill_body(const Carried& carried, ast::StmtList body, Block* block, Scope& inner, Scope& outer,
                             Loc loc) {
  if (const ast::Node* place = ast::return_in(body)) {
    report(diag::return_in_loop, place->loc)
        .help("a loop carries values: y = where(condition, x[i], y) keeps one, and 'return y' stands behind the loop");
    return false;
  }
  builder_.set_end(block);
  if (evaluator_.execute(body, inner) == Flow::Return) return false;
  auto values = carried_out(carried, body, inner, outer);
  if (values) yield(*values, loc);
  return values.has_value();
}

/// Objects that a loop updates are spent where it begins.
void GraphBuilder::spend_carried(const Carried& carried, Loc loc) {
  for (const Datum& value : carried.before) spend(value, loc);
}

namespace {

std::string variable_of(const ast::For& loop) {
  const auto* name = ast::as<ast::Name>(loop.target);
  return name ? std::string(name->text) : std::string();
}

}  // namespace

void GraphBuilder::enter_loop(RuntimeLoop loop, WrittenLoop written) {
  loop.written = std::move(written);
  loop.written.frames = evaluator_.frames().size();
  function_.runtime_loops.push_back(std::move(loop));
}

/// A loop over a range of sizes: its counter is a size, too.
Flow GraphBuilder::loop_over_sizes(const RuntimeRange& range, const ast::For& loop, Scope& scope) {
  Dim start = as_dimension(dims(), range.start()), stop = as_dimension(dims(), range.stop());
  Dim count = dims().max(dims().ceildiv(dims().sub(stop, start), dims().constant(range.step())), dims().constant(0));
  if (start->is_constant(0) && range.step() == 1) count = stop;
  const auto* target = ast::as<ast::Name>(loop.target);
  std::string counter = fmt::format("{}_{}", target ? target->text : "i", function_.counters++);
  Dim iteration = dims().symbol(counter);
  Carried carried = carried_names(loop.body, scope);
  Op* op = region_op(
      OpKind::For, carried.inits, carried.inits,
      {graph::attr::For::count(context(), count), graph::attr::For::counter(context(), counter)},
      loop.loc);
  Block* block = add_block(op, graph::at::For::body, carried.inits);
  spend_carried(carried, loop.loc);
  Scope* inner = session().new_scope(&scope);
  define_carried(carried, arguments_of(block), *inner, loop.loc);
  size_t known = evaluator_.facts().size();
  Dim value = dims().add(start, dims().mul(iteration, dims().constant(range.step())));
  evaluator_.facts().push_back({Relation::Less, value, stop});  // whenever the body runs
  enter_loop({iteration, nullptr, start, range.step()},
             {variable_of(loop), is_counted(stop) ? std::string() : std::string(as_written(stop)->text), 0, inner});
  evaluator_.assign(*loop.target, Datum::dim(value), *inner);
  bool filled = fill_body(carried, loop.body, block, *inner, scope, loop.loc);
  function_.runtime_loops.pop_back();
  evaluator_.facts().resize(known);
  leave(op);
  if (!filled) return evaluator_.skip(loop.body, scope);
  define_carried(carried, results_of(op), scope, loop.loc);
  return Flow::Next;
}

/// A loop over a range whose end is a tensor: its counter is carried as one, too.
Flow GraphBuilder::loop_over_values(const RuntimeRange& range, const ast::For& loop, Scope& scope) {
  Carried carried = carried_names(loop.body, scope);
  Value* start = operand(range.start(), DType::I64, {}, loop.iterable->loc);
  Value* stop = start ? operand(range.stop(), DType::I64, {}, loop.iterable->loc) : nullptr;
  if (!stop) return evaluator_.skip(loop.body, scope);
  std::vector<Value*> inits = carried.inits;
  inits.push_back(start);
  Op* op = region_op(OpKind::While, inits, inits, {}, loop.loc);
  Block* condition = add_block(op, graph::at::While::condition, inits);
  Block* block = add_block(op, graph::at::While::body, inits);
  builder_.set_end(condition);
  Value* counter = condition->arg(condition->arg_count() - 1);
  yield({graph::elementwise(builder_, ElementwiseKind::Lt, {counter, stop})}, loop.loc);
  spend_carried(carried, loop.loc);
  Scope* inner = session().new_scope(&scope);
  define_carried(carried, arguments_of(block), *inner, loop.loc);
  builder_.set_end(block);
  counter = block->arg(block->arg_count() - 1);
  evaluator_.assign(*loop.target, handle(counter, {DType::I64, {}, false}, loop.target->loc), *inner);
  enter_loop({nullptr, counter}, {variable_of(loop), "", 0, inner});
  bool filled = fill_body(carried, loop.body, block, *inner, scope, loop.loc);
  function_.runtime_loops.pop_back();
  if (filled) {
    Op* end = block->terminator();
    builder_.set_before(end);
    std::vector<Value*> values = end->ins(graph::in::Yield::values);
    values.push_back(graph::add(builder_, counter, graph::scalar(builder_, range.step(), DType::I64)));
    end->set_slot(graph::in::Yield::values, values);
  }
  leave(op);
  if (!filled) return evaluator_.skip(loop.body, scope);
  define_carried(carried, results_of(op), scope, loop.loc);
  return Flow::Next;
}

std::optional<Flow> GraphBuilder::for_each(const Datum& iterable, const ast::For& loop, Scope& scope) {
  const auto* range = iterable.object_as<RuntimeRange>();
  if (range && (range->start().is_ir() || range->stop().is_ir())) return loop_over_values(*range, loop, scope);
  if (range) return loop_over_sizes(*range, loop, scope);
  if (!iterable.is_ir()) return std::nullopt;
  report(diag::wrong_kind, loop.iterable->loc, "the iterable of 'for'", describe(iterable),
         "a tuple, a list or a range")
      .help(std::string(help_for_rows()));
  return evaluator_.skip(loop.body, scope);
}

/// The bool that a condition is; null when an error was reported.
Value* GraphBuilder::truth(const Datum& condition, Loc loc) {
  if (condition.is_poison()) return nullptr;
  if (condition.is(DatumKind::Bool)) return number(condition, DType::Bool, {}, loc);
  bool fits = condition.is_ir() && condition.as_ir().storage == DType::Bool &&
              condition.as_ir().value->type()->rank() == 0;
  if (fits) return condition.as_ir().value;
  std::string what = condition.is_ir() ? "a tensor " + type_text(condition.as_ir()) : describe(condition);
  auto builder = report(diag::wrong_kind, loc, "the condition", what, "a bool of rank 0");
  bool is_number = condition.is_ir() && condition.as_ir().value->type()->rank() == 0;
  std::string written = is_number ? source_text(session().sources(), loc) : std::string();
  if (!written.empty() && !session().is_builtin(loc)) {
    builder.help(fmt::format("compare it: {} != {}", written, is_float(condition.as_ir().storage) ? "0.0" : "0"));
  } else if (condition.is_ir()) {
    builder.help("where(condition, a, b) chooses element by element");
  }
  return nullptr;
}

std::optional<Flow> GraphBuilder::while_loop(const ast::While& loop, Scope& scope) {
  Carried carried = carried_names(loop.body, scope);
  Op* op = region_op(OpKind::While, carried.inits, carried.inits, {}, loop.loc);
  Block* condition = add_block(op, graph::at::While::condition, carried.inits);
  Block* block = add_block(op, graph::at::While::body, carried.inits);
  Scope* asking = session().new_scope(&scope);
  define_carried(carried, arguments_of(condition), *asking, loop.loc);
  enter_loop({}, {});
  builder_.set_end(condition);
  Value* goes_on = truth(evaluator_.evaluate(*loop.condition, *asking), loop.condition->loc);
  bool filled = goes_on != nullptr;
  if (filled) {
    yield({goes_on}, loop.condition->loc);
    spend_carried(carried, loop.loc);
    Scope* inner = session().new_scope(&scope);
    define_carried(carried, arguments_of(block), *inner, loop.loc);
    function_.runtime_loops.back().written.body = inner;
    filled = fill_body(carried, loop.body, block, *inner, scope, loop.loc);
  }
  function_.runtime_loops.pop_back();
  leave(op);
  if (!filled) return evaluator_.skip(loop.body, scope);
  define_carried(carried, results_of(op), scope, loop.loc);
  return Flow::Next;
}

/// The two branches of an `if`. What they give is known when both are built: until then they are in an op without
/// results.
struct GraphBuilder::Branches {
  Value* condition = nullptr;  ///< null where sizes choose
  std::vector<DimFact> when;   ///< sizes that choose the op's first region
  bool is_first = true;        ///< that is the first branch
  Op* draft = nullptr;
  Block* blocks[2] = {};
  std::vector<std::string> names;  ///< those that both branches give a value, or that had one
  std::vector<Datum> values[2];    ///< beside the names

  /// The op's region for a branch.
  unsigned region(unsigned branch) const { return is_first ? branch : 1 - branch; }
};

/// Runs one arm, or what stands instead of it, in its block.
Flow GraphBuilder::fill_branch(const ast::If& stmt, size_t arm, bool taken, Block* block, Scope& inner) {
  builder_.set_end(block);
  if (taken) return evaluator_.execute(stmt.arms[arm].body, inner);
  if (arm + 1 == stmt.arms.size()) return evaluator_.execute(stmt.else_body, inner);
  return evaluator_.execute_arms(stmt, arm + 1, inner);
}

/// Names that arms from `arm` on assign.
std::vector<std::string> GraphBuilder::names_of_arms(const ast::If& stmt, size_t arm) {
  std::vector<std::string> names;
  auto add = [&](ast::StmtList body) {
    for (std::string_view name : names::assigned_names(body)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    }
  };
  for (size_t i = arm; i < stmt.arms.size(); ++i) add(stmt.arms[i].body);
  add(stmt.else_body);
  return names;
}

/// The op of two branches that give these values.
Op* GraphBuilder::branches_op(const Branches& branches, const std::vector<Value*>& like, Loc loc) {
  std::vector<Value*> chooses;
  std::vector<OpAttr> attributes;
  if (branches.condition) chooses.push_back(branches.condition);
  if (!branches.condition) {
    attributes.push_back(graph::attr::Cond::when(context(), fact_attrs(context(), branches.when)));
  }
  return region_op(OpKind::Cond, chooses, like, std::move(attributes), loc);
}

/// Where sizes are equal in a branch alone, tensors from around it that a name has get dims as what is made in it has.
void GraphBuilder::rename_under_facts(Scope& around, Scope& inner) {
  std::set<std::string_view> seen;
  for (Scope* scope = &around; scope && scope != around.module_scope(); scope = scope->parent()) {
    for (const auto& [name, binding] : scope->names_here()) {
      bool is_hidden = !seen.insert(name).second;
      if (is_hidden || binding.state != Binding::State::Ready) continue;
      std::vector<Leaf> leaves = leaves_of(binding.value);
      if (std::ranges::any_of(leaves, &Leaf::held)) continue;
      std::vector<Value*> values;
      bool changes = false;
      for (const Leaf& leaf : leaves) {
        values.push_back(under_facts(leaf.value));
        changes |= values.back() != leaf.value;
      }
      size_t next = 0;
      if (changes) inner.set(name, with_leaves(binding.value, values, next), binding.loc);
    }
  }
}

/// Builds both branches. `fill` runs one of them, the arm itself or what stands instead of it, and takes its values.
/// Both are false when an error was reported.
bool GraphBuilder::fill_branches(Branches& branches, Scope& scope, Loc loc,
                                 const std::function<bool(unsigned branch, Scope& inner)>& fill) {
  branches.draft = branches_op(branches, {}, loc);
  bool filled = true;
  for (unsigned r = 0; r < 2 && filled; ++r) {
    branches.blocks[r] = branches.draft->region(branches.region(r))->add_block();
    size_t before = function_.spent.size(), known = evaluator_.facts().size();
    Scope& inner = *session().new_scope(&scope);
    if (!branches.condition) {
      std::vector<DimFact> facts = facts_of_branch(dims(), branches.when, branches.region(r) == 0);
      evaluator_.facts().insert(evaluator_.facts().end(), facts.begin(), facts.end());
      bool equates = std::ranges::any_of(facts, [](const DimFact& f) { return f.relation == Relation::Equal; });
      builder_.set_end(branches.blocks[r]);
      if (equates) rename_under_facts(scope, inner);
    }
    filled = fill(r, inner);
    evaluator_.facts().resize(known);
    if (r == 0) revive(before);
  }
  leave(branches.draft);
  return filled;
}

namespace {

/// Whether a value is computed of numbers and sizes alone, so that calls which give numbers have it at compile time.
bool is_of_numbers(const Value* value, unsigned depth = 0) {
  constexpr unsigned most_ops = 32;
  const Op* def = value->def();
  if (!def || depth == most_ops || value->type()->rank() != 0 || def->region_count() != 0) return false;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (!is_of_numbers(def->operand(i), depth + 1)) return false;
  }
  return true;
}

}  // namespace

std::optional<Flow> GraphBuilder::branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) {
  if (!condition.is_ir()) return std::nullopt;
  if (evaluator_.is_open() && is_of_numbers(condition.as_ir().value)) {
    return evaluator_.explore_arms(stmt, arm, scope);
  }
  Loc loc = stmt.arms[arm].condition->loc;
  Branches branches;
  branches.condition = truth(condition, loc);
  if (!branches.condition) return evaluator_.skip_arms(stmt, scope);
  if (std::optional<SizeCondition> sizes = size_condition(branches.condition)) {
    branches.when = std::move(sizes->facts);
    branches.is_first = sizes->holds;
    branches.condition = nullptr;
  }
  for (size_t i = arm; i <= stmt.arms.size(); ++i) {
    const ast::Node* place = ast::return_in(i < stmt.arms.size() ? stmt.arms[i].body : stmt.else_body);
    if (place) return returning_branch(branches, stmt, arm, place->loc, scope);
  }
  branches.names = names_of_arms(stmt, arm);
  bool filled = fill_branches(branches, scope, loc, [&](unsigned r, Scope& inner) {
    bool good = fill_branch(stmt, arm, r == 0, branches.blocks[r], inner) == Flow::Next;
    for (const std::string& name : branches.names) {
      Binding* now = inner.find_here(name);
      Binding* before = scope.find(name);
      Datum local = Datum::object(std::make_shared<LocalName>());
      branches.values[r].push_back(now ? now->value : before ? before->value : local);
      good = good && !branches.values[r].back().is_poison();
    }
    return good;
  });
  if (!filled || !join(branches, scope, loc)) return evaluator_.skip_arms(stmt, scope);
  return Flow::Next;
}

/// A branch that may end the function: what follows it becomes part of both arms, which then end the function both, and
/// the function's result is what the branch gives.
Flow GraphBuilder::returning_branch(Branches& branches, const ast::If& stmt, size_t arm, Loc place, Scope& scope) {
  for (const Continuation* after = evaluator_.frame().continuation; after; after = after->outer) {
    if (!after->repeats) continue;
    evaluator_.unsupported(place, "a 'return' in a loop, in a branch that is chosen at run time,");
    return evaluator_.skip_arms(stmt, scope);
  }
  Loc loc = stmt.arms[arm].condition->loc;
  const Continuation* rest = evaluator_.frame().continuation;
  branches.names = {"return"};
  std::vector<const ast::Expr*> returned;
  bool filled = fill_branches(branches, scope, loc, [&](unsigned r, Scope& inner) {
    evaluator_.frame().result = Datum::none();
    evaluator_.frame().result_loc = {};
    evaluator_.frame().returned.clear();
    if (fill_branch(stmt, arm, r == 0, branches.blocks[r], inner) == Flow::Next) evaluator_.execute_rest(rest, inner);
    branches.values[r].push_back(evaluator_.frame().result);
    const std::vector<const ast::Expr*>& here = evaluator_.frame().returned;
    returned.insert(returned.end(), here.begin(), here.end());
    if (evaluator_.frame().result.is_none()) report_no_return(loc);
    return !evaluator_.frame().result.is_poison() && !evaluator_.frame().result.is_none();
  });
  Scope* results = session().new_scope(&scope);
  if (!filled || !join(branches, *results, loc)) return evaluator_.skip_arms(stmt, scope);
  evaluator_.frame().result = results->find_here("return")->value;
  evaluator_.frame().result_loc = place;
  evaluator_.frame().returned = std::move(returned);
  return Flow::Return;
}

/// A branch that a condition at `chooses` takes ends the function without a value.
void GraphBuilder::report_no_return(Loc chooses) {
  const Function* function = evaluator_.frame().function;
  Loc returned = evaluator_.frame().result_loc;
  if (returned.known() && blame().report_valueless(evaluator_.frame().result, returned, "the returned value")) return;
  report(diag::missing_return, function->loc, function->name).label(chooses, "there is none where this chooses so");
}

/// Objects that were updated since `function_.spent` had that size are current again, in another branch.
void GraphBuilder::revive(size_t since) {
  for (size_t i = since; i < function_.spent.size(); ++i) function_.spent[i].object_as<StateValue>()->revive();
  function_.spent.resize(since);
}

/// Gives two values that branches leave one type where sizes are equal in one of the branches: that of the other value.
void GraphBuilder::join_dims(const Branches& branches, IrValue& first, IrValue& second) {
  IrValue* leaves[2] = {&first, &second};
  for (unsigned r = 0; r < 2 && !branches.condition; ++r) {
    const std::vector<Dim>& own = leaves[r]->value->type()->dims;
    const std::vector<Dim>& other = leaves[1 - r]->value->type()->dims;
    if (own == other || own.size() != other.size()) continue;
    std::vector<DimFact> facts = evaluator_.facts();
    std::vector<DimFact> here = facts_of_branch(dims(), branches.when, branches.region(r) == 0);
    facts.insert(facts.end(), here.begin(), here.end());
    bool same = true;
    for (size_t i = 0; i < own.size(); ++i) {
      same &= one_form(dims(), own[i], facts) == one_form(dims(), other[i], facts);
    }
    if (!same) continue;
    builder_.set_end(branches.blocks[r]);
    leaves[r]->value = graph::reshape(builder_, leaves[r]->value, other);
  }
}

/// Makes the branch that gives the names their values in place of the draft.
bool GraphBuilder::join(const Branches& branches, Scope& scope, Loc loc) {
  std::vector<Value*> yields[2];
  std::vector<std::pair<std::string, Datum>> joined;
  for (size_t i = 0; i < branches.names.size(); ++i) {
    const Datum &a = branches.values[0][i], &b = branches.values[1][i];
    bool local = a.object_as<LocalName>() || b.object_as<LocalName>();
    if (local) {
      scope.set(branches.names[i], Datum::object(std::make_shared<LocalName>()), loc);
      continue;
    }
    std::vector<Leaf> first = leaves_of(a), second = leaves_of(b);
    bool fits = same_form(a, b) && first.size() == second.size();
    for (size_t k = 0; fits && k < first.size(); ++k) {
      join_dims(branches, first[k], second[k]);
      fits = first[k].value->type()->dims == second[k].value->type()->dims && first[k].storage == second[k].storage;
    }
    if (!fits) {
      std::string left = first.size() == 1 && a.is_ir() ? type_text(first[0]) : describe(a);
      std::string right = second.size() == 1 && b.is_ir() ? type_text(second[0]) : describe(b);
      if (left == right) left = to_text(a), right = to_text(b);  // numbers
      std::string what = fmt::format("'{}'", branches.names[i]);
      if (may_fit(a, b, what, loc, " in one branch", " in the other")) return false;
      auto builder = report(diag::branch_types, loc, branches.names[i], left, right);
      builder.help("which branch runs is known at run time alone: both give one shape and one dtype");
      if (!branches.condition) blame().help_clause(builder, branches.when[0], "if the condition always holds");
      if (a.is_ir() && made_at(a.as_ir()).known()) builder.label(made_at(a.as_ir()), left);
      if (b.is_ir() && made_at(b.as_ir()).known()) builder.label(made_at(b.as_ir()), right);
      return false;
    }
    for (size_t k = 0; k < first.size(); ++k) {
      builder_.set_end(branches.blocks[0]);
      yields[0].push_back(first[k].held ? stored(first[k]) : computed(first[k]));
      builder_.set_end(branches.blocks[1]);
      yields[1].push_back(second[k].held ? stored(second[k]) : computed(second[k]));
    }
    joined.emplace_back(branches.names[i], a);
  }
  builder_.set_before(branches.draft);
  Op* op = branches_op(branches, yields[0], loc);
  for (unsigned r = 0; r < 2; ++r) {
    Block* block = op->region(branches.region(r))->add_block();
    for (Op* inner : *branches.blocks[r]) inner->move_to_end(block);
    builder_.set_end(block);
    yield(yields[r], loc);
  }
  leave(op);
  branches.draft->erase();
  builder_.set_after(op);
  if (!builder_.before()) builder_.set_end(op->block());
  std::vector<Value*> results = results_of(op);
  size_t next = 0;
  for (auto& [name, value] : joined) scope.set(name, with_leaves(value, results, next), loc);
  return true;
}

}  // namespace tessera::frontend

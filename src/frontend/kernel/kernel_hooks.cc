// What the Evaluator asks a kernel builder: operators, members, subscripts and calls of values of
// the IR, and loops that run on the machine.

#include <algorithm>

#include "frontend/dims.h"
#include "frontend/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

Datum KernelBuilder::elementwise(ElementwiseKind kind, std::span<const Datum> operands, Loc loc) {
  if (!has_context(snake_case(elementwise_info(kind).name), loc)) return Datum::poison();
  return ops_.elementwise(kind, operands, loc);
}

Datum KernelBuilder::matmul(const Datum& a, const Datum& b, Loc loc) {
  return has_context("@", loc) ? ops_.dot(a, b, Datum::none(), loc) : Datum::poison();
}

Datum KernelBuilder::attribute(const Datum& object, const ast::Identifier& name, Loc loc) {
  if (object.object_as<TileContext>()) return context_member(name);
  if (object.is_ir()) {
    Type type = object.as_ir().value->type();
    if (name.text == "T" && type->is(TypeKind::Tile)) return ops_.transpose(object, {}, loc);
    if (name.text == "dtype") return Datum::dtype(type->dtype);
    if (name.text == "shape") {
      std::vector<Datum> shape;
      for (Dim dim : type->dims) shape.push_back(Datum::dim(dim));
      return Datum::tuple(std::move(shape));
    }
    report(diag::unknown_member, name.loc, describe(object), name.text)
        .help("a tile has T, dtype and shape");
    return Datum::poison();
  }
  return Evaluator::attribute(object, name, loc);
}

/// `x[:, None]` inserts axes of extent 1.
Datum KernelBuilder::subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) {
  bool is_tile = object.is_ir() && object.as_ir().value->type()->is(TypeKind::Tile);
  if (!is_tile) return Evaluator::subscript(object, indices, scope, loc);
  const std::vector<Dim>& old = object.as_ir().value->type()->dims;
  std::vector<Dim> shape;
  size_t next = 0;
  for (const ast::Expr* index : indices) {
    const auto* slice = ast::as<ast::Slice>(index);
    bool full = slice && !slice->lower && !slice->upper && !slice->step && next < old.size();
    if (!full && index->kind != ast::NodeKind::None) {
      report(diag::tile_subscript, index->loc).help("tile.load reads part of a tensor");
      return Datum::poison();
    }
    shape.push_back(full ? old[next++] : dims().constant(1));
  }
  while (next < old.size()) shape.push_back(old[next++]);
  ops_.builder().set_loc(loc);
  return ops_.handle(ops_.reshape(object.as_ir().value, std::move(shape)), loc);
}

Datum KernelBuilder::call_object(const Datum& callee, std::vector<CallArgument> arguments,
                                 Loc loc) {
  const auto* hook = callee.object_as<KernelHook>();
  if (!hook) return Evaluator::call_object(callee, std::move(arguments), loc);
  if (arguments.size() != 1 || !arguments[0].name.empty()) {
    report(diag::wrong_argument_count, loc, hook->name, "1 argument",
           fmt::format("{} are", arguments.size()));
    return Datum::poison();
  }
  const Datum& value = arguments[0].value;
  if (value.is_poison()) return value;
  if (!value.is_ir() || !value.as_ir().value->type()->is(TypeKind::Tile)) {
    report(diag::wrong_kind, arguments[0].loc, fmt::format("the argument of '{}'", hook->name),
           describe(value), "a tile");
    return Datum::poison();
  }
  ops_.builder().set_loc(loc);
  Value* tile = value.as_ir().value;
  return ops_.handle(ops_.builder().value(info(OpKind::Hook), {{tile}}, tile->type(),
                                          {{"name", context().string(hook->name)}}),
                     loc);
}

Datum KernelBuilder::call_function(const Function& function, std::vector<CallArgument> arguments,
                                   Loc loc) {
  if (function.kind == FunctionKind::Kernel)
    return unsupported(loc, "a call of a kernel in a kernel");
  return Evaluator::call_function(function, std::move(arguments), loc);
}

Datum KernelBuilder::param(const ParamDeclaration& declaration, Loc loc) {
  return unsupported(loc, fmt::format("param '{}' in a kernel", declaration.name));
}

Datum KernelBuilder::annotate(const ast::Expr& annotation, Datum, Scope&, Loc) {
  return unsupported(annotation.loc, "an annotation in a kernel");
}

/// Values take the names of the variables they are assigned to first, for those who read the IR.
Datum KernelBuilder::assigned(std::string_view name, Datum value, Loc) {
  if (value.is_ir() && value.as_ir().value->name().empty())
    value.as_ir().value->set_name(module_.intern(name));
  return value;
}

Flow KernelBuilder::branch(const Datum&, const ast::If& stmt, size_t arm, Scope&) {
  unsupported(stmt.arms[arm].condition->loc, "a condition on values of the machine in a kernel");
  return Flow::Next;
}

/// The names that a loop changes: what they are before it, by name.
std::vector<KernelBuilder::Carried> KernelBuilder::carried_names(const ast::For& loop,
                                                                 Scope& scope) {
  std::vector<Carried> carried;
  std::string_view target =
      ast::as<ast::Name>(loop.target) ? ast::as<ast::Name>(loop.target)->text : "";
  for (std::string_view name : assigned_names(loop.body)) {
    if (name == target) continue;
    // Loop bodies have scopes of their own here; around them is the function's.
    for (Scope* at = &scope; at; at = loop_scopes_.count(at) ? at->parent() : nullptr) {
      Binding* binding = at->find_here(name);
      if (!binding) continue;
      carried.push_back({name, binding->value});
      break;
    }
  }
  return carried;
}

/// What a turn leaves in a carried name, in the type it entered with; null when a mistake was
/// reported.
Value* KernelBuilder::carried_out(const Carried& name, const Datum& now, Loc loc) {
  if (now.is_poison()) return nullptr;
  Type type = name.before.as_ir().value->type();
  Value* value = now.is_ir() ? now.as_ir().value : nullptr;
  bool same_shape = value && value->type()->kind == type->kind && same_dims(value->type(), type);
  if (same_shape &&
      (value->type()->dtype == type->dtype || widens_to(value->type()->dtype, type->dtype))) {
    return ops_.convert(value, type->dtype);
  }
  report(diag::loop_carried_type, loc, name.name, type->text,
         value ? std::string(value->type()->text) : describe(now));
  return nullptr;
}

Flow KernelBuilder::for_each(const Datum& iterable, const ast::For& loop, Scope& scope) {
  const auto* range = iterable.object_as<TileRange>();
  const auto* target = ast::as<ast::Name>(loop.target);
  if (!range || !target) return Evaluator::for_each(iterable, loop, scope);
  std::vector<Carried> names = carried_names(loop, scope);
  std::vector<Carried> constants;
  std::vector<Value*> inits;
  for (const Carried& name : names) {
    if (name.before.is_ir()) inits.push_back(name.before.as_ir().value);
  }
  std::copy_if(names.begin(), names.end(), std::back_inserter(constants),
               [](const Carried& n) { return !n.before.is_ir(); });
  std::erase_if(names, [](const Carried& n) { return !n.before.is_ir(); });

  Op* pipeline = create_pipeline(*range, inits, loop.loc);
  Block* outside = ops_.builder().block();
  Block* body = pipeline->region()->add_block();
  Value* index = body->add_arg(context().scalar(DType::I64), module_.intern(target->text));
  if (const KernelAxis* axis = axis_of_range(*range)) loop_axes_[index] = axis;
  Scope* inner = session().new_scope(&scope);
  loop_scopes_.insert(inner);
  inner->set(target->text, ops_.handle(index, target->loc), target->loc);
  for (const Carried& name : names) {
    Value* argument = body->add_arg(name.before.as_ir().value->type(), module_.intern(name.name));
    inner->set(name.name, ops_.handle(argument, loop.loc), loop.loc);
  }
  ops_.builder().set_end(body);
  if (execute(loop.body, *inner) == Flow::Return) report(diag::return_in_loop, loop.loc);
  close_loop(pipeline, names, constants, *inner, scope, loop.loc);
  ops_.builder().set_end(outside);
  return Flow::Next;
}

const KernelAxis* KernelBuilder::axis_of_range(const TileRange& range) const {
  for (const KernelAxis& axis : axes_) {
    if (!axis.grid && axis.extent == range.extent && axis.tile == range.step) return &axis;
  }
  return nullptr;
}

Op* KernelBuilder::create_pipeline(const TileRange& range, const std::vector<Value*>& inits,
                                   Loc loc) {
  std::vector<OpAttr> attributes = {{"count", context().dim(range.count)}};
  if (const KernelAxis* axis = axis_of_range(range))
    attributes.push_back({"axis", context().string(axis->name)});
  if (auto stages = keys_.find("stages"); stages != keys_.end())
    attributes.push_back({"stages", stages->second});
  std::vector<Type> types;
  for (Value* init : inits) types.push_back(init->type());
  ops_.builder().set_loc(loc);
  return ops_.builder().op(info(OpKind::Pipeline), {inits}, std::move(types),
                           std::move(attributes));
}

/// Yields what the body left in the carried names and gives them the loop's results.
void KernelBuilder::close_loop(Op* pipeline, const std::vector<Carried>& names,
                               const std::vector<Carried>& constants, Scope& inner, Scope& scope,
                               Loc loc) {
  for (const Carried& name : constants) {
    Binding* binding = inner.find_here(name.name);
    if (!binding || binding->value.is_poison() || name.before.is_poison()) continue;
    if (!binding->value.is_ir() && equal(binding->value, name.before)) continue;
    report(diag::loop_carried_constant, binding->loc, name.name)
        .help("start with a tile: tile.full(shape, value, dtype)");
  }
  std::vector<Value*> yields;
  for (size_t i = 0; i < names.size(); ++i) {
    Binding* binding = inner.find_here(names[i].name);
    Value* value = carried_out(names[i], binding->value, binding->loc);
    Datum after = Datum::poison();
    if (value) {
      after = ops_.handle(pipeline->result(unsigned(i)), loc);
      pipeline->result(unsigned(i))->set_name(module_.intern(names[i].name));
    }
    // A mistake leaves a loop that is dropped with its kernel; any value of the type keeps it well
    // formed till then.
    yields.push_back(value ? value : pipeline->region()->front()->arg(unsigned(i) + 1));
    scope.set(names[i].name, after, loc);
  }
  ops_.builder().set_loc(loc);
  ops_.builder().op(info(OpKind::Yield), {yields}, {});
}

}  // namespace tessera::frontend

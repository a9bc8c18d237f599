// What the evaluation of a kernel asks of its builder: operators, members, subscripts and calls of values of the IR.

#include <algorithm>

#include "frontend/fixes/foreign.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/dims.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

std::optional<Datum> KernelBuilder::elementwise(ElementwiseKind kind, std::span<const Datum> operands,
                                                const OperatorPlace& at) {
  if (!has_context(snake_case(elementwise_info(kind).name), at.loc)) return Datum::poison();
  std::vector<Datum> tiles;
  for (const Datum& operand : operands) {
    tiles.push_back(materialised(operand));
    if (tiles.back().is_poison()) return Datum::poison();
  }
  if (kind == ElementwiseKind::Div) tiles[1] = divisor(tiles[1], at.loc);
  return ops_.elementwise(kind, tiles, at);
}

std::optional<Datum> KernelBuilder::matmul(const Datum& a, const Datum& b, const OperatorPlace& at) {
  return has_context("@", at.loc) ? ops_.dot(a, b, Datum::none(), at) : Datum::poison();
}

std::optional<Datum> KernelBuilder::attribute(const Datum& object, const ast::Identifier& name, Loc loc) {
  if (object.object_as<TileContext>()) return context_member(name);
  if (const auto* cache = object.object_as<CacheParameter>()) return cache_member(*cache, name);
  if (object.is_ir()) {
    Type type = object.as_ir().value->type();
    if (name.text == "T" && type->is(TypeKind::Tile)) return ops_.transpose(object, {}, loc);
    if (name.text == "dtype") return Datum::dtype(type->dtype);
    if (name.text == "shape") {
      std::vector<Datum> shape;
      for (size_t i = 0; i < type->rank(); ++i) {
        shape.push_back(Datum::dim(type->dims[i]).along(axis_along(object.as_ir().value, i)));
      }
      return Datum::tuple(std::move(shape));
    }
    auto builder = report(diag::unknown_member, name.loc, describe(object), name.text);
    if (blame().help_member_conversion(builder, loc, name, "tile.cast")) return Datum::poison();
    std::string help = help_for_tile_member(name.text, object.as_ir().name.empty() ? "x" : object.as_ir().name);
    builder.help(help.empty() ? "a tile has T, dtype and shape; functions are those of tile: tile.sum(x, axis=1)"
                              : help);
    return Datum::poison();
  }
  return std::nullopt;
}

/// A kernel reads tensors by loads.
Datum KernelBuilder::refuse_subscript(const Datum& tensor, ast::ExprList indices, Scope& scope, Loc loc) {
  std::string name = std::string(tensor.as_ir().name);
  if (name.empty()) name = "x";
  std::string help = fmt::format("tile.load reads a tile of a tensor: tile.load({}, (t.i, k), (t.m, t.k))", name);
  for (const ast::Expr* index : indices) {
    if (index->kind == ast::NodeKind::Slice || index->kind == ast::NodeKind::None) continue;
    Datum at = evaluator_.evaluate(*index, scope);
    if (at.is_poison()) return at;
    bool is_tile = at.is_ir() && at.as_ir().value->type()->is(TypeKind::Tile);
    if (!is_tile) continue;
    help = fmt::format("tile.gather reads the rows that a tile of integers names: tile.gather({}, rows)", name);
  }
  report(diag::wrong_kind, loc, "the subscripted value", "a tensor in memory", "a tile").help(std::move(help));
  return Datum::poison();
}

/// `x[:, None]` inserts axes of extent 1.
std::optional<Datum> KernelBuilder::subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) {
  if (is_memory(object)) return slot(object, indices, scope, loc);
  bool is_tile = object.is_ir() && object.as_ir().value->type()->is(TypeKind::Tile);
  bool is_tensor = object.is_ir() && object.as_ir().value->type()->is(TypeKind::Tensor);
  if (is_tensor) return refuse_subscript(object, indices, scope, loc);
  if (!is_tile) return std::nullopt;
  const std::vector<Dim>& old = object.as_ir().value->type()->dims;
  std::vector<Dim> shape;
  std::vector<int> from;
  size_t next = 0;
  for (const ast::Expr* index : indices) {
    const auto* slice = ast::as<ast::Slice>(index);
    bool full = slice && !slice->lower && !slice->upper && !slice->step && next < old.size();
    if (!full && index->kind != ast::NodeKind::None) {
      Datum at = slice ? Datum::none() : evaluator_.evaluate(*index, scope);
      if (at.is_poison()) return at;
      report(diag::tile_subscript, index->loc)
          .help(at.is_ir() ? "elements of a tile are not moved; tile.gather reads those of a tensor that a tile of "
                             "integers names"
                           : "tile.load reads part of a tensor");
      return Datum::poison();
    }
    from.push_back(full ? int(next) : -1);
    shape.push_back(full ? old[next++] : dims().constant(1));
  }
  for (; next < old.size(); shape.push_back(old[next++])) from.push_back(int(next));
  ops_.builder().set_loc(loc);
  Value* shaped = ops_.reshape(object.as_ir().value, std::move(shape));
  if (shaped != object.as_ir().value) kernel_.origins.inserted[shaped] = std::move(from);
  return ops_.handle(shaped, loc);
}

std::optional<Datum> KernelBuilder::call_object(const Datum& callee, std::vector<CallArgument>& arguments, Loc loc) {
  const auto* hook = callee.object_as<KernelHook>();
  if (!hook) return std::nullopt;
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
                                          {schedule::attr::Hook::name(context(), hook->name)}),
                     loc);
}

std::optional<Datum> KernelBuilder::call_function(const Function& function, std::vector<CallArgument>&, Loc loc) {
  if (function.kind == FunctionKind::Kernel) {
    report(diag::unsupported_construct, loc, "a call of a kernel in a kernel")
        .help("what kernels share is a plain function of tiles, def g(v): return v * 2.0; an entry calls one kernel "
              "after the other");
    return Datum::poison();
  }
  return std::nullopt;
}

std::optional<Datum> KernelBuilder::param(const ParamDeclaration& declaration, Loc loc) {
  return evaluator_.unsupported(loc, fmt::format("param '{}' in a kernel", declaration.name));
}

Datum KernelBuilder::annotate(const ast::Expr& annotation, Datum, Scope&, Loc) {
  return evaluator_.unsupported(annotation.loc, "an annotation in a kernel");
}

/// Values take the names of the variables they are assigned to first, for those who read the IR.
Datum KernelBuilder::assigned(std::string_view name, Datum value, Loc) {
  if (value.is_ir() && value.as_ir().value->name().empty())
    value.as_ir().value->set_name(module_.intern(name));
  return value;
}

}  // namespace tessera::frontend

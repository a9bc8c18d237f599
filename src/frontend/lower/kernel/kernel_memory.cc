// Explicit shared memory: tile.alloc, tile.async_copy, tile.wait, tile.barrier. The compiler
// follows the source: no pass adds a wait or a barrier, moves a copy or gives the memory more
// slots. check_memory_order finds unordered accesses once the body is built.

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/memory_check.h"
#include "frontend/values/dims.h"
#include "frontend/values/type_text.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

bool KernelBuilder::is_memory(const Datum& datum) const {
  if (!datum.is_ir()) return false;
  Type type = datum.as_ir().value->type();
  return type->is(TypeKind::View) && type->space == MemorySpace::Shared;
}

Datum KernelBuilder::alloc(const BoundArguments& arguments) {
  enum Argument : size_t { Shape, Dtype, Space };
  auto shape = evaluator_.expect_shape(arguments[Shape], arguments.locs[Shape], "the shape of 'tile.alloc'");
  auto dtype = evaluator_.expect_dtype(arguments[Dtype], arguments.locs[Dtype], "the dtype of 'tile.alloc'");
  if (!shape || !dtype) return Datum::poison();
  std::string space = arguments[Space].is(DatumKind::String) ? arguments[Space].as_string() : "";
  if (space != "shared" && space != "register") {
    report(diag::wrong_kind, arguments.locs[Space], "the space of 'tile.alloc'", describe(arguments[Space]),
           "'shared' or 'register'");
    return Datum::poison();
  }
  if (!check_extents(*shape, arguments.locs[Shape])) return Datum::poison();
  if (space == "register") {
    return made(ops_.full(*shape, Datum::integer(0), *dtype, arguments.call), axes_of(arguments[Shape]));
  }
  for (Dim extent : *shape) {
    if (extent->constant()) continue;
    report(diag::memory_extent, arguments.locs[Shape], extent->text).help("block its axis in the schedule");
    return Datum::poison();
  }
  if (shape->empty() || shape->size() > 3) {
    return evaluator_.unsupported(arguments.locs[Shape], "shared memory of other than 1 to 3 axes");
  }
  if (*dtype == DType::Bool) return evaluator_.unsupported(arguments.locs[Dtype], "shared memory of bool");
  if (ops_.builder().block() != kernel_.grid->region()->front()) {
    return evaluator_.unsupported(arguments.call, "'tile.alloc' in a loop or a branch");
  }
  ops_.builder().set_loc(arguments.call);
  Type type = context().contiguous_view(*shape, *dtype, MemorySpace::Shared);
  Value* memory = ops_.builder().value(info(OpKind::Alloc), {}, type);
  kernel_.origins.allocated[memory] = axes_of(arguments[Shape]);
  return ops_.handle(memory, arguments.call);
}

/// `memory[i]`: element i, counted modulo its extent, of the first axis.
Datum KernelBuilder::slot(const Datum& memory, ast::ExprList indices, Scope& scope, Loc loc) {
  Type type = memory.as_ir().value->type();
  if (indices.size() != 1 || type->rank() < 2) {
    report(diag::memory_subscript, loc, counted(type->rank(), "axis", "axes"),
           counted(indices.size(), "index", "indices"));
    return Datum::poison();
  }
  Datum given = evaluator_.evaluate(*indices[0], scope);
  if (given.is_poison()) return given;
  Value* index = ops_.index(given, indices[0]->loc, "the index of the memory");
  if (!index) return Datum::poison();
  ops_.builder().set_loc(loc);
  std::vector<Dim> dims(type->dims.begin() + 1, type->dims.end());
  Type slot = context().contiguous_view(std::move(dims), type->dtype, MemorySpace::Shared);
  Value* made = ops_.builder().value(info(OpKind::Slot), {{memory.as_ir().value}, {index}}, slot);
  const std::vector<const KernelAxis*>& axes = kernel_.origins.allocated.at(memory.as_ir().value);
  kernel_.origins.allocated[made] = {axes.begin() + 1, axes.end()};
  return ops_.handle(made, loc);
}

Datum KernelBuilder::load_memory(const Datum& memory, const BoundArguments& arguments) {
  Value* from = memory.as_ir().value;
  ops_.builder().set_loc(arguments.call);
  std::vector<Value*> index;
  for (size_t i = 0; i < from->type()->rank(); ++i) index.push_back(ops_.index_constant(0));
  Type tile = context().tile(from->type()->dims, from->type()->dtype);
  return ops_.handle(ops_.builder().value(info(OpKind::Load), {{from}, index}, tile), arguments.call);
}

/// Stores a tile, which has the memory's dtype, in all of it.
Datum KernelBuilder::store_memory(const Datum& memory, const Datum& stored, const BoundArguments& arguments) {
  Value* to = memory.as_ir().value;
  Value* value = ops_.expect_tile(stored, arguments.locs[0], "the value of 'tile.store'");
  if (!value) return Datum::poison();
  Type type = to->type();
  if (value->type()->dims != type->dims || value->type()->dtype != type->dtype) {
    report(diag::wrong_kind, arguments.call, "the tile stored in memory", with_article(value->type()),
           with_article(context().tile(type->dims, type->dtype)));
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  const std::vector<const KernelAxis*>& axes = kernel_.origins.allocated.at(to);
  std::vector<Value*> index;
  Place place;
  for (size_t i = 0; i < type->rank(); ++i) {
    index.push_back(ops_.index_constant(0));
    place.emplace_back(axes[i] && axes[i]->grid ? axes[i]->index : index.back(), type->dims[i]);
  }
  if (std::string given, wanted; lies_otherwise(value, place, given, wanted)) {
    report(diag::wrong_kind, arguments.call, "the tile stored in memory", given, wanted)
        .help("other block sizes would change its elements: exchange its axes, or those of the memory");
    return Datum::poison();
  }
  ops_.builder().op(info(OpKind::Store), {{value}, {to}, index}, {});
  return Datum::none();
}

Datum KernelBuilder::async_copy(const BoundArguments& arguments) {
  enum Argument : size_t { Source, Index, Target };
  const Datum &from = arguments[Source], &to = arguments[Target];
  bool is_tensor = from.is_ir() && from.as_ir().value->type()->is(TypeKind::Tensor);
  if (!is_tensor) {
    report(diag::wrong_kind, arguments.locs[Source], "the source of 'tile.async_copy'", describe(from), "a tensor");
    return Datum::poison();
  }
  if (!is_memory(to)) {
    report(diag::wrong_kind, arguments.locs[Target], "the destination of 'tile.async_copy'",
           describe(to), "shared memory")
        .help("ask for it first: tile.alloc((t.m, t.k), f32)");
    return Datum::poison();
  }
  if (!check_load(from.as_ir().value, arguments.call)) return Datum::poison();
  Type source = from.as_ir().value->type(), target = to.as_ir().value->type();
  if (source->dtype != target->dtype) {
    blame().report_dtype(diag::wrong_kind, arguments.call, to.as_ir().value, source->dtype, "it is filled here",
                         "the memory that is filled", std::string(to_string(target->dtype)),
                         std::string(to_string(source->dtype)));
    return Datum::poison();
  }
  auto written = split_index(arguments[Index], from.as_ir(), target->rank(), arguments.call, "tile.async_copy");
  if (!written) return Datum::poison();
  std::vector<Value*> index;
  size_t leading = source->rank() - target->rank();
  for (size_t i = 0; i < written->size(); ++i) {
    Dim tile = i < leading ? dims().constant(1) : target->dims[i - leading];
    index.push_back(tile_number((*written)[i], source->dims[i], tile, arguments.locs[Index], "tile.async_copy"));
    if (!index.back()) return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  Op* copy = ops_.builder().op(info(OpKind::CopyAsync), {{from.as_ir().value}, index, {to.as_ir().value}}, {});
  kernel_.origins.asked[copy] = kernel_.origins.allocated.at(to.as_ir().value);
  return Datum::none();
}

Datum KernelBuilder::wait(const BoundArguments& arguments) {
  auto pending = evaluator_.expect_int(arguments[0], arguments.locs[0], "the number of copies in flight");
  if (!pending) return Datum::poison();
  if (*pending < 0 || *pending > 7) {
    report(diag::wrong_kind, arguments.locs[0], "the number of copies in flight", fmt::format("{}", *pending),
           "a number from 0 to 7");
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  ops_.builder().op(info(OpKind::CopyWait), {}, {},
                    {schedule::attr::CopyWait::pending(context(), *pending)});
  return Datum::none();
}

Datum KernelBuilder::barrier(const BoundArguments& arguments) {
  ops_.builder().set_loc(arguments.call);
  ops_.builder().op(info(OpKind::Barrier), {}, {});
  return Datum::none();
}

/// Reports the first two accesses of the memory that nothing orders.
bool KernelBuilder::check_memory() {
  std::optional<MemoryFault> fault =
      check_memory_order(dims(), kernel_.grid->region()->front(), kernel_.axes, kernel_.origins.displaced);
  if (!fault) return true;
  auto reported = [&] {
    if (fault->what.empty()) return report(diag::copy_in_flight, fault->op->loc());
    std::string what(fault->what);
    if (!fault->before) return report(diag::unwritten_memory, fault->op->loc(), what);
    return report(diag::unordered_access, fault->op->loc(), what, std::string(fault->other))
        .label(fault->before->loc(),
               fault->earlier_iteration ? "it does so here, in an earlier iteration" : "it does so here");
  }();
  for (std::string& help : fault->helps) reported.help(std::move(help));
  return false;
}

}  // namespace tessera::frontend

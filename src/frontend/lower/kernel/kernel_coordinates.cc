// Accesses to elements of tensors by coordinates: tile.gather element by element, tile.scatter,
// tile.atomic_add. No two programs scatter to the same element, so the order of a scatter has no
// effect. The order of atomic additions is nondeterministic, so they need --fast=nondet.

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/values/dims.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

/// The coordinates along each dimension of the tensor, as i64 tiles of one shape: `dims`, or where that is empty what
/// they broadcast to.
std::optional<std::vector<Value*>> KernelBuilder::coordinates_of(const IrValue& tensor, const Datum& given, Loc loc,
                                                                 std::vector<Dim>& dims) {
  std::vector<Datum> index = given.is_sequence() ? given.elements() : std::vector<Datum>{given};
  size_t rank = tensor.value->type()->rank();
  if (index.size() != rank) {
    report(diag::coordinate_count, loc, fmt::format("'{}'", tensor.name), counted(rank, "dimension"),
           counted_verb(index.size(), "coordinate"));
    return std::nullopt;
  }
  return ops_.index_tiles(index, dims, loc);
}

Datum KernelBuilder::take(const IrValue& tensor, const BoundArguments& arguments) {
  std::vector<Dim> dims;
  auto index = coordinates_of(tensor, arguments[1], arguments.locs[1], dims);
  if (!index) return Datum::poison();
  ops_.builder().set_loc(arguments.call);
  Type type = context().tile(dims, tensor.value->type()->dtype);
  return ops_.handle(ops_.builder().value(info(OpKind::Take), {{tensor.value}, *index}, type), arguments.call);
}

/// Numbers of rows and this program's columns, as coordinates of all elements of the tile.
std::optional<Datum> KernelBuilder::rows_and_columns(const IrValue& tensor, const Datum& rows, Type tile, Loc loc) {
  auto columns = instance_tile(tensor, 1, loc);
  if (!columns) return std::nullopt;
  if (tile->rank() != 2 || columns->second != tile->dims[1]) {
    report(diag::wrong_kind, loc, "the tile of rows", tile->text,
           fmt::format("one of {} columns", columns->second->text));
    return std::nullopt;
  }
  Dim one = dims().constant(1);
  Value* number = rows.as_ir().value;
  Value* column = numbered({columns->first, columns->second, tensor.value->type()->dims[1]}, loc);
  return Datum::tuple({ops_.handle(ops_.reshape(number, {number->type()->dims[0], one}), loc),
                       ops_.handle(ops_.reshape(column, {one, columns->second}), loc)});
}

bool KernelBuilder::check_scatter(const Region& region, bool adds, const BoundArguments& arguments) {
  std::string_view name = adds ? "tile.atomic_add" : "tile.scatter";
  if (is_summed(region.parameter->type) != adds) {
    auto builder = report(diag::wrong_kind, arguments.locs[1], fmt::format("the destination of '{}'", name),
                          adds ? "a region that is not summed up" : "a region that is summed up",
                          adds ? "Region[reduce_sum]" : "Region[write] or Region[read_write]");
    if (!adds) builder.help("scatter_add of whole tensors adds in a fixed order");
    return false;
  }
  if (region.stored.known()) {
    report(diag::wrong_kind, arguments.call, fmt::format("the destination of '{}'", name), "a region that was stored",
           "one that is stored once")
        .label(region.stored, "it is stored here");
    return false;
  }
  if (!adds) return true;
  if (!session().options().nondet) {
    report(diag::unordered_sum, arguments.call, name)
        .help("scatter_add of whole tensors adds in a fixed order; --fast=nondet relaxes that");
    return false;
  }
  session().note_unordered_sum();
  DType dtype = region.out->type()->dtype;
  if (dtype != DType::Bool && byte_size(dtype) >= 4) return true;
  report(diag::unsupported_construct, arguments.call, fmt::format("'{}' to {}", name, to_string(dtype)))
      .label(region.parameter->loc, "it adds to this")
      .help(fmt::format("machines add numbers of 4 and 8 bytes in memory: a region of {}, which the caller casts",
                        is_float(dtype) ? "f32" : "i32"));
  return false;
}

Datum KernelBuilder::scatter(const BoundArguments& arguments, bool adds) {
  enum Argument : size_t { Stored, Tensor, Index };
  Region* region = written_region(arguments[Tensor], arguments.locs[Tensor], adds ? "tile.atomic_add" : "tile.scatter");
  if (!region || !check_scatter(*region, adds, arguments)) return Datum::poison();
  Value* value = value_for(*region, arguments[Stored], arguments.locs[Stored]);
  if (!value) return Datum::poison();
  const IrValue& tensor = arguments[Tensor].as_ir();
  Datum given = arguments[Index];
  bool by_rows = given.is_ir() && given.as_ir().value->type()->is(TypeKind::Tile) &&
                 given.as_ir().value->type()->rank() == 1 && tensor.value->type()->rank() == 2;
  if (by_rows) {
    std::optional<Datum> both = rows_and_columns(tensor, given, value->type(), arguments.call);
    if (!both) return Datum::poison();
    given = *both;
  }
  std::vector<Dim> dims = value->type()->dims;
  auto index = coordinates_of(tensor, given, arguments.locs[Index], dims);
  if (!index) return Datum::poison();
  std::vector<OpAttr> attributes;
  if (adds) attributes.push_back(schedule::attr::Scatter::add(context(), true));
  ops_.builder().set_loc(arguments.call);
  ops_.builder().op(info(OpKind::Scatter), {{value}, {region->out}, *index}, {}, std::move(attributes));
  region->stored = arguments.call;
  region->keeps = true;
  region->adds = adds;
  return Datum::none();
}

}  // namespace tessera::frontend

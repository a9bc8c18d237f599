// Region parameters: tensors that a kernel changes. A call gives them back changed, after the kernel's results; what
// was passed keeps its value. A region is stored at one place of the source, by the grid's programs and by loops; what
// that leaves out stays as it was.
//
//   Region[write]        tile.store replaces elements; nothing is read
//   Region[read_write]   the same, and tile.load gives what the region held when the kernel began
//   Region[reduce_sum]   tile.store adds; programs that store to the same place have parts of their own, which are
//                        summed in the order of the programs by a kernel that runs afterwards
//
// Programs run in no order, so no two may store to the same elements: each axis of the grid has to pick the tile of a
// stored region by its own index.

#include <algorithm>
#include <set>

#include "frontend/binding/words.h"
#include "frontend/lower/kernel/kernel_access.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/values/dims.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

bool has_privilege(const TypePattern& type, std::string_view name) {
  return std::ranges::find(type.privileges, name, &Privilege::name) != type.privileges.end();
}

std::string quoted(const SignatureParameter& parameter) { return fmt::format("'{}'", parameter.name); }

}  // namespace

bool is_region(const TypePattern& type) {
  return has_privilege(type, "write") || has_privilege(type, "read_write") || has_privilege(type, "reduce_sum");
}

bool is_read(const TypePattern& type) {
  return !is_region(type) || has_privilege(type, "read_write") || has_privilege(type, "read");
}

bool is_summed(const TypePattern& type) { return has_privilege(type, "reduce_sum"); }

std::vector<const SignatureParameter*> ordered_parameters(const Signature& signature) {
  std::vector<const SignatureParameter*> ordered;
  for (const SignatureParameter& parameter : signature.parameters) ordered.push_back(&parameter);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    auto place = [](const TypePattern& type) { return !is_region(type) ? 0 : is_read(type) ? 1 : 2; };
    return place(a->type) < place(b->type);
  });
  return ordered;
}

bool KernelBuilder::check_privileges(const TypePattern& type) {
  std::vector<std::string> known = names::words_of(names::WordKind::Privilege);
  for (const Privilege& each : type.privileges) {
    if (names::is_word(each.name, names::WordKind::Privilege)) continue;
    report(diag::wrong_kind, each.loc, "the privilege", fmt::format("'{}'", each.name), names::listed(known, "or"))
        .suggest(session().sources(), each.loc, each.name, known);
    return false;
  }
  if (has_privilege(type, "reduce_sum") && type.privileges.size() > 1) {
    report(diag::wrong_kind, type.privileges[0].loc, "the privilege", "'reduce_sum' and another",
           names::listed(known, "or"))
        .help("what is added is not read or written otherwise: Region[reduce_sum]");
    return false;
  }
  if (type.kind == PatternKind::Tensor || type.privileges.empty()) return true;
  return evaluator_.unsupported(type.loc, "a Region of something else than a Tensor"), false;
}

/// The results that regions add: their types, after those that the source returns.
bool KernelBuilder::declare_regions() {
  kernel_.returned = kernel_.result_dims.size();
  size_t next = 0;
  for (const SignatureParameter* parameter : ordered_parameters(*kernel_.signature)) {
    size_t operand = next;
    if (is_cache(parameter->type)) next += cache_operands;
    Type type = operand_of(*parameter, next);
    if (!type || !is_region(parameter->type)) continue;
    auto extents = evaluate_dims(evaluator_, parameter->type, *kernel_.scope);
    if (!extents) return false;
    kernel_.regions.push_back({parameter, operand});
    kernel_.result_dims.push_back(std::move(*extents));
    kernel_.result_dtypes.push_back(type->dtype);
  }
  return true;
}

/// The region behind a tensor of the body; null for others.
KernelBuilder::Region* KernelBuilder::region_of(const Value* tensor) {
  auto parameter = kernel_.parameters.find(tensor);
  for (Region& region : kernel_.regions) {
    if (parameter != kernel_.parameters.end() && region.parameter == parameter->second) return &region;
  }
  return nullptr;
}

bool KernelBuilder::check_load(const Value* tensor, Loc loc) {
  Region* region = region_of(tensor);
  if (!region) return true;
  if (!is_read(region->parameter->type)) {
    report(diag::wrong_kind, loc, "the source of 'tile.load'",
           fmt::format("{}, which is only written", quoted(*region->parameter)), "a tensor that is read")
        .help("Region[read_write] is read, too");
    return false;
  }
  if (!region->stored.known()) return true;
  report(diag::wrong_kind, loc, "the source of 'tile.load'",
         fmt::format("{}, which was stored", quoted(*region->parameter)), "a tensor as the kernel found it")
      .label(region->stored, "it is stored here")
      .help("keep the tile that was stored in a variable");
  return false;
}

/// Index and extent of the stored tile along each dimension of the region; nothing when an error
/// was reported.
std::optional<KernelBuilder::Place> KernelBuilder::stored_place(const IrValue& tensor, Value* value,
                                                                               const BoundArguments& arguments) {
  enum Argument : size_t { Stored, Tensor, Index };
  const std::vector<Dim>& extents = tensor.value->type()->dims;
  const std::vector<Dim>& shape = value->type()->dims;
  Place place;
  if (arguments[Index].is_none()) {
    for (size_t i = 0; i < extents.size(); ++i) {
      auto part = instance_tile(tensor, i, arguments.call);
      if (!part) return std::nullopt;
      place.push_back(*part);
    }
    return place;
  }
  auto written = split_index(arguments[Index], tensor, shape.size(), arguments.call, "tile.store");
  if (!written) return std::nullopt;
  size_t leading = extents.size() - shape.size();
  for (size_t i = 0; i < extents.size(); ++i) {
    Dim tile = i < leading ? dims().constant(1) : shape[i - leading];
    Value* index = tile_number((*written)[i], extents[i], tile, arguments.locs[Index], "tile.store");
    if (!index) return std::nullopt;
    place.emplace_back(index, tile);
  }
  return place;
}

/// The grid's axes of more than one program that do not pick the tile.
std::vector<const KernelAxis*> KernelBuilder::unused_axes(const Place& place) const {
  std::vector<const KernelAxis*> unused;
  for (const KernelAxis& axis : kernel_.axes) {
    if (!axis.grid || axis.tile == axis.extent) continue;
    bool picks = std::any_of(place.begin(), place.end(), [&](const auto& part) { return part.first == axis.index; });
    if (!picks) unused.push_back(&axis);
  }
  return unused;
}

/// True if every element of the region is stored here: along each dimension the tile is whole, or the programs or a
/// loop take all tiles, and no loop but those, nor a branch, is around.
bool KernelBuilder::covers(const Region& region, const Place& place) {
  std::set<Value*> loops;
  for (Block* block = ops_.builder().block(); block != kernel_.grid->region()->front();
       block = block->parent_op()->block()) {
    Op* loop = block->parent_op();
    if (!loop->is(info(OpKind::Pipeline)) || loop->slot_size(schedule::in::Pipeline::bounds)) return false;
    loops.insert(block->arg(0));
  }
  for (size_t i = 0; i < place.size(); ++i) {
    auto [index, extent] = place[i];
    Dim size = kernel_.result_dims[kernel_.returned + size_t(&region - kernel_.regions.data())][i];
    bool whole = extent == size && index->def() && index->def()->is(info(OpKind::Constant));
    for (const KernelAxis& axis : kernel_.axes) {
      whole |= axis.grid && axis.index == index && axis.extent == size && axis.tile == extent;
    }
    if (loops.erase(index)) {
      Dim count = index->block()->parent_op()->attr(schedule::attr::Pipeline::count),
          one = context().dims().constant(1);
      whole |= count == (extent == size ? one : context().dims().ceildiv(size, extent));
    }
    if (!whole) return false;
  }
  return loops.empty();
}

KernelBuilder::Region* KernelBuilder::written_region(const Datum& tensor, Loc loc, std::string_view by) {
  bool is_tensor = tensor.is_ir() && tensor.as_ir().value->type()->is(TypeKind::Tensor);
  Region* region = is_tensor ? region_of(tensor.as_ir().value) : nullptr;
  if (!region) {
    report(diag::wrong_kind, loc, fmt::format("the destination of '{}'", by), describe(tensor), "a region")
        .help("a parameter that the kernel changes is declared so: y: Region[write] Tensor[…]");
  }
  return region;
}

Value* KernelBuilder::value_for(const Region& region, const Datum& stored, Loc loc) {
  if (!stored.is_ir() || !stored.as_ir().value->type()->is(TypeKind::Tile)) {
    report(diag::wrong_kind, loc, fmt::format("the value stored in {}", quoted(*region.parameter)), describe(stored),
           "a tile");
    return nullptr;
  }
  ops_.builder().set_loc(loc);
  Value* value = stored.as_ir().value;
  DType dtype = region.out->type()->dtype;
  if (value->type()->dtype != dtype && !widens_to(value->type()->dtype, dtype)) {
    auto builder = report(diag::narrowing, loc, fmt::format("the value stored in {}", quoted(*region.parameter)),
                          to_string(value->type()->dtype), to_string(dtype));
    blame().help_conversion(builder, loc, dtype, "tile.cast");
    return nullptr;
  }
  return ops_.convert(value, dtype);
}

/// A tensor that stands where the value belongs, and the reverse.
bool KernelBuilder::report_swapped(const Datum& stored, const Datum& to, const BoundArguments& arguments) {
  auto is = [](const Datum& datum, TypeKind kind) { return datum.is_ir() && datum.as_ir().value->type()->is(kind); };
  bool is_last = to.is_sequence() && is(arguments[2], TypeKind::Tile);
  if (!is(stored, TypeKind::Tensor) || !(is(to, TypeKind::Tile) || is_last)) return false;
  auto builder = report(diag::wrong_kind, arguments.locs[0], "the value of 'tile.store'", describe(stored), "a tile");
  if (is_last) builder.help(fmt::format("the value stands first: tile.store(value, {}, index)", stored.as_ir().name));
  else blame().help_exchange(builder, "the value stands before the destination", arguments.locs[0], arguments.locs[1]);
  return true;
}

Datum KernelBuilder::store(const BoundArguments& arguments) {
  enum Argument : size_t { Stored, Tensor, Index };
  const Datum& to = arguments[Tensor];
  if (is_memory(to) && arguments[Index].is_none()) return store_memory(to, arguments[Stored], arguments);
  if (report_swapped(arguments[Stored], to, arguments)) return Datum::poison();
  Region* region = written_region(to, arguments.locs[Tensor], "tile.store");
  Value* value = region ? value_for(*region, arguments[Stored], arguments.locs[Stored]) : nullptr;
  if (!value) return Datum::poison();
  if (region->stored.known()) {
    report(diag::unsupported_construct, arguments.call, "a region that is stored twice")
        .label(region->stored, "it is stored here first")
        .help(is_summed(region->parameter->type) ? "add the tiles, and store their sum" : "store it at one place");
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  auto place = stored_place(to.as_ir(), value, arguments);
  if (!place) return Datum::poison();
  std::vector<Dim> part;
  for (const auto& [index, extent] : *place) part.push_back(extent);
  auto without_ones = [](std::vector<Dim> all) {
    std::erase_if(all, [](Dim dim) { return dim->is_constant(1); });
    return all;
  };
  if (without_ones(part) != without_ones(value->type()->dims)) {
    report(diag::wrong_kind, arguments.call, fmt::format("the tile stored in {}", quoted(*region->parameter)),
           to_text(value->type()->dims), to_text(part));
    return Datum::poison();
  }
  if (std::string given, wanted; lies_otherwise(value, *place, given, wanted)) {
    report(diag::wrong_kind, arguments.call, fmt::format("the tile stored in {}", quoted(*region->parameter)), given,
           wanted)
        .help("other block sizes would change its elements: exchange its axes, or the indices");
    return Datum::poison();
  }
  value = ops_.reshape(value, part);
  bool stores = is_summed(region->parameter->type) ? add_part(*region, value, *place, arguments.call)
                                                   : store_tile(*region, value, *place, arguments.call);
  if (!stores) return Datum::poison();
  region->stored = arguments.call;
  return Datum::none();
}

bool KernelBuilder::store_tile(Region& region, Value* value, const Place& place, Loc loc) {
  std::vector<const KernelAxis*> unused = unused_axes(place);
  auto computes = [&](const auto& part) { return !unused.empty() && depends_on(part.first, unused[0]->index); };
  if (std::ranges::any_of(place, computes)) {
    report(diag::wrong_kind, loc, fmt::format("the index of 'tile.store' along axis '{}'", unused[0]->name), "computed",
           fmt::format("t.{}, the number of this program's tile,", unused[0]->index->name()))
        .help("two programs might store at one place; tile.scatter takes computed coordinates");
    return false;
  }
  if (!unused.empty()) {
    report(diag::wrong_kind, loc, "the index of 'tile.store'",
           fmt::format("the same for programs along axis '{}'", unused[0]->name), "a place for each program")
        .help("index it by that axis's tile, or add up: Region[reduce_sum]");
    return false;
  }
  region.keeps = !covers(region, place);
  std::vector<Value*> index;
  for (const auto& [at, extent] : place) index.push_back(at);
  ops_.builder().op(info(OpKind::Store), {{value}, {region.out}, index}, {});
  return true;
}

/// A program's part of the sum: the region's output has a leading dimension for each axis of the grid whose programs
/// share a tile.
bool KernelBuilder::add_part(Region& region, Value* value, const Place& place, Loc loc) {
  bool once = !region.stored.known() && ops_.builder().block() == kernel_.grid->region()->front();
  if (!once || !covers(region, place)) {
    evaluator_.unsupported(loc, "a sum in a region that is not stored once, whole, outside of loops and branches");
    return false;
  }
  std::vector<const KernelAxis*> shared = unused_axes(place);
  std::vector<Dim> tile, memory;
  std::vector<Value*> index;
  for (const KernelAxis* axis : shared) {
    tile.push_back(dims().constant(1));
    memory.push_back(dims().ceildiv(axis->extent, axis->tile));
    index.push_back(axis->index);
  }
  region.parts = memory;
  for (size_t i = 0; i < place.size(); ++i) {
    tile.push_back(place[i].second);
    memory.push_back(region.out->type()->dims[i]);
    index.push_back(place[i].first);
  }
  region.out->set_type(context().tensor(memory, region.out->type()->dtype));
  ops_.builder().op(info(OpKind::Store), {{ops_.reshape(value, tile)}, {region.out}, index}, {});
  return true;
}

/// Each region is stored somewhere.
bool KernelBuilder::check_regions() {
  for (const Region& region : kernel_.regions) {
    if (region.stored.known()) continue;
    report(diag::region_not_stored, region.parameter->loc, function_.name, region.parameter->name)
        .help(fmt::format("store one: tile.store(v, {}), or leave the region out", region.parameter->name));
    return false;
  }
  return true;
}

void KernelBuilder::describe_regions(schedule::KernelInstance& instance,
                                     const std::map<std::string, Dim, std::less<>>& to_caller) {
  for (size_t r = 0; r < kernel_.regions.size(); ++r) {
    const Region& region = kernel_.regions[r];
    const TypePattern& type = region.parameter->type;
    schedule::KernelRegion described{unsigned(region.operand), unsigned(kernel_.returned + r), {}, is_read(type),
                                     is_summed(type) && !region.adds, region.keeps};
    for (Dim part : region.parts) described.parts.push_back(dims().substitute(part, to_caller));
    instance.regions.push_back(std::move(described));
  }
}

}  // namespace tessera::frontend

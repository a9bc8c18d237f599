// Matches the dimensions of tiles with the axes of the grid. Blocks of the same size give tiles of
// several axes the same shape, but a kernel's result must not change with the blocks that its
// schedule chooses.

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

/// The axes of which a dimension has this program's tile.
std::vector<const KernelAxis*> KernelBuilder::grid_axes_along(Value* tile, size_t axis) {
  EdgeSearch search(kernel_.origins, kernel_.op);
  search.visit(tile, axis);
  std::vector<const KernelAxis*> found;
  for (const TilePlace& place : search.places()) {
    const KernelAxis* of = axis_of_index(place.index);
    if (of && of->grid && of->index == place.index && of->tile == place.tile) found.push_back(of);
  }
  return found;
}

/// Whether a dimension of a tile is of another axis than the place where it is to be stored; then says what it has and
/// what is wanted, by the names of axes. The two have the same extents but for those of one element.
bool KernelBuilder::lies_otherwise(Value* tile, const Place& place, std::string& given, std::string& wanted) {
  std::vector<std::string> has, wants;
  bool differs = false;
  size_t next = 0;
  auto is_one = [&](size_t i) { return tile->type()->dims[i]->is_constant(1); };
  for (const auto& [index, extent] : place) {
    if (extent->is_constant(1)) continue;
    while (next < tile->type()->rank() && is_one(next)) ++next;
    std::vector<const KernelAxis*> found = grid_axes_along(tile, next);
    const KernelAxis* axis = axis_of_index(index);
    if (axis && (!axis->grid || axis->tile != extent)) axis = nullptr;
    auto other = std::ranges::find_if(found, [&](const KernelAxis* each) { return axis && each != axis; });
    auto name = [&](const KernelAxis* of) { return of ? "t." + of->name : extent->text; };
    std::optional<std::string> loop = axis ? other_loop(tile, next, *axis) : std::nullopt;
    ++next;
    differs |= other != found.end() || loop;
    has.push_back(other != found.end() ? name(*other) : loop.value_or(name(axis)));
    wants.push_back(name(axis));
  }
  given = fmt::format("[{}]", fmt::join(has, ", "));
  wanted = fmt::format("[{}]", fmt::join(wants, ", "));
  return differs;
}

namespace {

/// A multiplication of names, members or numbers as a source has it; without factors where it is of
/// something else.
struct WrittenFactors {
  Loc loc;
  std::string factors[2];
};

WrittenFactors written_around(const SourceManager& sources, Loc times) {
  std::string_view line = sources.file(times.file).line(times.line);
  if (times.column == 0 || times.length != 1 || times.column > line.size()) return {times, {}};
  auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  size_t left_end = times.column - 1, right = times.column;
  while (left_end > 0 && line[left_end - 1] == ' ') --left_end;
  size_t left = left_end;
  while (left > 0 && is_part(line[left - 1])) --left;
  while (right < line.size() && line[right] == ' ') ++right;
  size_t right_end = right;
  while (right_end < line.size() && is_part(line[right_end])) ++right_end;
  if (left == left_end || right == right_end) return {times, {}};
  Loc all{times.file, times.line, uint32_t(left + 1), uint32_t(right_end - left)};
  return {all, {std::string(line.substr(left, left_end - left)), std::string(line.substr(right, right_end - right))}};
}

}  // namespace

/// Warns of an index t.i * t.m of a tile, which is an element's and not a tile's.
void KernelBuilder::warn_of_elements(const Datum& index, Dim tile, std::string_view by) {
  if (!index.is_ir() || tile->is_constant(1) || session().is_builtin(function_.loc)) return;
  Op* product = index.as_ir().value->def();
  if (!product || !product->is(info(ElementwiseKind::Mul))) return;
  auto is_extent = [&](Value* factor) {
    Op* def = factor->def();
    if (def && def->is(info(OpKind::Dim))) return def->attr(schedule::attr::Dim::value) == tile;
    return def && def->is(info(OpKind::Constant)) &&
           tile->is_constant(def->attr(schedule::attr::Constant::value)->integer);
  };
  for (unsigned side : {0u, 1u}) {
    const KernelAxis* axis = axis_of_index(product->operand(side));
    if (!axis || !is_extent(product->operand(1 - side))) continue;
    WrittenFactors written = written_around(session().sources(), index.as_ir().origin);
    const Loc& loc = written.loc;
    if (!session().say_once(fmt::format("elements:{}:{}:{}", loc.file, loc.line, loc.column))) return;
    auto builder = session().report(diag::index_of_elements, loc, by, axis->name);
    if (!written.factors[side].empty()) builder.fix("give the number of the tile", loc, written.factors[side]);
    return;
  }
}

/// The indices that `by` is given for a tile of a tensor, one for each of the tensor's dimensions; the shape of the
/// tile may have fewer. Nothing when an error was reported.
std::optional<std::vector<Datum>> KernelBuilder::split_index(const Datum& index, const IrValue& tensor,
                                                             size_t tile_rank, Loc call, std::string_view by) {
  size_t rank = tensor.value->type()->rank();
  std::vector<Datum> indices = index.is_sequence() ? index.elements() : std::vector<Datum>{index};
  if (indices.size() == rank && tile_rank <= rank) return indices;
  std::string what = fmt::format("'{}'", tensor.name);
  auto builder = report(diag::tile_load_index, call, what, counted(rank, "dimension"), by,
                        counted(indices.size(), "index", "indices"), tile_rank);
  builder.label(declared_at(tensor.value), fmt::format("{} is declared here", what));
  std::vector<std::string> numbers, extents;
  for (size_t i = 0; i < rank; ++i) {
    numbers.push_back(fmt::format("i{}", i));
    extents.push_back(fmt::format("n{}", i));
  }
  std::string_view name = tensor.name.empty() ? std::string_view("x") : std::string_view(tensor.name);
  std::string where = fmt::format("({})", fmt::join(numbers, ", "));
  if (by == "tile.store") {
    builder.help(fmt::format("an index for each dimension: tile.store(value, {}, {})", name, where));
  } else if (by == "tile.async_copy") {
    builder.help(fmt::format("an index for each dimension: tile.async_copy({}, {}, memory)", name, where));
  } else {
    builder.help(fmt::format("an index for each dimension, and then the tile's shape: tile.load({}, {}, ({}))", name,
                             where, fmt::join(extents, ", ")));
  }
  return std::nullopt;
}

/// The number of a tile along a dimension of `extent`, as an op takes it.
Value* KernelBuilder::tile_number(const Datum& index, Dim extent, Dim tile, Loc loc, std::string_view by) {
  warn_of_elements(index, tile, by);
  Type type = index.is_ir() ? index.as_ir().value->type() : nullptr;
  if (by == "tile.load" && type && type->is(TypeKind::Tile) && type->rank() > 0) {
    report(diag::wrong_kind, loc, fmt::format("an index of '{}'", by), describe_given(index), "an integer index")
        .help("rows that a tile numbers are tile.gather(x, numbers)");
    return nullptr;
  }
  return ops_.tile_index(index, extent, tile, loc, fmt::format("an index of '{}'", by));
}

}  // namespace tessera::frontend

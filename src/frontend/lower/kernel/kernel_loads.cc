// `tile.load`, `tile.windows` and `tile.gather`: from the indices of the language to those of sched.load, one for
// each dimension.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/dims.h"
#include "frontend/values/tile_builtins.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/window_shape.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

// Positions in the signature of tile.load.
enum LoadArgument : size_t { Tensor, Index, Shape, Rows, Cols, Fill, Vector, Ahead };
// Those of tile.windows.
enum WindowsArgument : size_t { Image, Size, Strides, Padding, Dilation };

constexpr int64_t most_apart = int64_t(1) << 16;

std::optional<int64_t> number_from(const Datum& datum, int64_t least) {
  std::optional<int64_t> number;
  if (datum.is(DatumKind::Int)) number = datum.as_int();
  if (datum.is(DatumKind::Dim)) number = datum.as_dim()->constant();
  return number && *number >= least && *number <= most_apart ? number : std::nullopt;
}

std::string subject(const IrValue& tensor) {
  return fmt::format("'{}'", tensor.name);
}

}  // namespace

/// `tile.load((i, j), x)`: the tensor stands behind where it is read.
void KernelBuilder::help_tensor_first(DiagnosticEngine::Builder& builder, const BoundArguments& arguments) {
  auto is_tensor = [&](size_t i) {
    return arguments[i].is_ir() && arguments[i].as_ir().value->type()->is(TypeKind::Tensor);
  };
  if (is_tensor(Index)) {
    blame().help_exchange(builder, "the tensor stands first", arguments.locs[Tensor], arguments.locs[Index]);
  } else if (is_tensor(Shape)) {
    builder.help(fmt::format("the tensor stands first: tile.load({}, index, extents)", arguments[Shape].as_ir().name));
  }
}

Datum KernelBuilder::load(const BoundArguments& arguments) {
  const Datum& x = arguments[Tensor];
  if (is_memory(x) && arguments[Index].is_none()) return load_memory(x, arguments);
  if (is_windows(x)) return load_windows(x.as_ir(), arguments);
  if (!x.is_ir() || !x.as_ir().value->type()->is(TypeKind::Tensor)) {
    auto builder = report(diag::wrong_kind, arguments.locs[Tensor], "the source of 'tile.load'", describe(x),
                          "a tensor");
    help_tensor_first(builder, arguments);
    return Datum::poison();
  }
  for (size_t hint : {Vector, Ahead}) {
    if (arguments[hint].is_none()) continue;
    auto value = evaluator_.expect_int(arguments[hint], arguments.locs[hint],
                                       hint == Vector ? "'vector'" : "'prefetch'");
    if (!value) return Datum::poison();
    if (!add_hint(hint == Vector ? "vector" : "prefetch", *value, arguments.locs[hint]))
      return Datum::poison();
  }
  if (!check_load(x.as_ir().value, arguments.call)) return Datum::poison();
  if (x.as_ir().value->type()->rank() == 0) return load_scalar(x.as_ir(), arguments);
  if (!arguments[Rows].is_none() || !arguments[Cols].is_none())
    return load_tied(x.as_ir(), arguments);
  if (arguments[Index].is_none()) return load_instance(x.as_ir(), arguments);
  return load_at(x.as_ir(), arguments);
}

/// A tensor of rank 0 is read as its one number.
Datum KernelBuilder::load_scalar(const IrValue& tensor, const BoundArguments& arguments) {
  Datum tile = make_load(tensor, {}, {}, 0, arguments);
  if (tile.is_poison()) return tile;
  Value* one = tile.as_ir().value;
  return ops_.handle(
      ops_.builder().value(info(OpKind::Extract), {{one}}, context().scalar(one->type()->dtype)),
      arguments.call);
}

/// A hint in the body counts where the schedule says nothing.
bool KernelBuilder::add_hint(const std::string& key, int64_t value, Loc loc) {
  Attr attr = context().integer(value);
  if (auto problem = schedule::check_schedule_value(key, attr)) {
    schedule::report(*problem, loc, session().diagnostics());
    return false;
  }
  warn_if_unread(key, attr, loc, "a load");
  Attr schedule = kernel_.op->attr(schedule::attr::Kernel::schedule);
  if (schedule->get(key)) return true;
  std::vector<NamedAttr> entries = schedule->entries;
  entries.emplace_back(key, attr);
  kernel_.op->set(schedule::attr::Kernel::schedule, std::move(entries));
  return true;
}

Loc KernelBuilder::declared_at(const Value* value) const {
  auto parameter = kernel_.parameters.find(value);
  return parameter == kernel_.parameters.end() ? Loc{} : parameter->second->loc;
}

/// Marks what the axes of the grid are those of.
void KernelBuilder::label_axes(DiagnosticEngine::Builder& builder) {
  if (kernel_.scan.context) builder.label(kernel_.scan.context->loc, "the axes are declared here");
  if (kernel_.signature->result) builder.label(kernel_.signature->result->loc, "the grid has axes of the result");
}

/// Index and extent of this program's tile along one dimension of a parameter.
std::optional<std::pair<Value*, Dim>> KernelBuilder::instance_tile(const IrValue& tensor,
                                                                   size_t dim, Loc loc) {
  Type type = tensor.value->type();
  const SignatureParameter* parameter = kernel_.parameters.at(tensor.value);
  const KernelAxis* axis = match_axes(parameter->type.dims, type->dims)[dim];
  if (axis && axis->grid) return std::make_pair(axis->index, axis->tile);
  bool whole = axis ? axis->tile == axis->extent : type->dims[dim]->constant().has_value();
  if (whole) return std::make_pair(ops_.index_constant(0), type->dims[dim]);
  auto builder = report(diag::tile_not_of_instance, loc, dim, subject(tensor));
  label_axes(builder);
  builder.help(axis ? fmt::format("take its tiles in a loop: for {0} in tile.range({1}, t.{0}), each at index {0}",
                                  axis->name, axis->extent->text)
                    : "say which tile: tile.load(x, (t.i, k), (t.m, t.k))");
  return std::nullopt;
}

Datum KernelBuilder::load_instance(const IrValue& tensor, const BoundArguments& arguments) {
  if (!arguments[Shape].is_none()) {
    report(diag::missing_argument, arguments.call, "index", "tile.load");
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  std::vector<Value*> index;
  std::vector<Dim> tile;
  for (size_t i = 0; i < tensor.value->type()->rank(); ++i) {
    auto part = instance_tile(tensor, i, arguments.call);
    if (!part) return Datum::poison();
    index.push_back(part->first);
    tile.push_back(part->second);
  }
  Datum loaded = make_load(tensor, std::move(index), tile, 0, arguments);
  if (!loaded.is_ir()) return loaded;
  std::vector<const KernelAxis*>& axes = kernel_.origins.single[loaded.as_ir().value];
  axes = match_axes(kernel_.parameters.at(tensor.value)->type.dims, tensor.value->type()->dims);
  for (const KernelAxis*& axis : axes) axis = axis && axis->single ? axis : nullptr;
  return loaded;
}

Datum KernelBuilder::load_at(const IrValue& tensor, const BoundArguments& arguments) {
  const std::vector<Dim>& extents = tensor.value->type()->dims;
  if (arguments[Shape].is_none()) {
    report(diag::missing_argument, arguments.call, "shape", "tile.load");
    return Datum::poison();
  }
  auto shape = evaluator_.expect_shape(arguments[Shape], arguments.locs[Shape], "the shape of 'tile.load'");
  if (!shape) return Datum::poison();
  auto written = split_index(arguments[Index], tensor, shape->size(), arguments.call, "tile.load");
  if (!written) return Datum::poison();
  size_t leading = extents.size() - shape->size();
  std::vector<Dim> tile(leading, dims().constant(1));
  tile.insert(tile.end(), shape->begin(), shape->end());
  std::vector<Value*> index;
  for (size_t i = 0; i < extents.size(); ++i) {
    index.push_back(tile_number((*written)[i], extents[i], tile[i], arguments.locs[Index], "tile.load"));
    if (!index.back()) return Datum::poison();
    auto constant = tile[i]->constant();
    if (tile[i] == extents[i] || (constant && *constant >= 1)) continue;
    auto builder = report(diag::tile_load_extent, arguments.locs[Shape], tile[i]->text, i, subject(tensor),
                          extents[i]->text);
    if (auto parameter = kernel_.parameters.find(tensor.value); parameter != kernel_.parameters.end()) {
      const std::vector<DimPattern>& written = parameter->second->type.dims;
      Loc declared = written.size() == extents.size() ? written[i].loc : parameter->second->loc;
      builder.label(declared, fmt::format("the whole is {}", extents[i]->text));
    }
    return Datum::poison();
  }
  std::vector<const KernelAxis*> asked = axes_of(arguments[Shape]);
  asked.insert(asked.begin(), leading, nullptr);
  return make_load(tensor, std::move(index), tile, leading, arguments, std::move(asked));
}

/// `tile.load(x, rows=t.m, cols=t.d)`: this program's tile of the last two dimensions; one element
/// of the leading ones. With an index, that tile along the rows: `tile.load(k, n, cols=t.d)`.
Datum KernelBuilder::load_tied(const IrValue& tensor, const BoundArguments& arguments) {
  size_t rank = tensor.value->type()->rank();
  if (rank < 2) {
    report(diag::rank_mismatch, arguments.call, subject(tensor), rank, 2);
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  std::vector<Value*> index;
  std::vector<Dim> tile;
  for (size_t i = 0; i < rank; ++i) {
    bool by_index = i == rank - 2 && !arguments[Index].is_none();
    const KernelAxis* axis = by_index ? axis_of_index(arguments[Index]) : nullptr;
    if (by_index && !axis) {
      report(diag::wrong_kind, arguments.locs[Index], "the index of 'tile.load'",
             describe(arguments[Index]), "an index along an axis of the kernel");
      return Datum::poison();
    }
    auto part = axis ? std::make_pair(arguments[Index].as_ir().value, axis->tile)
                     : instance_tile(tensor, i, arguments.call);
    if (!part) return Datum::poison();
    index.push_back(part->first);
    tile.push_back(part->second);
  }
  size_t leading = 0;
  while (leading < rank - 2 && tile[leading]->is_constant(1)) ++leading;
  return make_load(tensor, std::move(index), tile, leading, arguments);
}

/// The load itself; the first `drop` axes, of extent 1, are removed from the tile.
Datum KernelBuilder::make_load(const IrValue& tensor, std::vector<Value*> index,
                               const std::vector<Dim>& tile, size_t drop,
                               const BoundArguments& arguments, std::vector<const KernelAxis*> asked) {
  Type type = tensor.value->type();
  if (!check_extents(tile, arguments.call)) return Datum::poison();
  if (is_windows(Datum::ir(tensor)) && tile.size() == 3 && !tile[0]->is_constant(1)) {
    report(diag::unsupported_construct, arguments.call, "a tile of several elements of a window")
        .help("take one at a time: tile.load(a, (r, t.i, t.j), (t.m, t.n))");
    return Datum::poison();
  }
  std::vector<OpAttr> attributes;
  const Datum& fill = arguments[Fill];
  auto number = evaluator_.expect_number(fill, arguments.locs[Fill], "the fill of 'tile.load'");
  if (!number) return Datum::poison();
  if (!is_float(type->dtype) && !fill.is(DatumKind::Int)) {
    report(diag::number_not_of_dtype, arguments.locs[Fill], to_text(fill), to_string(type->dtype));
    return Datum::poison();
  }
  if (*number != 0) {
    bool whole = fill.is(DatumKind::Int) && !is_float(type->dtype);
    attributes.push_back(schedule::attr::Load::fill(whole ? context().integer(fill.as_int())
                                                          : context().number(*number)));
  }
  ops_.builder().set_loc(arguments.call);
  Value* value = ops_.builder().value(info(OpKind::Load), {{tensor.value}, std::move(index)},
                                      context().tile(tile, type->dtype), std::move(attributes));
  if (asked.size() == tile.size()) kernel_.origins.asked[value->def()] = std::move(asked);
  std::vector<Dim> kept(tile.begin() + ptrdiff_t(drop), tile.end());
  return ops_.handle(ops_.reshape(value, kept), arguments.call);
}

bool KernelBuilder::is_windows(const Datum& datum) const {
  if (!datum.is_ir()) return false;
  Op* def = datum.as_ir().value->def();
  return def && def->is(info(OpKind::View)) && def->has(schedule::attr::View::windows);
}

/// One number for each of so many axes, or one for all; nothing when an error was reported.
std::optional<std::vector<int64_t>> KernelBuilder::window_numbers(const BoundArguments& arguments, size_t which,
                                                                  size_t axes, int64_t least, std::string_view what) {
  const Datum& given = arguments[which];
  std::vector<Datum> each(axes, given);
  if (given.is_sequence()) each = given.elements();
  std::vector<int64_t> numbers;
  for (const Datum& datum : each) {
    if (auto number = number_from(datum, least)) numbers.push_back(*number);
  }
  if (numbers.size() == axes && each.size() == axes) return numbers;
  if (std::ranges::any_of(each, [&](const Datum& datum) { return evaluator_.is_unknown(datum); })) return std::nullopt;
  report(diag::wrong_kind, arguments.locs[which], fmt::format("'{}' of 'tile.windows'", what), describe(given),
         fmt::format("a known number from {} up, or one for each of {}", least, counted(axes, "axis", "axes")));
  return std::nullopt;
}

/// As window_numbers; a pair stands for what lies before and after the image.
bool KernelBuilder::window_padding(const BoundArguments& arguments, WindowShape& shape) {
  const Datum& given = arguments[Padding];
  std::vector<Datum> each(shape.axes(), given);
  bool is_pair_of_one = shape.axes() == 1 && given.is_sequence() && given.elements().size() == 2;
  if (given.is_sequence() && !is_pair_of_one) each = given.elements();
  for (const Datum& datum : each) {
    bool is_pair = datum.is_sequence() && datum.elements().size() == 2;
    const Datum &first = is_pair ? datum.elements()[0] : datum, &second = is_pair ? datum.elements()[1] : datum;
    if (evaluator_.is_unknown(first) || evaluator_.is_unknown(second)) return false;
    auto before = number_from(first, 0), after = number_from(second, 0);
    if (!before || !after) break;
    shape.before.push_back(*before);
    shape.after.push_back(*after);
  }
  if (shape.before.size() == shape.axes() && each.size() == shape.axes()) return true;
  report(diag::wrong_kind, arguments.locs[Padding], "'padding' of 'tile.windows'", describe(given),
         fmt::format("a known number from 0 up or a pair (before, after), or one for each of {}",
                     counted(shape.axes(), "axis", "axes")));
  return false;
}

Datum KernelBuilder::windows(const BoundArguments& arguments) {
  const Datum& x = arguments[Image];
  bool is_image = x.is_ir() && x.as_ir().value->type()->is(TypeKind::Tensor) &&
                  x.as_ir().value->type()->rank() >= 3 && x.as_ir().value->type()->rank() <= 5;
  if (!is_image) {
    report(diag::wrong_kind, arguments.locs[Image], "the image of 'tile.windows'", describe(x),
           "a tensor of rank 3 to 5");
    return Datum::poison();
  }
  Value* memory = x.as_ir().value;
  if (!check_load(memory, arguments.call)) return Datum::poison();
  size_t axes = memory->type()->rank() - 2;
  WindowShape shape;
  auto size = window_numbers(arguments, Size, axes, 1, "size");
  auto steps = size ? window_numbers(arguments, Strides, axes, 1, "strides") : std::nullopt;
  auto dilation = steps ? window_numbers(arguments, Dilation, axes, 1, "dilation") : std::nullopt;
  if (!dilation) return Datum::poison();
  shape.size = *size;
  shape.step = *steps;
  shape.dilation = *dilation;
  if (!window_padding(arguments, shape)) return Datum::poison();
  Builder builder(module_, kernel_.op->region()->front());
  if (Op* first = kernel_.op->region()->front()->front()) builder.set_before(first);
  builder.set_loc(arguments.call);
  Value* view = builder.value(info(OpKind::View), {{memory}}, window_view(context(), shape, memory->type()),
                              {schedule::attr::View::windows(window_attr(context(), shape))});
  IrValue handle = ops_.handle(view, arguments.call).as_ir();
  handle.name = x.as_ir().name;
  return Datum::ir(handle);
}

/// A tile of windows and channels: tile.load(a, (tap, i, k), (t.m, t.k)).
Datum KernelBuilder::load_windows(const IrValue& windows, const BoundArguments& arguments) {
  if (!arguments[Rows].is_none() || !arguments[Cols].is_none() || arguments[Index].is_none()) {
    report(diag::missing_argument, arguments.call, arguments[Index].is_none() ? "index" : "shape", "tile.load");
    return Datum::poison();
  }
  bool is_zero = arguments[Fill].is(DatumKind::Int) && arguments[Fill].as_int() == 0;
  if (!is_zero) {
    report(diag::wrong_kind, arguments.locs[Fill], "'fill' of windows", describe(arguments[Fill]), "0");
    return Datum::poison();
  }
  return load_at(windows, arguments);
}

Datum KernelBuilder::gather(const BoundArguments& arguments) {
  const Datum& table = arguments[0];
  const Datum& rows = arguments[1];
  bool is_tensor = table.is_ir() && table.as_ir().value->type()->is(TypeKind::Tensor);
  if (is_tensor && !check_load(table.as_ir().value, arguments.call)) return Datum::poison();
  bool by_element = rows.is_sequence() || (is_tensor && table.as_ir().value->type()->rank() == 1);
  if (is_tensor && by_element) return take(table.as_ir(), arguments);
  if (!is_tensor || table.as_ir().value->type()->rank() != 2) {
    report(diag::wrong_kind, arguments.locs[0], "the table of 'tile.gather'", describe(table),
           "a tensor of rank 2");
    return Datum::poison();
  }
  bool is_rows = rows.is_ir() && rows.as_ir().value->type()->is(TypeKind::Tile) &&
                 rows.as_ir().value->type()->rank() == 1 &&
                 is_integer(rows.as_ir().value->type()->dtype);
  if (!is_rows) {
    report(diag::wrong_kind, arguments.locs[1], "the rows of 'tile.gather'", describe(rows),
           "a tile of integers of rank 1");
    return Datum::poison();
  }
  const IrValue& tensor = table.as_ir();
  ops_.builder().set_loc(arguments.call);
  Value* column = nullptr;
  Dim extent = nullptr;
  if (arguments[2].is_none()) {
    auto part = instance_tile(tensor, 1, arguments.call);
    if (!part) return Datum::poison();
    std::tie(column, extent) = *part;
  } else {
    column = ops_.index(arguments[2], arguments.locs[2], "the column of 'tile.gather'");
    extent = column ? evaluator_.expect_dim(arguments[3], arguments.locs[3], "the extent of 'tile.gather'")
                    : nullptr;
    if (extent) warn_of_elements(arguments[2], extent, "tile.gather");
  }
  if (!extent) return Datum::poison();
  Type type = tensor.value->type();
  auto constant = extent->constant();
  if (extent != type->dims[1] && !(constant && *constant >= 1)) {
    report(diag::tile_load_extent, arguments.call, extent->text, 1, subject(tensor),
           type->dims[1]->text);
    return Datum::poison();
  }
  Value* ids = rows.as_ir().value;
  Type result = context().tile({ids->type()->dims[0], extent}, type->dtype);
  return ops_.handle(
      ops_.builder().value(info(OpKind::Gather), {{tensor.value}, {ids}, {column}}, result),
      arguments.call);
}

}  // namespace tessera::frontend

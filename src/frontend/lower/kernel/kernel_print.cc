// `print` in a kernel, under --debug. Each program stores the printed values in additional outputs
// of the kernel, at [program, iteration, i, j, …], with a bool beside each element that says it was
// stored. After the launch the host program prints them (host.print). So later passes see a print
// as a store like others: it stays in its place, elements past an edge are masked, and the lines
// have the order of the programs on every machine.
//
// Outputs hold the beginning of a tile, and the first iterations of the loops around it, so that
// they stay small. The rest lies outside of the memory, where a scatter writes nothing.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/dims.h"
#include "ir/core/place.h"
#include "ir/schedule/ops.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
using Kind = ElementwiseKind;

namespace {

constexpr int64_t most_first = 1024;
constexpr size_t most_prints = 64;  ///< each is two parameters of the kernel
constexpr size_t most_label = 200;

bool is_label(const Datum& label) {
  if (!label.is(DatumKind::String) || label.as_string().size() > most_label) return false;
  return std::ranges::none_of(label.as_string(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// The dtype that has all values of this one and that prints are written in.
DType printed_dtype(DType dtype) {
  if (dtype == DType::Bool || dtype == DType::F64) return dtype;
  if (is_float(dtype)) return DType::F32;
  bool wide = byte_size(dtype) == 8;
  if (dtype_info(dtype).cls == DTypeClass::Signed) return wide ? DType::I64 : DType::I32;
  return wide ? DType::U64 : DType::U32;
}

}  // namespace

/// Where in the outputs of a print a program writes.
struct KernelBuilder::PrintPlace {
  std::vector<Value*> index;  ///< program and iteration
  std::vector<Dim> dims;      ///< how many of both there are
  std::vector<Dim> trip_counts;
  Block* loop = nullptr;
};

/// The value as a tile of at least one axis; null when an error was reported.
Value* KernelBuilder::printed_tile(const Datum& value, Loc loc) {
  const std::vector<Dim> one = {dims().constant(1)};
  bool is_size = value.is(DatumKind::Int) || value.is(DatumKind::Dim), is_bool = value.is(DatumKind::Bool);
  if (is_size || is_bool || value.is(DatumKind::Float)) {
    Datum tile = ops_.full(one, value, is_size ? DType::I64 : is_bool ? DType::Bool : DType::F64, loc);
    return tile.is_ir() ? tile.as_ir().value : nullptr;
  }
  Value* given = value.is_ir() ? value.as_ir().value : nullptr;
  if (given && given->type()->is(TypeKind::Scalar)) {
    return ops_.builder().value(info(OpKind::Splat), {{given}}, context().tile(one, given->type()->dtype));
  }
  if (given && given->type()->is(TypeKind::Tile)) return given->type()->rank() ? given : ops_.reshape(given, one);
  auto builder =
      report(diag::wrong_kind, loc, "the value of 'print'", describe(value), "a tile, a scalar, a number or a size");
  if (given && given->type()->is(TypeKind::Tensor)) builder.help("a program has a part of it: tile.load(x)");
  return nullptr;
}

/// The number of this program and, inside of loops, of this iteration.
KernelBuilder::PrintPlace KernelBuilder::print_place(int64_t first) {
  Type scalar = context().scalar(DType::I64);
  auto size = [&](Dim dim) {
    return ops_.builder().value(info(OpKind::Dim), {}, scalar,
                                {schedule::attr::Dim::value(context(), dim)});
  };
  auto then = [&](Value* number, Value* index, Dim count) {
    Value* scaled = ops_.builder().value(info(Kind::Mul), {{number}, {size(count)}}, scalar);
    return ops_.builder().value(info(Kind::Add), {{scaled}, {index}}, scalar);
  };
  PrintPlace place;
  Value *program = nullptr, *iteration = nullptr;
  Dim programs = dims().constant(1), all = programs;
  for (const KernelAxis& axis : kernel_.axes) {
    if (!axis.grid) continue;
    Dim count = dims().ceildiv(axis.extent, axis.tile);
    program = program ? then(program, axis.index, count) : axis.index;
    programs = dims().mul(programs, count);
  }
  std::vector<Block*> loops;
  for (Block* block = ops_.builder().block(); block != kernel_.grid->region()->front();
       block = block->parent_op()->block()) {
    if (block->parent_op()->is(info(OpKind::Pipeline))) loops.insert(loops.begin(), block);
  }
  for (Block* loop : loops) {
    Dim count = loop->parent_op()->attr(schedule::attr::Pipeline::count);
    iteration = iteration ? then(iteration, loop->arg(0), count) : loop->arg(0);
    all = dims().mul(all, count);
    place.trip_counts.push_back(count);
  }
  place.loop = loops.empty() ? nullptr : loops[0];
  place.index = {program ? program : ops_.index_constant(0), iteration ? iteration : ops_.index_constant(0)};
  place.dims = {programs, dims().min(all, dims().constant(first))};
  return place;
}

Value* KernelBuilder::print_output(DType dtype, const std::vector<Dim>& dims) {
  std::string name = fmt::format("print{}", kernel_.print_outputs.size());
  kernel_.print_outputs.push_back(
      kernel_.op->region()->front()->add_arg(context().tensor(dims, dtype), module_.intern(name)));
  return kernel_.print_outputs.back();
}

/// `tile` is null for a label alone.
void KernelBuilder::add_print(const std::string& label, Value* tile, int64_t first, Loc loc) {
  Builder& builder = ops_.builder();
  builder.set_loc(loc);
  PrintPlace place = print_place(first);
  std::vector<Dim> shape = {dims().constant(1)}, kept = place.dims, extents;
  bool is_number = !tile || tile->type()->dims == shape;
  if (!is_number) {
    shape = extents = tile->type()->dims;
    for (Dim extent : extents) kept.push_back(dims().constant(std::min(first, extent->constant().value_or(first))));
  }
  std::vector<Value*> index;
  for (Value* number : place.index) {
    index.push_back(builder.value(info(OpKind::Splat), {{number}}, context().tile(shape, DType::I64)));
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    Type numbers = context().tile(shape, DType::I64);
    index.push_back(builder.value(info(OpKind::Iota), {}, numbers,
                                  {schedule::attr::Iota::axis(context(), int64_t(i))}));
  }
  Type truth = context().tile(shape, DType::Bool);
  Value *values = nullptr, *holds = nullptr;
  if (tile) {
    tile = ops_.convert(tile, printed_dtype(tile->type()->dtype));
    values = print_output(tile->type()->dtype, kept);
    builder.op(info(OpKind::Scatter), {{tile}, {values}, index}, {});
    // True for every element, and computed from them: so it ends where they do.
    auto op = [&](Kind kind, Value* a, Value* b) { return builder.value(info(kind), {{a}, {b}}, truth); };
    bool is_bool = tile->type()->dtype == DType::Bool;
    Value* same = is_bool ? tile : op(Kind::Eq, tile, tile);
    Value* other = is_bool ? builder.value(info(Kind::Not), {{tile}}, truth) : op(Kind::Ne, tile, tile);
    holds = op(Kind::Or, same, other);
  } else {
    holds =
        builder.value(info(OpKind::Full), {}, truth, {schedule::attr::Full::value(context(), 1)});
  }
  Value* shown = print_output(DType::Bool, kept);
  Op* last = builder.op(info(OpKind::Scatter), {{holds}, {shown}, index}, {});
  kernel_.prints.push_back(
      {label, place_of(last), values ? values : shown, shown, extents, place.trip_counts, place.loop});
}

Datum KernelBuilder::print(const BoundArguments& arguments) {
  enum Argument : size_t { Label, Values, First };
  const Datum& label = arguments[Label];
  if (!is_label(label)) {
    report(diag::wrong_kind, arguments.locs[Label], "the label of 'print'", describe(label),
           fmt::format("a text of one line and up to {} bytes", most_label))
        .help("the label comes first: print(\"x\", x)");
    return Datum::poison();
  }
  auto first = evaluator_.expect_int(arguments[First], arguments.locs[First], "how much 'print' shows along each axis");
  if (!first) return Datum::poison();
  if (*first < 1 || *first > most_first) {
    report(diag::wrong_kind, arguments.locs[First], "how much 'print' shows along each axis", fmt::format("{}", *first),
           fmt::format("a number from 1 to {}", most_first));
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  std::vector<Value*> tiles;
  for (const Datum& value : arguments[Values].elements()) {
    if (value.is_poison()) return value;
    tiles.push_back(printed_tile(value, arguments.locs[Values]));
    if (!tiles.back()) return Datum::poison();
  }
  if (tiles.empty()) tiles.push_back(nullptr);
  if (!session().kernels_print()) {
    if (!session().options().targets.empty()) {  // else nothing is compiled
      report(diag::hint_no_effect, arguments.call, "'print'", "code that is compiled without --debug")
          .help("compile with --debug to see what it shows");
    }
    return Datum::none();
  }
  if (request_.loc == function_.loc) {
    report(diag::hint_no_effect, arguments.call, "'print'", "a kernel that is compiled on its own")
        .help("call the kernel in a @jit function, whose calls print what it shows");
    return Datum::none();
  }
  if (kernel_.prints.size() + tiles.size() > most_prints) {
    return evaluator_.unsupported(arguments.call, fmt::format("more than {} values that a kernel prints", most_prints));
  }
  for (Value* tile : tiles) add_print(label.as_string(), tile, *first, arguments.call);
  return Datum::none();
}

/// Whether a scatter stores what is printed.
bool KernelBuilder::is_print(Op* scatter) const {
  if (!scatter->is(info(OpKind::Scatter))) return false;
  return std::ranges::find(kernel_.print_outputs, scatter->in(schedule::in::Scatter::memory)) !=
         kernel_.print_outputs.end();
}

void KernelBuilder::describe_prints(schedule::KernelInstance& instance,
                                    const std::map<std::string, Dim, std::less<>>& to_caller) {
  if (kernel_.prints.empty()) return;
  kernel_.op->set(schedule::attr::Kernel::outputs,
               int64_t(kernel_.result_dims.size() + kernel_.print_outputs.size()));
  auto sizes = [&](const std::vector<Dim>& list) {
    std::vector<Dim> of_caller;
    for (Dim dim : list) of_caller.push_back(dims().substitute(dim, to_caller));
    return context().dims_array(of_caller);
  };
  auto output = [&](Value* value) {
    return unsigned(kernel_.result_dims.size() +
                    size_t(std::ranges::find(kernel_.print_outputs, value) - kernel_.print_outputs.begin()));
  };
  std::map<Block*, int64_t> loops;
  for (const KernelFunction::Print& print : kernel_.prints) {
    int64_t number = int64_t(instance.prints.size());
    int64_t loop = print.loop ? loops.try_emplace(print.loop, number).first->second : number;
    using entry::PrintItem;
    Attr item = entry::make_dict(
        context(), {PrintItem::label(context(), print.label), PrintItem::source(context(), print.source),
                    PrintItem::extents(sizes(print.extents)), PrintItem::trip_counts(sizes(print.trip_counts)),
                    PrintItem::loop(context(), loop)});
    instance.prints.push_back({item, output(print.values), output(print.shown)});
  }
  std::vector<Dim> grid;
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.grid) grid.push_back(dims().ceildiv(axis.extent, axis.tile));
  }
  instance.grid = sizes(grid);
}

}  // namespace tessera::frontend

// Anchors whose results are too few for the programs of a GPU, or that read once what rows share.
//
// A matmul of few rows has few tiles of its result, however long its sums are; attention of few rows has a program for
// each head, however many keys there are. Programs then share the sum of a tile: part p of P has the p-th part of the
// axis, in whole tiles, and leaves its sum in the accumulator's dtype. A second kernel adds the parts, and
// does what follows the anchor. How many parts there are follows from the sizes of the call alone, so the order of a
// sum does, too. Whether there are any is a choice of the launch: where tiles are many the anchor's own kernel runs, as
// if there were no others.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "ir/text/dim_conditions.h"
#include "ir/text/entries.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/kernels.h"
#include "passes/analysis/parts_form.h"
#include "passes/graph/to_schedule/lowering.h"
#include "support/check.h"

namespace tessera {

namespace {

/// Elements of the shared axis that a part has at least, and tiles of them.
constexpr int64_t least_length = 256, least_tiles = 4;
/// Bytes that a multiprocessor reads in a clock.
constexpr double bytes_a_clock = 64;
/// Bytes that a program could read in the time of another launch, whose kernel waits for all parts and for its own
/// loads: about 3000 clocks, 64 in each.
constexpr int64_t launch_bytes = 192 * 1024;
/// Programs that a multiprocessor has at a time where threads compute operands of dots: one computes while another
/// multiplies.
constexpr int64_t alternating_programs = 2;
/// Bytes that a program could read while its threads compute an element of an operand, and wait for each other and for
/// the matrix unit: about 1000 clocks for 64 x 128 elements. A launch of the anchor's own kernel may have such tiles,
/// whatever its smallest are.
constexpr int64_t alternating_bytes = 8, alternating_elements = 64 * 128;

int64_t tile_bytes(Type type) {
  int64_t bytes = byte_size(type->dtype);
  for (Dim extent : type->dims) bytes *= extent->constant().value_or(1);
  return bytes;
}

/// Bytes that an iteration of the kernel's loop loads, or could load in the time of its dots.
int64_t bytes_of_iteration(Op* kernel, const Machine& machine) {
  int64_t bytes = 0;
  double clocks = 0;
  walk(kernel, [&](Op* op) {
    if (!op->parent() || !op->parent()->is(schedule::info(schedule::OpKind::Pipeline))) return;
    if (op->is(schedule::info(schedule::OpKind::Load))) bytes += tile_bytes(op->result()->type());
    if (op->is(schedule::info(schedule::OpKind::Dot))) clocks += dot_clocks(op, machine);
  });
  return std::max(bytes, int64_t(clocks * bytes_a_clock));
}

/// Elements of a right operand of the kernel's dots.
int64_t operand_elements(Op* kernel) {
  int64_t most = 0;
  walk(kernel, [&](Op* op) {
    if (!op->is(schedule::info(schedule::OpKind::Dot))) return;
    Type operand = op->in(schedule::in::Dot::b)->type();
    most = std::max(most, tile_bytes(operand) / byte_size(operand->dtype));
  });
  return most;
}

/// Whether the kernel's loop computes an operand of a dot of what it loads.
bool computes_operands(Op* kernel) {
  bool found = false;
  walk(kernel, [&](Op* op) {
    if (!op->is(schedule::info(schedule::OpKind::Dot))) return;
    for (unsigned slot : {unsigned(schedule::in::Dot::a), unsigned(schedule::in::Dot::b)}) {
      Op* def = op->in(slot)->def();
      found |= def && def->info().elementwise != ElementwiseKind::None;
    }
  });
  return found;
}

}  // namespace

/// The programs of a kernel, in the caller's sizes, and what each reads.
struct Reading {
  Dim tiles;           ///< of its grid
  Dim step, rows;      ///< elements of a tile along the shared axis, and along rows
  int64_t elements;    ///< of an operand in an iteration
  int64_t bytes;       ///< that an iteration loads, or could load in the time that it takes
};

namespace {

/// What programs read one after another along an axis of that length.
Dim bytes_read(DimTable& table, const Reading& reading, Dim length) {
  return table.mul(table.ceildiv(length, reading.step), table.constant(reading.bytes));
}

Reading reading_of(DimTable& table, const schedule::KernelInstance& instance, std::string_view shared,
                   const std::map<std::string, Dim, std::less<>>& also, const Machine& machine) {
  using entry::Axis;
  Dim one = table.constant(1);
  Reading reading{one, one, one, operand_elements(instance.kernel), bytes_of_iteration(instance.kernel, machine)};
  std::map<std::string, Dim, std::less<>> caller(instance.dims.begin(), instance.dims.end());
  for (Attr axis : instance.kernel->attr(schedule::attr::Kernel::axes)) {
    Dim extent = table.substitute(table.substitute(entry::read(axis, Axis::extent), caller), also);
    Dim block = entry::read(axis, Axis::block);
    if (entry::read(axis, Axis::name) == shared) reading.step = block;
    if (entry::read(axis, Axis::name) == "m") reading.rows = block;
    if (entry::read(axis, Axis::grid)) reading.tiles = table.mul(reading.tiles, table.ceildiv(extent, block));
  }
  return reading;
}

}  // namespace

/// The anchor's own kernel with the smallest tiles.
Result<Reading> GraphLowering::finest_reading(const FusionGroup& group, const PartsForm& form) {
  std::optional<Reading> finest;
  for (size_t choice = 0, choices = 1; choice < choices; ++choice) {
    Result<schedule::KernelInstance> own = instantiate(group, reads_.form(group.anchor), choice, halvings(group));
    if (!own) return failure;
    choices = own->choices;
    Reading reading = reading_of(table_, *own, form.axis, {}, *context_.machine);
    own->kernel->erase();
    // Of every element along the shared axis a smaller tile reads less.
    auto read = [](const Reading& each) { return double(each.bytes) / double(each.step->constant().value_or(1)); };
    bool has_loop = reading.bytes > 0;
    if (has_loop && (!finest || read(reading) < read(*finest))) finest = reading;
  }
  return finest.value_or(Reading{table_.constant(1), table_.constant(1), table_.constant(1), 0, 0});
}

/// How an anchor's parts are made, and when.
struct GraphLowering::Parts {
  PartsForm form;
  Dim count = nullptr;        ///< how many there are, in the caller's sizes
  std::vector<DimFact> when;  ///< sizes that they are made for
};

/// Whether the kernel can read all operands of the anchor where they lie.
bool GraphLowering::reads_fit(Op* anchor, const AnchorForm& form) const {
  for (unsigned i = 0; i < anchor->operand_count(); ++i) {
    if (!anchor_access(table_, form, i, reads_.read(anchor, i).access)) return false;
  }
  return true;
}

/// How parts of the anchor are made; nothing where sizes never ask for any.
Result<std::optional<GraphLowering::Parts>> GraphLowering::plan_parts(const FusionGroup& group) {
  std::optional<Parts> none;
  if (!context_.machine || !context_.machine->is_gpu() || !context_.kernels) return none;
  Op* anchor = group.anchor;
  bool is_call = anchor->is(graph::info(graph::OpKind::KernelCall));
  if (is_call && !context_.kernels->has_parts(reads_.form(anchor).kernel)) return none;
  std::optional<PartsForm> form = parts_form(anchor, reads_.form(anchor), true);
  if (form && !reads_fit(anchor, form->parts)) form = std::nullopt;
  if (!form) form = parts_form(anchor, reads_.form(anchor), false);
  if (!form || !reads_fit(anchor, form->parts)) return none;
  schedule::KernelRequest request = request_of(anchor, form->parts, halvings(group));
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance) return failure;
  Parts parts{*form};
  Dim one = table_.constant(1);
  std::map<std::string, Dim, std::less<>> as_one{{std::string(form->count->symbol()), one}};
  Reading reading = reading_of(table_, *instance, form->axis, as_one, *context_.machine);
  bool computes = computes_operands(instance->kernel);
  for (unsigned i = 0; i < anchor->operand_count(); ++i) computes |= !reads_.read(anchor, i).casts.empty();
  instance->kernel->erase();
  Result<Reading> own = finest_reading(group, *form);
  if (!own) return failure;
  if (computes) {
    reading.bytes += alternating_bytes * reading.elements;
    own->bytes += alternating_bytes * std::max(own->elements, alternating_elements);
  }
  int64_t programs = computes ? alternating_programs : 1;
  Dim slots = table_.constant(programs * context_.machine->gpu.peaks.multiprocessors);
  int64_t some_tiles = least_tiles * reading.step->constant().value_or(least_length);
  Dim length = form->length, least = table_.constant(std::min(least_length, some_tiles));
  Dim free = table_.floordiv(slots, table_.max(reading.tiles, one));
  parts.count = table_.max(table_.min(table_.floordiv(length, least), free), one);
  // What a program reads less has to be worth another launch and what parts are written and read for.
  Dim whole = table_.mul(table_.ceildiv(own->tiles, slots), bytes_read(table_, *own, length));
  Dim part = bytes_read(table_, reading, table_.ceildiv(length, parts.count));
  Dim elements = table_.substitute(count_elements(table_, form->parts.results[0]),
                                   {{std::string(form->count->symbol()), one}});
  Dim moved = table_.mul(table_.mul(parts.count, elements), table_.constant(8));
  Dim cost = table_.add(table_.constant(launch_bytes), table_.floordiv(moved, slots));
  std::vector<DimFact> worth = {{Relation::GreaterEqual, parts.count, table_.constant(2)},
                                {Relation::Greater, whole, table_.add(part, cost)}};
  parts.when = worth;
  if (form->rows) {
    std::vector<DimFact> few = {{Relation::LessEqual, form->rows, reading.rows},
                                {Relation::GreaterEqual, length, least}};
    parts.when = {any_of(table_, few, worth)};
  }
  return std::optional(std::move(parts));
}

/// Launches the kernel that makes parts, or one of its variants.
Result<Op*> GraphLowering::launch_parts(const FusionGroup& group, const Parts& parts) {
  const AnchorForm& form = parts.form.parts;
  std::vector<Op*> variants;
  AnchorKernel anchor;
  for (size_t choice = 0, choices = 1; choice < choices; ++choice) {
    schedule::KernelRequest request = request_of(group.anchor, form, halvings(group));
    request.choice = choice;
    Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
    if (!instance) return failure;
    choices = instance->choices;
    bool is_last = choice + 1 == choices;
    if (!is_last) instance->kernel->set_node(common::Function::symbol, variant_symbol(module_, next_symbol()));
    AnchorKernel built{instance->kernel, instance->dims};
    bind_operands(built, group.anchor, form, {});
    Op* kernel = finish_kernel(built, group, form, false);
    TSR_CHECK(!anchor.kernel || (built.operands == anchor.operands && built.dims == anchor.dims),
              "variants of a kernel take different operands");
    anchor = std::move(built);
    if (!is_last) variants.push_back(kernel);
  }
  std::erase(variants, anchor.kernel);
  std::map<std::string, Dim, std::less<>> count{{std::string(parts.form.count->symbol()), parts.count}};
  for (auto& [name, value] : anchor.dims) value = table_.substitute(value, count);
  return host_.launch(anchor.kernel, variants, anchor.operands, anchor.dims, unsigned(form.results.size()));
}

Status GraphLowering::lower_parts(const FusionGroup& group, const Parts& parts) {
  Result<Op*> launched = launch_parts(group, parts);
  if (!launched) return failure;
  const AnchorForm& form = parts.form.joined;
  schedule::KernelRequest request;
  request.kernel = form.kernel;
  request.symbol = next_symbol();
  request.machine = context_.machine->name;
  request.loc = group.anchor->loc();
  request.results = {group.anchor->result(0)->type()->dtype};
  for (size_t i = 0; i < form.operands.size(); ++i) {
    DType dtype = (*launched)->result(unsigned(i))->type()->dtype;
    request.operands.push_back(module_.context().tensor(form.operands[i], dtype));
  }
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance || !check_instance(group.anchor, form, *instance)) return failure;
  AnchorKernel joined{instance->kernel, instance->dims};
  std::map<std::string, Dim, std::less<>> count{{std::string(parts.form.count->symbol()), parts.count}};
  for (size_t i = 0; i < form.operands.size(); ++i) {
    std::vector<Dim> dims = form.operands[i];
    for (Dim& dim : dims) dim = table_.substitute(dim, count);
    joined.operands.push_back(host_.under((*launched)->result(unsigned(i)), dims));
  }
  Op* kernel = finish_kernel(joined, group, form, !group.members.empty());
  TSR_CHECK(joined.takes_members || group.members.empty(), "a kernel that joins parts has no place for what follows");
  for (auto& [name, value] : joined.dims) value = table_.substitute(value, count);
  std::vector<Value*> outputs = joined.takes_members ? group.outputs : std::vector{group.anchor->result(0)};
  host_.launch(kernel, {}, joined.operands, joined.dims, outputs);
  return success;
}

Status GraphLowering::lower_anchor(const FusionGroup& group) {
  Result<std::optional<Parts>> planned = plan_parts(group);
  if (!planned) return failure;
  if (!*planned) return lower_by_one(group);
  const Parts& parts = **planned;
  return lower_either(
      group, parts.when, [&] { return lower_parts(group, parts); }, [&] { return lower_by_one(group); });
}

}  // namespace tessera

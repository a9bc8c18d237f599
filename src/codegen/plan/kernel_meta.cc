#include <algorithm>

#include "codegen/plan/emit_plan.h"
#include "codegen/plan/format_terms.h"
#include "codegen/plan/kernel_fragments.h"
#include "codegen/plan/launch_facts.h"
#include "ir/core/place.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/target/ops.h"
#include "ir/text/access_site.h"
#include "ir/text/entries.h"
#include "ir/text/work.h"
#include "runtime/base/tensor_maps.h"
#include "runtime/files/text.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

using target::attr::Func;

/// Extents of a program's tile by axis, as the kernel's schedule has them, and the depth of its
/// pipeline.
std::map<std::string, int64_t> tile_of(Attr schedule) {
  std::map<std::string, int64_t> tile;
  Attr block = entry::node(schedule, schedule::key::block);
  if (block && block->is(AttrKind::Dict)) {
    for (const auto& [axis, extent] : block->entries) tile[axis] = extent->integer;
  } else if (block) {
    for (size_t i = 0; i < block->elements.size(); ++i) {
      tile["axis" + std::to_string(i)] = block->elements[i]->integer;
    }
  }
  if (auto stages = entry::read(schedule, schedule::key::stages)) tile["stages"] = *stages;
  return tile;
}

/// "+avx2,+fma" gives "avx2" and "fma".
std::vector<std::string> feature_names(const std::string& features) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < features.size();) {
    size_t end = std::min(features.find(',', begin), features.size());
    std::string name = features.substr(begin, end - begin);
    if (name.size() > 1 && name[0] == '+') names.push_back(name.substr(1));
    begin = end + 1;
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

format::KernelBuffer buffer_of(Type type, size_t position, size_t inputs,
                               const std::vector<std::string>& dims) {
  format::KernelBuffer buffer;
  buffer.result = position >= inputs;
  buffer.dtype = format_dtype(type->dtype);
  for (Dim extent : type->dims) buffer.shape.push_back(format_dim(extent, dims));
  buffer.alignment = byte_size(type->dtype);
  return buffer;
}

/// What the kernel's source calls a buffer, or its number among inputs or results where that is not known.
std::string buffer_name(Op* kernel, size_t position, const format::KernelBuffer& buffer,
                        const format::KernelMeta& meta) {
  AttrList names = kernel->attr(Func::names);
  std::string name(names.empty() ? "" : names[position]);
  auto has_name = [&](const format::KernelBuffer& other) { return other.name == name; };
  if (!name.empty() && std::ranges::none_of(meta.buffers, has_name)) return name;
  auto is_like = [&](const format::KernelBuffer& other) { return other.result == buffer.result; };
  return (buffer.result ? "r" : "p") + std::to_string(std::ranges::count_if(meta.buffers, is_like));
}

std::vector<format::Expr> format_sizes(Attr sizes, const std::vector<std::string>& dims) {
  std::vector<format::Expr> all;
  for (Attr size : sizes->elements) all.push_back(format_dim(size->dim, dims));
  return all;
}

format::KernelDescriptor descriptor_of(Attr map, const std::vector<std::string>& dims) {
  using entry::TensorMap;
  format::KernelDescriptor descriptor;
  descriptor.buffer = uint32_t(entry::read(map, TensorMap::buffer));
  descriptor.dtype = format_dtype(entry::read(map, TensorMap::dtype));
  bool is_held = base::has_tensor_map_type(format::dtype_name(descriptor.dtype));
  TSR_CHECK(is_held, "a tensor map has elements of another dtype");
  descriptor.dims = format_sizes(entry::node(map, TensorMap::dims), dims);
  descriptor.strides = format_sizes(entry::node(map, TensorMap::strides), dims);
  descriptor.offset = format_dim(entry::read(map, TensorMap::offset), dims);
  descriptor.box = entry::read(map, TensorMap::box).vector();
  descriptor.swizzle = entry::read(map, TensorMap::swizzle);
  descriptor.lower = entry::read(map, TensorMap::lower).vector();
  descriptor.upper = entry::read(map, TensorMap::upper).vector();
  descriptor.steps = entry::read(map, TensorMap::steps).vector();
  return descriptor;
}

/// How blocks of a GPU's kernel are launched.
void add_launch(Op* kernel, const Machine& machine, format::KernelMeta& meta) {
  int64_t threads = kernel->required(Func::threads);
  meta.block = {threads, 1, 1};
  meta.smem_per_cta = kernel->attr(Func::shared).value_or(meta.smem_per_cta);
  std::ranges::copy(kernel->attr(Func::cluster), meta.cluster.begin());
  meta.persistent = kernel->attr(Func::persistent);
  walk(kernel, [&](Op* op) { meta.waits |= op->is(target::info(target::OpKind::WaitPrerequisites)); });
  for (Attr map : kernel->attr(Func::descriptors))
    meta.descriptors.push_back(descriptor_of(map, meta.dims));
  if (std::optional<int64_t> bound = kernel->attr(Func::registers)) meta.regs_per_thread = *bound;
  meta.features = {machine.gpu.ptx_target};
}

/// What measure_work found; nothing where an expression is longer than a bundle may have.
std::optional<format::KernelWork> measured_work(const Work& known, const std::vector<std::string>& dims) {
  format::KernelWork work;
  if (known.flops) {
    work.flops = format_dim(known.flops, dims);
    work.dot_flops = format_dim(known.dot_flops, dims);
  }
  if (known.dot_dtype) work.dot_dtype = to_string(*known.dot_dtype);
  work.at_most = known.at_most;
  work.infinite = known.infinite;
  work.reads = format_dim(known.reads, dims);
  work.writes = format_dim(known.writes, dims);
  auto fits = [](const format::Expr& expr) { return expr.size() <= format::max_expr_length; };
  bool all_fit = fits(work.flops.value_or(format::Expr())) && fits(work.dot_flops) && fits(work.reads) &&
                 fits(work.writes);
  return all_fit ? std::optional(work) : std::nullopt;
}

/// What measure_work found, if that can be said; otherwise all that the kernel's buffers hold.
format::KernelWork work_of(Op* kernel, const format::KernelMeta& meta) {
  std::optional<Work> known = read_work(kernel->attr(Func::work));
  std::optional<format::KernelWork> measured = known ? measured_work(*known, meta.dims) : std::nullopt;
  if (measured) return *measured;
  format::KernelWork work;
  work.at_most = known.has_value();
  DimTable& table = kernel->module()->context().dims();
  Dim sums[2] = {table.constant(0), table.constant(0)};
  AttrList params = kernel->attr(Func::params);
  for (size_t i = 0; i < params.size(); ++i) {
    Type type = params[i];
    Dim bytes = table.mul(element_count(table, type->dims), table.constant(byte_size(type->dtype)));
    Dim& sum = sums[meta.buffers[i].result];
    sum = table.add(sum, bytes);
  }
  if (!known) work.flops = format::const_expr(0);
  work.reads = format_dim(sums[0], meta.dims);
  work.writes = format_dim(sums[1], meta.dims);
  return work;
}

/// The text at a place, as far as it stands on its line: of an operator, whose place is its sign, the line.
std::string_view text_at(const SourceManager& sources, Loc loc) {
  if (!loc.known() || loc.column == 0) return "";
  std::string_view line = sources.file(loc.file).line(loc.line);
  std::string_view text = line.substr(std::min<size_t>(loc.column - 1, line.size()), loc.length);
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (std::ranges::any_of(text, is_letter)) return text;
  size_t begin = line.find_first_not_of(" \t");
  return begin == line.npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

/// The name of the kernel in its source; of one that the compiler made, the expression that it computes.
std::string title_of(Op* kernel) {
  constexpr size_t longest = 48;
  if (std::optional<std::string_view> name = kernel->attr(Func::kernel)) return format::one_line(*name);
  std::string_view text = text_at(kernel->module()->sources(), kernel->loc());
  if (text.size() <= longest) return format::one_line(text);
  size_t end = longest;
  while (end > 0 && (text[end] & '\xc0') == '\x80') --end;  // of a character's bytes all or none
  return format::one_line(text.substr(0, end)) + "…";
}

}  // namespace

format::KernelMeta kernel_meta(Op* kernel, const Machine& machine) {
  format::KernelMeta meta;
  meta.name = symbol_name(kernel);
  meta.source = format::one_line(place_of(kernel));
  meta.title = title_of(kernel);
  meta.dims = kernel_dims(kernel);
  std::vector<DimFact> assumed = read_facts(kernel->attr(Func::assume));
  for (DimFact& fact : facts_of_places(kernel)) assumed.push_back(fact);
  for (const DimFact& fact : assumed) {
    format::Expr condition = fact_expr(fact, meta.dims);
    if (!std::ranges::count(meta.assume, condition)) meta.assume.push_back(std::move(condition));
  }
  meta.tile = tile_of(kernel->attr(Func::schedule));
  meta.fragments = kernel_fragments(kernel);
  for (Dim extent : kernel->attr(Func::grid)) meta.grid.push_back(format_dim(extent, meta.dims));
  for (std::string_view name : kernel->attr(Func::epilogue)) meta.epilogue.emplace_back(name);
  AttrList params = kernel->attr(Func::params);
  size_t inputs = params.size() - size_t(kernel->attr(Func::outputs));
  unsigned widest = 1;
  meta.alignment = params.empty() ? 1 : INT64_MAX;
  for (size_t i = 0; i < params.size(); ++i) {
    format::KernelBuffer buffer = buffer_of(params[i], i, inputs, meta.dims);
    buffer.name = buffer_name(kernel, i, buffer, meta);
    meta.buffers.push_back(std::move(buffer));
    meta.alignment = std::min<int64_t>(meta.alignment, meta.buffers.back().alignment);
    widest = std::max(widest, byte_size(params[i]->dtype));
  }
  meta.vector_width = machine.lanes(widest);
  meta.features = feature_names(machine.llvm_features);
  if (machine.is_gpu()) add_launch(kernel, machine, meta);
  meta.scratch = format_dim(kernel->attr(Func::scratch), meta.dims);
  meta.work = work_of(kernel, meta);
  for (Attr check : kernel->attr(Func::checks)) {
    std::optional<AccessSite> site = read_site(check);
    meta.checks.push_back({site->access, site->parameter, format::one_line(site->source)});
  }
  return meta;
}

}  // namespace tessera::codegen

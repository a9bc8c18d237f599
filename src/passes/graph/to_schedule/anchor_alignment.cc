// Matmuls and convolutions whose operands no tensor map can say.
//
// The copy engine needs rows that start at multiples of 16 bytes. Where sizes give others, threads bring an operand
// to shared memory element by element, and the tensor cores wait for them. If that takes long enough such operands are
// copied first, into rows with room at their ends: a copy reads and writes each element once, and the kernel reads it
// as often as there are tiles along the other axis. An image is copied with channels of zeros at the ends of its
// pixels, and its weights with as many rows of zeros. Sizes choose at the launch which operands are copied.

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/numbers/mma.h"
#include "ir/schedule/ops.h"
#include "passes/analysis/divisibility.h"
#include "passes/graph/to_schedule/kernel_edit.h"
#include "passes/graph/to_schedule/lowering.h"

namespace tessera {

namespace {

/// Bytes at whose multiples rows of a tensor map start.
constexpr int64_t row_alignment = 16;
/// GPU time in which threads bring the operands of a step of 64 x 64 x 64, in nanoseconds: of one that waits for them,
/// and of each that a multiprocessor has; how many times as long that is as with the copy engine, at least.
constexpr int64_t step_time = 1000, step_length = 64, slower_steps = 6;
/// How many times as long a copy takes whose rows threads read element by element, beside what memory's bandwidth
/// allows.
constexpr int64_t slower_copies = 2;
/// GPU time of another launch, in nanoseconds.
constexpr int64_t launch_time = 3000;

/// The axis along which elements follow one another; nothing where none is known to.
std::optional<size_t> contiguous_axis(const Access& access) {
  for (size_t i = access.dims.size(); i-- > 0;) {
    if (access.strides[i]->is_constant(1)) return i;
  }
  return std::nullopt;
}

/// The access with that axis last.
Access with_last(const Access& access, size_t axis) {
  Access moved = access;
  for (size_t i = axis; i + 1 < access.dims.size(); ++i) {
    std::swap(moved.dims[i], moved.dims[i + 1]);
    std::swap(moved.strides[i], moved.strides[i + 1]);
  }
  return moved;
}

}  // namespace

/// A copy of an operand in rows that a tensor map can say.
struct AlignedCopy {
  unsigned position;
  Access rows;  ///< what is copied: [matrices, rows, columns]
  Dim height;   ///< rows of a matrix of the copy; those behind the operand's are 0
  Dim width;    ///< elements of its rows; those behind the operand's are 0
  Access read;  ///< what the kernel reads of it
};

/// Copies for sizes that ask for these, and what the kernel takes then.
struct GraphLowering::Alignment {
  std::vector<DimFact> when;
  AnchorForm form;
  std::vector<AlignedCopy> copies;
  std::vector<AlignedCopy> kept;  ///< operands that lie as a copy would, and are read as one: by the same kernel
};

namespace {

/// The number, or the next multiple of `each` behind it.
Dim rounded_up(DimTable& table, Dim number, Dim each) { return table.mul(table.ceildiv(number, each), each); }

/// An operand of a matmul whose rows may start beside multiples of 16 bytes.
struct OddOperand {
  AlignedCopy copy;
  Dim beside;     ///< 0 where none does
  bool is_whole;  ///< its rows follow one another, and are all that its buffer has
};

/// What a matmul reads of a copy of an operand of those extents, where elements follow one another along `axis`.
Access access_of_copy(DimTable& table, const std::vector<Dim>& extents, size_t axis, Dim width) {
  Access access{extents, std::vector<Dim>(extents.size(), table.constant(0)), table.constant(0)};
  access.strides[axis] = table.constant(1);
  Dim stride = width;
  for (size_t i = extents.size(); i-- > 0;) {
    if (i == axis) continue;
    if (!extents[i]->is_constant(1)) access.strides[i] = stride;
    stride = table.mul(stride, extents[i]);
  }
  return access;
}

/// What is known of the operand of a matmul; nothing where no copy would have rows for a tensor map.
std::optional<OddOperand> odd_operand(DimTable& table, const AnchorForm& form, unsigned position, const Read& read,
                                      Dim each) {
  std::optional<Access> access = anchor_access(table, form, position, read.access);
  std::optional<size_t> axis = access ? contiguous_axis(*access) : std::nullopt;
  if (!axis || !read.casts.empty()) return std::nullopt;
  Access moved = with_last(*access, *axis);
  std::vector<Dim> outer(moved.dims.begin(), moved.dims.end() - 1);
  Dim one = table.constant(1), count = count_elements(table, outer), length = moved.dims.back();
  std::optional<Access> rows = reshape_access(table, moved, {one, count, length});
  if (!rows) return std::nullopt;
  Dim beside = table.add(table.mod(rows->strides[1], each), table.mod(rows->offset, each));
  Dim width = rounded_up(table, length, each);
  bool is_whole = is_contiguous(table, *rows, count_elements(table, read.base->type()->dims));
  Access of_copy = access_of_copy(table, form.operands[position], *axis, width);
  return OddOperand{{position, *rows, count, width, of_copy}, beside, is_whole};
}

}  // namespace

/// Each choice of operands of a matmul to copy: those of odd rows, the others being aligned. First none.
std::vector<GraphLowering::Alignment> GraphLowering::matmul_alignments(Op* anchor, Dim each) {
  const AnchorForm& form = reads_.form(anchor);
  std::vector<OddOperand> odd;
  for (unsigned i = 0; i < anchor->operand_count(); ++i) {
    std::optional<OddOperand> found = odd_operand(table_, form, i, reads_.read(anchor, i), each);
    if (!found) return {};
    if (!found->beside->is_constant(0)) odd.push_back(*found);
  }
  std::vector<Alignment> all;
  Dim none = table_.constant(0);
  if (odd.empty()) return all;
  bool are_alike = odd.size() == 2 && odd[0].beside == odd[1].beside;
  for (unsigned chosen = 0; chosen < 1u << odd.size(); ++chosen) {
    if (are_alike && (chosen == 1 || chosen == 2)) continue;
    Alignment alignment{{}, form, {}, {}};
    for (size_t i = 0; i < odd.size(); ++i) {
      bool copies = chosen >> i & 1;
      alignment.when.push_back({copies ? Relation::NotEqual : Relation::Equal, odd[i].beside, none});
      if (copies) alignment.copies.push_back(odd[i].copy);
      if (!copies && odd[i].is_whole) alignment.kept.push_back(odd[i].copy);
    }
    all.push_back(std::move(alignment));
  }
  return all;
}

/// The same of a convolution: with odd channels both are copied, with odd results the weights.
std::vector<GraphLowering::Alignment> GraphLowering::convolution_alignments(Op* anchor, Dim each) {
  AnchorForm form = reads_.form(anchor);
  std::vector<Access> operands;
  for (unsigned i = 0; i < 2; ++i) {
    const Read& read = reads_.read(anchor, i);
    std::optional<Access> access = anchor_access(table_, form, i, read.access);
    if (!access || !read.casts.empty()) return {};
    operands.push_back(*access);
  }
  const auto& [image, weights] = std::tie(operands[0], operands[1]);
  Dim channels = image.dims.back(), taps = weights.dims[0], results = weights.dims[2];
  Dim zero = table_.constant(0), one = table_.constant(1);
  Dim pixels = count_elements(table_, {image.dims.begin(), image.dims.end() - 1});
  std::optional<Access> rows = reshape_access(table_, image, {one, pixels, channels});
  // Both are whole buffers: the form takes no windows.
  Dim odd_channels = table_.mod(channels, each), odd_results = table_.mod(results, each);
  if (!rows || (odd_channels->is_constant(0) && odd_results->is_constant(0))) return {};
  Dim depth = rounded_up(table_, channels, each), width = rounded_up(table_, results, each);
  form.operands[0].back() = form.operands[1][1] = depth;
  AlignedCopy of_image{0, *rows, pixels, depth, contiguous_access(table_, form.operands[0])};
  Access read{{taps, depth, results}, {table_.mul(depth, width), width, one}, zero};
  AlignedCopy of_weights{1, weights, depth, width, read};
  DimFact even{Relation::Equal, odd_channels, zero};
  return {{{even, {Relation::Equal, odd_results, zero}}, form, {}, {of_image, of_weights}},
          {{{Relation::NotEqual, odd_channels, zero}}, form, {of_image, of_weights}, {}},
          {{even, {Relation::NotEqual, odd_results, zero}}, form, {of_weights}, {of_image}}};
}

/// Ways to copy operands, each for other sizes; none where sizes never ask for any.
std::vector<GraphLowering::Alignment> GraphLowering::plan_alignments(const FusionGroup& group) {
  Op* anchor = group.anchor;
  const AnchorForm& form = reads_.form(anchor);
  bool has_copies = context_.machine && context_.machine->gpu.has_tma && context_.kernels;
  bool is_image = is_convolution(form);
  if (!has_copies || !(is_image || is_plain_matmul(form))) return {};
  DType dtype = anchor->operand(0)->type()->dtype;
  if (!find_mma(MmaUnit::Wgmma, dtype)) return {};
  Dim each = table_.constant(row_alignment / byte_size(dtype));
  std::vector<Alignment> all = is_image ? convolution_alignments(anchor, each) : matmul_alignments(anchor, each);
  // Times as the bytes that memory moves in them.
  const PeakFigures& peaks = context_.machine->gpu.peaks;
  auto bytes_in = [&](int64_t nanoseconds) { return table_.constant(int64_t(peaks.bandwidth * double(nanoseconds))); };
  const std::vector<Dim>& result = form.results[0];
  Dim step = table_.constant(step_length), steps = table_.ceildiv(form.operands[0].back(), step);
  if (is_image) steps = table_.mul(steps, form.operands[1][0]);
  Dim tiles = count_elements(table_, {result.begin(), result.end() - 2});
  for (Dim extent : {result[result.size() - 2], result.back()}) tiles = table_.mul(tiles, table_.ceildiv(extent, step));
  Dim turns = table_.add(table_.constant(1), table_.ceildiv(tiles, table_.constant(peaks.multiprocessors)));
  Dim slow = table_.mul(table_.mul(steps, turns), bytes_in(step_time));
  std::vector<Dim> extents = result;
  extents.push_back(form.operands[0].back());
  for (Alignment& alignment : all) {
    if (alignment.copies.empty()) continue;
    Dim cost = table_.mul(bytes_in(launch_time), table_.constant(int64_t(alignment.copies.size())));
    for (const AlignedCopy& copy : alignment.copies) {
      Dim moved = table_.constant(2 * slower_copies * byte_size(dtype));
      cost = table_.add(cost, table_.mul(count_elements(table_, copy.rows.dims), moved));
    }
    alignment.when.push_back({Relation::Greater, table_.mul(slow, table_.constant(slower_steps - 1)),
                              table_.mul(cost, table_.constant(slower_steps))});
    // Tensor maps are not empty.
    for (Dim extent : extents) alignment.when.push_back({Relation::GreaterEqual, extent, table_.constant(1)});
  }
  return all;
}

/// Copies an operand into rows that tensor maps can say.
Result<GraphLowering::PlacedOperand> GraphLowering::copy_aligned(const FusionGroup& group, const AnchorForm& form,
                                                                 const AlignedCopy& copy) {
  Op* anchor = group.anchor;
  DType dtype = anchor->operand(copy.position)->type()->dtype;
  schedule::KernelRequest request;
  request.kernel = "matmul_padded";
  request.symbol = next_symbol();
  request.machine = context_.machine->name;
  request.loc = anchor->loc();
  request.operands = {module_.context().tensor(copy.rows.dims, dtype)};
  request.arguments["Q"] = module_.context().dim(copy.height);
  request.arguments["P"] = module_.context().dim(copy.width);
  request.results = {dtype};
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance) return failure;
  AnchorKernel built{instance->kernel, instance->dims};
  bind_operand(built, 0, host_.buffer(reads_.read(anchor, copy.position).base), copy.rows, copy.rows.dims);
  Op* kernel = finish_kernel(built, group, form, false);
  Op* launch = host_.launch(kernel, {}, built.operands, built.dims, 1);
  return PlacedOperand{launch->result(0), copy.read};
}

Status GraphLowering::lower_aligned(const FusionGroup& group, const Alignment& alignment) {
  PlacedOperands placed;
  for (const AlignedCopy& copy : alignment.copies) {
    Result<PlacedOperand> made = copy_aligned(group, alignment.form, copy);
    if (!made) return failure;
    placed[copy.position] = *made;
  }
  for (const AlignedCopy& as_copied : alignment.kept) {
    Value* buffer = host_.buffer(reads_.read(group.anchor, as_copied.position).base);
    std::vector<Dim> dims{as_copied.rows.dims[0], as_copied.height, as_copied.width};
    placed[as_copied.position] = {host_.under_here(buffer, dims), as_copied.read};
  }
  return lower_whole(group, alignment.form, placed, false);
}

/// The anchor by its own kernel, which reads operands where they lie or in copies that sizes ask for. Odd ones that are
/// not worth a copy leave the kernel that takes any.
Status GraphLowering::lower_by_one(const FusionGroup& group) {
  std::vector<Alignment> alignments = plan_alignments(group);
  auto lower_from = [&](auto& self, size_t next) -> Status {
    if (next == alignments.size()) return lower_whole(group, reads_.form(group.anchor), {}, next > 0);
    return lower_either(
        group, alignments[next].when, [&] { return lower_aligned(group, alignments[next]); },
        [&] { return self(self, next + 1); });
  };
  return lower_from(lower_from, 0);
}

}  // namespace tessera

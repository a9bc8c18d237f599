// Matmuls whose operands no tensor map can say.
//
// The copy engine needs rows that start at multiples of 16 bytes. Where sizes give others, threads bring an operand
// to shared memory element by element, and the tensor cores wait for them. If a matmul is long enough its operands are
// copied first, into rows with room at their ends: that reads and writes each element once, and the matmul reads it as
// often as there are tiles along the other axis. Sizes choose at the launch.


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
/// How many times as long a matmul takes whose operands threads bring, at least, and a copy whose rows threads read
/// element by element, beside what memory's bandwidth allows.
constexpr int64_t slower_dots = 6, slower_copies = 2;
/// GPU time of another launch, in nanoseconds.
constexpr int64_t launch_time = 4400;

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

/// An operand that may have to be copied.
struct AlignedOperand {
  unsigned position;
  size_t axis;               ///< of the kernel's operand, along which elements follow one another
  Access rows;               ///< what is copied, [rows, columns]
  Dim padded;                ///< elements from one row of the copy to the next
  std::vector<Dim> extents;  ///< of the operand as the kernel takes it
};

struct GraphLowering::Alignment {
  std::vector<AlignedOperand> operands;
  std::vector<DimFact> when;
};

/// What is read of the copy.
static Access access_of_copy(DimTable& table, const AlignedOperand& operand) {
  Access access{operand.extents, std::vector<Dim>(operand.extents.size(), table.constant(0)), table.constant(0)};
  access.strides[operand.axis] = table.constant(1);
  Dim stride = operand.padded;
  for (size_t i = operand.extents.size(); i-- > 0;) {
    if (i == operand.axis) continue;
    if (!operand.extents[i]->is_constant(1)) access.strides[i] = stride;
    stride = table.mul(stride, operand.extents[i]);
  }
  return access;
}

/// Which operands are copied, and when; nothing where sizes never ask for it.
std::optional<GraphLowering::Alignment> GraphLowering::plan_alignment(const FusionGroup& group) {
  Op* anchor = group.anchor;
  const AnchorForm& form = reads_.form(anchor);
  bool has_copies = context_.machine && context_.machine->gpu.has_tma && context_.kernels;
  if (!has_copies || !is_plain_matmul(form)) return std::nullopt;
  DType dtype = anchor->operand(0)->type()->dtype;
  if (!find_mma(MmaUnit::Wgmma, dtype)) return std::nullopt;
  int64_t multiple = row_alignment / byte_size(dtype);
  Alignment plan;
  Dim odd = table_.constant(0), copied = table_.constant(0);
  for (unsigned i = 0; i < anchor->operand_count(); ++i) {
    const Read& read = reads_.read(anchor, i);
    std::optional<Access> access = anchor_access(table_, form, i, read.access);
    std::optional<size_t> axis = access ? contiguous_axis(*access) : std::nullopt;
    if (!axis || !read.casts.empty()) continue;
    Access moved = with_last(*access, *axis);
    std::vector<Dim> outer(moved.dims.begin(), moved.dims.end() - 1);
    std::optional<Access> rows = reshape_access(table_, moved, {count_elements(table_, outer), moved.dims.back()});
    if (!rows) continue;
    Dim each = table_.constant(multiple);
    Dim beside = table_.add(table_.mod(rows->strides[0], each), table_.mod(rows->offset, each));
    if (beside->is_constant(0)) continue;
    Dim padded = table_.mul(table_.ceildiv(rows->dims[1], each), each);
    odd = table_.add(odd, beside);
    copied = table_.add(copied, count_elements(table_, rows->dims));
    plan.operands.push_back({i, *axis, *rows, padded, form.operands[i]});
  }
  if (plan.operands.empty()) return std::nullopt;
  const PeakFigures& peaks = context_.machine->gpu.peaks;
  // In multiply-adds of the tensor cores.
  int64_t of_element = int64_t(peaks.dot(dtype) / peaks.bandwidth) * byte_size(dtype) * slower_copies;
  int64_t of_launch = int64_t(peaks.dot(dtype) / 2 * launch_time);
  Dim work = table_.mul(count_elements(table_, form.results[0]), form.operands[0].back());
  Dim cost = table_.add(table_.mul(copied, table_.constant(of_element)),
                        table_.constant(of_launch * int64_t(plan.operands.size())));
  plan.when = {{Relation::GreaterEqual, odd, table_.constant(1)},
               {Relation::Greater, table_.mul(work, table_.constant(slower_dots - 1)), cost}};
  // Tensor maps are not empty.
  std::vector<Dim> extents = form.results[0];
  extents.push_back(form.operands[0].back());
  for (Dim extent : extents) plan.when.push_back({Relation::GreaterEqual, extent, table_.constant(1)});
  return plan;
}

/// Copies an operand into rows that tensor maps can say.
Result<GraphLowering::PlacedOperand> GraphLowering::copy_aligned(const FusionGroup& group, const AnchorForm& form,
                                                                 const AlignedOperand& operand) {
  Op* anchor = group.anchor;
  DType dtype = anchor->operand(operand.position)->type()->dtype;
  schedule::KernelRequest request;
  request.kernel = "matmul_padded";
  request.symbol = next_symbol();
  request.machine = context_.machine->name;
  request.loc = anchor->loc();
  request.operands = {module_.context().tensor(operand.rows.dims, dtype)};
  request.arguments["P"] = module_.context().dim(operand.padded);
  request.results = {dtype};
  Result<schedule::KernelInstance> instance = context_.kernels->instantiate(module_, request);
  if (!instance) return failure;
  AnchorKernel built{instance->kernel, instance->dims};
  bind_operand(built, 0, host_.buffer(reads_.read(anchor, operand.position).base), operand.rows, operand.rows.dims);
  Op* kernel = finish_kernel(built, group, form, false);
  Op* launch = host_.launch(kernel, {}, built.operands, built.dims, 1);
  return PlacedOperand{launch->result(0), access_of_copy(table_, operand)};
}

Status GraphLowering::lower_aligned(const FusionGroup& group, const Alignment& alignment) {
  PlacedOperands placed;
  for (const AlignedOperand& operand : alignment.operands) {
    Result<PlacedOperand> copy = copy_aligned(group, reads_.form(group.anchor), operand);
    if (!copy) return failure;
    placed[operand.position] = *copy;
  }
  return lower_whole(group, placed);
}

/// The anchor by its own kernel, which reads operands where they lie or in copies that sizes ask for.
Status GraphLowering::lower_by_one(const FusionGroup& group) {
  std::optional<Alignment> alignment = plan_alignment(group);
  if (!alignment) return lower_whole(group, {});
  return lower_either(
      group, alignment->when, [&] { return lower_aligned(group, *alignment); }, [&] { return lower_whole(group, {}); });
}

}  // namespace tessera

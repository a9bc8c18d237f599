#include "ir/tile/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/core/common_attributes.h"
#include "ir/tile/eval_run.h"
#include "ir/tile/build.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::tile {

Status KernelRun::run(std::span<TensorValue* const> parameters) {
  Block* body = kernel_->region()->front();
  TSR_CHECK(parameters.size() == body->arg_count(),
            "a kernel was run with the wrong number of tensors");
  if (!bind(body, parameters)) return failure;
  std::vector<int64_t> grid;
  for (tessera::Dim extent : kernel_->attr(attr::Kernel::grid)) grid.push_back(size(extent));
  if (kernel_->attr(attr::Kernel::persistent)) grid = {workers()};
  for_each_index(grid, [&](const Position& program, size_t) {
    if (!failed_) run_program(program);
  });
  return failed_ ? Status(failure) : success;
}

void KernelRun::fail(const std::string& message, const std::vector<DiagnosticNote>& notes,
                     const std::string& help) {
  if (failed_) return;
  failed_ = true;
  auto report = diagnostics_.report(diag::tile_run, op_->loc(), std::string(op_->name()), message);
  for (const DiagnosticNote& note : notes) report.note(note.loc, note.message);
  if (!help.empty()) report.help(help);
}

/// In whole clusters.
int64_t KernelRun::workers() const {
  int64_t cluster = programs_of_cluster(kernel_);
  return (options_.workers + cluster - 1) / cluster * cluster;
}

int64_t KernelRun::size(Dim dim) {
  std::optional<int64_t> value = evaluate(dim, dims_);
  if (!value) fail(fmt::format("<{}> has no value", dim->text));
  return value.value_or(0);
}

std::vector<int64_t> KernelRun::sizes(const std::vector<Dim>& dims) {
  std::vector<int64_t> out;
  for (Dim dim : dims) out.push_back(size(dim));
  return out;
}

bool KernelRun::bind(Block* body, std::span<TensorValue* const> parameters) {
  op_ = kernel_;
  size_t outputs = size_t(kernel_->attr(attr::Kernel::outputs));
  buffers_.resize(parameters.size());
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    TensorValue& tensor = *parameters[i];
    if (tensor.dtype() != type->dtype || tensor.dims() != sizes(type->dims)) {
      fail(fmt::format("parameter {} is not a {}", i, type->text));
      return false;
    }
    buffers_[i].bytes = tensor.data();
    buffers_[i].size = tensor.byte_count();
    if (i + outputs >= parameters.size()) buffers_[i].written.assign(tensor.byte_count(), false);
    window(body->arg(i), &buffers_[i], 0, type);
  }
  return true;
}

/// The one number that an op gives, or that its whole result is.
Element KernelRun::number(Op* op) {
  switch (kind_of(op)) {
    case OpKind::ProgramId:
      return {.i = program_[size_t(op->attr(attr::ProgramId::axis))]};
    case OpKind::WorkerId:
      return {.i = program_[0]};
    case OpKind::WorkerCount:
      return {.i = workers()};
    case OpKind::Dim:
      return {.i = size(op->attr(attr::Dim::value))};
    case OpKind::Constant:
    case OpKind::Full:
      return element_of(op->attr(common::Constant::value), op->result()->type()->dtype);
    case OpKind::Extract:
    case OpKind::Splat:
      return at(op->operand(0)).elements[0];
    default:
      TSR_UNREACHABLE("an op that gives no one number");
  }
}

void KernelRun::run_op(Op* op) {
  switch (kind_of(op)) {
    case OpKind::Kernel:
      TSR_UNREACHABLE("kernels do not nest");
    case OpKind::Return: return end_role(*role_);
    case OpKind::Yield: return run_yield(op);
    case OpKind::ProgramId:
    case OpKind::WorkerId:
    case OpKind::WorkerCount:
    case OpKind::Constant:
    case OpKind::Dim:
    case OpKind::Extract: return scalar(op, number(op));
    case OpKind::For: return run_for(op);
    case OpKind::If: return run_if(op);
    case OpKind::View: return run_view(op);
    case OpKind::Alloc: return run_alloc(op);
    case OpKind::Load: return run_load(op);
    case OpKind::Store: return run_store(op);
    case OpKind::Gather: return run_gather(op);
    case OpKind::Take: return run_take(op);
    case OpKind::Scatter: return run_scatter(op);
    case OpKind::Full:
    case OpKind::Splat: return fill(op, number(op));
    case OpKind::Iota: return run_iota(op);
    case OpKind::Broadcast: return run_broadcast(op);
    case OpKind::Reshape:
    case OpKind::Within:
    case OpKind::ConvertLayout: return run_same(op);
    case OpKind::Transpose: return run_transpose(op);
    case OpKind::Reduce: return run_reduce(op);
    case OpKind::Scan: return run_scan(op);
    case OpKind::Sort: return run_sort(op);
    case OpKind::Merge: return run_merge(op);
    case OpKind::Slice: return run_slice(op);
    case OpKind::Dot: return run_dot(op);
    case OpKind::PairRows: return run_pair_rows(op);
    case OpKind::DotPairs: return run_dot_pairs(op);
    case OpKind::Role: return run_role_op(op);
    case OpKind::AllocShared: return run_alloc_shared(op);
    case OpKind::Slot: return run_slot(op);
    case OpKind::CopyAsync: return run_copy_async(op);
    case OpKind::CopyCommit:
      ++role_->groups;
      return;
    case OpKind::CopyWait: return run_copy_wait(op);
    case OpKind::StoreAsync: return run_store_async(op);
    case OpKind::StoreWait: return run_store_wait(op);
    case OpKind::Channel: return run_channel(op);
    case OpKind::ChannelAcquire: return run_acquire(op);
    case OpKind::ChannelWait: return run_channel_wait(op);
    case OpKind::ChannelRelease: return run_release(op);
    case OpKind::Barriers: return run_barriers(op);
    case OpKind::BarrierExpect:
    case OpKind::BarrierArrive: return run_arrive(op);
    case OpKind::BarrierWait: return run_barrier_wait(op);
    case OpKind::Barrier:
    case OpKind::ClusterBarrier: return run_barrier(op);
    case OpKind::OrderWait:
    case OpKind::OrderArrive: return;
    case OpKind::FenceAsync: return role_->order.own.fence();
    case OpKind::Mma: return run_mma(op);
    case OpKind::MmaWait: return run_mma_wait(op);
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
      return run_elementwise(op);
  }
  TSR_UNREACHABLE("unknown op");
}

void KernelRun::run_for(Op* op) {
  int64_t lo = index(op->in(in::For::lo)), hi = index(op->in(in::For::hi));
  int64_t step = index(op->in(in::For::step));
  if (step < 1) return fail(fmt::format("its step is {}", step));
  std::vector<EvalValue> carried;
  for (Value* init : op->ins(in::For::inits)) carried.push_back(at(init));
  EvalRole::Frame frame{op, nullptr, lo, hi, step};
  if (lo < hi) {
    role_->frames.push_back(frame);
    return begin_iteration(role_->frames.back(), std::move(carried));
  }
  for (size_t c = 0; c < carried.size(); ++c) at(op->result(unsigned(c))) = std::move(carried[c]);
}

void KernelRun::begin_iteration(EvalRole::Frame& frame, std::vector<EvalValue> carried) {
  Block* body = frame.owner->region()->front();
  at(body->arg(0)).dims = {};
  at(body->arg(0)).elements = {Element{.i = frame.index}};
  for (size_t c = 0; c < carried.size(); ++c)
    at(body->arg(unsigned(c) + 1)) = std::move(carried[c]);
  frame.next = *body->begin();
}

void KernelRun::run_if(Op* op) {
  bool holds = index(op->in(in::If::condition));
  Block* body = op->region(holds ? at::If::then : at::If::otherwise)->front();
  role_->frames.push_back({op, *body->begin()});
}

void KernelRun::run_yield(Op* op) {
  EvalRole::Frame& frame = role_->frames.back();
  Op* owner = frame.owner;
  if (kind_of(owner) == OpKind::Role) return end_role(*role_);
  std::vector<EvalValue> values;
  for (unsigned i = 0; i < op->operand_count(); ++i) values.push_back(at(op->operand(i)));
  bool again = kind_of(owner) == OpKind::For &&
               frame.step <= std::numeric_limits<int64_t>::max() - frame.index &&
               frame.index + frame.step < frame.hi;
  if (again) {
    frame.index += frame.step;
    return begin_iteration(frame, std::move(values));
  }
  role_->frames.pop_back();
  for (unsigned i = 0; i < values.size(); ++i) at(owner->result(i)) = std::move(values[i]);
}

Status run_kernel(Op* kernel, std::span<TensorValue* const> parameters, const DimValues& dims,
                  DiagnosticEngine& diagnostics, const RunOptions& options) {
  return KernelRun(kernel, dims, diagnostics, options).run(parameters);
}

}  // namespace tessera::tile

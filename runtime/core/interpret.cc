#include "runtime/core/interpret.h"

#include "runtime/core/bind.h"
#include "runtime/core/call_checks.h"
#include "runtime/core/function.h"
#include "runtime/core/kernel_log.h"
#include "runtime/core/trace.h"
#include "runtime/cpu/guard_pages.h"

namespace tessera::runtime {

namespace {

using format::EvalStatus;

class Interpreter {
 public:
  Interpreter(Frame& frame, Queue& queue) : frame_(frame), plan_(frame.plan), queue_(queue) {}

  Status run() { return run_range(0, plan_.steps.size()); }

 private:
  Status run_range(size_t begin, size_t end) {
    for (size_t at = begin; at < end;) {
      step_ = at;
      if (frame_.checks) {
        if (Status entered = frame_.checks->enter_step(at); entered.failed()) return entered;
      }
      size_t next = at + 1;
      Status status =
          std::visit([&](const auto& step) { return run_step(step, next); }, plan_.steps[at]);
      if (status.failed()) return status;
      at = next;
    }
    return ok();
  }

  /// Runs the step; `next` is the step after it and moves past the steps that belong to it.
  Status run_step(const format::LaunchStep& step, size_t&) {
    const BoundKernel& kernel = frame_.kernels[step.kernel];
    dims_.clear();
    for (uint32_t index : step.dims) {
      if (Status status = evaluate(index, dims_.emplace_back()); status.failed()) return status;
    }
    Launch launch;
    Status sized = size_launch(*kernel.meta, dims_, launch.programs, launch.scratch_bytes);
    if (frame_.trace && !sized.failed()) trace_launch(*frame_.trace, frame_, step_, step, launch.programs);
    if (sized.failed() || launch.programs == 0) return sized;
    pointers_.clear();
    for (uint32_t buffer : step.buffers) {
      if (Status status = check_memory(buffer); status.failed()) return status;
      pointers_.push_back(frame_.buffers[buffer]);
    }
    launch.kernel = kernel.code;
    if (frame_.checks || !kernel.meta->checks.empty()) return launch_checked(step, kernel, launch);
    return put(kernel, launch);
  }

  Status put(const BoundKernel& kernel, Launch& launch) {
    launch.cost = kernel.cost;
    launch.buffers = pointers_.data();
    launch.dims = dims_.data();
    return queue_.launch(launch);
  }

  /// Waits for the launch, and reads what it did.
  Status launch_checked(const format::LaunchStep& step, const BoundKernel& kernel, Launch& launch) {
    const format::KernelMeta& meta = *kernel.meta;
    std::string where = step_title(frame_.function, step_, meta);
    RunningLaunch running(where.c_str());
    Status status;
    if (!meta.checks.empty()) {
      status = log_.clear(frame_.memory, queue_);
      pointers_.push_back(log_.data());
    }
    if (frame_.checks && !status.failed()) status = frame_.checks->before_launch(step);
    if (!status.failed()) status = put(kernel, launch);
    if (!meta.checks.empty() && !status.failed()) {
      auto title = [&](size_t i) { return buffer_title(plan_.buffers[step.buffers[i]]); };
      status = log_.read(queue_, meta, dims_, where, title);
    }
    if (frame_.checks && !status.failed()) status = frame_.checks->after_launch(step_, step, meta);
    return status;
  }

  Status run_step(const format::SelectStep& step, size_t& next) {
    int64_t holds = 0;
    if (Status status = evaluate(step.condition, holds); status.failed()) return status;
    return run_branch(holds != 0, step.then_steps, step.else_steps, next);
  }

  Status run_step(const format::IfStep& step, size_t& next) {
    bool holds = false;
    if (Status status = read_condition(step.buffer, holds); status.failed()) return status;
    return run_branch(holds, step.then_steps, step.else_steps, next);
  }

  Status run_branch(bool holds, size_t then_steps, size_t else_steps, size_t& next) {
    size_t then_begin = next;
    size_t else_begin = then_begin + then_steps;
    next = else_begin + else_steps;
    return holds ? run_range(then_begin, else_begin) : run_range(else_begin, next);
  }

  Status run_step(const format::ForStep& step, size_t& next) {
    size_t begin = next;
    next += step.body_steps;
    int64_t lo = 0;
    int64_t hi = 0;
    if (Status status = evaluate(step.lo, lo); status.failed()) return status;
    if (Status status = evaluate(step.hi, hi); status.failed()) return status;
    for (int64_t i = lo; i < hi; ++i) {
      frame_.dims[step.dim] = i;
      if (frame_.checks) frame_.checks->enter_turn(begin, next);
      if (Status status = run_range(begin, next); status.failed()) return status;
    }
    return ok();
  }

  Status run_step(const format::CopyStep& step, size_t&) {
    int64_t bytes = frame_.placement.bytes[step.to];
    if (bytes != frame_.placement.bytes[step.from]) {
      return bug("a copy of ", frame_.placement.bytes[step.from], " bytes to ", bytes);
    }
    if (frame_.trace) trace_move(*frame_.trace, frame_, step_, "copy", step.from, step.to);
    if (bytes == 0) return ok();
    if (Status status = check_memory(step.to); status.failed()) return status;
    if (Status status = check_memory(step.from); status.failed()) return status;
    return queue_.copy(frame_.buffers[step.to], frame_.buffers[step.from], size_t(bytes));
  }

  Status run_step(const format::FillStep& step, size_t&) {
    int64_t bytes = frame_.placement.bytes[step.buffer];
    if (frame_.trace) trace_move(*frame_.trace, frame_, step_, "fill", format::no_index, step.buffer);
    if (bytes == 0) return ok();
    if (Status status = check_memory(step.buffer); status.failed()) return status;
    return queue_.fill(frame_.buffers[step.buffer], step.pattern, step.width, size_t(bytes));
  }

  Status run_step(const format::AliasStep& step, size_t&) {
    int64_t offset = 0;
    if (Status status = evaluate(step.offset, offset); status.failed()) return status;
    int64_t room = frame_.placement.bytes[step.of];
    int64_t bytes = frame_.placement.bytes[step.view];
    if (offset < 0 || offset > room || bytes > room - offset) {
      return bug("a view of ", bytes, " bytes at ", offset, " in ", room);
    }
    if (Status status = check_memory(step.of); status.failed()) return status;
    frame_.buffers[step.view] = static_cast<char*>(frame_.buffers[step.of]) + offset;
    return ok();
  }

  Status run_step(const format::CheckStep& step, size_t&) {
    bool holds = false;
    if (Status status = read_condition(step.buffer, holds); status.failed()) return status;
    return holds ? ok() : invalid(plan_.entry, ": ", step.message);
  }

  Status run_step(const format::WhileStep& step, size_t& next) {
    size_t condition_begin = next;
    size_t body_begin = condition_begin + step.condition_steps;
    next = body_begin + step.body_steps;
    for (bool holds = true;;) {
      if (Status status = run_range(condition_begin, body_begin); status.failed()) return status;
      if (Status status = read_condition(step.buffer, holds); status.failed()) return status;
      if (!holds) return ok();
      if (Status status = run_range(body_begin, next); status.failed()) return status;
    }
  }

  /// Both have the same size, and memory until the same step.
  Status run_step(const format::SwapStep& step, size_t&) {
    std::swap(frame_.buffers[step.a], frame_.buffers[step.b]);
    return ok();
  }

  Status read_condition(uint32_t buffer, bool& holds) {
    if (Status status = check_memory(buffer); status.failed()) return status;
    uint8_t byte = 0;
    Status status = queue_.read(&byte, frame_.buffers[buffer], 1);
    holds = byte != 0;
    return status;
  }

  /// A view that no step has made yet has no memory.
  Status check_memory(uint32_t buffer) const {
    if (frame_.buffers[buffer] || frame_.placement.bytes[buffer] == 0) return ok();
    return bug(buffer_title(plan_.buffers[buffer]), " has no memory");
  }

  Status evaluate(uint32_t index, int64_t& value) const {
    EvalStatus status = format::evaluate(plan_.exprs[index], frame_.dims, value);
    if (status == EvalStatus::Ok) return ok();
    return invalid(plan_.entry, ": the value of an expression of step ", step_,
                   " cannot be found: ", format::eval_status_text(status));
  }

  /// The plan contradicts itself: a bug of the compiler that wrote it.
  template <typename... Pieces>
  Status bug(const Pieces&... pieces) const {
    return fail(TSR_EINTERNAL, plan_.entry, ": step ", step_, " of the plan: ", pieces...);
  }

  Frame& frame_;
  const format::Plan& plan_;
  Queue& queue_;
  size_t step_ = 0;
  std::vector<int64_t> dims_;
  std::vector<void*> pointers_;
  KernelLog log_;
};

}  // namespace

Status interpret(Frame& frame, Queue& queue) {
  return Interpreter(frame, queue).run();
}

Status size_launch(const format::KernelMeta& meta, std::span<const int64_t> dims, int64_t& programs,
                   size_t& scratch_bytes) {
  programs = 1;
  bool is_empty = false;
  bool overflows = false;
  for (const format::Expr& extent_expr : meta.grid) {
    int64_t extent = 0;
    EvalStatus status = format::evaluate(extent_expr, dims, extent);
    if (status != EvalStatus::Ok || extent < 0) {
      return invalid("kernel ", format::in_quotes(meta.name), ": the extent ",
                     format::expr_text(extent_expr, meta.dims), " of its grid is no count");
    }
    is_empty |= extent == 0;
    overflows |= __builtin_mul_overflow(programs, extent, &programs);
  }
  if (is_empty) programs = 0;
  int64_t scratch = 0;
  EvalStatus status = format::evaluate(meta.scratch, dims, scratch);
  bool has_sizes = status == EvalStatus::Ok && scratch >= 0 && (is_empty || !overflows);
  scratch_bytes = size_t(scratch);
  if (has_sizes) return ok();
  return invalid("kernel ", format::in_quotes(meta.name),
                 ": its grid or scratch memory is too large for these dims");
}

}  // namespace tessera::runtime

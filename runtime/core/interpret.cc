#include "runtime/core/interpret.h"

#include <map>
#include <optional>
#include <string>

#include "runtime/core/bind.h"
#include "runtime/core/call_checks.h"
#include "runtime/core/context.h"
#include "runtime/core/function.h"
#include "runtime/core/kernel_log.h"
#include "runtime/core/limits.h"
#include "runtime/core/trace.h"
#include "runtime/core/guard_pages.h"
#include "runtime/format/plan_opcodes.h"
#include "runtime/format/print_text.h"

namespace tessera::runtime {

namespace {

using format::EvalStatus;

class Interpreter {
 public:
  Interpreter(Frame& frame, Queue& queue)
      : frame_(frame), plan_(frame.plan), queue_(queue), scratch_(frame.scratch) {
    scratch_.varying_launches.clear();
  }

  Status run() { return run_range(0, plan_.steps.size()); }

 private:
  Status run_range(size_t begin, size_t end) {
    for (size_t at = begin; at < end;) {
      step_ = at;
      if (frame_.cancellation.is()) return fail(TSR_ECANCELED, plan_.entry, ": it was ended by tsrCancel");
      if (frame_.limits) {
        if (Status within = frame_.limits->take_step(); within.failed()) return within;
      }
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
    const SizedLaunch* sized = nullptr;
    if (Status status = find_sizes(step, *kernel.meta, sized); status.failed()) return status;
    if (sized->failure.failed()) return wrong(sized->failure);
    Launch launch;
    launch.programs = sized->programs;
    launch.scratch_bytes = sized->scratch_bytes;
    launch.dims = sized->dims.data();
    if (frame_.trace) trace_launch(*frame_.trace, frame_, step_, step, launch.programs);
    if (launch.programs == 0) return ok();
    scratch_.pointers.clear();
    scratch_.bytes.clear();
    for (uint32_t buffer : step.buffers) {
      if (Status status = check_memory(buffer); status.failed()) return status;
      scratch_.pointers.push_back(frame_.buffers[buffer]);
      scratch_.bytes.push_back(size_t(frame_.placement.bytes[buffer]));
    }
    launch.kernel = kernel.code;
    if (frame_.checks || !kernel.meta->checks.empty()) return launch_checked(step, kernel, launch);
    return put(kernel, launch);
  }

  /// What is known of the launch; what changes with the iterations of a loop is found in each.
  Status find_sizes(const format::LaunchStep& step, const format::KernelMeta& meta, const SizedLaunch*& sized) {
    const std::vector<SizedLaunch>& known = frame_.placement.launches;
    uint32_t number = frame_.function.launch_numbers[step_];
    sized = &known[number];
    if (sized->varying.empty()) return ok();
    if (scratch_.varying_launches.empty()) scratch_.varying_launches.resize(known.size());
    SizedLaunch& iteration = scratch_.varying_launches[number];
    if (iteration.varying.empty()) iteration = *sized;
    sized = &iteration;
    for (uint32_t i : iteration.varying) {
      if (Status status = evaluate(step.dims[i], iteration.dims[i]); status.failed()) return status;
    }
    if (iteration.is_resized) iteration.failure = resize_launch(plan_, step, meta, frame_.placement, iteration);
    return ok();
  }

  Status put(const BoundKernel& kernel, Launch& launch) {
    launch.cost = kernel.cost;
    launch.buffers = scratch_.pointers.data();
    launch.bytes = scratch_.bytes.data();
    if (frame_.limits) launch.until = frame_.limits->until();
    if (!frame_.memory.budget || frame_.memory.budget->allows(launch.scratch_bytes)) return queued(launch);
    return fail(TSR_EOOM, plan_.entry, ": step ", step_, ": kernel ", format::in_quotes(kernel.meta->name), " needs ",
                launch.scratch_bytes, " bytes of scratch memory, more than the limit");
  }

  Status queued(const Launch& launch) {
    Status status = queue_.launch(launch);
    return status.code == TSR_ETIMEOUT ? frame_.limits->over() : status;
  }

  /// Waits for the launch, and reads what it did.
  Status launch_checked(const format::LaunchStep& step, const BoundKernel& kernel, Launch& launch) {
    const format::KernelMeta& meta = *kernel.meta;
    std::string where = step_title(frame_.function, step_, meta);
    RunningLaunch running(where.c_str());
    Status status;
    if (!meta.checks.empty()) {
      status = log_.clear(frame_.memory, queue_);
      scratch_.pointers.push_back(log_.data());
    }
    if (frame_.checks && !status.failed()) status = frame_.checks->before_launch(step);
    if (!status.failed()) status = put(kernel, launch);
    if (!meta.checks.empty() && !status.failed()) {
      auto title = [&](size_t i) { return buffer_title(plan_.buffers[step.buffers[i]]); };
      status = log_.read(queue_, meta, {launch.dims, meta.dims.size()}, where, title);
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
      if (frame_.checks) frame_.checks->enter_iteration(begin, next);
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
    char* at = static_cast<char*>(frame_.buffers[step.of]) + offset;
    if (reinterpret_cast<uintptr_t>(at) % plan_.buffers[step.view].alignment != 0) {
      return bug("a view at ", offset, " is not aligned");
    }
    frame_.buffers[step.view] = at;
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

  /// No plan that was loaded has a step that the runtime does not run.
  template <typename Step>
  Status run_step(const Step&, size_t&) {
    constexpr format::StepInfo info = format::step_info(static_cast<const Step*>(nullptr));
    static_assert(!info.runs);
    return fail(TSR_EIMAGE, "step ", step_, " is ", info.name);
  }

  Status run_step(const format::PrintStep& step, size_t&) {
    std::vector<int64_t> grid;
    if (Status status = evaluate_all(step.grid, grid); status.failed()) return status;
    std::vector<format::PrintedItem> items;
    std::map<uint32_t, std::string> memory;  // of the buffers
    for (const format::PrintItem& item : step.items) {
      const format::PlanBuffer& buffer = plan_.buffers[item.values];
      format::PrintedItem& printed = items.emplace_back();
      printed.label = item.label;
      printed.source = item.source;
      printed.dtype = buffer.dtype;
      printed.loop = item.loop;
      if (Status status = evaluate_all(buffer.shape, printed.shape); status.failed()) return status;
      if (Status status = evaluate_all(item.extents, printed.extents); status.failed()) return status;
      if (Status status = evaluate_all(item.trip_counts, printed.trip_counts); status.failed()) return status;
      if (Status status = read_printed(item.shown, memory, printed.shown); status.failed()) return status;
      if (item.values == item.shown) continue;
      if (Status status = read_printed(item.values, memory, printed.values); status.failed()) return status;
    }
    std::optional<std::string> text = format::printed_text(grid, items);
    if (!text) return bug("it prints what programs of another grid left");
    frame_.function.module->context->log.print(*text);
    return ok();
  }

  Status read_printed(uint32_t buffer, std::map<uint32_t, std::string>& memory, std::string_view& bytes) {
    if (Status status = check_memory(buffer); status.failed()) return status;
    auto [it, is_new] = memory.try_emplace(buffer, size_t(frame_.placement.bytes[buffer]), '\0');
    bytes = it->second;
    return is_new && !bytes.empty() ? queue_.read(it->second.data(), frame_.buffers[buffer], bytes.size()) : ok();
  }

  Status evaluate_all(const std::vector<uint32_t>& exprs, std::vector<int64_t>& values) const {
    for (uint32_t expr : exprs) {
      if (Status status = evaluate(expr, values.emplace_back()); status.failed()) return status;
    }
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

  /// The plan contradicts itself: no compiler of ours wrote it.
  template <typename... Pieces>
  Status bug(const Pieces&... pieces) const {
    return wrong(fail(TSR_EIMAGE, pieces...));
  }
  Status wrong(const Status& status) const {
    return fail(status.code, plan_.entry, ": step ", step_, " of the plan: ", status.text);
  }

  Frame& frame_;
  const format::Plan& plan_;
  Queue& queue_;
  InterpretScratch& scratch_;
  size_t step_ = 0;
  KernelLog log_;
};

}  // namespace

Status interpret(Frame& frame, Queue& queue) {
  return Interpreter(frame, queue).run();
}

}  // namespace tessera::runtime

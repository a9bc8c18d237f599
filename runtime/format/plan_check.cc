// What a plan must satisfy so that the interpreter can follow it blindly: indices in range,
// expressions that read only dims known where they stand, branches that nest, and temps whose
// live intervals cover their uses and respect loops.
//
// A temp's memory may be reused outside its interval. Inside a loop the steps run again, so an
// interval must lie within the body, cover the body, or avoid it; else a later iteration would
// find the bytes of another temp.

#include <algorithm>
#include <bit>
#include <set>

#include "runtime/files/text.h"
#include "runtime/format/plan.h"
#include "runtime/format/plan_views.h"
#include "runtime/format/print_text.h"

namespace tessera::format {

namespace {

constexpr size_t max_rank = 32;
constexpr size_t max_dims = 4096;
constexpr size_t max_buffers = 1 << 16;  // temps are placed in quadratic time
constexpr int max_nesting = 64;
constexpr size_t max_message = 4096;
constexpr uint32_t max_devices = 1024;
constexpr uint32_t max_events = 1 << 16;

bool is_scalar_integer(Dtype dtype) {
  return dtype >= Dtype::I64 && dtype <= Dtype::U8 && dtype != Dtype::I4;
}

/// The steps that a loop repeats, both ends included, and the loop around it.
struct Loop {
  uint32_t first;
  uint32_t last;
  uint32_t parent;
};

class PlanChecker {
 public:
  explicit PlanChecker(const Plan& plan) : plan_(plan) {}

  Outcome check() {
    check_names();
    check_dims();
    if (ok()) check_exprs();
    if (ok()) check_buffers();
    if (ok()) check_bindings();
    if (ok()) check_guards();
    if (ok()) check_steps();
    if (ok()) check_intervals();
    if (ok()) return {};
    return error("plan: ", error_);
  }

 private:
  bool ok() const { return error_.empty(); }

  template <typename... Pieces>
  void refuse(const Pieces&... pieces) {
    if (ok()) error_ = cat(pieces...);
  }

  void check_names() {
    if (!is_printable_name(plan_.entry)) refuse("its entry has no printable name");
    if (!is_printable_name(plan_.target)) refuse("its target has no printable name");
    for (const std::string& kernel : plan_.kernels) {
      if (!is_printable_name(kernel)) refuse("a kernel has no printable name");
    }
    if (plan_.steps.size() >= no_index) refuse("it has too many steps");
    if (plan_.devices == 0 || plan_.devices > max_devices) refuse("it is for ", plan_.devices, " devices");
    if (plan_.events > max_events) refuse("it has more than ", max_events, " events");
  }

  void check_dims() {
    if (plan_.dims.size() > max_dims) return refuse("it has more than ", max_dims, " dims");
    std::set<std::string_view> names;
    for (const PlanDim& dim : plan_.dims) {
      if (!is_dim_name(dim.name))
        refuse("the dimension name ", in_quotes(dim.name), " is malformed");
      if (!names.insert(dim.name).second)
        refuse("the dimension ", in_quotes(dim.name), " is there twice");
      if (dim.source != DimSource::Scalar) {
        if (dim.buffer != no_index) refuse("dimension ", in_quotes(dim.name), " needs no buffer");
      } else if (!is_scalar_input(dim.buffer)) {
        refuse("dimension ", in_quotes(dim.name), " is not the value of a rank-0 integer input");
      }
    }
  }

  bool is_scalar_input(uint32_t index) const {
    if (index >= plan_.buffers.size()) return false;
    const PlanBuffer& buffer = plan_.buffers[index];
    return buffer.kind == BufferKind::Input && buffer.shape.empty() &&
           is_scalar_integer(buffer.dtype);
  }

  void check_exprs() {
    loops_read_.resize(plan_.exprs.size());
    for (size_t i = 0; i < plan_.exprs.size(); ++i) {
      if (Outcome checked = check_expr(plan_.exprs[i], plan_.dims.size()); !checked) {
        return refuse("expression ", i, ": ", checked.error().text);
      }
      for (const ExprInstr& instr : plan_.exprs[i]) {
        if (instr.op == ExprOp::Dim && plan_.dims[size_t(instr.value)].source == DimSource::Loop) {
          loops_read_[i].push_back(uint32_t(instr.value));
        }
      }
      std::ranges::sort(loops_read_[i]);
      loops_read_[i].erase(std::ranges::unique(loops_read_[i]).begin(), loops_read_[i].end());
    }
  }

  /// The expression exists and reads no loop counter.
  bool is_entry_expr(uint32_t index) const {
    return index < plan_.exprs.size() && loops_read_[index].empty();
  }

  void check_buffers() {
    if (plan_.buffers.size() > max_buffers) return refuse("it has more than ", max_buffers, " buffers");
    std::set<std::pair<BufferKind, std::string_view>> names;
    for (size_t i = 0; i < plan_.buffers.size() && ok(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (!is_printable_name(buffer.name)) refuse("buffer ", i, " has no printable name");
      bool named = buffer.kind != BufferKind::Temp && buffer.kind != BufferKind::Constant;
      if (named && !names.insert({buffer.kind, buffer.name}).second) {
        refuse("the buffer name ", in_quotes(buffer.name), " is there twice");
      }
      if (buffer.shape.size() > max_rank)
        refuse("buffer ", i, " has more than ", max_rank, " dims");
      for (uint32_t extent : buffer.shape) {
        if (!is_entry_expr(extent))
          refuse("an extent of buffer ", i, " is not an expression of the entry");
      }
      if (!std::has_single_bit(buffer.alignment) || buffer.alignment > 4096) {
        refuse("buffer ", i, " has alignment ", buffer.alignment);
      }
      bool own = buffer.kind == BufferKind::Temp || buffer.kind == BufferKind::Constant;
      if (own && buffer.alignment > plan_alignment) {
        refuse("buffer ", i, " has alignment ", buffer.alignment, ", and its memory only ", plan_alignment);
      }
      if (buffer.device >= plan_.devices) refuse("buffer ", i, " is on device ", buffer.device, ", which is none");
      check_placement(buffer, i);
    }
  }

  void check_placement(const PlanBuffer& buffer, size_t index) {
    if (buffer.kind == BufferKind::Temp) {
      if (buffer.first_step > buffer.last_step || buffer.last_step >= plan_.steps.size()) {
        refuse("buffer ", index, " lives outside the steps");
      }
    } else if (buffer.first_step != 0 || buffer.last_step != 0) {
      refuse("buffer ", index, " needs no live interval");
    }
    if (buffer.kind == BufferKind::Constant) {
      if (ok()) check_constant(buffer, index);
    } else if (buffer.offset != 0) {
      refuse("buffer ", index, " needs no offset");
    }
  }

  void check_constant(const PlanBuffer& buffer, size_t index) {
    std::vector<int64_t> shape;
    for (uint32_t extent : buffer.shape) {
      const Expr& expr = plan_.exprs[extent];
      if (expr.size() != 1 || expr[0].op != ExprOp::Const) {
        return refuse("constant ", index, " has an extent that is not a number");
      }
      shape.push_back(expr[0].value);
    }
    auto count = element_count(shape);
    auto bytes = count ? bytes_of(buffer.dtype, *count) : std::nullopt;
    if (!bytes) return refuse("constant ", index, " has no size");
    if (buffer.offset % plan_alignment != 0) refuse("constant ", index, " is not aligned");
    if (buffer.offset > plan_.data.size() || uint64_t(*bytes) > plan_.data.size() - buffer.offset) {
      refuse("constant ", index, " lies outside the data");
    }
  }

  /// Every Shape dimension is somewhere the bare extent of an input or param.
  void check_bindings() {
    std::vector<bool> bound(plan_.dims.size());
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.kind != BufferKind::Input && buffer.kind != BufferKind::Param) continue;
      for (uint32_t extent : buffer.shape) {
        const Expr& expr = plan_.exprs[extent];
        if (expr.size() == 1 && expr[0].op == ExprOp::Dim) bound[size_t(expr[0].value)] = true;
      }
    }
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      if (plan_.dims[i].source == DimSource::Shape && !bound[i]) {
        refuse("dimension ", in_quotes(plan_.dims[i].name), " is not an extent of an input or param");
      }
    }
  }

  void check_guards() {
    for (size_t i = 0; i < plan_.guards.size(); ++i) {
      const PlanGuard& guard = plan_.guards[i];
      if (!is_entry_expr(guard.condition)) refuse("guard ", i, " has no condition of the entry");
      if (guard.message.empty() || guard.message.size() > max_message ||
          !is_one_line(guard.message)) {
        refuse("guard ", i, " has no printable message");
      }
    }
  }

  void check_steps() {
    loop_of_step_.assign(plan_.steps.size(), no_index);
    dim_in_scope_.assign(plan_.dims.size(), false);
    dim_has_loop_.assign(plan_.dims.size(), false);
    is_recorded_.assign(plan_.events, false);
    find_viewed();
    read_only_ = find_read_only(plan_);
    check_range(0, plan_.steps.size(), no_index, 0);
    auto unrecorded = std::ranges::find(is_recorded_, false);
    if (unrecorded != is_recorded_.end()) refuse("no step records event ", unrecorded - is_recorded_.begin());
  }

  /// Buffers that are views or have one.
  void find_viewed() {
    viewed_.assign(plan_.buffers.size(), false);
    for (const PlanStep& step : plan_.steps) {
      const auto* alias = std::get_if<AliasStep>(&step);
      if (!alias || alias->view >= viewed_.size() || alias->of >= viewed_.size()) continue;
      viewed_[alias->view] = viewed_[alias->of] = true;
    }
  }

  void check_range(uint64_t begin, uint64_t end, uint32_t loop, int nesting) {
    if (nesting > max_nesting) return refuse("its steps nest more than ", max_nesting, " deep");
    for (uint64_t at = begin; at < end && ok();) {
      step_ = uint32_t(at);
      nesting_ = nesting;
      loop_of_step_[at] = loop;
      std::visit([&](const auto& step) { check_step(step); }, plan_.steps[at]);
      if (!ok()) return;
      at = check_inner(at, end, loop, nesting);
    }
  }

  /// Checks the steps that belong to step `at`; returns the step after them.
  uint64_t check_inner(uint64_t at, uint64_t end, uint32_t loop, int nesting) {
    const PlanStep& step = plan_.steps[at];
    if (const auto* select = std::get_if<SelectStep>(&step)) {
      return check_branches(at, end, select->then_steps, select->else_steps, loop, nesting);
    }
    if (const auto* branch = std::get_if<IfStep>(&step)) {
      return check_branches(at, end, branch->then_steps, branch->else_steps, loop, nesting);
    }
    if (const auto* repeat = std::get_if<ForStep>(&step)) {
      return check_loop(at, end, *repeat, loop, nesting);
    }
    if (const auto* repeat = std::get_if<WhileStep>(&step)) {
      return check_while(at, end, *repeat, loop, nesting);
    }
    return at + 1;
  }

  uint64_t check_branches(uint64_t at, uint64_t end, uint64_t then_steps, uint64_t else_steps,
                          uint32_t loop, int nesting) {
    uint64_t then_end = at + 1 + then_steps;
    uint64_t else_end = then_end + else_steps;
    if (else_end > end) {
      refuse("step ", at, ": its branches do not fit");
      return end;
    }
    check_range(at + 1, then_end, loop, nesting + 1);
    check_range(then_end, else_end, loop, nesting + 1);
    return else_end;
  }

  uint64_t check_loop(uint64_t at, uint64_t end, const ForStep& step, uint32_t loop, int nesting) {
    uint64_t body_end = at + 1 + step.body_steps;
    if (body_end > end || step.body_steps == 0) {
      refuse("step ", at, ": its body is empty or does not fit");
      return end;
    }
    if (dim_has_loop_[step.dim]) refuse("step ", at, ": another loop counts this dimension");
    dim_has_loop_[step.dim] = true;
    loops_.push_back({uint32_t(at + 1), uint32_t(body_end - 1), loop});
    dim_in_scope_[step.dim] = true;
    check_range(at + 1, body_end, uint32_t(loops_.size() - 1), nesting + 1);
    dim_in_scope_[step.dim] = false;
    return body_end;
  }

  /// The condition is read after its last step, so it must live there.
  uint64_t check_while(uint64_t at, uint64_t end, const WhileStep& step, uint32_t loop,
                       int nesting) {
    uint64_t condition_end = at + 1 + step.condition_steps;
    uint64_t body_end = condition_end + step.body_steps;
    if (body_end > end || body_end == at + 1) {
      refuse("step ", at, ": its body is empty or does not fit");
      return end;
    }
    loops_.push_back({uint32_t(at + 1), uint32_t(body_end - 1), loop});
    uint32_t own = uint32_t(loops_.size() - 1);
    check_range(at + 1, condition_end, own, nesting + 1);
    step_ = uint32_t(condition_end - 1);
    if (ok()) use_condition(step.buffer);
    check_range(condition_end, body_end, own, nesting + 1);
    return body_end;
  }

  void check_step(const LaunchStep& step) {
    if (step.kernel >= plan_.kernels.size())
      refuse("step ", step_, ": there is no kernel ", step.kernel);
    for (uint32_t dim : step.dims) use_expr(dim);
    use_device(step.device);
    for (uint32_t buffer : step.buffers) use_on(buffer, step.device);
  }

  void check_step(const RecordStep& step) {
    use_device(step.device);
    if (!is_event(step.event)) return;
    if (is_recorded_[step.event]) refuse("step ", step_, ": event ", step.event, " is recorded before");
    if (nesting_ != 0) refuse("step ", step_, ": an event is recorded in a branch or a loop");
    is_recorded_[step.event] = true;
  }

  void check_step(const WaitStep& step) {
    use_device(step.device);
    if (is_event(step.event) && !is_recorded_[step.event]) {
      refuse("step ", step_, ": no step before records event ", step.event);
    }
  }

  void check_step(const PeerCopyStep& step) {
    if (!use(step.from) || !use_writable(step.to)) return;
    if (plan_.buffers[step.from].device == plan_.buffers[step.to].device) {
      refuse("step ", step_, ": a copy between devices of two buffers of one");
    }
  }

  void check_step(const HostCallStep& step) {
    if (!is_printable_name(step.function)) refuse("step ", step_, ": what it calls has no printable name");
    check_results(step.buffers, step.results);
  }

  void check_step(const ExternalStep& step) {
    bool has_names = is_printable_name(step.library) && is_printable_name(step.function);
    if (!has_names) refuse("step ", step_, ": what it calls has no printable name");
    check_results(step.buffers, step.results);
    for (uint32_t dim : step.dims) use_expr(dim);
    use_device(step.device);
    for (uint32_t buffer : step.buffers) use_on(buffer, step.device);
  }

  void check_step(const CollectiveStep& step) {
    if (!is_dim_name(step.axis)) refuse("step ", step_, ": the axis of a collective is malformed");
    bool combines = step.kind == CollectiveKind::AllReduce || step.kind == CollectiveKind::ReduceScatter;
    if (combines != (step.combine != CollectiveCombine::None)) {
      refuse("step ", step_, combines ? ": a collective combines by nothing" : ": a collective combines what it moves");
    }
    use_device(step.device);
    use_on(step.from, step.device);
    if (!ok() || !use_writable(step.to)) return;
    use_on(step.to, step.device);
    const PlanBuffer &to = plan_.buffers[step.to], &from = plan_.buffers[step.from];
    if (to.dtype != from.dtype) refuse("step ", step_, ": a collective of two dtypes");
    bool one_shape = step.kind != CollectiveKind::AllGather && step.kind != CollectiveKind::ReduceScatter;
    if (one_shape && !same_type(to, from)) refuse("step ", step_, ": a collective of two shapes");
  }

  /// The last of the buffers are written.
  void check_results(const std::vector<uint32_t>& buffers, uint32_t results) {
    if (results > buffers.size()) return refuse("step ", step_, ": it has fewer buffers than results");
    for (size_t i = 0; i < buffers.size(); ++i) {
      i < buffers.size() - results ? use(buffers[i]) : use_writable(buffers[i]);
    }
  }

  bool is_event(uint32_t index) {
    if (index < plan_.events) return true;
    refuse("step ", step_, ": there is no event ", index);
    return false;
  }

  void use_device(uint32_t device) {
    if (device >= plan_.devices) refuse("step ", step_, ": there is no device ", device);
  }

  void use_on(uint32_t index, uint32_t device) {
    if (!use(index) || plan_.buffers[index].device == device) return;
    refuse("step ", step_, ": buffer ", index, " is on device ", plan_.buffers[index].device, ", and the step on ",
           device);
  }

  void check_step(const SelectStep& step) { use_expr(step.condition); }

  void check_step(const IfStep& step) { use_condition(step.buffer); }

  void check_step(const CheckStep& step) {
    use_condition(step.buffer);
    if (step.message.empty() || step.message.size() > max_message ||
        !is_one_line(step.message)) {
      refuse("step ", step_, ": it has no printable message");
    }
  }

  void check_step(const WhileStep&) {}

  void check_step(const SwapStep& step) {
    if (!use(step.a) || !use(step.b)) return;
    const PlanBuffer& a = plan_.buffers[step.a];
    const PlanBuffer& b = plan_.buffers[step.b];
    bool alike = step.a != step.b && a.kind == BufferKind::Temp && b.kind == BufferKind::Temp &&
                 a.dtype == b.dtype && a.shape == b.shape && are_together(a, b) && a.first_step == b.first_step &&
                 a.last_step == b.last_step;
    if (!alike || viewed_[step.a] || viewed_[step.b]) {
      refuse("step ", step_, ": it exchanges buffers that are not alike");
    }
  }

  void check_step(const PrintStep& step) {
    for (uint32_t extent : step.grid) use_expr(extent);
    if (step.grid.size() > max_rank || step.items.empty()) refuse("step ", step_, ": it prints nothing");
    for (size_t i = 0; i < step.items.size() && ok(); ++i) {
      if (!is_printed(step.items[i], i)) refuse("step ", step_, ": what it prints is malformed");
    }
  }

  bool is_printed(const PrintItem& item, size_t number) {
    for (const std::string& text : {item.label, item.source}) {
      if (text.size() > max_message || !is_one_line(text)) return false;
    }
    if (!use(item.values) || !use(item.shown)) return false;
    for (uint32_t extent : item.extents) use_expr(extent);
    for (uint32_t count : item.trip_counts) use_expr(count);
    const PlanBuffer &values = plan_.buffers[item.values], &shown = plan_.buffers[item.shown];
    auto same = [&](uint32_t x, uint32_t y) { return plan_.exprs[x] == plan_.exprs[y]; };
    return ok() && is_printed_dtype(values.dtype) && shown.dtype == Dtype::Bool && item.loop <= number &&
           item.trip_counts.size() <= max_rank && shown.shape.size() == item.extents.size() + 2 &&
           std::ranges::equal(values.shape, shown.shape, same);
  }

  void use_condition(uint32_t index) {
    if (!use(index)) return;
    const PlanBuffer& buffer = plan_.buffers[index];
    bool one = std::all_of(buffer.shape.begin(), buffer.shape.end(),
                           [&](uint32_t extent) { return plan_.exprs[extent] == const_expr(1); });
    if (buffer.dtype != Dtype::Bool || !one) {
      refuse("step ", step_, ": its condition is not a bool of one element");
    }
  }

  void check_step(const ForStep& step) {
    use_expr(step.lo);
    use_expr(step.hi);
    if (step.dim >= plan_.dims.size() || plan_.dims[step.dim].source != DimSource::Loop) {
      refuse("step ", step_, ": it counts no loop dimension");
    }
  }

  void check_step(const CopyStep& step) {
    if (!use(step.from) || !use_writable(step.to)) return;
    if (plan_.buffers[step.from].device != plan_.buffers[step.to].device) {
      refuse("step ", step_, ": a copy of two devices");
    }
  }

  static bool are_together(const PlanBuffer& a, const PlanBuffer& b) {
    return a.device == b.device && a.space == b.space;
  }

  void check_step(const FillStep& step) {
    use_writable(step.buffer);
    if (step.width != 1 && step.width != 2 && step.width != 4 && step.width != 8) {
      refuse("step ", step_, ": a pattern of ", int(step.width), " bytes");
    } else if (step.width < 8 && step.pattern >> (8 * step.width) != 0) {
      refuse("step ", step_, ": its pattern exceeds its width");
    }
  }

  void check_step(const AliasStep& step) {
    use_expr(step.offset);
    if (!ok() || !use(step.view) || !use(step.of)) return;
    const PlanBuffer& view = plan_.buffers[step.view];
    const PlanBuffer& of = plan_.buffers[step.of];
    if (step.view == step.of) refuse("step ", step_, ": a buffer as a view of itself");
    if (!are_together(view, of)) refuse("step ", step_, ": a view of memory elsewhere");
    bool is_argument = of.kind == BufferKind::Input || of.kind == BufferKind::Param;
    if (view.kind == BufferKind::Output &&
        (!is_argument || plan_.exprs[step.offset] != const_expr(0) || !same_type(view, of))) {
      refuse("step ", step_, ": an output is a view of something other than a whole input or param");
    }
    if (view.kind != BufferKind::Output && view.kind != BufferKind::Temp) {
      refuse("step ", step_, ": a view that is neither temp nor output");
    }
    if (of.kind == BufferKind::Temp && view.kind == BufferKind::Temp &&
        (view.first_step < of.first_step || view.last_step > of.last_step)) {
      refuse("step ", step_, ": a view that outlives its buffer");
    }
  }

  /// One dtype, and the same expressions for extents.
  bool same_type(const PlanBuffer& a, const PlanBuffer& b) const {
    auto same = [&](uint32_t x, uint32_t y) { return plan_.exprs[x] == plan_.exprs[y]; };
    return a.dtype == b.dtype && std::ranges::equal(a.shape, b.shape, same);
  }

  bool use(uint32_t index) {
    if (index >= plan_.buffers.size()) {
      refuse("step ", step_, ": there is no buffer ", index);
      return false;
    }
    const PlanBuffer& buffer = plan_.buffers[index];
    if (buffer.kind == BufferKind::Temp &&
        (step_ < buffer.first_step || step_ > buffer.last_step)) {
      refuse("step ", step_, ": buffer ", index, " is not live here");
      return false;
    }
    return true;
  }

  bool use_writable(uint32_t index) {
    if (!use(index)) return false;
    if (!read_only_[index]) return true;
    bool is_view = plan_.buffers[index].kind == BufferKind::Temp;
    refuse("step ", step_, ": buffer ", index, is_view ? " is a view of what is" : " is", " only read");
    return false;
  }

  void use_expr(uint32_t index) {
    if (index >= plan_.exprs.size())
      return refuse("step ", step_, ": there is no expression ", index);
    for (uint32_t dim : loops_read_[index]) {
      if (!dim_in_scope_[dim]) {
        refuse("step ", step_, ": dimension ", in_quotes(plan_.dims[dim].name),
               " is read outside its loop");
      }
    }
  }

  void check_intervals() {
    for (size_t i = 0; i < plan_.buffers.size() && ok(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind != BufferKind::Temp) continue;
      check_interval(buffer, loop_of_step_[buffer.first_step], i);
      check_interval(buffer, loop_of_step_[buffer.last_step], i);
    }
  }

  void check_interval(const PlanBuffer& buffer, uint32_t loop, size_t index) {
    for (; loop != no_index; loop = loops_[loop].parent) {
      const Loop& body = loops_[loop];
      bool within = buffer.first_step >= body.first && buffer.last_step <= body.last;
      bool covers = buffer.first_step <= body.first && buffer.last_step >= body.last;
      if (!within && !covers) refuse("buffer ", index, " lives in part of a loop only");
    }
  }

  const Plan& plan_;
  std::string error_;
  uint32_t step_ = 0;
  int nesting_ = 0;  ///< of the step
  std::vector<std::vector<uint32_t>> loops_read_;  ///< per expression: loop dims it reads
  std::vector<Loop> loops_;
  std::vector<uint32_t> loop_of_step_;  ///< the innermost loop whose body has the step
  std::vector<bool> dim_in_scope_;
  std::vector<bool> dim_has_loop_;
  std::vector<bool> is_recorded_;  ///< per event
  std::vector<bool> viewed_;     ///< per buffer
  std::vector<bool> read_only_;  ///< per buffer
};

}  // namespace

Outcome check_plan(const Plan& plan) {
  return PlanChecker(plan).check();
}

uint32_t intern_expr(Plan& plan, const Expr& expr) {
  auto found = std::find(plan.exprs.begin(), plan.exprs.end(), expr);
  if (found == plan.exprs.end()) found = plan.exprs.insert(found, expr);
  return uint32_t(found - plan.exprs.begin());
}

}  // namespace tessera::format

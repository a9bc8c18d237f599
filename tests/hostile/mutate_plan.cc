// Changes of plans. Most keep a plan whole where check_plan looks, so that what it accepts runs.

#include <algorithm>

#include "hostile/mutate.h"
#include "runtime/files/text.h"

namespace tessera::hostile {

namespace {

using namespace format;

class PlanMutator {
 public:
  PlanMutator(Plan& plan, Random& random) : plan_(plan), random_(random) {}

  std::string run() {
    switch (random_.pick(12)) {
      case 0:
        return change_expr();
      case 1:
        return change_buffer();
      case 2:
        return change_dim();
      case 3:
        return drop_guard();
      case 4:
        return change_life();
      case 5:
        return add_alias();
      case 6:
        return add_step();
      case 7:
        return remove_step();
      case 8:
        return change_kernel_name();
      default:
        return change_step();
    }
  }

 private:
  uint32_t any_index(size_t count) {
    if (count == 0 || random_.one_in(40)) return uint32_t(odd_number(random_));
    return uint32_t(random_.pick(count));
  }
  uint32_t any_buffer() { return any_index(plan_.buffers.size()); }

  /// An expression that is there, or a new one.
  uint32_t any_expr() {
    if (random_.one_in(2)) return any_index(plan_.exprs.size());
    Expr expr = const_expr(odd_number(random_));
    if (!plan_.dims.empty() && random_.one_in(2)) {
      static constexpr ExprOp ops[] = {ExprOp::Add,      ExprOp::Sub, ExprOp::Mul,
                                       ExprOp::FloorDiv, ExprOp::Mod, ExprOp::Max};
      expr = binary_expr(random_.of(ops), dim_expr(uint32_t(random_.pick(plan_.dims.size()))), expr);
    }
    return intern_expr(plan_, expr);
  }

  std::string change_expr() {
    if (plan_.exprs.empty()) return "";
    size_t index = random_.pick(plan_.exprs.size());
    Expr& expr = plan_.exprs[index];
    if (expr.empty()) return "";
    ExprInstr& instr = expr[random_.pick(expr.size())];
    if (instr.op == ExprOp::Const) {
      instr.value = odd_number(random_);
    } else if (instr.op == ExprOp::Dim) {
      instr.value = int64_t(any_index(plan_.dims.size()));
      if (random_.one_in(3)) instr = {ExprOp::Const, odd_number(random_)};
    } else {
      instr.op = ExprOp(2 + random_.pick(size_t(expr_op_count) - 2));
    }
    return cat("expression ", index);
  }

  std::string change_buffer() {
    if (plan_.buffers.empty()) return "";
    size_t index = random_.pick(plan_.buffers.size());
    PlanBuffer& buffer = plan_.buffers[index];
    switch (random_.pick(7)) {
      case 4:
        buffer.space = MemorySpace(random_.pick(2));
        if (random_.one_in(2)) buffer.device = any_index(plan_.devices);
        break;
      case 0:
        buffer.kind = BufferKind(random_.pick(5));
        if (buffer.kind != BufferKind::Temp) buffer.first_step = buffer.last_step = 0;
        break;
      case 1:
        buffer.dtype = Dtype(random_.pick(size_t(Dtype::Bool) + 1));
        break;
      case 2:
        buffer.alignment = uint32_t(1) << random_.pick(13);
        break;
      case 3:
        buffer.offset = random_.one_in(2) ? 64 * random_.pick(64) : uint64_t(odd_number(random_));
        break;
      default:
        if (buffer.shape.empty() || random_.one_in(4)) {
          buffer.shape.push_back(any_expr());
        } else {
          buffer.shape[random_.pick(buffer.shape.size())] = any_expr();
        }
    }
    return cat("buffer ", index);
  }

  std::string change_dim() {
    if (plan_.dims.empty()) return "";
    size_t index = random_.pick(plan_.dims.size());
    PlanDim& dim = plan_.dims[index];
    dim.source = DimSource(random_.pick(3));
    dim.buffer = dim.source == DimSource::Scalar ? any_buffer() : no_index;
    return cat("dim ", index);
  }

  std::string drop_guard() {
    if (plan_.guards.empty()) return change_step();
    plan_.guards.erase(plan_.guards.begin() + long(random_.pick(plan_.guards.size())));
    return "a guard goes";
  }

  std::string change_life() {
    if (plan_.buffers.empty()) return "";
    size_t index = random_.pick(plan_.buffers.size());
    PlanBuffer& buffer = plan_.buffers[index];
    if (random_.one_in(2)) {
      buffer.first_step = any_index(plan_.steps.size());
    } else {
      buffer.last_step = any_index(plan_.steps.size());
    }
    return cat("the life of buffer ", index);
  }

  /// Moves what names steps behind `at`; enclosing steps that count them may then count one too few.
  void make_room(uint32_t at) {
    for (PlanBuffer& buffer : plan_.buffers) {
      if (buffer.kind != BufferKind::Temp) continue;
      buffer.first_step += buffer.first_step >= at;
      buffer.last_step += buffer.last_step >= at;
    }
    for (uint32_t i = 0; i < at && i < plan_.steps.size(); ++i) widen(plan_.steps[i], i, at, 1);
  }

  /// Adds to the part of a step's body that has the step `at`.
  static void widen(PlanStep& step, uint32_t own, uint32_t at, int by) {
    auto grow = [&](uint32_t& first, uint32_t& second) {
      if (at <= own + first) {
        first += uint32_t(by);
      } else if (at <= uint64_t(own) + first + second) {
        second += uint32_t(by);
      }
    };
    uint32_t none = 0;
    if (auto* select = std::get_if<SelectStep>(&step)) grow(select->then_steps, select->else_steps);
    if (auto* branch = std::get_if<IfStep>(&step)) grow(branch->then_steps, branch->else_steps);
    if (auto* loop = std::get_if<ForStep>(&step)) grow(loop->body_steps, none);
    if (auto* loop = std::get_if<WhileStep>(&step)) grow(loop->condition_steps, loop->body_steps);
  }

  void insert(uint32_t at, PlanStep step) {
    make_room(at);
    plan_.steps.insert(plan_.steps.begin() + long(at), std::move(step));
  }

  /// A new temp that lives through all steps, or one that is there, becomes a view.
  std::string add_alias() {
    auto at = uint32_t(random_.pick(plan_.steps.size() + 1));
    uint32_t of = any_buffer();
    uint32_t view = any_buffer();
    uint32_t offset = random_.one_in(2) ? intern_expr(plan_, const_expr(0)) : any_expr();
    if (random_.one_in(2) && of < plan_.buffers.size()) {
      PlanBuffer made = plan_.buffers[of];
      made.kind = BufferKind::Temp;
      made.name = "view";
      made.offset = 0;
      made.alignment = 1;
      made.first_step = 0;
      made.last_step = plan_.steps.empty() ? 0 : uint32_t(plan_.steps.size());
      view = uint32_t(plan_.buffers.size());
      plan_.buffers.push_back(made);
    }
    insert(at, AliasStep{view, of, offset});
    if (random_.one_in(2)) {
      PlanStep write = FillStep{view, 1, 0x5a};
      if (random_.one_in(2)) write = CopyStep{view, any_buffer()};
      insert(uint32_t(random_.pick(plan_.steps.size() + 1)), std::move(write));
    }
    return cat("a view of ", of, " at step ", at);
  }

  std::string add_step() {
    auto at = uint32_t(random_.pick(plan_.steps.size() + 1));
    PlanStep step = FillStep{any_buffer(), uint8_t(1u << random_.pick(4)), random_.pick(256)};
    switch (random_.pick(13)) {
      case 6:
        step = RecordStep{plan_.events++, any_index(plan_.devices), uint32_t(random_.pick(4))};
        break;
      case 7:
        step = WaitStep{any_index(plan_.events), any_index(plan_.devices), uint32_t(random_.pick(4))};
        break;
      case 8:
        step = PeerCopyStep{any_buffer(), any_buffer(), 0};
        break;
      case 9:
        step = HostCallStep{"f", {any_buffer(), any_buffer()}, uint32_t(random_.pick(3))};
        break;
      case 10:
        step = ExternalStep{"lib", "f", {any_buffer()}, uint32_t(random_.pick(2)), {any_expr()}, 0, 0};
        break;
      case 11:
        step = CollectiveStep{CollectiveKind::Broadcast, CollectiveCombine::None, "data", any_buffer(), any_buffer()};
        break;
      case 0:
        step = CopyStep{any_buffer(), any_buffer()};
        break;
      case 1:
        step = SwapStep{any_buffer(), any_buffer()};
        break;
      case 2:
        step = CheckStep{any_buffer(), "no"};
        break;
      case 3:  // takes what follows as its body
        step = WhileStep{any_buffer(), uint32_t(random_.pick(3)), uint32_t(random_.pick(3))};
        break;
      case 4:
        step = PrintStep{{any_expr()}, {{"x", "", any_buffer(), any_buffer(), {any_expr()}, {any_expr()}, 0}}};
        break;
      case 5:
        step = SelectStep{any_expr(), uint32_t(random_.pick(3)), uint32_t(random_.pick(3))};
        break;
      default:
        if (!plan_.steps.empty() && random_.one_in(2)) step = plan_.steps[random_.pick(plan_.steps.size())];
    }
    insert(at, std::move(step));
    return cat("a new step ", at);
  }

  std::string remove_step() {
    if (plan_.steps.size() < 2) return "";
    auto at = uint32_t(random_.pick(plan_.steps.size()));
    for (uint32_t i = 0; i < at; ++i) widen(plan_.steps[i], i, at, -1);
    plan_.steps.erase(plan_.steps.begin() + long(at));
    for (PlanBuffer& buffer : plan_.buffers) {
      buffer.first_step -= buffer.first_step > at;
      buffer.last_step -= buffer.last_step > at || buffer.last_step == plan_.steps.size();
    }
    return cat("step ", at, " goes");
  }

  std::string change_kernel_name() {
    if (plan_.kernels.empty()) return "";
    std::swap(plan_.kernels[random_.pick(plan_.kernels.size())], plan_.kernels[random_.pick(plan_.kernels.size())]);
    return "two kernels change places";
  }

  std::string change_step() {
    if (plan_.steps.empty()) return "";
    size_t index = random_.pick(plan_.steps.size());
    std::visit([&](auto& step) { change(step); }, plan_.steps[index]);
    return cat("step ", index);
  }

  void change(LaunchStep& step) {
    size_t choice = random_.pick(4);
    if (choice == 0) {
      step.kernel = any_index(plan_.kernels.size());
    } else if (choice == 1 && !step.buffers.empty()) {
      step.buffers[random_.pick(step.buffers.size())] = any_buffer();
    } else if (choice == 2 && random_.one_in(3)) {
      step.buffers.resize(random_.pick(step.buffers.size() + 2), any_buffer());
    } else if (!step.dims.empty()) {
      step.dims[random_.pick(step.dims.size())] = any_expr();
    }
  }
  void change(SelectStep& step) {
    if (random_.one_in(2)) step.condition = any_expr();
    else change_counts(step.then_steps, step.else_steps);
  }
  void change(IfStep& step) {
    if (random_.one_in(2)) step.buffer = any_buffer();
    else change_counts(step.then_steps, step.else_steps);
  }
  void change(WhileStep& step) {
    if (random_.one_in(2)) step.buffer = any_buffer();
    else change_counts(step.condition_steps, step.body_steps);
  }
  void change(ForStep& step) {
    (random_.one_in(3) ? step.lo : step.hi) = any_expr();
    if (random_.one_in(4)) step.body_steps = uint32_t(random_.pick(6));
    if (random_.one_in(10)) step.dim = any_index(plan_.dims.size());
  }
  void change(CopyStep& step) { (random_.one_in(2) ? step.to : step.from) = any_buffer(); }
  void change(FillStep& step) {
    step.buffer = any_buffer();
    if (random_.one_in(4)) step.width = uint8_t(random_.pick(10));
  }
  void change(AliasStep& step) {
    switch (random_.pick(3)) {
      case 0:
        step.view = any_buffer();
        return;
      case 1:
        step.of = any_buffer();
        return;
      default:
        step.offset = any_expr();
    }
  }
  void change(CheckStep& step) { step.buffer = any_buffer(); }
  void change(PrintStep& step) {
    if (!step.grid.empty() && random_.one_in(3)) step.grid[random_.pick(step.grid.size())] = any_expr();
    if (step.items.empty()) return;
    PrintItem& item = step.items[random_.pick(step.items.size())];
    switch (random_.pick(5)) {
      case 0:
        item.values = any_buffer();
        return;
      case 1:
        item.shown = any_buffer();
        return;
      case 2:
        item.trip_counts.assign(random_.pick(3), any_expr());
        return;
      case 3:
        item.loop = uint32_t(random_.pick(step.items.size() + 1));
        return;
      default:
        item.extents.assign(random_.pick(4), any_expr());
    }
  }
  void change(RecordStep& step) { change_place(step.event, step.device, step.stream); }
  void change(WaitStep& step) { change_place(step.event, step.device, step.stream); }
  void change(PeerCopyStep& step) { (random_.one_in(2) ? step.to : step.from) = any_buffer(); }
  void change(HostCallStep& step) {
    step.results = uint32_t(random_.pick(3));
    step.buffers.assign(random_.pick(3), any_buffer());
  }
  void change(ExternalStep& step) {
    step.results = uint32_t(random_.pick(3));
    if (random_.one_in(2)) step.buffers.assign(random_.pick(3), any_buffer());
    step.dims.assign(random_.pick(3), any_expr());
  }
  void change(CollectiveStep& step) {
    if (random_.one_in(2)) step.kind = CollectiveKind(random_.pick(size_t(CollectiveKind::Broadcast) + 1));
    if (random_.one_in(2)) step.combine = CollectiveCombine(random_.pick(size_t(CollectiveCombine::Max) + 1));
    (random_.one_in(2) ? step.to : step.from) = any_buffer();
  }
  void change_place(uint32_t& event, uint32_t& device, uint32_t& stream) {
    event = any_index(plan_.events);
    device = any_index(plan_.devices);
    stream = uint32_t(random_.pick(4));
  }
  void change(SwapStep& step) { (random_.one_in(2) ? step.a : step.b) = any_buffer(); }

  void change_counts(uint32_t& first, uint32_t& second) {
    first = uint32_t(random_.pick(6));
    if (random_.one_in(2)) second = uint32_t(random_.pick(6));
    if (random_.one_in(10)) second = uint32_t(odd_number(random_));
  }

  Plan& plan_;
  Random& random_;
};

}  // namespace

void mutate_plan(Plan& plan, Random& random, std::string& change) {
  change = PlanMutator(plan, random).run();
}

}  // namespace tessera::hostile

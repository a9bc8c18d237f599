// Plans as text, for people. There is no reader for it: the plan's form is its bytes.

#include "runtime/files/text.h"
#include "runtime/format/plan.h"

namespace tessera::format {

namespace {

/// Longer expressions that are used more than once are printed once and have a number.
constexpr size_t max_repeated_text = 40;

/// How often each expression of the plan is used.
std::vector<size_t> count_uses(const Plan& plan) {
  std::vector<size_t> uses(plan.exprs.size());
  auto use_all = [&](const std::vector<uint32_t>& exprs) {
    for (uint32_t expr : exprs) ++uses[expr];
  };
  for (const PlanBuffer& buffer : plan.buffers) use_all(buffer.shape);
  for (const PlanGuard& guard : plan.guards) ++uses[guard.condition];
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step)) use_all(launch->dims);
    if (const auto* select = std::get_if<SelectStep>(&step)) ++uses[select->condition];
    if (const auto* loop = std::get_if<ForStep>(&step)) use_all({loop->lo, loop->hi});
    if (const auto* alias = std::get_if<AliasStep>(&step)) ++uses[alias->offset];
    if (const auto* external = std::get_if<ExternalStep>(&step)) use_all(external->dims);
    if (const auto* print = std::get_if<PrintStep>(&step)) {
      use_all(print->grid);
      for (const PrintItem& item : print->items) use_all(item.extents), use_all(item.trip_counts);
    }
  }
  return uses;
}

class PlanPrinter {
 public:
  PlanPrinter(const Plan& plan, const TextSink& put) : plan_(plan), put_(put) {
    for (const PlanDim& dim : plan.dims) names_.push_back(dim.name);
  }

  void print() {
    line(0, cat("plan @", plan_.entry, " target(", plan_.target, ") version(", plan_version, ") {"));
    number_exprs();
    if (plan_.devices != 1) line(1, cat("devices ", plan_.devices));
    for (size_t i = 0; i < plan_.buffers.size(); ++i) print_buffer(i);
    for (const PlanGuard& guard : plan_.guards) {
      line(1, cat("guard ", expr(guard.condition), "  # ", guard.message));
    }
    print_range(0, plan_.steps.size(), 1);
    line(0, "}");
  }

 private:
  void line(int depth, std::string_view text) {
    std::string out(size_t(depth) * 2, ' ');
    out += text;
    out += '\n';
    put_(out);
  }

  void number_exprs() {
    std::vector<size_t> uses = count_uses(plan_);
    has_number_.assign(uses.size(), false);
    for (uint32_t i = 0; i < uses.size(); ++i) {
      if (uses[i] < 2) continue;
      std::string text = expr(i);
      if (text.size() <= max_repeated_text) continue;
      has_number_[i] = true;
      line(1, cat(expr(i), " = ", text));
    }
  }

  std::string expr(uint32_t index) const {
    return has_number_[index] ? cat("$", index) : expr_text(plan_.exprs[index], names_);
  }
  std::string name(uint32_t index) const { return "%" + plan_.buffers[index].name; }

  std::string list(const std::vector<uint32_t>& items, bool are_buffers) const {
    std::string out;
    for (uint32_t item : items) {
      out += cat(out.empty() ? "" : ", ", are_buffers ? name(item) : expr(item));
    }
    return out;
  }

  void print_buffer(size_t index) {
    static constexpr std::string_view kinds[] = {"input", "param", "output", "temp", "constant"};
    const PlanBuffer& buffer = plan_.buffers[index];
    std::string text = cat(kinds[size_t(buffer.kind)], " ", name(uint32_t(index)), ": ",
                           dtype_name(buffer.dtype), "[", list(buffer.shape, false), "]");
    if (buffer.kind == BufferKind::Temp) {
      text += cat(" live(", buffer.first_step, " .. ", buffer.last_step, ")");
    }
    if (buffer.kind == BufferKind::Constant) text += cat(" at(", buffer.offset, ")");
    if (buffer.alignment != 64) text += cat(" align(", buffer.alignment, ")");
    if (buffer.device != 0) text += cat(" device(", buffer.device, ")");
    if (buffer.space == MemorySpace::Host) text += " space(host)";
    line(1, text);
  }

  void print_range(size_t begin, size_t end, int depth) {
    for (size_t at = begin; at < end;) {
      size_t next = at + 1;
      std::visit([&](const auto& step) { print_step(at, step, next, depth); }, plan_.steps[at]);
      at = next;
    }
  }

  void print_step(size_t at, const LaunchStep& step, size_t&, int depth) {
    line(depth, cat(at, ": launch @", plan_.kernels[step.kernel], "(", list(step.buffers, true),
                    ") dims(", list(step.dims, false), ")", where(step.device, step.stream)));
  }

  /// The device and the stream of a step, where they are not the first.
  static std::string where(uint32_t device, uint32_t stream) {
    return cat(device == 0 ? "" : cat(" device(", device, ")"), stream == 0 ? "" : cat(" stream(", stream, ")"));
  }

  void print_step(size_t at, const SelectStep& step, size_t& next, int depth) {
    line(depth, cat(at, ": select ", expr(step.condition)));
    print_branches(step.then_steps, step.else_steps, next, depth);
  }

  void print_step(size_t at, const IfStep& step, size_t& next, int depth) {
    line(depth, cat(at, ": if ", name(step.buffer)));
    print_branches(step.then_steps, step.else_steps, next, depth);
  }

  void print_branches(size_t then_steps, size_t else_steps, size_t& next, int depth) {
    print_range(next, next + then_steps, depth + 1);
    next += then_steps;
    if (else_steps == 0) return;
    line(depth, "else");
    print_range(next, next + else_steps, depth + 1);
    next += else_steps;
  }

  void print_step(size_t at, const ForStep& step, size_t& next, int depth) {
    line(depth,
         cat(at, ": for ", names_[step.dim], " in [", expr(step.lo), ", ", expr(step.hi), ")"));
    print_range(next, next + step.body_steps, depth + 1);
    next += step.body_steps;
  }

  void print_step(size_t at, const CopyStep& step, size_t&, int depth) {
    line(depth, cat(at, ": copy ", name(step.to), " <- ", name(step.from)));
  }

  void print_step(size_t at, const FillStep& step, size_t&, int depth) {
    line(depth, cat(at, ": fill ", name(step.buffer), " with ", step.pattern, " of ",
                    int(step.width), " bytes"));
  }

  void print_step(size_t at, const AliasStep& step, size_t&, int depth) {
    line(depth,
         cat(at, ": view ", name(step.view), " of ", name(step.of), " at ", expr(step.offset)));
  }

  void print_step(size_t at, const CheckStep& step, size_t&, int depth) {
    line(depth, cat(at, ": check ", name(step.buffer), " ", in_quotes(step.message)));
  }

  void print_step(size_t at, const WhileStep& step, size_t& next, int depth) {
    line(depth, cat(at, ": while ", name(step.buffer), " of"));
    print_range(next, next + step.condition_steps, depth + 1);
    next += step.condition_steps;
    line(depth, "do");
    print_range(next, next + step.body_steps, depth + 1);
    next += step.body_steps;
  }

  void print_step(size_t at, const SwapStep& step, size_t&, int depth) {
    line(depth, cat(at, ": swap ", name(step.a), " and ", name(step.b)));
  }

  void print_step(size_t at, const PrintStep& step, size_t&, int depth) {
    line(depth, cat(at, ": print of programs [", list(step.grid, false), "]"));
    for (const PrintItem& item : step.items) {
      std::string text = cat(in_quotes(item.label), " ", name(item.values));
      if (item.shown != item.values) text += cat(" where ", name(item.shown), " of [", list(item.extents, false), "]");
      if (!item.trip_counts.empty()) text += cat(" trip_counts [", list(item.trip_counts, false), "]");
      line(depth + 1, text);
    }
  }

  void print_step(size_t at, const RecordStep& step, size_t&, int depth) {
    line(depth, cat(at, ": record event ", step.event, where(step.device, step.stream)));
  }

  void print_step(size_t at, const WaitStep& step, size_t&, int depth) {
    line(depth, cat(at, ": wait for event ", step.event, where(step.device, step.stream)));
  }

  void print_step(size_t at, const PeerCopyStep& step, size_t&, int depth) {
    line(depth, cat(at, ": copy between devices ", name(step.to), " <- ", name(step.from), where(0, step.stream)));
  }

  void print_step(size_t at, const HostCallStep& step, size_t&, int depth) {
    line(depth, cat(at, ": call host @", step.function, "(", list(step.buffers, true), ") results(", step.results,
                    ")"));
  }

  void print_step(size_t at, const ExternalStep& step, size_t&, int depth) {
    line(depth, cat(at, ": call ", in_quotes(step.library), " @", step.function, "(", list(step.buffers, true),
                    ") results(", step.results, ") dims(", list(step.dims, false), ")",
                    where(step.device, step.stream)));
  }

  void print_step(size_t at, const CollectiveStep& step, size_t&, int depth) {
    static constexpr std::string_view kinds[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                 "broadcast"};
    static constexpr std::string_view combines[] = {"", " sum", " product", " min", " max"};
    line(depth, cat(at, ": ", kinds[size_t(step.kind)], combines[size_t(step.combine)], " along ", step.axis, " ",
                    name(step.to), " <- ", name(step.from), where(step.device, step.stream)));
  }

  const Plan& plan_;
  const TextSink& put_;
  std::vector<std::string> names_;
  std::vector<bool> has_number_;  ///< beside Plan::exprs: it was printed before, as "$3 = ..."
};

}  // namespace

void print_plan(const Plan& plan, const TextSink& put) {
  PlanPrinter(plan, put).print();
}

}  // namespace tessera::format

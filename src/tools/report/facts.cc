#include "tools/report/facts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ir/numbers/dot_rates.h"
#include "runtime/files/dtype.h"
#include "runtime/files/text.h"
#include "runtime/format/launch_check.h"
#include "runtime/format/plan_views.h"

namespace tessera::report {

using format::EvalStatus;

double Cost::intensity() const {
  int64_t bytes = reads + writes;
  return flops && bytes > 0 ? double(*flops) / double(bytes) : 0;
}

namespace {

/// What the launch takes at the rates that were measured. Programs run in waves, the last of which is not full.
double expected_time(const Cost& cost, const Estimate& peak_time, double dots, bool is_16, const Machine& machine,
                     const PeakFigures& peak) {
  if (cost.programs == 0) return 0;
  SustainedRates rates = sustained_rates(machine);
  double memory = peak_time.memory / rates.memory;
  double arithmetic = dots / (is_16 ? rates.dots_16 : rates.dots) + (peak_time.arithmetic - dots) / rates.arithmetic;
  constexpr double most_waves = 4;  // of many waves the last one counts little
  double waves = rates.wave > 0 ? double(cost.programs) / double(peak.multiprocessors) : 0;
  double begun = std::ceil(waves);
  if (waves > 0 && waves <= most_waves) arithmetic *= begun / waves;
  double time = std::max(memory, arithmetic) + rates.launch;
  if (dots > 0) time += rates.beside * std::min(memory, arithmetic) + rates.wave * std::min(begun, most_waves - 1);
  return time;
}

}  // namespace

Estimate estimate(const Cost& cost, const format::KernelMeta& kernel, const Machine& machine, const PeakFigures& peak) {
  Estimate time{.memory = double(cost.reads + cost.writes) / (peak.bandwidth * 1e3)};
  double dots_time = 0;
  // The factors of the instruction, where there is one: f32 may be multiplied as several bf16.
  const format::KernelFragments& fragments = kernel.fragments;
  auto dtype = parse_dtype(fragments.mma.empty() ? kernel.work.dot_dtype : fragments.dtype_in).value_or(DType::F32);
  if (cost.flops) {
    bool wide = std::ranges::any_of(
        kernel.buffers, [](const auto& buffer) { return buffer.dtype == format::Dtype::F64; });
    dots_time = double(cost.dot_flops) / (dot_rate(machine, peak, fragments.mma, dtype) * 1e3);
    time.arithmetic = dots_time + double(*cost.flops - cost.dot_flops) / ((wide ? peak.f64 : peak.f32) * 1e3);
  }
  time.expected = expected_time(cost, time, dots_time, byte_size(dtype) <= 2, machine, peak);
  return time;
}

PeakFigures figures_of(const Machine& machine, const Options& options) {
  return gpu_figures(machine, options.gpu).value_or(peak_figures(machine));
}

std::string title_of(const format::KernelMeta& kernel) {
  bool is_same = kernel.title.empty() || kernel.title == kernel.name;
  return is_same ? kernel.name : kernel.title + " · " + kernel.name;
}

std::optional<Cost> cost_of(const format::KernelMeta& kernel, const std::vector<int64_t>& dims) {
  Cost cost;
  bool is_known = true;
  auto number = [&](const format::Expr& expr) {
    int64_t value = 0;
    is_known &= format::evaluate(expr, dims, value) == EvalStatus::Ok;
    return value;
  };
  cost.programs = 1;
  for (const format::Expr& extent : kernel.grid) {
    is_known &= !__builtin_mul_overflow(cost.programs, number(extent), &cost.programs);
  }
  if (kernel.work.flops) cost.flops = number(*kernel.work.flops);
  cost.dot_flops = number(kernel.work.dot_flops);
  cost.reads = number(kernel.work.reads);
  cost.writes = number(kernel.work.writes);
  cost.scratch = number(kernel.scratch);
  cost.dims = dims;
  if (!is_known) return std::nullopt;
  return cost.programs > 0 ? cost : Cost{.flops = 0, .dims = dims};  // formulas hold of launches that have a program
}

std::string short_text(const format::Expr& expr, const std::vector<std::string>& names) {
  constexpr size_t longest_text = 200;  // bytes
  std::string text = format::expr_text(expr, names);
  return text.size() > longest_text ? text.substr(0, longest_text) + "..." : text;
}

KernelFacts launched(KernelFacts kernel, const TargetFacts& target) {
  for (const EntryFacts& entry : target.entries) {
    for (const LaunchFacts& launch : entry.launches) {
      if (!kernel.cost && launch.kernel == kernel.kernel) kernel.cost = launch.cost;
    }
  }
  return kernel;
}

namespace {

/// Follows the steps of a plan and collects launches and lives.
class EntryReader {
 public:
  EntryReader(EntryFacts& facts, const std::vector<format::KernelMeta>& kernels)
      : facts_(facts), plan_(facts.plan), dims_(plan_.dims.size(), 0), varying_(format::varying_exprs(plan_)),
        texts_(plan_.exprs.size()) {
    for (const format::PlanDim& dim : plan_.dims) names_.push_back(dim.name);
    for (const std::string& name : plan_.kernels) {
      auto kernel = std::ranges::lower_bound(kernels, name, {}, &format::KernelMeta::name);
      kernels_.push_back(kernel != kernels.end() && kernel->name == name ? &*kernel : nullptr);
    }
  }

  format::Outcome run(const Options& options) {
    if (format::Outcome bound = bind(options); !bound) return bound;
    read_range(0, plan_.steps.size(), 1);
    return read_memory();
  }

 private:
  format::Outcome bind(const Options& options) {
    size_t unknown = 0;
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      if (plan_.dims[i].source == format::DimSource::Loop) continue;
      std::optional<int64_t> given = options.size_of(plan_.dims[i].name);
      dims_[i] = given.value_or(0);
      unknown += given ? 0 : 1;
    }
    facts_.has_sizes = unknown == 0;
    if (!facts_.has_sizes) return {};
    for (const format::PlanGuard& guard : plan_.guards) {
      int64_t holds = 0;
      bool has_value = format::evaluate(plan_.exprs[guard.condition], dims_, holds) == EvalStatus::Ok;
      if (!has_value || !holds) return format::error(guard.message);
    }
    return {};
  }

  /// The value where sizes are given and it depends on no data.
  std::optional<int64_t> value(uint32_t expr) const {
    int64_t number = 0;
    bool is_known = facts_.has_sizes &&
                    format::evaluate(plan_.exprs[expr], dims_, number) == EvalStatus::Ok;
    return is_known ? std::optional(number) : std::nullopt;
  }

  void read_range(size_t begin, size_t end, std::optional<int64_t> times) {
    for (size_t at = begin; at < end;) at = read_step(at, times);
  }

  /// Reads a step and what belongs to it; the step after it.
  size_t read_step(size_t at, std::optional<int64_t> times) {
    const format::PlanStep& step = plan_.steps[at];
    if (const auto* launch = std::get_if<format::LaunchStep>(&step)) {
      read_launch(at, *launch, times);
    } else if (const auto* select = std::get_if<format::SelectStep>(&step)) {
      if (varying_[select->condition]) return read_by_data(at + 1, select->then_steps + select->else_steps);
      std::optional<int64_t> holds = value(select->condition);
      size_t otherwise = at + 1 + select->then_steps;
      if (!holds || *holds) read_range(at + 1, otherwise, times);
      if (!holds || !*holds) read_range(otherwise, otherwise + select->else_steps, times);
      return otherwise + select->else_steps;
    } else if (const auto* loop = std::get_if<format::ForStep>(&step)) {
      std::optional<int64_t> lo = value(loop->lo), hi = value(loop->hi);
      std::optional<int64_t> iterations;
      if (lo && hi && times) iterations = *times * std::max<int64_t>(0, *hi - *lo);
      dims_[loop->dim] = lo.value_or(0);
      read_range(at + 1, at + 1 + loop->body_steps, iterations);
      return at + 1 + loop->body_steps;
    } else if (const auto* branch = std::get_if<format::IfStep>(&step)) {
      return read_by_data(at + 1, branch->then_steps + branch->else_steps);
    } else if (const auto* repeat = std::get_if<format::WhileStep>(&step)) {
      return read_by_data(at + 1, repeat->condition_steps + repeat->body_steps);
    }
    return at + 1;
  }

  /// Steps that data decides about, or each iteration of a loop.
  size_t read_by_data(size_t begin, size_t count) {
    read_range(begin, begin + count, std::nullopt);
    return begin + count;
  }

  void read_launch(size_t at, const format::LaunchStep& step, std::optional<int64_t> times) {
    LaunchFacts launch;
    launch.step = at;
    if (at < facts_.sources.size()) launch.source = facts_.sources[at];
    const format::KernelMeta* kernel = kernels_[step.kernel];
    if (!kernel) return;
    launch.kernel = kernel;
    launch.times = times;
    launch.dims = dims_text(step, *kernel);
    if (facts_.has_sizes && step.dims.size() == kernel->dims.size()) {
      std::vector<int64_t> dims;
      for (uint32_t expr : step.dims) {
        if (auto number = value(expr)) dims.push_back(*number);
      }
      if (dims.size() == step.dims.size()) launch.cost = cost_of(*kernel, dims);
    }
    facts_.launches.push_back(std::move(launch));
  }

  /// The text of an expression, which many steps may use: it is made once.
  const std::string& text_of(uint32_t expr) {
    std::string& text = texts_[expr];
    if (text.empty()) text = short_text(plan_.exprs[expr], names_);
    return text;
  }

  std::string dims_text(const format::LaunchStep& step, const format::KernelMeta& kernel) {
    std::string text;
    for (size_t i = 0; i < std::min(step.dims.size(), kernel.dims.size()); ++i) {
      const std::string& given = text_of(step.dims[i]);
      if (given != kernel.dims[i]) text += (text.empty() ? "" : ", ") + kernel.dims[i] + " = " + given;
    }
    return text;
  }

  std::string shape_text(const format::PlanBuffer& buffer) {
    std::string text(format::dtype_name(buffer.dtype));
    text += '[';
    for (size_t i = 0; i < buffer.shape.size(); ++i) {
      std::optional<int64_t> extent = value(buffer.shape[i]);
      text += i ? ", " : "";
      text += extent ? std::to_string(*extent) : text_of(buffer.shape[i]);
    }
    return text + "]";
  }

  format::Outcome read_memory() {
    format::Placement placement;
    if (facts_.has_sizes) {
      format::PlaceOutcome placed = format::place_buffers(plan_, dims_, 0, placement);
      if (placed.failed()) return format::error(placed.text);
      facts_.arena = placement.arena_bytes;
      facts_.live.assign(plan_.steps.size() + 1, 0);
    }
    std::vector<bool> is_view = format::find_views(plan_);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const format::PlanBuffer& buffer = plan_.buffers[i];
      int64_t bytes = facts_.has_sizes ? placement.bytes[i] : 0;
      switch (buffer.kind) {
        case format::BufferKind::Input: facts_.inputs += bytes; break;
        case format::BufferKind::Param: facts_.params += bytes; break;
        case format::BufferKind::Output: facts_.outputs += is_view[i] ? 0 : bytes; break;
        case format::BufferKind::Constant: facts_.constants += bytes; break;
        case format::BufferKind::Temp:
          if (is_view[i]) break;
          facts_.temps.push_back({&buffer, shape_text(buffer), std::nullopt, 0});
          if (!facts_.has_sizes) break;
          facts_.temps.back().bytes = bytes;
          facts_.temps.back().offset = placement.offsets[i];
          facts_.live[buffer.first_step] += bytes;  // sums of what begins and ends give what lives
          facts_.live[buffer.last_step + 1] -= bytes;
          break;
      }
    }
    std::partial_sum(facts_.live.begin(), facts_.live.end(), facts_.live.begin());
    if (facts_.has_sizes) facts_.live.pop_back();
    std::ranges::stable_sort(facts_.temps, {}, [](const TempFacts& t) { return t.buffer->first_step; });
    auto peak = std::ranges::max_element(facts_.live);
    if (peak != facts_.live.end()) facts_.peak_step = size_t(peak - facts_.live.begin());
    return {};
  }

  EntryFacts& facts_;
  const format::Plan& plan_;
  std::vector<const format::KernelMeta*> kernels_;  ///< beside Plan::kernels
  std::vector<int64_t> dims_;
  std::vector<std::string> names_;  ///< of the dims
  std::vector<bool> varying_;       ///< beside Plan::exprs: those that change with iterations of loops
  std::vector<std::string> texts_;  ///< beside Plan::exprs, of those that were asked for
};

format::Result<EntryFacts> read_entry(EntryFacts facts, const std::vector<format::KernelMeta>& kernels,
                                      const Options& options) {
  format::Outcome read = EntryReader(facts, kernels).run(options);
  if (!read) return read.error();
  return facts;
}

}  // namespace

format::Result<EntryFacts> entry_facts(const format::ManifestEntry& entry, format::Plan plan,
                                       format::StepSources sources,
                                       const std::vector<format::KernelMeta>& kernels,
                                       const Options& options) {
  EntryFacts facts;
  facts.entry = &entry;
  facts.plan = std::move(plan);
  facts.sources = std::move(sources);
  format::Result<EntryFacts> read = read_entry(facts, kernels, options);
  if (read) return read;
  facts.misfit = read.error().text;
  return read_entry(std::move(facts), kernels, {});
}

}  // namespace tessera::report

// The report for people: a section per target, in it the kernels with their expressions, or with the numbers of their
// first launch, then the entries with their launches and the live ranges of their temporaries.

#include <fmt/format.h>

#include <algorithm>

#include "ir/numbers/dot_rates.h"
#include "support/diagnostic.h"
#include "support/render/columns.h"
#include "support/render/units.h"
#include "tools/report/facts.h"

namespace tessera::report {

namespace {

/// A unit of support/render/units.h, and what formulas have for it.
struct Unit {
  std::string (*text)(double number);
  std::string_view of_formula;
};
constexpr Unit flop_unit{flop_text, ""};
constexpr Unit byte_unit{bytes_text, " bytes"};

/// A number where the launch is known or nothing depends on it, else the formula.
template <typename Number>
std::string amount_text(const KernelFacts& facts, const format::Expr& expr, Number Cost::* number, const Unit& unit) {
  std::optional<int64_t> known;
  if (facts.cost) known = (*facts.cost).*number;
  if (!known && expr.size() == 1 && expr[0].op == format::ExprOp::Const) known = expr[0].value;
  return known ? unit.text(double(*known)) : short_text(expr, facts.kernel->dims).append(unit.of_formula);
}

std::string flops_text(const KernelFacts& facts) {
  const format::KernelWork& work = facts.kernel->work;
  if (!work.flops) return "not known: the trip count of a loop depends on data";
  std::string text = work.at_most ? "at most " : "";
  text += amount_text(facts, *work.flops, &Cost::flops, flop_unit);
  if (work.dot_dtype.empty()) return text;
  std::string dots = amount_text(facts, work.dot_flops, &Cost::dot_flops, flop_unit);
  return text + fmt::format(", of which {} in dots of {}", dots, work.dot_dtype);
}

/// The instruction that was chosen for dots; empty where there are none.
std::string dots_text(const format::KernelMeta& kernel) {
  const format::KernelFragments& fragments = kernel.fragments;
  if (kernel.work.dot_dtype.empty()) return "";
  if (fragments.mma.empty()) return "multiply-adds, no matrix instruction";
  return fmt::format("{} {} of {}, added in {}", dot_instruction(fragments.mma), fragments.mma, fragments.dtype_in,
                     fragments.dtype_acc);
}

std::string grid_text(const KernelFacts& facts) {
  std::string text;
  for (const format::Expr& extent : facts.kernel->grid) {
    int64_t number = 0;
    bool is_known = facts.cost && format::evaluate(extent, facts.cost->dims, number) == format::EvalStatus::Ok;
    std::string one = is_known ? std::to_string(number) : short_text(extent, facts.kernel->dims);
    text += (text.empty() ? "" : " x ") + (is_known || extent.size() == 1 ? one : "(" + one + ")");
  }
  return text.empty() ? "1" : text;
}

class TextWriter {
 public:
  explicit TextWriter(const Options& options) : options_(options) {}

  std::string run(const std::vector<TargetFacts>& targets) {
    for (const TargetFacts& target : targets) {
      PeakFigures peak = figures_of(*target.machine, options_);
      put("{}{}\n", out_.empty() ? "" : "\n", target.machine->name);
      put("  estimates for {}: {}/s in f32, {}/s in dots of 16 bits, {}/s\n", peak.of,
          flop_text(peak.f32 * 1e9), flop_text(peak.dot_16 * 1e9), bytes_text(peak.bandwidth * 1e9));
      for (const KernelFacts& facts : target.kernels) write_kernel(launched(facts, target), *target.machine);
      for (const EntryFacts& entry : target.entries) write_entry(entry, *target.machine);
    }
    return std::move(out_);
  }

  /// The lines below a kernel's name, without its indentation.
  std::string run(const KernelFacts& facts, const Machine& machine) {
    write_facts(facts, machine);
    return without_indentation();
  }

  /// The same of an entry's launches.
  std::string run(const EntryFacts& entry, const Machine& machine) {
    put("    launches{}\n", at_sizes(entry));
    write_launches(entry, machine);
    return without_indentation();
  }

 private:
  std::string without_indentation() {
    constexpr size_t indentation = 4;
    for (size_t line = 0; line < out_.size(); line = out_.find('\n', line) + 1) out_.erase(line, indentation);
    return std::move(out_);
  }

  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }

  void write_kernel(const KernelFacts& facts, const Machine& machine) {
    const format::KernelMeta& kernel = *facts.kernel;
    put("\n  kernel {}{}{}\n", title_of(kernel), kernel.source.empty() ? "" : "  ", kernel.source);
    write_facts(facts, machine);
  }

  void write_facts(const KernelFacts& facts, const Machine& machine) {
    const format::KernelMeta& kernel = *facts.kernel;
    put("    programs   {}{}\n", grid_text(facts), kernel.persistent ? ", run by persistent blocks" : "");
    put("    flops      {}\n", flops_text(facts));
    if (std::string dots = dots_text(kernel); !dots.empty()) put("    dots       {}\n", dots);
    put("    read       {}\n", amount_text(facts, kernel.work.reads, &Cost::reads, byte_unit));
    put("    written    {}\n", amount_text(facts, kernel.work.writes, &Cost::writes, byte_unit));
    if (machine.is_gpu()) {
      write_resources(kernel, machine);
    } else {
      put("    scratch    {} a thread\n", amount_text(facts, kernel.scratch, &Cost::scratch, byte_unit));
    }
    if (facts.cost) write_cost(*facts.cost, kernel, machine);
  }

  void write_resources(const format::KernelMeta& kernel, const Machine& machine) {
    int64_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
    put("    shared     {} of {}\n", bytes_text(double(kernel.smem_per_cta)),
        bytes_text(double(machine.gpu.shared_per_block)));
    if (kernel.regs_per_thread > 0) {
      put("    registers  {} a thread{}\n", kernel.regs_per_thread,
          kernel.spills ? fmt::format(", {} spilled", bytes_text(double(kernel.spills))) : "");
    } else {
      put("    registers  not known without --cubin\n");
    }
    put("    occupancy  {} blocks of {} threads: {}% of a multiprocessor's{}\n", kernel.occupancy, threads,
        kernel.occupancy * threads * 100 / resident_threads(machine), kernel.regs_per_thread > 0 ? "" : ", at most");
  }

  void write_cost(const Cost& cost, const format::KernelMeta& kernel, const Machine& machine) {
    Estimate time = estimate(cost, kernel, machine, figures_of(machine, options_));
    put("    a launch   {}{}, {} FLOP/byte, {} bound by {}\n", at_dims(cost, kernel),
        counted(size_t(cost.programs), "program"), intensity_text(cost), seconds_text(time.expected * 1e-6),
        time.is_memory_bound() ? "memory" : "compute");
  }

  static std::string intensity_text(const Cost& cost) {
    if (!cost.flops) return "?";
    return cost.intensity() < 1000 ? fmt::format("{:.3g}", cost.intensity()) : fmt::format("{:.0f}", cost.intensity());
  }

  /// "at M = 64, N = 8: ", or nothing where a kernel has no dims.
  static std::string at_dims(const Cost& cost, const format::KernelMeta& kernel) {
    std::string text;
    for (size_t i = 0; i < cost.dims.size(); ++i) {
      text += fmt::format("{} {} = {}", i ? "," : "at", kernel.dims[i], cost.dims[i]);
    }
    return text.empty() ? text : text + ": ";
  }

  void write_entry(const EntryFacts& entry, const Machine& machine) {
    put("\n  entry {}{}\n", entry.entry->name, at_sizes(entry));
    write_launches(entry, machine);
    write_memory(entry);
  }

  void write_launches(const EntryFacts& entry, const Machine& machine) {
    size_t name_width = 6, source_width = 6;
    for (const LaunchFacts& launch : entry.launches) {
      name_width = std::max(name_width, columns_of(title_of(*launch.kernel)));
      source_width = std::max(source_width, launch.source.size());
    }
    put("    {:>4}  {:<{}}  {:<{}}", "step", "kernel", name_width, "source", source_width);
    if (entry.has_sizes) {
      put("  {:>8} {:>10} {:>9} {:>9} {:>9}  {:>8}  {}", "programs", "work", "read", "written", "FLOP/byte", "estimate",
          "bound by");
    }
    put("\n");
    double total = sustained_rates(machine).call;
    for (const LaunchFacts& launch : entry.launches) {
      put("    {:>4}  {:<{}}  {:<{}}", launch.step, title_of(*launch.kernel), name_width, launch.source, source_width);
      if (launch.cost) total += write_row(launch, machine);
      put("{}{}{}\n", times_text(launch), launch.dims.empty() ? "" : "  where ", launch.dims);
    }
    if (entry.has_sizes) put("    a call: {}\n", seconds_text(total * 1e-6));
  }

  static std::string times_text(const LaunchFacts& launch) {
    if (!launch.times) return "  as often as data decides";
    return *launch.times == 1 ? "" : fmt::format("  x {}", *launch.times);
  }

  double write_row(const LaunchFacts& launch, const Machine& machine) {
    const Cost& cost = *launch.cost;
    Estimate time = estimate(cost, *launch.kernel, machine, figures_of(machine, options_));
    put("  {:>8} {:>10} {:>9} {:>9} {:>9}  {:>8}  {}", cost.programs, cost.flops ? flop_text(double(*cost.flops)) : "?",
        bytes_text(double(cost.reads)), bytes_text(double(cost.writes)), intensity_text(cost),
        seconds_text(time.expected * 1e-6), time.is_memory_bound() ? "memory" : "compute");
    return time.expected * double(launch.times.value_or(1));
  }

  std::string at_sizes(const EntryFacts& entry) const {
    std::string text;
    for (const std::string& dim : entry.entry->dims) {
      std::optional<int64_t> given = options_.size_of(dim);
      if (entry.has_sizes && given) text += fmt::format("{} {} = {}", text.empty() ? " at" : ",", dim, *given);
    }
    if (!entry.misfit.empty()) return ", whose sizes are open: " + entry.misfit;
    if (!entry.has_sizes) return ", whose sizes are open (--dims)";
    return text;
  }

  void write_memory(const EntryFacts& entry) {
    if (entry.has_sizes) {
      put("    memory: inputs {}, parameters {}, outputs {}, constants {}, temporaries {}\n",
          bytes_text(double(entry.inputs)), bytes_text(double(entry.params)), bytes_text(double(entry.outputs)),
          bytes_text(double(entry.constants)), bytes_text(double(entry.arena)));
    }
    if (entry.temps.empty()) return;
    size_t name_width = 6, columns = std::min<size_t>(entry.plan.steps.size(), most_columns);
    for (const TempFacts& temp : entry.temps) {
      name_width = std::max(name_width, temp.buffer->name.size() + 1 + temp.shape.size());
    }
    if (entry.has_sizes) put("    {:>12} {:>12}", "offset", "bytes");
    put("    {:<{}}  steps 0 to {}\n", "tensor", name_width, entry.plan.steps.size() - 1);
    for (const TempFacts& temp : entry.temps) {
      if (temp.bytes) put("    {:>12} {:>12}", temp.offset, *temp.bytes);
      put("    {:<{}}  |{}|\n", temp.buffer->name + " " + temp.shape, name_width, life(temp, entry, columns));
    }
    if (!entry.has_sizes) return;
    std::string title = fmt::format("in use, most in step {}", entry.peak_step);
    put("    {:>12} {:>12}    {:<{}}  |{}|\n", "", entry.peak(), title, name_width, profile(entry, columns));
  }

  /// The first step that a column shows.
  static size_t first_step(const EntryFacts& entry, size_t column, size_t columns) {
    return column * entry.plan.steps.size() / columns;
  }

  static std::string life(const TempFacts& temp, const EntryFacts& entry, size_t columns) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      bool lives = temp.buffer->first_step < first_step(entry, c + 1, columns) &&
                   temp.buffer->last_step >= first_step(entry, c, columns);
      line += lives ? '#' : '.';
    }
    return line;
  }

  /// Tenths of the peak, rounded up: 0 where nothing is in use, * where all is.
  static std::string profile(const EntryFacts& entry, size_t columns) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      int64_t most = 0;
      for (size_t s = first_step(entry, c, columns); s < first_step(entry, c + 1, columns); ++s) {
        most = std::max(most, entry.live[s]);
      }
      bool is_peak = most == entry.peak() && most > 0;
      int64_t tenths = most == 0 ? 0 : std::min<int64_t>(9, int64_t(double(most) / double(entry.peak()) * 10) + 1);
      line += is_peak ? '*' : char('0' + tenths);
    }
    return line;
  }

  static constexpr size_t most_columns = 64;

  const Options& options_;
  std::string out_;
};

}  // namespace

std::string text_of(const std::vector<TargetFacts>& targets, const Options& options) {
  return TextWriter(options).run(targets);
}

std::string launches_text(const EntryFacts& entry, const Machine& machine, const Options& options) {
  return TextWriter(options).run(entry, machine);
}

std::string kernel_text(const KernelFacts& facts, const Machine& machine, const Options& options) {
  return TextWriter(options).run(facts, machine);
}

}  // namespace tessera::report

#pragma once
// The figures of a report, before they are text.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/numbers/peak_figures.h"
#include "runtime/format/manifest.h"
#include "runtime/format/placement.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"
#include "tools/report/report.h"

namespace tessera::report {

/// One launch of a kernel in numbers.
struct Cost {
  int64_t programs = 0;
  std::optional<int64_t> flops;
  int64_t dot_flops = 0;
  int64_t reads = 0;
  int64_t writes = 0;
  int64_t scratch = 0;
  std::vector<int64_t> dims{};  ///< the kernel's, for which these are the numbers

  /// Operations for each byte that moves; 0 where they are unknown or nothing moves.
  double intensity() const;
};

/// The time of a launch.
struct Estimate {
  double memory = 0;      ///< microseconds to move the bytes at peak figures
  double arithmetic = 0;  ///< and to do the operations
  double expected = 0;    ///< microseconds that it is expected to take

  /// Of a roofline: the least time at peak figures.
  double microseconds() const { return std::max(memory, arithmetic); }
  bool is_memory_bound() const { return memory >= arithmetic; }
};
Estimate estimate(const Cost& cost, const format::KernelMeta& kernel, const Machine& machine, const PeakFigures& peak);
/// The figures that a report is for: those of the GPU that the options name, else of a typical machine.
PeakFigures figures_of(const Machine& machine, const Options& options);

/// What readers know a kernel by: what it is called in the source, then its symbol.
std::string title_of(const format::KernelMeta& kernel);
/// The text of an expression, cut where it is long.
std::string short_text(const format::Expr& expr, const std::vector<std::string>& names);

struct LaunchFacts {
  size_t step = 0;
  std::string source;
  std::string dims;  ///< "M = 2*B, N = D": the kernel's dims that the entry calls otherwise
  const format::KernelMeta* kernel = nullptr;
  std::optional<int64_t> times;  ///< how often in one call; unknown where data decides
  std::optional<Cost> cost;      ///< of one launch; where the entry's sizes are given
};

/// A temporary and when it lives.
struct TempFacts {
  const format::PlanBuffer* buffer = nullptr;
  std::string shape;
  std::optional<int64_t> bytes;
  int64_t offset = 0;
};

struct EntryFacts {
  const format::ManifestEntry* entry = nullptr;
  format::Plan plan;
  format::StepSources sources;
  bool has_sizes = false;  ///< all dims are given, and fit
  std::string misfit;      ///< why the sizes that are given do not fit; else empty
  std::vector<LaunchFacts> launches;
  std::vector<TempFacts> temps;  ///< in order of their first step, then of the plan
  // With sizes:
  int64_t inputs = 0, params = 0, outputs = 0, constants = 0;  ///< bytes
  int64_t arena = 0;
  std::vector<int64_t> live;  ///< bytes of temps in use, per step
  size_t peak_step = 0;

  int64_t peak() const { return live.empty() ? 0 : live[peak_step]; }
};

struct KernelFacts {
  const format::KernelMeta* kernel = nullptr;
  std::optional<Cost> cost;  ///< where all its dims are given by name
};

struct TargetFacts {
  const Machine* machine = nullptr;
  std::vector<KernelFacts> kernels;
  std::vector<EntryFacts> entries;
};

/// The kernel with the cost of its first launch, where it has none of its own.
KernelFacts launched(KernelFacts kernel, const TargetFacts& target);

/// Numbers of a launch; nothing where an expression has no value.
std::optional<Cost> cost_of(const format::KernelMeta& kernel, const std::vector<int64_t>& dims);

/// Reads one plan; `plan` and the rest must outlive the facts.
format::Result<EntryFacts> entry_facts(const format::ManifestEntry& entry, format::Plan plan,
                                       format::StepSources sources,
                                       const std::vector<format::KernelMeta>& kernels,
                                       const Options& options);

std::string text_of(const std::vector<TargetFacts>& targets, const Options& options);
/// The lines of the report about one kernel: for editors, which show it where a kernel is written.
std::string kernel_text(const KernelFacts& facts, const Machine& machine, const Options& options);
/// The same of an entry: its launches as a table.
std::string launches_text(const EntryFacts& entry, const Machine& machine, const Options& options);
std::string json_of(const std::vector<TargetFacts>& targets, const Options& options);

}  // namespace tessera::report

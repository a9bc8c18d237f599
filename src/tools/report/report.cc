#include "tools/report/report.h"

#include <algorithm>
#include <set>

#include "ir/numbers/peak_figures.h"
#include "runtime/files/text.h"
#include "runtime/format/bundle.h"
#include "tools/report/facts.h"

namespace tessera::report {

namespace {

using format::error;

/// Numbers of a kernel whose dims all have the name of one that is given.
std::optional<Cost> cost_at(const format::KernelMeta& kernel, const Options& options) {
  std::vector<int64_t> dims;
  for (const std::string& name : kernel.dims) {
    if (std::optional<int64_t> size = options.size_of(name)) dims.push_back(*size);
  }
  return dims.size() == kernel.dims.size() ? cost_of(kernel, dims) : std::nullopt;
}

/// Names in their order with numbers as such: decode.2 before decode.10.
bool comes_before(std::string_view a, std::string_view b) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a[0]) || !is_digit(b[0])) {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1), b.remove_prefix(1);
      continue;
    }
    auto digits = [&](std::string_view text) {
      return text.substr(0, size_t(std::ranges::find_if_not(text, is_digit) - text.begin()));
    };
    std::string_view x = digits(a), y = digits(b);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    a.remove_prefix(x.size()), b.remove_prefix(y.size());
  }
  return a.size() < b.size();
}

class Gatherer {
 public:
  Gatherer(const format::BundleView& bundle, const format::Reflection& reflection, const Options& options)
      : bundle_(bundle), manifest_(bundle.manifest()), reflection_(reflection), options_(options) {}

  format::Result<std::vector<TargetFacts>> run() {
    if (format::Outcome known = check_entries(); !known) return known.error();
    std::vector<TargetFacts> targets;
    for (const std::string& name : manifest_.targets) {
      TargetFacts& target = targets.emplace_back();
      target.machine = find_machine(name);
      auto kernels = reflection_.kernels.find(name);
      if (!target.machine || kernels == reflection_.kernels.end()) {
        return error("nothing is known of the target ", format::in_quotes(name));
      }
      for (const format::ManifestEntry& entry : manifest_.entries) {
        if (!is_reported(entry)) continue;
        format::Outcome added = add_entry(entry, name, kernels->second, target);
        if (!added) return added.error();
      }
      add_kernels(kernels->second, target);
      if (format::Outcome fits = check_fit(target); !fits) return fits.error();
    }
    return targets;
  }

 private:
  bool is_reported(const format::ManifestEntry& entry) const {
    return options_.entries.empty() || std::ranges::find(options_.entries, entry.name) != options_.entries.end();
  }

  format::Outcome check_entries() const {
    std::string known;
    for (const format::ManifestEntry& entry : manifest_.entries) known += (known.empty() ? "" : ", ") + entry.name;
    for (const std::string& name : options_.entries) {
      if (std::ranges::find(manifest_.entries, name, &format::ManifestEntry::name) != manifest_.entries.end()) continue;
      return error("there is no entry ", format::in_quotes(name), known.empty() ? "" : "; there are ", known);
    }
    return {};
  }

  /// Sizes that are given by name fit one entry at least.
  format::Outcome check_fit(const TargetFacts& target) const {
    const EntryFacts* misfit = nullptr;
    for (const EntryFacts& entry : target.entries) {
      if (entry.has_sizes) return {};
      if (!misfit && !entry.misfit.empty()) misfit = &entry;
    }
    if (!misfit || options_.other_dims) return {};
    return error(misfit->entry->name, ": ", misfit->misfit);
  }

  format::Outcome add_entry(const format::ManifestEntry& entry, const std::string& target_name,
                            const std::vector<format::KernelMeta>& kernels, TargetFacts& target) const {
    std::string path = format::plan_path(entry.name, target_name);
    const format::BundleEntry* found = bundle_.find(path);
    if (!found) return error("the bundle has no ", path);
    format::Result<format::Plan> plan = format::decode_plan(found->bytes);
    if (!plan) return error(path, ": ", plan.error().text);
    format::StepSources sources;
    if (auto of_target = reflection_.steps.find(target_name); of_target != reflection_.steps.end()) {
      if (auto known = of_target->second.find(entry.name); known != of_target->second.end()) sources = known->second;
    }
    format::Result<EntryFacts> facts = entry_facts(entry, std::move(*plan), std::move(sources), kernels, options_);
    if (!facts) return facts.error();
    target.entries.push_back(std::move(*facts));
    return {};
  }

  /// All kernels, or those of the entries that were asked for.
  void add_kernels(const std::vector<format::KernelMeta>& kernels, TargetFacts& target) const {
    auto is_reported = [&](const format::KernelMeta& kernel) {
      auto has_it = [&](const EntryFacts& entry) { return std::ranges::count(entry.plan.kernels, kernel.name) != 0; };
      return options_.entries.empty() || std::ranges::any_of(target.entries, has_it);
    };
    bool has_entries = !manifest_.entries.empty();
    for (const format::KernelMeta& kernel : kernels) {
      if (!is_reported(kernel)) continue;
      target.kernels.push_back({&kernel, has_entries ? std::nullopt : cost_at(kernel, options_)});
    }
    std::ranges::stable_sort(target.kernels, comes_before, [](const KernelFacts& k) { return k.kernel->name; });
  }

  const format::BundleView& bundle_;
  const format::Manifest& manifest_;
  const format::Reflection& reflection_;
  const Options& options_;
};

format::Result<format::Reflection> reflection_of(const format::BundleView& bundle) {
  const format::BundleEntry* found = bundle.find(format::reflection_name);
  if (!found) return error("the bundle has no ", format::reflection_name);
  return format::read_reflection(found->bytes);
}

/// Passes the facts of a bundle, which they refer to, to `use`.
template <typename T, typename Use>
format::Result<T> with_facts(std::string_view bytes, const Options& options, Use use) {
  format::Result<format::BundleView> bundle = format::BundleView::open(bytes);
  if (!bundle) return bundle.error();
  format::Result<format::Reflection> reflection = reflection_of(*bundle);
  if (!reflection) return reflection.error();
  format::Result<std::vector<TargetFacts>> targets = Gatherer(*bundle, *reflection, options).run();
  if (!targets) return targets.error();
  return use(*targets);
}

/// The work of all launches of a call.
std::optional<EntryWork> sum_of(const EntryFacts& entry, const Machine& machine, const Figures& figures) {
  EntryWork sum;
  for (const LaunchFacts& launch : entry.launches) {
    bool is_known = launch.times && launch.cost && launch.cost->flops && !launch.kernel->work.at_most;
    if (!is_known) return std::nullopt;
    auto times = double(*launch.times);
    auto bytes = double(launch.cost->reads + launch.cost->writes);
    Estimate time = estimate(*launch.cost, *launch.kernel, machine, figures(bytes));
    sum.flop += times * double(*launch.cost->flops);
    sum.bytes += times * bytes;
    sum.seconds += times * time.microseconds() * 1e-6;
    sum.memory_seconds += times * time.memory * 1e-6;
  }
  return sum;
}

}  // namespace

format::Result<std::string> report_of(std::string_view bytes, const Options& options) {
  return with_facts<std::string>(bytes, options, [&](const std::vector<TargetFacts>& targets) {
    return options.json ? json_of(targets, options) : text_of(targets, options);
  });
}

format::Result<std::optional<EntryWork>> work_of(std::string_view bytes, const std::string& target,
                                                 const Options& options, const Figures& figures) {
  using Work = std::optional<EntryWork>;
  return with_facts<Work>(bytes, options, [&](const std::vector<TargetFacts>& targets) {
    for (const TargetFacts& facts : targets) {
      if (facts.machine->name == target && facts.entries.size() == 1) {
        return sum_of(facts.entries[0], *facts.machine, figures);
      }
    }
    return Work();
  });
}

std::string known_gpu_names() {
  std::string names;
  for (std::string_view name : known_gpus()) names += format::cat(names.empty() ? "" : ", ", name);
  return names;
}

std::string wrong_gpu(const std::string& gpu, const std::vector<std::string>& targets) {
  if (gpu.empty()) return "";
  std::vector<std::string_view> known = known_gpus();
  if (std::ranges::find(known, gpu) == known.end()) {
    return format::cat("--gpu: no figures are known of '", gpu, "'; known are ", known_gpu_names());
  }
  bool runs = std::ranges::any_of(targets, [&](const std::string& target) {
    const Machine* machine = find_machine(target);
    return machine && gpu_figures(*machine, gpu);
  });
  return runs ? "" : format::cat("--gpu: no target is one of '", gpu, "'");
}

format::Result<std::vector<std::string>> dims_of(std::string_view bytes) {
  format::Result<format::BundleView> bundle = format::BundleView::open(bytes);
  if (!bundle) return bundle.error();
  std::set<std::string> names;
  for (const format::ManifestEntry& entry : bundle->manifest().entries) {
    names.insert(entry.dims.begin(), entry.dims.end());
  }
  if (bundle->manifest().entries.empty()) {
    format::Result<format::Reflection> reflection = reflection_of(*bundle);
    if (!reflection) return reflection.error();
    for (const auto& [target, kernels] : reflection->kernels) {
      for (const format::KernelMeta& kernel : kernels) names.insert(kernel.dims.begin(), kernel.dims.end());
    }
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::optional<int64_t> Options::size_of(const std::string& dim) const {
  auto given = dims.find(dim);
  return given == dims.end() ? other_dims : given->second;
}

}  // namespace tessera::report

// The report for programs. Keys are sorted. Expressions are texts in the kernel's dims; numbers are
// there where sizes are given.

#include <nlohmann/json.hpp>

#include "ir/numbers/dot_rates.h"
#include "tools/report/facts.h"

namespace tessera::report {

namespace {

using Json = nlohmann::json;

constexpr int report_format = 1;  // docs/stability.md

Json cost_json(const Cost& cost, const format::KernelMeta& kernel, const Machine& machine, const Options& options) {
  Estimate time = estimate(cost, kernel, machine, figures_of(machine, options));
  return {{"programs", cost.programs},
          {"flops", cost.flops ? Json(*cost.flops) : Json()},
          {"dot_flops", cost.dot_flops},
          {"bytes_read", cost.reads},
          {"bytes_written", cost.writes},
          {"scratch_bytes", cost.scratch},
          {"intensity", cost.flops ? Json(cost.intensity()) : Json()},
          {"estimate_us", time.microseconds()},
          {"expected_us", time.expected},
          {"bound_by", time.is_memory_bound() ? "memory" : "compute"}};
}

/// Null where dots, if there are any, are multiply-adds.
Json instruction_json(const format::KernelFragments& fragments) {
  if (fragments.mma.empty()) return Json();
  return {{"name", dot_instruction(fragments.mma)},
          {"shape", fragments.mma},
          {"dtype", fragments.dtype_in},
          {"accumulator", fragments.dtype_acc}};
}

Json kernel_json(const KernelFacts& facts, const Machine& machine, const Options& options) {
  const format::KernelMeta& kernel = *facts.kernel;
  auto text = [&](const format::Expr& expr) { return format::expr_text(expr, kernel.dims); };
  Json grid = Json::array();
  for (const format::Expr& extent : kernel.grid) grid.push_back(text(extent));
  Json out = {{"name", kernel.name},
              {"title", kernel.title},
              {"source", kernel.source},
              {"grid", grid},
              {"flops", kernel.work.flops ? Json(text(*kernel.work.flops)) : Json()},
              {"flops_at_most", kernel.work.at_most},
              {"dot_flops", text(kernel.work.dot_flops)},
              {"dot_dtype", kernel.work.dot_dtype},
              {"dot_instruction", instruction_json(kernel.fragments)},
              {"bytes_read", text(kernel.work.reads)},
              {"bytes_written", text(kernel.work.writes)},
              {"scratch_bytes", text(kernel.scratch)}};
  if (machine.is_gpu()) {
    bool is_assembled = kernel.regs_per_thread > 0;
    out["threads"] = kernel.block[0] * kernel.block[1] * kernel.block[2];
    out["shared_bytes"] = kernel.smem_per_cta;
    out["registers"] = is_assembled ? Json(kernel.regs_per_thread) : Json();
    out["spill_bytes"] = is_assembled ? Json(kernel.spills) : Json();
    out["occupancy_blocks"] = kernel.occupancy;
  }
  if (facts.cost) out["launch"] = cost_json(*facts.cost, kernel, machine, options);
  return out;
}

Json memory_json(const EntryFacts& entry) {
  Json temps = Json::array();
  for (const TempFacts& temp : entry.temps) {
    Json one = {{"name", temp.buffer->name},
                {"type", temp.shape},
                {"first_step", temp.buffer->first_step},
                {"last_step", temp.buffer->last_step}};
    if (temp.bytes) {
      one["bytes"] = *temp.bytes;
      one["offset"] = temp.offset;
    }
    temps.push_back(std::move(one));
  }
  Json out = {{"temporaries", temps}};
  if (!entry.has_sizes) return out;
  out["input_bytes"] = entry.inputs;
  out["parameter_bytes"] = entry.params;
  out["output_bytes"] = entry.outputs;
  out["constant_bytes"] = entry.constants;
  out["arena_bytes"] = entry.arena;
  out["live_bytes"] = entry.live;
  out["peak_bytes"] = entry.peak();
  out["peak_step"] = entry.peak_step;
  return out;
}

Json entry_json(const EntryFacts& entry, const Machine& machine, const Options& options) {
  Json launches = Json::array();
  double expected = sustained_rates(machine).call;
  for (const LaunchFacts& launch : entry.launches) {
    Json one = {{"step", launch.step}, {"source", launch.source}, {"kernel", launch.kernel->name}};
    one["dims"] = launch.dims;
    one["times"] = launch.times ? Json(*launch.times) : Json();
    if (launch.cost) {
      one.update(cost_json(*launch.cost, *launch.kernel, machine, options));
      expected += one["expected_us"].get<double>() * double(launch.times.value_or(1));
    }
    launches.push_back(std::move(one));
  }
  Json dims = Json::object();
  for (const std::string& dim : entry.entry->dims) {
    std::optional<int64_t> given = entry.has_sizes ? options.size_of(dim) : std::nullopt;
    dims[dim] = given ? Json(*given) : Json();
  }
  return {{"name", entry.entry->name},
          {"dims", dims},
          {"expected_us", entry.has_sizes ? Json(expected) : Json()},
          {"misfit", entry.misfit.empty() ? Json() : Json(entry.misfit)},
          {"launches", launches},
          {"text", launches_text(entry, machine, options)},
          {"memory", memory_json(entry)}};
}

Json figures_json(const PeakFigures& peak) {
  return {{"of", std::string(peak.of)},
          {"f32_gflops", peak.f32},
          {"f64_gflops", peak.f64},
          {"dot_gflops",
           {{"f64", peak.dot_f64},
            {"f32", peak.dot_f32},
            {"16 bits", peak.dot_16},
            {"8 bits", peak.dot_8}}},
          {"memory_gbytes", peak.bandwidth}};
}

}  // namespace

std::string json_of(const std::vector<TargetFacts>& targets, const Options& options) {
  Json list = Json::array();
  for (const TargetFacts& target : targets) {
    Json kernels = Json::array(), entries = Json::array();
    for (const KernelFacts& kernel : target.kernels) {
      kernels.push_back(kernel_json(kernel, *target.machine, options));
      kernels.back()["text"] = kernel_text(launched(kernel, target), *target.machine, options);
    }
    for (const EntryFacts& entry : target.entries) {
      entries.push_back(entry_json(entry, *target.machine, options));
    }
    list.push_back({{"target", target.machine->name},
                    {"figures", figures_json(figures_of(*target.machine, options))},
                    {"kernels", kernels},
                    {"entries", entries}});
  }
  return Json{{"format", report_format}, {"targets", list}}.dump(2) + "\n";
}

}  // namespace tessera::report

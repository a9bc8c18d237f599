#include "ir/numbers/peak_figures.h"

#include <algorithm>

namespace tessera {

// A core of a server has two units for multiply-adds of vectors.
PeakFigures cpu_figures(const Machine& machine, double gigahertz, double bandwidth) {
  constexpr double units = 2, tile_dots = 1024, pair_dots = 128;  // the last two in operations a cycle
  double f32 = 2 * units * machine.lanes(4) * gigahertz;
  double dot_16 = machine.has_bf16_tiles   ? tile_dots * gigahertz
                  : machine.has_bf16_pairs ? pair_dots * gigahertz
                                           : f32;
  return {.of = {}, .f64 = f32 / 2, .f32 = f32, .dot_f64 = f32 / 2, .dot_f32 = f32, .dot_16 = dot_16, .dot_8 = f32,
          .bandwidth = bandwidth};
}

double PeakFigures::dot(DType dtype) const {
  if (dtype == DType::TF32 && dot_tf32 > 0) return dot_tf32;
  switch (byte_size(dtype)) {
    case 8: return dot_f64;
    case 4: return dot_f32;
    case 2: return dot_16;
    default: return dot_8;
  }
}

PeakFigures peak_figures(const Machine& machine) {
  if (machine.is_gpu()) return machine.gpu.peaks;
  constexpr double gigahertz = 2.6, bandwidth = 18;
  PeakFigures core = cpu_figures(machine, gigahertz, bandwidth);
  core.of = "one core at 2.6 GHz";
  return core;
}

namespace {

struct GpuModel {
  std::string_view name, of, target;
  double bandwidth;  ///< GB/s; other figures are those of the target's typical machine
};

// Of targets that run on several kinds.
constexpr GpuModel gpus[] = {{"h100", "an H100 SXM", "cuda:sm_90a", 3350},
                             {"h200", "an H200 SXM", "cuda:sm_90a", 4800}};

}  // namespace

std::optional<PeakFigures> gpu_figures(const Machine& machine, std::string_view gpu) {
  for (const GpuModel& model : gpus) {
    if (model.name != gpu || model.target != machine.name) continue;
    PeakFigures figures = machine.gpu.peaks;
    figures.of = model.of;
    figures.bandwidth = model.bandwidth;
    return figures;
  }
  return std::nullopt;
}

std::vector<std::string_view> known_gpus() {
  std::vector<std::string_view> names;
  for (const GpuModel& model : gpus) names.push_back(model.name);
  return names;
}

SustainedRates sustained_rates(const Machine& machine) {
  if (!machine.gpu.has_wgmma) return {};
  return {.memory = 0.72, .dots_16 = 0.75, .dots = 0.6, .arithmetic = 0.3, .call = 3, .launch = 1.6, .wave = 1.6,
          .beside = 0.7};
}

int64_t resident_threads(const Machine& machine) {
  return machine.gpu.threads;
}

int64_t resident_blocks(const Machine& machine, int64_t threads, int64_t registers, int64_t shared_bytes) {
  constexpr int64_t register_unit = 8;       // of a thread
  constexpr int64_t reserved_shared = 1024;  // of each block
  constexpr int64_t shared_unit = 128;
  if (threads <= 0) return 0;
  int64_t blocks = std::min<int64_t>(machine.gpu.blocks, machine.gpu.threads / threads);
  if (registers > 0) {
    int64_t each = (registers + register_unit - 1) / register_unit * register_unit;
    blocks = std::min<int64_t>(blocks, machine.gpu.registers / (each * threads));
  }
  int64_t shared = (shared_bytes + shared_unit - 1) / shared_unit * shared_unit + reserved_shared;
  return std::min(blocks, machine.gpu.shared / shared);
}

}  // namespace tessera

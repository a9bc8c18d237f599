#include "ir/numbers/machine.h"

#include <algorithm>

namespace tessera {

namespace {

/// A GPU of compute capability 8.0 or above, with 128-bit accesses to memory.
Machine cuda(GpuFacts facts) {
  Machine machine{.name = "cuda:" + facts.ptx_target, .vector_bytes = 16, .has_f16_conversion = true,
                  .kind = MachineKind::Cuda, .gpu = std::move(facts)};
  machine.vector_registers = machine.gpu.registers_per_thread;
  machine.has_nan_propagating_extremes = true;
  machine.has_saturating_shifts = true;
  machine.has_bf16_conversion = true;
  machine.has_approximate_functions = true;
  machine.divides_by_steps = true;
  return machine;
}

// `prefer-256-bit` is LLVM's default for v4; kernels here are compiled for full-width vectors.
const Machine machines[] = {
    {"cpu:x86-64-v3", "x86-64-v3", "", 32, 16, false, true},
    {"cpu:x86-64-v4", "x86-64-v4", "-prefer-256-bit", 64, 32, true, true},
    {"cpu:x86-64-v4-bf16", "x86-64-v4", "-prefer-256-bit,+avx512bf16", 64, 32, true, true, true},
    {"cpu:x86-64-v4-amx", "x86-64-v4", "-prefer-256-bit,+avx512bf16,+amx-tile,+amx-bf16", 64, 32, true, true, true,
     true},
    cuda({.ptx_target = "sm_80", .lanes = 64, .shared = 167936, .shared_per_block = 166912, .has_mma = true,
          .peaks = {.of = "an A100 SXM", .f64 = 9700, .f32 = 19500, .dot_f64 = 9700, .dot_f32 = 19500,
                    .dot_tf32 = 156000, .dot_16 = 312000, .dot_8 = 624000, .bandwidth = 2039,
                    .multiprocessors = 108}}),
    cuda({.ptx_target = "sm_89", .threads = 1536, .blocks = 24, .shared = 102400, .shared_per_block = 101376,
          .has_mma = true, .has_f8_mma = true,
          .peaks = {.of = "an L40S", .f64 = 1430, .f32 = 91600, .dot_f64 = 1430, .dot_f32 = 91600,
                    .dot_tf32 = 183000, .dot_16 = 362000, .dot_8 = 733000, .bandwidth = 864,
                    .multiprocessors = 142},
          .schedules_of = "cuda:sm_80"}),
    cuda({.ptx_target = "sm_90a", .shared = 233472, .shared_per_block = 232448, .has_mma = true,
          .has_f8_mma = true, .has_wgmma = true, .has_tma = true, .has_clusters = true,
          .has_register_reallocation = true, .has_stmatrix = true, .has_vector_reduction = true,
          .has_dependent_launches = true,
          .peaks = {.of = "an H100 SXM", .f64 = 33500, .f32 = 66900, .dot_f64 = 33500, .dot_f32 = 66900,
                    .dot_tf32 = 494700, .dot_16 = 989400, .dot_8 = 1978900, .bandwidth = 3350,
                    .multiprocessors = 132}}),
};

}  // namespace

std::string Machine::path_name() const {
  std::string path = name;
  std::replace(path.begin(), path.end(), ':', '-');
  return path;
}

const Machine* find_machine(std::string_view name) {
  for (const Machine& machine : machines) {
    if (machine.name == name) return &machine;
  }
  return nullptr;
}

std::vector<const Machine*> all_machines() {
  std::vector<const Machine*> all;
  for (const Machine& machine : machines) all.push_back(&machine);
  return all;
}

std::vector<const Machine*> default_machines() {
  std::vector<const Machine*> cpus;
  for (const Machine& machine : machines) {
    if (!machine.is_gpu()) cpus.push_back(&machine);
  }
  return cpus;
}

}  // namespace tessera

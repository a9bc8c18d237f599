#include "tools/driver/host_machine.h"

#include "support/diagnostic_rows.h"

namespace tessera::driver {

namespace {

bool host_is(const Machine& machine) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // What the runtime asks of a machine that runs this target (runtime/cpu/targets.cc).
  bool pairs = __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
  bool tiles = __builtin_cpu_supports("amx-bf16") && __builtin_cpu_supports("amx-int8");
  if (machine.has_bf16_pairs && !pairs) return false;
  // Nor does it prefer dots of pairs in vector registers where they are slow.
  if (machine.has_bf16_pairs && !machine.has_bf16_tiles && !__builtin_cpu_is("amd")) return false;
  if (machine.has_bf16_tiles && !tiles) return false;
  if (machine.llvm_cpu == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3");
  if (machine.llvm_cpu == "x86-64-v4") return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

}  // namespace

const Machine* host_machine(DiagnosticEngine& diagnostics) {
  const Machine* best = nullptr;
  for (const Machine* machine : all_machines()) {
    if (host_is(*machine)) best = machine;
  }
  if (!best) diagnostics.report(diag::unknown_target, {}, "host").help("name a target with --target");
  return best;
}

}  // namespace tessera::driver

// Feature bits come from CPUID; that the operating system saves the wide registers comes from
// XCR0, since a CPU may have AVX-512 or AMX and a kernel or hypervisor may not enable it. AMX
// needs, besides, that the process asks for the tile data once.

#include "runtime/cpu/targets.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace tessera::runtime {

namespace {

enum class Register { Eax, Ebx, Ecx, Edx };

/// Where a feature's bit is.
struct Feature {
  const char* name;
  uint32_t leaf;
  uint32_t subleaf;
  Register place;
  int bit;
};

constexpr Feature v3_features[] = {
    {"SSE3", 1, 0, Register::Ecx, 0},          {"SSSE3", 1, 0, Register::Ecx, 9},
    {"FMA", 1, 0, Register::Ecx, 12},          {"CMPXCHG16B", 1, 0, Register::Ecx, 13},
    {"SSE4.1", 1, 0, Register::Ecx, 19},       {"SSE4.2", 1, 0, Register::Ecx, 20},
    {"MOVBE", 1, 0, Register::Ecx, 22},        {"POPCNT", 1, 0, Register::Ecx, 23},
    {"OSXSAVE", 1, 0, Register::Ecx, 27},      {"AVX", 1, 0, Register::Ecx, 28},
    {"F16C", 1, 0, Register::Ecx, 29},         {"BMI1", 7, 0, Register::Ebx, 3},
    {"AVX2", 7, 0, Register::Ebx, 5},          {"BMI2", 7, 0, Register::Ebx, 8},
    {"LAHF", 0x80000001, 0, Register::Ecx, 0}, {"LZCNT", 0x80000001, 0, Register::Ecx, 5},
};
constexpr Feature v4_features[] = {
    {"AVX512F", 7, 0, Register::Ebx, 16},  {"AVX512DQ", 7, 0, Register::Ebx, 17},
    {"AVX512CD", 7, 0, Register::Ebx, 28}, {"AVX512BW", 7, 0, Register::Ebx, 30},
    {"AVX512VL", 7, 0, Register::Ebx, 31},
};
constexpr Feature bf16_features[] = {
    {"AVX512_VNNI", 7, 0, Register::Ecx, 11},
    {"AVX512_BF16", 7, 1, Register::Eax, 5},
};
constexpr Feature amx_features[] = {
    {"AMX-BF16", 7, 0, Register::Edx, 22},
    {"AMX-TILE", 7, 0, Register::Edx, 24},
    {"AMX-INT8", 7, 0, Register::Edx, 25},
};

constexpr uint64_t avx_state = 0x6;      // XMM, YMM
constexpr uint64_t avx512_state = 0xe6;  // and masks, ZMM
constexpr uint64_t amx_state = 0x600e6;  // and tile configuration, tile data

bool has_feature(const Feature& feature) {
  uint32_t regs[4] = {};
  // The result says whether the leaf exists.
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[0], &regs[1], &regs[2], &regs[3])) {
    return false;
  }
  return regs[int(feature.place)] >> feature.bit & 1;
}

uint64_t enabled_state() {
  if (!has_feature({"OSXSAVE", 1, 0, Register::Ecx, 27})) return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// Linux gives tile data to a process that asks (ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA).
bool may_use_amx() {
  constexpr int arch_req_xcomp_perm = 0x1023;
  constexpr int tile_data = 18;
  return ::syscall(SYS_arch_prctl, arch_req_xcomp_perm, tile_data) == 0;
}

struct CpuTarget {
  std::string_view name;
  const Feature* features;
  size_t count;
  uint64_t state;
};

/// Each target needs what the ones before it need.
constexpr CpuTarget targets[] = {
    {"cpu:x86-64-v3", v3_features, std::size(v3_features), avx_state},
    {"cpu:x86-64-v4", v4_features, std::size(v4_features), avx512_state},
    {"cpu:x86-64-v4-bf16", bf16_features, std::size(bf16_features), avx512_state},
    {"cpu:x86-64-v4-amx", amx_features, std::size(amx_features), amx_state},
};
constexpr int bf16_rank = 2;
constexpr int amx_rank = 3;

/// VDPBF16PS does twice the work of a fused multiply-add a cycle on AMD's processors, and half of it on Intel's.
bool has_fast_pairs() {
  unsigned leaf = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(0, &leaf, &ebx, &ecx, &edx)) return false;
  return ebx == signature_AMD_ebx && ecx == signature_AMD_ecx && edx == signature_AMD_edx;
}

}  // namespace

bool is_faster_cpu_target(int a, int b) {
  static const bool fast_pairs = has_fast_pairs();
  // Without, products of pairs come after everything but what lacks wide registers.
  auto place = [](int rank) { return rank != bf16_rank || fast_pairs ? 2 * rank : 1; };
  return place(a) > place(b);
}

std::optional<int> cpu_target_rank(std::string_view target) {
  for (int i = 0; i < int(std::size(targets)); ++i) {
    if (targets[i].name == target) return i;
  }
  return std::nullopt;
}

std::string missing_cpu_feature(int rank) {
  for (int i = 0; i <= rank; ++i) {
    for (size_t k = 0; k < targets[i].count; ++k) {
      if (!has_feature(targets[i].features[k])) return targets[i].features[k].name;
    }
    if ((enabled_state() & targets[i].state) != targets[i].state) {
      return "the operating system's support for its registers";
    }
  }
  if (rank >= amx_rank && !may_use_amx()) return "the operating system's permission to use AMX";
  return "";
}

}  // namespace tessera::runtime

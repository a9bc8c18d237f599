#include "ir/core/machine.h"

#include <algorithm>

namespace tessera {

namespace {

// `prefer-256-bit` is LLVM's default for v4; kernels here are compiled for full-width vectors.
const Machine machines[] = {
    {"cpu:x86-64-v3", "x86-64-v3", "", 32, 16, false, true, false},
    {"cpu:x86-64-v4", "x86-64-v4", "-prefer-256-bit", 64, 32, true, true, false},
    {"cpu:x86-64-v4-amx", "x86-64-v4", "-prefer-256-bit,+amx-tile,+amx-bf16", 64, 32, true, true, true},
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
  return {find_machine("cpu:x86-64-v3"), find_machine("cpu:x86-64-v4")};
}

}  // namespace tessera

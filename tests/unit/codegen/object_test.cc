// What a kernel object is: reproducible, self-contained, with its kernels as the only symbols.

#include <elf.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "unit/codegen/kernel_runner.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Two kernels that use much of what could end in a call: functions, division, f16, gathers, wide integers.
std::string two_kernels(const std::string& function = "tile.exp %a") {
  std::string text = "module @m level(tile) version(1) {\n";
  for (const char* name : {"first.0", "second.1"}) {
    text += std::string("  tile.kernel @") + name +
            "(%x: tensor<N x 40, f64>, %h: tensor<40, f16>, %y: tensor<40, f64>, %q: tensor<40, i64>) "
            "{grid = [1], outputs = 2, schedule = {}, scratch = 0} {\n"
            "    %z: i64 = tile.constant {value = 0}\n"
            "    %w: view<40, f64, strides = [N], offset = 3, space = global> = tile.view %x\n"
            "    %a: tile<40, f64> = tile.load %w, [%z], []\n"
            "    %e: tile<40, f64> = " + function + "\n"
            "    %b: tile<40, f16> = tile.load %h, [%z], []\n"
            "    %c: tile<40, f64> = tile.cast %b\n"
            "    %d: tile<40, f64> = tile.log %c\n"
            "    %f: tile<40, f64> = tile.add %e, %d\n"
            "    %i: tile<40, i64> = tile.cast %f\n"
            "    %j: tile<40, i64> = tile.iota [] {axis = 0}\n"
            "    %k: tile<40, i64> = tile.floor_div %i, %j\n"
            "    tile.store %f, %y, [%z], []\n"
            "    tile.store %k, %q, [%z], []\n"
            "    tile.return\n  }\n";
  }
  return text + "}\n";
}

template <typename T>
T read_at(const std::string& bytes, size_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct DynamicSymbol {
  std::string name;
  bool defined;
};

std::vector<DynamicSymbol> dynamic_symbols(const std::string& elf) {
  auto header = read_at<Elf64_Ehdr>(elf, 0);
  std::vector<DynamicSymbol> found;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    auto section = read_at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM) continue;
    auto names = read_at<Elf64_Shdr>(elf, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (size_t at = sizeof(Elf64_Sym); at < section.sh_size; at += sizeof(Elf64_Sym)) {
      auto symbol = read_at<Elf64_Sym>(elf, section.sh_offset + at);
      found.push_back({elf.data() + names.sh_offset + symbol.st_name, symbol.st_shndx != SHN_UNDEF});
    }
  }
  return found;
}

}  // namespace

TEST_CASE("an object exports its kernels and imports nothing") {
  for (const Machine* machine : all_machines()) {
    if (machine->is_gpu()) continue;
    LoweredModule lowered(two_kernels(), *machine);
    REQUIRE(lowered.messages() == "");
    std::vector<std::string> exported;
    for (const DynamicSymbol& symbol : dynamic_symbols(lowered.object().elf)) {
      INFO(symbol.name);
      CHECK(symbol.defined);
      exported.push_back(symbol.name);
    }
    std::sort(exported.begin(), exported.end());
    CHECK(exported == std::vector<std::string>{"first.0", "second.1"});
  }
}

TEST_CASE("equal kernels give equal bytes") {
  for (const Machine* machine : all_machines()) {
    if (machine->is_gpu()) continue;
    codegen::KernelObject first = LoweredModule(two_kernels(), *machine).object();
    codegen::KernelObject second = LoweredModule(two_kernels(), *machine).object();
    CHECK(first.elf == second.elf);
    CHECK(first.timings.assemble > 0);
  }
}

TEST_CASE("a function without code is reported") {
  LoweredModule lowered(two_kernels("tile.sin %a"), *find_machine("cpu:x86-64-v3"));
  CHECK(lowered.messages().find("there is no code for 'sin' of f64 on 'cpu:x86-64-v3' [unsupported-operation]") !=
        std::string::npos);
}

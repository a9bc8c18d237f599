// What the code of kernels is: reproducible, self-contained, with its kernels as the only symbols.

#include <catch2/catch.hpp>
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

}  // namespace

TEST_CASE("an image holds its kernels and nothing else") {
  for (const Machine* machine : all_machines()) {
    if (machine->is_gpu()) continue;
    LoweredModule lowered(two_kernels(), *machine);
    REQUIRE(lowered.messages() == "");
    std::string bytes = lowered.object().image;
    format::Result<format::KernelImage> image = format::read_kernel_image(bytes);
    REQUIRE(image);
    std::vector<std::string> names;
    for (const format::ImageSymbol& symbol : image->symbols) names.push_back(symbol.name);
    CHECK(names == std::vector<std::string>{"first.0", "second.1"});
    CHECK(image->symbols[0] == format::ImageSymbol{"first.0", 0, image->code.size()});  // they differ in names alone
  }
}

TEST_CASE("equal kernels give equal bytes") {
  for (const Machine* machine : all_machines()) {
    if (machine->is_gpu()) continue;
    codegen::KernelObject first = LoweredModule(two_kernels(), *machine).object();
    codegen::KernelObject second = LoweredModule(two_kernels(), *machine).object();
    CHECK(first.image == second.image);
    CHECK(first.timings.assemble > 0);
  }
}

TEST_CASE("a function without code is reported") {
  LoweredModule lowered(two_kernels("tile.sin %a"), *find_machine("cpu:x86-64-v3"));
  CHECK(lowered.messages().find("there is no code for 'sin' of f64 on 'cpu:x86-64-v3' [unsupported-operation]") !=
        std::string::npos);
}

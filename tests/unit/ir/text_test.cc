// The textual form: what is printed is read back, byte for byte.

#include <catch2/catch.hpp>

#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

void check_round_trip(const std::string& text) { CHECK(TextFixture().round_trip(text) == text); }

}  // namespace

TEST_CASE("a graph module is read back as printed") {
  check_round_trip(R"(module @mlp level(graph) version(1) {entry = "mlp"} {
  gir.func @mlp(%x: tensor<B x 768, bf16 accum(f32)>, %w: tensor<768 x 3072, bf16>) {args = [{kind = "input", name = "x"}, {kind = "param", name = "w"}], results = [{name = "y"}], role = "entry"} {
    %0: tensor<B x 3072, f32> = gir.gemm %x, %w {accum = f32} loc("mlp.tsr":7:14)
    %y: tensor<B x 3072, bf16> = gir.cast %0 loc("mlp.tsr":7:14)
    gir.return [%y] loc("mlp.tsr":8:5)
  } loc("mlp.tsr":6:1)
}
)");
}

TEST_CASE("a target module with a loop is read back as printed") {
  check_round_trip(R"(module @k level(target) version(1) {
  target.func @k(%buffers: ptr, %dims: ptr, %first: i64, %last: i64, %scratch: ptr) {dims = [], grid = [1], outputs = 1, params = [!tensor<4, f32>], schedule = {}, scratch = 0} {
   ^0:
    %one: i64 = target.constant {value = 1} loc("k.tsr":1:1)
    target.branch ^1(%first) loc("k.tsr":1:1)
   ^1(%i: i64):
    %0: bool = target.lt %i, %last loc("k.tsr":1:1)
    target.cond_branch %0, ^2, ^3 loc("k.tsr":1:1)
   ^2:
    %1: i64 = target.add %i, %one loc("k.tsr":1:1)
    target.branch ^1(%1) loc("k.tsr":1:1)
   ^3:
    target.return loc("k.tsr":1:1)
  } loc("k.tsr":1:1)
}
)");
}

TEST_CASE("loops and slots of many are read back as printed") {
  check_round_trip(R"(module @k level(tile) version(1) {target = "cpu:x86-64-v4"} {
  tile.kernel @k.0(%x: tensor<N, f32>, %y: tensor<N, f32>) {grid = [<((N + 63)//64)>], outputs = 1, schedule = {block = [64]}} {
    %0: i64 = tile.program_id {axis = 0} loc("k.tsr":2:3)
    %1: i64 = tile.constant {value = 64} loc("k.tsr":2:3)
    %2: i64 = tile.mul %0, %1 loc("k.tsr":2:3)
    %3: i64 = tile.dim {value = <N>} loc("k.tsr":2:3)
    %4: i64 = tile.sub %3, %2 loc("k.tsr":2:3)
    %5: tile<64, f32> = tile.load %x, [%2], [%4] {fill = 1e-05} loc("k.tsr":2:3)
    %6: tile<64, f32> = tile.for %0, %3, %1, [%5] do(%i: i64, %acc: tile<64, f32>) {
      tile.yield [%acc] loc("k.tsr":2:3)
    } loc("k.tsr":2:3)
    tile.return loc("k.tsr":2:3)
  } loc("k.tsr":1:1)
}
)");
}

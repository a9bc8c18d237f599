// Lowering a contraction where no standard library is at hand.

#include <catch2/catch.hpp>

#include "passes/pass.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

TEST_CASE("an op that needs a kernel of the library is refused without one") {
  TextFixture f;
  FileId file = f.sources.add("g.tir", R"(module @m level(graph) version(1) {
  gir.func @f(%a: tensor<B x 4, f32>, %b: tensor<4 x 4, f32>) {args = [{kind = "input", name = "a"}, {kind = "input", name = "b"}], results = [{name = "r"}], role = "entry"} {
    %r: tensor<B x 4, f32> = gir.gemm %a, %b {accum = f32}
    gir.return [%r]
  }
})");
  auto modules = parse_modules(f.context, file, f.diagnostics);
  REQUIRE(modules);
  PassContext context{f.diagnostics, find_machine("cpu:x86-64-v3"), nullptr, "f", {}};
  CHECK_FALSE(graph_to_schedule(*modules->front(), context));
  CHECK_THAT(render_all(f.diagnostics, {}), Catch::Contains("[no-kernel-library]"));
}

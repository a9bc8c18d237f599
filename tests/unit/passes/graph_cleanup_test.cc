// cse, hoist_invariants and dce: equal ops once, before a loop if they can be, unread ops not at all, and the same bits.

#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

TEST_CASE("equal ops are computed once") {
  GraphPassTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {3}, 1));
  arguments.push_back(some_tensor(DType::F32, {3}, 2));
  Op* f = test.check_pipeline("cse", {"%x: tensor<A, f32>", "%y: tensor<A, f32>"},
                              "%a: tensor<A, f32> = gir.add %x, %y\n"
                              "%b: tensor<A, f32> = gir.add %y, %x\n"
                              "%c: tensor<A, f32> = gir.sub %x, %y\n"
                              "%d: tensor<A, f32> = gir.sub %y, %x\n"
                              "%e: tensor<A, f32> = gir.mul %a, %c\n"
                              "%f: tensor<A, f32> = gir.mul %b, %d\n"
                              "%g: tensor<A, f32> = gir.mul %d, %a\n"
                              "%h: tensor<A, f32> = gir.add %e, %f\n"
                              "%r: tensor<A, f32> = gir.add %h, %g\ngir.return [%r]",
                              arguments);
  CHECK(test.count(f, "gir.add") == 3);
  CHECK(test.count(f, "gir.sub") == 2);
  CHECK(test.count(f, "gir.mul") == 2);
}

TEST_CASE("ops with other attributes or types are not equal") {
  GraphPassTest test;
  Op* f = test.function({"%x: tensor<4 x 4, f32>", "%s: tensor<u64>"},
                        "%a: tensor<4, f32> = gir.reduce %x {kind = \"sum\", axes = [0]}\n"
                        "%b: tensor<4, f32> = gir.reduce %x {kind = \"sum\", axes = [1]}\n"
                        "%c: tensor<4, f32> = gir.philox_uniform %s {stream = 1}\n"
                        "%d: tensor<4, f32> = gir.philox_uniform %s {stream = 2}\n"
                        "%e: tensor<4, f32> = gir.philox_uniform %s {stream = 1}\n"
                        "%f: tensor<16, f32> = gir.reshape %x\n"
                        "%g: tensor<2 x 8, f32> = gir.reshape %x\n"
                        "gir.return [%a, %b, %c, %d, %e, %f, %g]",
                        7);
  test.run(f, "cse");
  CHECK(test.count(f) == 6);
}

TEST_CASE("what nobody reads is dropped, with all that only it read") {
  GraphPassTest test;
  Op* f = test.function({"%x: tensor<4, f32>", "%y: tensor<4, f32>"},
                        "%a: tensor<4, f32> = gir.exp %x\n"
                        "%b: tensor<4, f32> = gir.log %a\n"
                        "%c: tensor<4, f32> = gir.add %a, %b\n"
                        "%r: tensor<4, f32> = gir.add %x, %y\ngir.return [%r]");
  test.run(f, "dce");
  CHECK(test.count(f) == 1);
}

TEST_CASE("what is the same in each turn is computed before the loop") {
  for (int64_t turns : {0, 1, 4}) {
    GraphPassTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(some_tensor(DType::F32, {turns, 3}, 1));
    arguments.push_back(some_tensor(DType::F32, {3}, 2));
    std::string loop = "%y: tensor<3, f32> = gir.for [%w] {count = <S>, counter = \"i\"} do(%h: tensor<3, f32>) { "
                       "%a: tensor<3, f32> = gir.exp %w "
                       "%b: tensor<1 x 3, f32> = gir.slice %x {starts = [<i>, 0], steps = [1, 1]} "
                       "%c: tensor<3, f32> = gir.reshape %b "
                       "%d: tensor<3, f32> = gir.mul %a, %w "
                       "%e: tensor<3, f32> = gir.fma %h, %d, %c "
                       "gir.yield [%e] }\n";
    Op* f = test.check_pipeline("hoist_invariants", {"%x: tensor<S x 3, f32>", "%w: tensor<3, f32>"},
                                loop + "gir.return [%y]", arguments);
    size_t inside = 0;
    walk(f->region()->front()->terminator()->operand(0)->def(), [&](Op*) { ++inside; });
    CHECK(inside == 4);  // slice, reshape, fma and the yield
  }
}

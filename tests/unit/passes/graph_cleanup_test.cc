// cse, hoist_invariants and dce: equal ops once, before a loop if they can be, unread ops not at all, and the same
// bits.

#include <array>
#include <limits>

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

TEST_CASE("what is the same in each iteration is computed before the loop") {
  for (int64_t iterations : {0, 1, 4}) {
    GraphPassTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(some_tensor(DType::F32, {iterations, 3}, 1));
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

TEST_CASE("what not all sizes allow stays in a loop that may have no iterations") {
  const std::string row = "%b: tensor<1 x 3, f32> = gir.slice %x {starts = [0, 0], steps = [1, 1]} ";
  const std::string rest = "%r: tensor<K x 3, f32> = gir.slice %x {starts = [1, 0], steps = [1, 1]} ";
  const std::string sum = "%e: tensor<3, f32> = gir.add %h, %d gir.yield [%e] }\n";
  auto loop = [](const std::string& count, const std::string& body) {
    return "%y: tensor<3, f32> = gir.for [%w] {count = <" + count + ">, counter = \"i\"} do(%h: tensor<3, f32>) { " +
           body;
  };
  struct Case {
    std::string count, op;
    size_t left;  ///< in the loop, besides the sum and the yield
  };
  for (const Case& each : {Case{"S", row + "%c: tensor<3, f32> = gir.reshape %b %d: tensor<3, f32> = gir.exp %c ", 3},
                           Case{"S+1", row + "%c: tensor<3, f32> = gir.reshape %b %d: tensor<3, f32> = gir.exp %c ", 0},
                           Case{"S", "%z: tensor<S-1 x 3, f32> = gir.full {value = 2.0} "
                                     "%d: tensor<3, f32> = gir.reduce %z {axes = [0], kind = \"sum\"} ", 2},
                           Case{"S", "%z: tensor<S x 3, f32> = gir.full {value = 2.0} "
                                     "%d: tensor<3, f32> = gir.reduce %z {axes = [0], kind = \"sum\"} ", 0},
                           Case{"S", "%n: tensor<i64> = gir.dim {value = <8//S>} %f: tensor<f32> = gir.cast %n "
                                     "%d: tensor<3, f32> = gir.broadcast %f ", 3}}) {
    for (int64_t iterations : {0, 2}) {
      if (each.count == "S+1" && iterations == 0) continue;  // its iteration reads a row that is not there
      GraphPassTest test;
      std::vector<TensorValue> arguments;
      arguments.push_back(some_tensor(DType::F32, {iterations, 3}, 1));
      arguments.push_back(some_tensor(DType::F32, {3}, 2));
      Op* f = test.check_pipeline("hoist_invariants", {"%x: tensor<S x 3, f32>", "%w: tensor<3, f32>"},
                                  loop(each.count, each.op + sum) + "gir.return [%y]", arguments);
      size_t inside = 0;
      walk(f->region()->front()->terminator()->operand(0)->def(), [&](Op*) { ++inside; });
      CHECK(inside == each.left + 2);
    }
  }
}

/// A function as it is and with its checks hoisted: no loop has one then, and outside of them there are `checks`.
std::array<Op*, 2> hoist_checks(GraphPassTest& test, const std::vector<std::string>& parameters,
                                const std::string& body, size_t checks) {
  Op* before = test.function(parameters, body, 1);
  Op* after = test.function(parameters, body, 1);
  test.run(after, "hoist_invariants,dce");
  INFO(print(after, {.locations = false}));
  for (Op* op : *after->region()->front()) {
    if (op->name() == "gir.for") walk(op, [](Op* in) { CHECK(in->name() != "gir.check"); });
  }
  CHECK(test.count(after, "gir.check") == checks);
  return {before, after};
}

TEST_CASE("a check of what grows evenly is made before the loops, of the last iteration") {
  const std::string body =
      "%one: tensor<i64> = gir.full {value = 1}\n"
      "%room: tensor<i64> = gir.dim {value = <M>}\n"
      "%r: tensor<i64> = gir.for [%n] {count = <S>, counter = \"i\"} do(%a: tensor<i64>) { "
      "%b: tensor<i64> = gir.add %a, %one "
      "%c: tensor<bool> = gir.le %b, %room "
      "gir.check %c {message = \"full\"} "
      "%d: tensor<i64> = gir.for [%b] {count = <K>, counter = \"j\"} do(%e: tensor<i64>) { "
      "%g: tensor<i64> = gir.add %e, %one "
      "%h: tensor<bool> = gir.le %g, %room "
      "gir.check %h {message = \"full\"} "
      "gir.yield [%g] } "
      "gir.yield [%d] }\n"
      "%t: tensor<i64> = gir.add %r, %one\n"
      "%u: tensor<bool> = gir.le %t, %room\n"
      "gir.check %u {message = \"full\"}\n"
      "gir.return [%r]";
  for (int64_t iterations : {0, 1, 2}) {
    for (int64_t inner : {0, 1, 3}) {
      for (int64_t room : {0, 1, 2, 3, 4, 8, 9, 10}) {
        GraphPassTest test;
        auto arguments = [&] {
          std::vector<TensorValue> made;
          made.push_back(tensor(DType::I64, {}, {0}));
          for (int64_t extent : {room, iterations, inner}) made.push_back(some_tensor(DType::F32, {extent}, 1));
          return made;
        };
        std::vector<std::string> parameters = {"%n: tensor<i64>", "%m: tensor<M, f32>", "%s: tensor<S, f32>",
                                               "%k: tensor<K, f32>"};
        std::array<Op*, 2> functions = hoist_checks(test, parameters, body, 3);
        bool fits = iterations * (inner + 1) + 1 <= room;
        for (Op* f : functions) {
          CHECK(bool(graph::evaluate(f, arguments(), {}, test.diagnostics)) == fits);
        }
      }
    }
  }
}

TEST_CASE("a check of what is between 0 and a limit is made before the loop, of the first iteration and the last") {
  const std::string body =
      "%zero: tensor<i64> = gir.dim {value = <0>}\n"
      "%most: tensor<i64> = gir.dim {value = <M - 1>}\n"
      "%one: tensor<i64> = gir.full {value = 1}\n"
      "%r: tensor<i64> = gir.for [%n] {count = <S>, counter = \"i\"} do(%a: tensor<i64>) { "
      "%x: tensor<bool> = gir.le %zero, %a "
      "%y: tensor<bool> = gir.le %a, %most "
      "%c: tensor<bool> = gir.and %x, %y "
      "gir.check %c {message = \"full\"} "
      "%b: tensor<i64> = gir.add %a, %one "
      "gir.yield [%b] }\n"
      "gir.return [%r]";
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t start : {int64_t(-2), int64_t(0), int64_t(1), most - 1, most, -most}) {
    for (int64_t iterations : {0, 1, 3}) {
      for (int64_t room : {0, 1, 3, 4}) {
        GraphPassTest test;
        std::vector<std::string> parameters = {"%n: tensor<i64>", "%m: tensor<M, f32>", "%s: tensor<S, f32>"};
        std::array<Op*, 2> functions = hoist_checks(test, parameters, body, 1);
        bool fits = iterations == 0 || (start >= 0 && start <= room - iterations);
        for (Op* f : functions) {
          std::vector<TensorValue> arguments;
          arguments.push_back(tensor(DType::I64, {}, {0}));
          arguments.back().set(0, {.i = start});
          for (int64_t extent : {room, iterations}) arguments.push_back(some_tensor(DType::F32, {extent}, 1));
          CHECK(bool(graph::evaluate(f, std::move(arguments), {}, test.diagnostics)) == fits);
        }
      }
    }
  }
}

TEST_CASE("a check of what no iteration adds to evenly stays in its loop") {
  // What is added depends on the iteration; what is there shrinks; a while loop.
  for (std::string step : {"gir.dim {value = <i>}", "gir.full {value = -1}", "gir.cast %p"}) {
    GraphPassTest test;
    Op* f = test.function({"%n: tensor<i64>", "%m: tensor<M, f32>", "%s: tensor<S, f32>", "%p: tensor<i32>"},
                          "%r: tensor<i64> = gir.for [%n] {count = <S>, counter = \"i\"} do(%a: tensor<i64>) { "
                          "%room: tensor<i64> = gir.dim {value = <M>} "
                          "%k: tensor<i64> = " + step + " "
                          "%b: tensor<i64> = gir.add %a, %k "
                          "%c: tensor<bool> = gir.le %b, %room "
                          "gir.check %c {message = \"full\"} "
                          "gir.yield [%b] }\n"
                          "gir.return [%r]");
    test.run(f, "hoist_invariants");
    size_t inside = 0;
    walk(f->region()->front()->terminator()->operand(0)->def(), [&](Op* op) { inside += op->name() == "gir.check"; });
    CHECK(inside == 1);
  }
}

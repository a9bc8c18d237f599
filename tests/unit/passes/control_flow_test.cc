// Loops, branches and updates: interpreted as a graph, as a host program with tiles, and before and
// after memory is taken over; and where copies are left.

#include "ir/graph/eval.h"
#include "ir/host/ops.h"
#include "unit/ir/tensor_fixture.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/graph_pass_fixture.h"
#include "unit/passes/host_runner.h"
#include "unit/passes/kernel_library_double.h"

using namespace tessera;

namespace {

using Tensors = std::vector<TensorValue>;

struct ControlTest : graph::GraphTest {
  ControlTest() {
    schedule::register_ops(context);
    host::register_ops(context);
    tile::register_ops(context);
  }

  size_t count(Module& module, std::string_view name) {
    size_t n = 0;
    for (Op* op : *module.body()) walk(op, [&](Op* inner) { n += inner->name() == name; });
    return n;
  }

  void lower(Module& module, bool reuse) {
    KernelLibraryDouble library;
    PassContext pass{diagnostics, find_machine("cpu:x86-64-v4"), &library, "f", {}};
    bool lowered = bool(graph_to_schedule(module, pass)) && bool(verify(module, diagnostics)) &&
                   (!reuse || (bool(reuse_memory(module, pass)) && bool(verify(module, diagnostics))));
    INFO(messages() << print(module, {.locations = false}));
    REQUIRE(lowered);
    copies = count(module, "host.copy");
    std::string text = print(module, {.locations = false});
    bool tiled = bool(schedule_to_tile(module, pass)) && bool(propagate_masks(module, pass)) &&
                 bool(verify(module, diagnostics));
    INFO(messages() << text);
    REQUIRE(tiled);
  }

  /// The results are those of the graph, with and without memory that is taken over; `left` copies
  /// are there at the end.
  void check(const std::string& text, const Tensors& arguments, const DimValues& dims, size_t left) {
    Module* graph = parse(text);
    INFO(messages());
    REQUIRE(graph);
    Tensors given;
    for (const TensorValue& argument : arguments) given.push_back(*argument.clone());
    auto wanted = graph::evaluate(graph->body()->front(), std::move(given), {}, diagnostics);
    INFO(messages());
    REQUIRE(wanted);
    for (bool reuse : {false, true}) {
      Module* module = parse(text);
      lower(*module, reuse);
      HostRunner runner(dims, diagnostics);
      Tensors got = runner.run(module->find("f"), arguments);
      REQUIRE(got.size() == wanted->size());
      for (size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].byte_count() == (*wanted)[i].byte_count());
        CHECK(std::memcmp(got[i].data(), (*wanted)[i].data(), got[i].byte_count()) == 0);
      }
    }
    CHECK(copies == left);
  }

  size_t copies = 0;
};

TensorValue numbers(DType dtype, std::vector<int64_t> dims, double first = 0) {
  TensorValue value = *TensorValue::make(dtype, std::move(dims));
  for (int64_t i = 0; i < value.count(); ++i) {
    value.set(i, is_float(dtype) ? Element{.f = first + double(i)} : Element{.i = int64_t(first) + i});
  }
  return value;
}

template <typename... Values>
Tensors list(Values... values) {
  Tensors made;
  (made.push_back(std::move(values)), ...);
  return made;
}

std::string module_text(const std::string& parameters, const std::string& attributes, const std::string& body) {
  return "module @m level(graph) version(1) {\n  gir.func @f(" + parameters + ") {" + attributes +
         ", role = \"entry\"} {\n" + body + "  }\n}\n";
}

const std::string cache_parameters =
    "%k: tensor<B x M x 3, f32>, %n: tensor<i64>, %x: tensor<B x S x 3, f32>";
const std::string cache_attributes =
    R"(args = [{donated = true, kind = "input", name = "k"}, {donated = true, kind = "input", name = "n"},
     {kind = "input", name = "x"}], guards = [{left = <S>, relation = "<=", right = <M>}],
     results = [{alias_of = "k", name = "k"}, {alias_of = "n", name = "n"}, {name = "y"}])";

}  // namespace

TEST_CASE("an update of a donated buffer is made where it lies") {
  std::string body = R"(
    %2: tensor<B x S x 3, f32> = gir.mul %x, %x
    %new: tensor<B x M x 3, f32> = gir.update_slice %k, %2, %n {axis = 1}
    %s: tensor<i64> = gir.dim {value = <S>}
    %next: tensor<i64> = gir.add %n, %s
    %y: tensor<B x 3, f32> = gir.reduce %new {axes = [1], kind = "sum"}
    gir.return [%new, %next, %y]
)";
  for (int64_t start : {0, 2, 3, 4, 100, -1}) {
    Tensors arguments = list(numbers(DType::F32, {2, 5, 3}), numbers(DType::I64, {}, double(start)),
                             numbers(DType::F32, {2, 2, 3}, 50));
    ControlTest().check(module_text(cache_parameters, cache_attributes, body), arguments,
                        {{"B", 2}, {"M", 5}, {"S", 2}}, 0);
  }
}

TEST_CASE("an update goes round where it wraps") {
  std::string body = R"(
    %new: tensor<B x M x 3, f32> = gir.update_slice %k, %x, %n {axis = 1, wrap = true}
    %y: tensor<B x 3, f32> = gir.reduce %new {axes = [1], kind = "sum"}
    gir.return [%new, %n, %y]
)";
  for (int64_t start : {0, 3, 4, 5, 12, -7}) {
    Tensors arguments = list(numbers(DType::F32, {2, 5, 3}), numbers(DType::I64, {}, double(start)),
                             numbers(DType::F32, {2, 4, 3}, 50));
    ControlTest().check(module_text(cache_parameters, cache_attributes, body), arguments,
                        {{"B", 2}, {"M", 5}, {"S", 4}}, 0);
  }
}

TEST_CASE("what is read after an update is copied before it") {
  std::string body = R"(
    %new: tensor<B x M x 3, f32> = gir.update_slice %k, %x, %n {axis = 1}
    %d: tensor<B x M x 3, f32> = gir.sub %new, %k
    %y: tensor<B x 3, f32> = gir.reduce %d {axes = [1], kind = "sum"}
    gir.return [%new, %n, %y]
)";
  Tensors arguments =
      list(numbers(DType::F32, {2, 5, 3}), numbers(DType::I64, {}, 1), numbers(DType::F32, {2, 2, 3}, 50));
  // One before the update, one into the caller's memory.
  ControlTest().check(module_text(cache_parameters, cache_attributes, body), arguments,
                      {{"B", 2}, {"M", 5}, {"S", 2}}, 2);
}

TEST_CASE("donated buffers may change places") {
  std::string attributes =
      R"(args = [{donated = true, kind = "input", name = "a"}, {donated = true, kind = "input", name = "b"}],
         results = [{alias_of = "a", name = "a"}, {alias_of = "b", name = "b"}])";
  ControlTest().check(module_text("%a: tensor<N, f32>, %b: tensor<N, f32>", attributes, "    gir.return [%b, %a]\n"),
                      list(numbers(DType::F32, {7}), numbers(DType::F32, {7}, 50)), {{"N", 7}}, 4);
}

TEST_CASE("a loop's counter is a size of its body, and what it carries changes places") {
  std::string attributes = R"(args = [{kind = "input", name = "x"}], results = [{name = "a"}, {name = "b"}])";
  std::string body = R"(
    %z: tensor<3, f32> = gir.full {value = 0.0}
    %o: tensor<3, f32> = gir.full {value = 1.0}
    %a: tensor<3, f32>, %b: tensor<3, f32> = gir.for [%z, %o] {count = <N>, counter = "i"} do(%p: tensor<3, f32>, %q: tensor<3, f32>) {
      %row: tensor<1 x 3, f32> = gir.slice %x {starts = [<i>, 0], steps = [1, 1]}
      %r: tensor<3, f32> = gir.reshape %row
      %i: tensor<i64> = gir.dim {value = <i>}
      %f: tensor<f32> = gir.cast %i
      %w: tensor<3, f32> = gir.broadcast %f
      %s: tensor<3, f32> = gir.add %p, %r
      %t: tensor<3, f32> = gir.mul %s, %w
      gir.yield [%q, %t]
    }
    gir.return [%a, %b]
)";
  for (int64_t n : {0, 1, 2, 5}) {
    ControlTest().check(module_text("%x: tensor<N x 3, f32>", attributes, body), list(numbers(DType::F32, {n, 3})),
                        {{"N", n}}, 0);
  }
}

TEST_CASE("a while loop and branches in it") {
  std::string attributes = R"(args = [{kind = "input", name = "x"}], results = [{name = "y"}, {name = "n"}])";
  std::string body = R"(
    %zero: tensor<i64> = gir.constant {values = [0]}
    %y: tensor<4, f32>, %n: tensor<i64> = gir.while [%x, %zero] do(%u: tensor<4, f32>, %v: tensor<i64>) {
      %m: tensor<f32> = gir.reduce %u {axes = [0], kind = "max"}
      %k: tensor<f32> = gir.full {value = 100.0}
      %small: tensor<bool> = gir.lt %m, %k
      gir.yield [%small]
    } do(%p: tensor<4, f32>, %c: tensor<i64>) {
      %two: tensor<i64> = gir.constant {values = [2]}
      %one: tensor<i64> = gir.constant {values = [1]}
      %z: tensor<i64> = gir.constant {values = [0]}
      %odd: tensor<i64> = gir.mod %c, %two
      %even: tensor<bool> = gir.eq %odd, %z
      %q: tensor<4, f32> = gir.cond [%even] do {
        %d: tensor<4, f32> = gir.add %p, %p
        gir.yield [%d]
      } do {
        %s: tensor<4, f32> = gir.add %p, %x
        gir.yield [%s]
      }
      %next: tensor<i64> = gir.add %c, %one
      gir.yield [%q, %next]
    }
    gir.return [%y, %n]
)";
  for (double first : {1.0, 30.0, 200.0}) {
    ControlTest().check(module_text("%x: tensor<4, f32>", attributes, body), list(numbers(DType::F32, {4}, first)), {},
                        1);
  }
}

TEST_CASE("a cache is carried through a loop without a copy") {
  std::string attributes =
      R"(args = [{donated = true, kind = "input", name = "k"}, {kind = "input", name = "x"}],
         results = [{alias_of = "k", name = "k"}])";
  std::string body = R"(
    %r: tensor<M x 3, f32> = gir.for [%k] {count = <S>, counter = "i"} do(%c: tensor<M x 3, f32>) {
      %row: tensor<1 x 3, f32> = gir.slice %x {starts = [<i>, 0], steps = [1, 1]}
      %d: tensor<1 x 3, f32> = gir.add %row, %row
      %at: tensor<i64> = gir.dim {value = <2*i>}
      %n: tensor<M x 3, f32> = gir.update_slice %c, %d, %at {axis = 0, wrap = true}
      gir.yield [%n]
    }
    gir.return [%r]
)";
  std::string guarded = attributes + R"(, guards = [{left = <1>, relation = "<=", right = <M>}])";
  ControlTest().check(module_text("%k: tensor<M x 3, f32>, %x: tensor<S x 3, f32>", guarded, body),
                      list(numbers(DType::F32, {5, 3}), numbers(DType::F32, {4, 3}, 70)), {{"M", 5}, {"S", 4}}, 0);
}

TEST_CASE("two updates of a donated buffer are made where it lies") {
  std::string body = R"(
    %a: tensor<B x M x 3, f32> = gir.update_slice %k, %x, %n {axis = 1}
    %s: tensor<i64> = gir.dim {value = <S>}
    %next: tensor<i64> = gir.add %n, %s
    %b: tensor<B x M x 3, f32> = gir.update_slice %a, %x, %next {axis = 1}
    %y: tensor<B x 3, f32> = gir.reduce %b {axes = [1], kind = "sum"}
    gir.return [%b, %next, %y]
)";
  Tensors arguments =
      list(numbers(DType::F32, {2, 5, 3}), numbers(DType::I64, {}, 1), numbers(DType::F32, {2, 2, 3}, 50));
  ControlTest().check(module_text(cache_parameters, cache_attributes, body), arguments,
                      {{"B", 2}, {"M", 5}, {"S", 2}}, 0);
}

TEST_CASE("a branch updates a donated buffer where it lies") {
  const std::string attributes =
      R"(args = [{donated = true, kind = "input", name = "k"}, {kind = "input", name = "x"}, {kind = "input", name = "p"},
         {kind = "input", name = "q"}], guards = [{left = <S>, relation = "<=", right = <M>}],
         results = [{alias_of = "k", name = "k"}, {name = "y"}])";
  const std::string parameters =
      "%k: tensor<M x 3, f32>, %x: tensor<S x 3, f32>, %p: tensor<bool>, %q: tensor<bool>";
  // A check before the update; another branch in the second one, whose two sides update the buffer, too; what was there
  // is read by the one side, and what is there at the end after both.
  const std::string body = R"(
    %n: tensor<i64> = gir.dim {value = <M - S>}
    %o: tensor<i64> = gir.dim {value = <0>}
    %new: tensor<M x 3, f32>, %most: tensor<3, f32> = gir.cond [%p] do {
      gir.check %p {message = "never"}
      %m: tensor<3, f32> = gir.reduce %k {axes = [0], kind = "max"}
      %a: tensor<M x 3, f32> = gir.update_slice %k, %x, %n {axis = 0}
      gir.yield [%a, %m]
    } do {
      %d: tensor<S x 3, f32> = gir.add %x, %x
      %b: tensor<M x 3, f32> = gir.update_slice %k, %d, %o {axis = 0}
      %e: tensor<M x 3, f32> = gir.cond [%q] do {
        %c: tensor<M x 3, f32> = gir.update_slice %b, %x, %n {axis = 0}
        gir.yield [%c]
      } do {
        gir.yield [%b]
      }
      %f: tensor<3, f32> = gir.reduce %e {axes = [0], kind = "sum"}
      gir.yield [%e, %f]
    }
    %sum: tensor<3, f32> = gir.reduce %new {axes = [0], kind = "sum"}
    %y: tensor<3, f32> = gir.add %sum, %most
    gir.return [%new, %y]
)";
  for (int64_t which : {0, 1, 2, 3}) {
    Tensors arguments = list(numbers(DType::F32, {5, 3}), numbers(DType::F32, {2, 3}, 50),
                             numbers(DType::Bool, {}, double(which & 1)), numbers(DType::Bool, {}, double(which >> 1)));
    ControlTest().check(module_text(parameters, attributes, body), arguments, {{"M", 5}, {"S", 2}}, 0);
  }
}

TEST_CASE("what a branch gives of a buffer as it was is copied before the update") {
  const std::string attributes =
      R"(args = [{donated = true, kind = "input", name = "k"}, {kind = "input", name = "x"}, {kind = "input", name = "p"}],
         results = [{alias_of = "k", name = "k"}, {name = "y"}])";
  const std::string parameters = "%k: tensor<5 x 3, f32>, %x: tensor<2 x 3, f32>, %p: tensor<bool>";
  const std::string body = R"(
    %o: tensor<i64> = gir.dim {value = <1>}
    %old: tensor<5 x 3, f32>, %new: tensor<5 x 3, f32> = gir.cond [%p] do {
      %a: tensor<5 x 3, f32> = gir.update_slice %k, %x, %o {axis = 0}
      gir.yield [%k, %a]
    } do {
      %b: tensor<5 x 3, f32> = gir.add %k, %k
      gir.yield [%b, %k]
    }
    gir.return [%new, %old]
)";
  for (int64_t which : {0, 1}) {
    Tensors arguments = list(numbers(DType::F32, {5, 3}), numbers(DType::F32, {2, 3}, 50),
                             numbers(DType::Bool, {}, double(which)));
    ControlTest().check(module_text(parameters, attributes, body), arguments, {}, 1);
  }
}

TEST_CASE("a donated buffer is left alone until no check can end the call") {
  // The check waits for what the update gives: the update is made in memory of its own, and copied at the end.
  std::string body = R"(
    %new: tensor<B x M x 3, f32> = gir.update_slice %k, %x, %n {axis = 1}
    %y: tensor<B x 3, f32> = gir.reduce %new {axes = [1], kind = "sum"}
    %all: tensor<f32> = gir.reduce %y {axes = [0, 1], kind = "max"}
    %most: tensor<f32> = gir.full {value = 10000.0}
    %fits: tensor<bool> = gir.le %all, %most
    gir.check %fits {message = "too much"}
    gir.return [%new, %n, %y]
)";
  Tensors arguments =
      list(numbers(DType::F32, {2, 5, 3}), numbers(DType::I64, {}, 1), numbers(DType::F32, {2, 2, 3}, 50));
  ControlTest().check(module_text(cache_parameters, cache_attributes, body), arguments,
                      {{"B", 2}, {"M", 5}, {"S", 2}}, 2);
}

TEST_CASE("a gir.check that does not hold ends a call, interpreted and as host.check") {
  std::string attributes = R"(args = [{kind = "input", name = "x"}], results = [{name = "y"}])";
  std::string body = R"(
    %m: tensor<f32> = gir.reduce %x {axes = [0], kind = "max"}
    %k: tensor<f32> = gir.full {value = 100.0}
    %small: tensor<bool> = gir.lt %m, %k
    gir.check %small {message = "x is too large"}
    %y: tensor<4, f32> = gir.add %x, %x
    gir.return [%y]
)";
  std::string text = module_text("%x: tensor<4, f32>", attributes, body);
  ControlTest().check(text, list(numbers(DType::F32, {4})), {}, 0);
  ControlTest large;
  Module* module = large.parse(text);
  REQUIRE(module);
  CHECK_FALSE(graph::evaluate(module->body()->front(), list(numbers(DType::F32, {4}, 100)), {}, large.diagnostics));
  CHECK(large.messages().find("x is too large [eval-check]") != std::string::npos);
  large.lower(*module, true);
  HostRunner runner({}, large.diagnostics);
  CHECK_THROWS_WITH(runner.run(module->find("f"), list(numbers(DType::F32, {4}, 100))), "x is too large");
}

TEST_CASE("sizes choose a branch, whose shapes mean something for them alone") {
  const std::string body = R"(
    %y: tensor<f32> = gir.cond [] {when = [{left = <N % 2>, relation = "==", right = 0}, {left = <N>, relation = ">", right = 3}]} do {
      %r: tensor<(N//2) x 2, f32> = gir.reshape %x
      %c: tensor<2, f32> = gir.reduce %r {axes = [0], kind = "max"}
      %s: tensor<(N - 3), f32> = gir.slice %x {starts = [3], steps = [1]}
      %m: tensor<f32> = gir.reduce %s {axes = [0], kind = "sum"}
      %d: tensor<f32> = gir.reduce %c {axes = [0], kind = "sum"}
      %a: tensor<f32> = gir.add %d, %m
      gir.yield [%a]
    } do {
      %b: tensor<f32> = gir.reduce %x {axes = [0], kind = "sum"}
      gir.yield [%b]
    }
    gir.return [%y]
)";
  for (int64_t n : {0, 1, 2, 4, 5, 6}) {
    ControlTest().check(module_text("%x: tensor<N, f32>",
                                    "args = [{kind = \"input\", name = \"x\"}], results = [{name = \"y\"}]", body),
                        list(numbers(DType::F32, {n}, 1)), {{"N", n}}, 0);
  }
}

TEST_CASE("the counter of a loop chooses a branch") {
  const std::string body = R"(
    %z: tensor<3, f32> = gir.full {value = 0.0}
    %y: tensor<3, f32> = gir.for [%z] {count = <N>, counter = "i"} do(%c: tensor<3, f32>) {
      %e: tensor<1 x 3, f32> = gir.slice %x {starts = [<i>, 0], steps = [1, 1]}
      %v: tensor<3, f32> = gir.reshape %e
      %n: tensor<3, f32> = gir.cond [] {when = [{left = <i>, relation = "==", right = 1}]} do {
        gir.yield [%c]
      } do {
        %a: tensor<3, f32> = gir.add %c, %v
        gir.yield [%a]
      }
      gir.yield [%n]
    }
    gir.return [%y]
)";
  for (int64_t n : {0, 1, 2, 4}) {
    ControlTest().check(module_text("%x: tensor<N x 3, f32>",
                                    "args = [{kind = \"input\", name = \"x\"}], results = [{name = \"y\"}]", body),
                        list(numbers(DType::F32, {n, 3}, 1)), {{"N", n}}, 0);
  }
}

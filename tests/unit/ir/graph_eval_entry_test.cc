// What the interpreter refuses on entry and while it runs, and its limits.

#include "ir/graph/eval.h"
#include "unit/ir/graph_fixture.h"
#include "unit/ir/tensor_fixture.h"

using namespace tessera;
using namespace tessera::graph;

namespace {

std::vector<TensorValue> zeros(const std::vector<std::vector<int64_t>>& shapes,
                               DType dtype = DType::F32) {
  std::vector<TensorValue> out;
  for (const auto& dims : shapes) out.push_back(std::move(*TensorValue::make(dtype, dims)));
  return out;
}

void check_refused(const std::vector<std::string>& parameters, const std::string& statement,
                   std::vector<TensorValue> arguments, const std::string& reason,
                   EvalOptions options = {}) {
  GraphTest test;
  Op* f = test.function(parameters, statement + "\ngir.return [%r]");
  CHECK_FALSE(evaluate(f, std::move(arguments), options, test.diagnostics));
  CHECK_THAT(test.messages(), Catch::Contains(reason));
}

const std::string negate = "%r: tensor<B x 4, f32> = gir.neg %a";
const std::vector<std::string> takes_b = {"%a: tensor<B x 4, f32>"};

}  // namespace

TEST_CASE("arguments must fit their parameters") {
  check_refused(takes_b, negate, zeros({}), "@f takes 1 arguments and is given 0");
  check_refused(takes_b, negate, zeros({{2, 4}}, DType::BF16),
                "argument 'a' must be a tensor<B x 4, f32>, not bf16 of rank 2");
  check_refused(takes_b, negate, zeros({{8}}), "not f32 of rank 1");
  check_refused(takes_b, negate, zeros({{2, 5}}), "axis 1 of argument 'a' has extent 5, not 4");
  check_refused({"%a: tensor<B, f32>", "%b: tensor<B + 1, f32>"}, "%r: tensor<B, f32> = gir.neg %a",
                zeros({{2}, {4}}), "axis 0 of argument 'b' has extent 4, not B + 1 = 3");
  check_refused({"%a: tensor<2*B, f32>"}, "%r: tensor<2*B, f32> = gir.neg %a", zeros({{4}}),
                "the size of '2*B' does not follow");
  check_refused({"%a: tensor<2*B, f32>"}, "%r: tensor<2*B, f32> = gir.neg %a", zeros({{4}}),
                "[eval-unknown-dim]");
}

TEST_CASE("dims that no argument gives come from the caller") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<2*B, f32>"},
                        "%r: tensor<B x 2, f32> = gir.reshape %a\ngir.return [%r]");
  EvalOptions options;
  options.dims["B"] = 3;
  auto results = evaluate(f, zeros({{6}}), options, test.diagnostics);
  REQUIRE(results);
  CHECK(results->front().dims() == std::vector<int64_t>{3, 2});
}

TEST_CASE("f64 mode takes floats in both dtypes") {
  GraphTest test;
  Op* f = test.function(takes_b, negate + "\ngir.return [%r]");
  EvalOptions options;
  options.mode = EvalMode::F64;
  CHECK(evaluate(f, zeros({{2, 4}}), options, test.diagnostics));
  CHECK(evaluate(f, zeros({{2, 4}}, DType::F64), options, test.diagnostics));
  CHECK_FALSE(evaluate(f, zeros({{2, 4}}, DType::BF16), options, test.diagnostics));
}

TEST_CASE("guards are checked and named") {
  const std::string text = R"(module @m level(graph) version(1) {
  gir.func @f(%a: tensor<B x S, f32>) {args = [{kind = "input", name = "a"}], guards = [{left = <B>, relation = "<=", right = 8}, {left = <B*S>, relation = "==", right = <2*S>}], results = [{name = "y"}], role = "entry"} {
    gir.return [%a]
  }
}
)";
  auto run = [&](int64_t b, int64_t s) {
    GraphTest test;
    Module* module = test.parse(text);
    REQUIRE(module);
    bool ok = bool(evaluate(module->body()->front(), zeros({{b, s}}), {}, test.diagnostics));
    return ok ? "" : test.messages();
  };
  CHECK(run(2, 3) == "");
  CHECK(run(5, 0) == "");
  CHECK_THAT(run(9, 0), Catch::Contains("guard 'B <= 8' does not hold: B = 9, 8"));
  CHECK_THAT(run(3, 4), Catch::Contains("guard 'B*S == 2*S' does not hold: B*S = 12, 2*S = 8"));
}

TEST_CASE("slices that leave their operand are refused when dims are known") {
  check_refused({"%a: tensor<S, f32>"},
                "%r: tensor<4, f32> = gir.slice %a {starts = [2], steps = [1]}", zeros({{5}}),
                "a slice from 2 of 4 elements in steps of 1 along axis 0 leaves an extent of 5");
  check_refused({"%a: tensor<S, f32>"},
                "%r: tensor<1, f32> = gir.slice %a {starts = [<S - 2>], steps = [1]}", zeros({{1}}),
                "a slice from -1 of 1 elements");
  check_refused({"%a: tensor<S, f32>"},
                "%r: tensor<S - 2, f32> = gir.slice %a {starts = [2], steps = [1]}", zeros({{1}}),
                "dimension 'S - 2' is -1 [eval-negative-dim]");
  check_refused({"%a: tensor<S, f32>"},
                "%r: tensor<2, f32> = gir.slice %a {starts = [<T>], steps = [1]}", zeros({{1}}),
                "the size of 'T' does not follow");
}

TEST_CASE("windows that leave their operand are refused when dims are known") {
  check_refused({"%a: tensor<S, f32>"},
                "%r: tensor<3 x 2, f32> = gir.windows %a {axis = 0, dilation = 1, step = 2}", zeros({{5}}),
                "a slice from 0 of 3 elements in steps of 2 along axis 0 leaves an extent of 5");
}

TEST_CASE("a tensor beyond the limit is refused before it is made") {
  EvalOptions options;
  options.max_tensor_bytes = 1000;
  check_refused(
      {"%a: tensor<B, f32>"}, "%r: tensor<B x 1000, f32> = gir.full {value = 0}", zeros({{1}}),
      "a tensor<B x 1000, f32> takes more than the interpreter's limit of 1000 bytes", options);
  check_refused({"%a: tensor<B, f32>"},
                "%r: tensor<B x 9223372036854775807, f32> = gir.full {value = 0}", zeros({{9}}),
                "takes more than the interpreter's limit");
}

TEST_CASE("a user's kernel needs somebody to run it") {
  check_refused(takes_b, "%r: tensor<B x 4, f32> = gir.kernel_call [%a] {kernel = @k}", zeros({{1, 4}}),
                "[unsupported-kernel-call]");
}

TEST_CASE("nothing is rounded to nearest that asks for random rounding") {
  check_refused(takes_b, "%r: tensor<B x 4, bf16 stochastic_round> = gir.cast %a", zeros({{1, 4}}),
                "policy '@stochastic_round' of 'gir.cast' is not implemented [unsupported-policy]");
}

TEST_CASE("sizes of tensors are checked") {
  CHECK(count_elements(std::vector<int64_t>{}) == 1);
  CHECK(count_elements(std::vector<int64_t>{INT64_MAX, INT64_MAX, 0}) == 0);
  CHECK_FALSE(count_elements(std::vector<int64_t>{-1, 0}));
  CHECK_FALSE(count_elements(std::vector<int64_t>{INT64_MAX, 2}));
  CHECK_FALSE(TensorValue::make(DType::F64, {INT64_MAX}));
  CHECK_FALSE(TensorValue::make(DType::F32, {251}, 1000));
  CHECK(TensorValue::make(DType::F32, {250}, 1000));
}

TEST_CASE("progress counts the ops") {
  GraphTest test;
  Op* f = test.function(
      takes_b,
      "%0: tensor<B x 4, f32> = gir.abs %a\n%r: tensor<B x 4, f32> = gir.neg %0\ngir.return [%r]");
  EvalOptions options;
  std::vector<size_t> seen;
  options.progress = [&](size_t done, size_t total) { seen.push_back(done * 10 + total); };
  REQUIRE(evaluate(f, zeros({{2, 4}}), options, test.diagnostics));
  CHECK(seen == std::vector<size_t>{12, 22});
}

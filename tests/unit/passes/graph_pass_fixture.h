#pragma once
// Runs graph passes on short functions and compares what they compute before and after, bit for bit.

#include <catch2/catch.hpp>

#include "ir/graph/eval.h"
#include "passes/pass_manager.h"
#include "unit/ir/graph_fixture.h"
#include "unit/ir/tensor_fixture.h"

namespace tessera {

struct GraphPassTest : graph::GraphTest {
  /// Runs a pipeline on the function's module, and verifies after each pass.
  void run(Op* function, const std::string& pipeline) {
    auto steps = parse_pipeline(pipeline, diagnostics);
    REQUIRE(steps);
    PassContext pass_context{diagnostics, nullptr, nullptr, {}, {}};
    PassManagerOptions options;
    options.verify_each = true;
    Status ran = PassManager(options).run(*function->module(), *steps, pass_context);
    INFO(messages());
    REQUIRE(ran);
  }

  std::vector<TensorValue> evaluate(Op* function, const std::vector<TensorValue>& arguments,
                                    graph::EvalMode mode = graph::EvalMode::Exact) {
    std::vector<TensorValue> copies;
    for (const TensorValue& argument : arguments) copies.push_back(std::move(*argument.clone()));
    graph::EvalOptions options;
    options.mode = mode;
    auto results = graph::evaluate(function, std::move(copies), options, diagnostics);
    INFO(messages());
    REQUIRE(results);
    return std::move(*results);
  }

  /// Number of ops of that name in the function.
  static size_t count(Op* function, std::string_view name) {
    size_t n = 0;
    walk(function, [&](Op* op) { n += op->name() == name; });
    return n;
  }
  /// Number of ops besides the return.
  static size_t count(Op* function) {
    size_t n = 0;
    walk(function, [&](Op*) { ++n; });
    return n - 1;
  }

  /// Runs the pipeline on a function and checks that it gives the same bits on these arguments. Gives
  /// the function as the passes left it.
  Op* check_pipeline(const std::string& pipeline, const std::vector<std::string>& parameters,
                     const std::string& body, const std::vector<TensorValue>& arguments,
                     int results = 1) {
    Op* before = function(parameters, body, results);
    Op* after = function(parameters, body, results);
    run(after, pipeline);
    INFO(print(after, {.locations = false}));
    std::vector<TensorValue> wanted = evaluate(before, arguments);
    std::vector<TensorValue> actual = evaluate(after, arguments);
    for (size_t i = 0; i < wanted.size(); ++i) check_same(actual[i], wanted[i]);
    return after;
  }
};

/// Special numbers and random ones, as a tensor [n] of a dtype.
inline TensorValue probing_tensor(DType dtype, uint64_t seed = 1) {
  std::vector<double> values = special_numbers();
  for (double x : some_numbers(33, seed)) values.push_back(x * (is_float(dtype) ? 1 : 1000));
  int64_t count = int64_t(values.size());
  return tensor(dtype, {count}, values);
}

}  // namespace tessera

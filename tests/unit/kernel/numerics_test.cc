// What the kernels of the standard library compute: run as whole tiles and as fragments, compared
// with the formulas in double precision.

#include <catch2/catch.hpp>

#include "ir/tile/eval.h"
#include "passes/pass.h"
#include "unit/ir/tensor_fixture.h"
#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using Sizes = std::map<std::string, int64_t, std::less<>>;

/// The kernel's one result on these operands. `fragments` runs the CPU's passes first.
std::vector<double> computed(KernelFixture& fixture, std::vector<TensorValue>& operands,
                             const Sizes& sizes, bool fragments) {
  tile::register_ops(fixture.context);
  INFO(fixture.build());
  REQUIRE_FALSE(fixture.diagnostics.has_errors());
  PassContext context{fixture.diagnostics, find_machine("cpu:x86-64-v4")};
  std::vector<Status (*)(Module&, PassContext&)> passes = {schedule_to_tile, propagate_masks};
  if (fragments) {
    passes = {schedule_to_tile, merge_loops,        simplify_tiles, propagate_masks,
              simplify_tiles,   split_to_fragments, simplify_tiles};
  }
  for (auto* pass : passes) {
    Status passed = pass(fixture.module, context);
    INFO(render_all(fixture.diagnostics, {}));
    REQUIRE(passed);
  }
  Op* kernel = fixture.module.find("k");
  INFO(print(kernel, {.locations = false}));
  Block* body = kernel->region()->front();
  Type type = body->arg(body->arg_count() - 1)->type();
  std::vector<int64_t> dims;
  for (Dim dim : type->dims) {
    dims.push_back(*evaluate(dim, [&](std::string_view name) { return sizes.find(name)->second; }));
  }
  TensorValue result = std::move(*TensorValue::make(type->dtype, dims));
  std::vector<TensorValue*> parameters;
  for (TensorValue& operand : operands) parameters.push_back(&operand);
  parameters.push_back(&result);
  Status ran = tile::run_kernel(kernel, parameters, sizes, fixture.diagnostics);
  INFO(render_all(fixture.diagnostics, {}));
  REQUIRE(ran);
  return numbers(result);
}

using Formula = std::vector<double> (*)(const std::vector<std::vector<double>>&, const Sizes&);

struct Case {
  std::string kernel;
  std::vector<std::string> types;
  Sizes sizes;
  Formula formula;
  double tolerance;
};

void check(const Case& test, std::vector<TensorValue> operands) {
  std::vector<std::vector<double>> inputs;
  for (const TensorValue& operand : operands) inputs.push_back(numbers(operand));
  std::vector<double> wanted = test.formula(inputs, test.sizes);
  for (bool fragments : {false, true}) {
    INFO((fragments ? "as fragments" : "as whole tiles"));
    KernelFixture fixture;
    fixture.request.machine = "cpu:x86-64-v4";
    fixture.ask(test.kernel, test.types);
    check_close(computed(fixture, operands, test.sizes, fragments), wanted, test.tolerance);
  }
}

std::vector<double> product(const std::vector<std::vector<double>>& in, const Sizes& sizes) {
  int64_t batches = sizes.count("B") ? sizes.at("B") : 1;
  int64_t m = sizes.at("M"), n = sizes.at("N"), k = sizes.at("K");
  std::vector<double> out(size_t(batches * m * n));
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < m * n; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += in[0][size_t((b * m + i / n) * k + l)] * in[1][size_t((b * k + l) * n + i % n)];
      }
      out[size_t(b * m * n + i)] = sum;
    }
  }
  return out;
}

std::vector<double> softmax(const std::vector<std::vector<double>>& in, const Sizes& sizes) {
  std::vector<double> out;
  size_t n = size_t(sizes.at("N"));
  for (size_t row = 0; row < size_t(sizes.at("M")); ++row) {
    const double* x = &in[0][row * n];
    double top = *std::max_element(x, x + n), sum = 0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    for (size_t i = 0; i < n; ++i) {
      out.push_back(top == -infinity ? 0 : std::exp(x[i] - top) / sum);
    }
  }
  return out;
}

std::vector<double> rmsnorm(const std::vector<std::vector<double>>& in, const Sizes& sizes) {
  std::vector<double> out;
  size_t n = size_t(sizes.at("N"));
  for (size_t row = 0; row < size_t(sizes.at("M")); ++row) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += in[0][row * n + i] * in[0][row * n + i];
    for (size_t i = 0; i < n; ++i) {
      double scale = in.size() > 1 ? in[1][i] : 1;
      out.push_back(in[0][row * n + i] / std::sqrt(sum / double(n) + 1e-6) * scale);
    }
  }
  return out;
}

std::vector<double> embedding(const std::vector<std::vector<double>>& in, const Sizes& sizes) {
  std::vector<double> out;
  for (double id : in[0]) {
    bool inside = id >= 0 && id < double(sizes.at("V"));
    for (int64_t i = 0; i < sizes.at("D"); ++i) {
      out.push_back(inside ? in[1][size_t(int64_t(id) * sizes.at("D") + i)] : not_a_number);
    }
  }
  return out;
}

std::vector<double> cross_entropy(const std::vector<std::vector<double>>& in, const Sizes& sizes) {
  std::vector<double> out;
  size_t v = size_t(sizes.at("V"));
  for (size_t row = 0; row < in[1].size(); ++row) {
    const double* x = &in[0][row * v];
    double top = *std::max_element(x, x + v), sum = 0;
    for (size_t i = 0; i < v; ++i) sum += std::exp(x[i] - top);
    bool inside = in[1][row] >= 0 && in[1][row] < double(v);
    out.push_back(inside ? std::log(sum) + top - x[size_t(in[1][row])] : not_a_number);
  }
  return out;
}

}  // namespace

TEST_CASE("stdlib: products of sizes that no tile divides, and of nothing") {
  for (int64_t k : {37, 300, 0}) {
    Case test{"matmul",
              {"tensor<M x K, f32>", "tensor<K x N, f32>"},
              {{"M", 13}, {"N", 29}, {"K", k}},
              product,
              1e-5};
    check(test, [&] {
      std::vector<TensorValue> operands;
      operands.push_back(some_tensor(DType::F32, {13, k}, 1));
      operands.push_back(some_tensor(DType::F32, {k, 29}, 2));
      return operands;
    }());
  }
}

TEST_CASE("stdlib: products of bf16 are added in f32 and rounded once") {
  std::vector<TensorValue> operands;
  operands.push_back(some_tensor(DType::BF16, {2, 5, 70}, 1));
  operands.push_back(some_tensor(DType::BF16, {2, 70, 9}, 2));
  check({"matmul_batched",
         {"tensor<B x M x K, bf16>", "tensor<B x K x N, bf16>"},
         {{"B", 2}, {"M", 5}, {"N", 9}, {"K", 70}},
         product,
         0x1p-8},
        std::move(operands));
}

TEST_CASE("stdlib: softmax of rows with infinities") {
  std::vector<double> x = some_numbers(6 * 21);
  for (size_t i = 0; i < 21; ++i) x[i] = -infinity;
  x[30] = -infinity;
  for (size_t i = 0; i < 21; ++i) x[63 + i] = 80 * x[63 + i] + 1e4;
  x[100] = not_a_number;
  for (size_t i = 84; i < 105; ++i) x[i] = not_a_number;
  std::vector<TensorValue> operands;
  operands.push_back(tensor(DType::F32, {6, 21}, x));
  check({"softmax", {"tensor<M x N, f32>"}, {{"M", 6}, {"N", 21}}, softmax, 1e-6},
        std::move(operands));
}

TEST_CASE("stdlib: norms of rows") {
  std::vector<TensorValue> plain;
  plain.push_back(some_tensor(DType::F32, {7, 50}));
  check({"rmsnorm_safe", {"tensor<M x N, f32>"}, {{"M", 7}, {"N", 50}}, rmsnorm, 1e-6},
        std::move(plain));
  std::vector<TensorValue> scaled;
  scaled.push_back(some_tensor(DType::BF16, {7, 50}, 1));
  scaled.push_back(some_tensor(DType::F32, {50}, 2));
  check({"rmsnorm",
         {"tensor<M x N, bf16>", "tensor<N, f32>"},
         {{"M", 7}, {"N", 50}},
         rmsnorm,
         0x1p-8},
        std::move(scaled));
}

TEST_CASE("stdlib: rows of a table, and rows that it does not have") {
  std::vector<TensorValue> operands;
  operands.push_back(tensor(DType::I32, {6}, {0, 10, -1, 11, 3, 3}));
  operands.push_back(some_tensor(DType::F32, {11, 20}));
  check({"embedding",
         {"tensor<M, i32>", "tensor<V x D, f32>"},
         {{"M", 6}, {"V", 11}, {"D", 20}},
         embedding,
         0},
        std::move(operands));
}

TEST_CASE("stdlib: cross entropy of large logits and of targets that are no column") {
  std::vector<double> logits = some_numbers(5 * 33);
  for (size_t i = 0; i < 33; ++i) logits[i] = 1000 * logits[i];
  std::vector<TensorValue> operands;
  operands.push_back(tensor(DType::F32, {5, 33}, logits));
  operands.push_back(tensor(DType::I64, {5}, {4, 32, 33, -1, 0}));
  check({"cross_entropy",
         {"tensor<M x V, f32>", "tensor<M, i64>"},
         {{"M", 5}, {"V", 33}},
         cross_entropy,
         1e-6},
        std::move(operands));
}

// The interpreter against straightforward formulas in double: every op, odd extents, extents of 1
// and 0.

#include <algorithm>
#include <functional>
#include <set>

#include "ir/graph/eval.h"
#include "ir/numbers/philox.h"
#include "unit/ir/graph_fixture.h"
#include "unit/ir/tensor_fixture.h"

using namespace tessera;
using namespace tessera::graph;

namespace {

using Numbers = std::vector<double>;
using Dims = std::vector<int64_t>;
using Reference = std::function<Numbers(const std::vector<Numbers>&)>;

std::vector<TensorValue> copies(const std::vector<TensorValue>& values) {
  std::vector<TensorValue> out;
  for (const TensorValue& value : values) out.push_back(std::move(*value.clone()));
  return out;
}

struct Case {
  std::vector<std::string> parameters;
  std::string statement;  ///< defines %r
  std::vector<TensorValue> arguments;
  Reference reference;
  double tolerance = 0;  ///< 0: the same numbers
};

std::set<std::string>& evaluated() {
  static std::set<std::string> names = {"gir.func", "gir.return"};
  return names;
}

TensorValue run(GraphTest& test, Op* function, const std::vector<TensorValue>& arguments,
                EvalMode mode = EvalMode::Exact) {
  walk(function, [](Op* op) { evaluated().insert(std::string(op->name())); });
  EvalOptions options;
  options.mode = mode;
  auto results = evaluate(function, copies(arguments), options, test.diagnostics);
  INFO(test.messages());
  REQUIRE(results);
  return std::move(results->front());
}

void check(const Case& c) {
  GraphTest test;
  INFO(c.statement);
  Op* function = test.function(c.parameters, c.statement + "\ngir.return [%r]");
  std::vector<Numbers> inputs;
  for (const TensorValue& argument : c.arguments) inputs.push_back(numbers(argument));
  Numbers wanted = c.reference(inputs);
  check_close(numbers(run(test, function, c.arguments)), wanted, c.tolerance);
  TensorValue reference = run(test, function, c.arguments, EvalMode::F64);
  if (is_float(function->region()->front()->front()->result()->type()->dtype)) {
    CHECK(reference.dtype() == DType::F64);
  }
  check_close(numbers(reference), wanted, std::min(c.tolerance, 1e-12));
}

Numbers counting(int64_t n) {
  Numbers out;
  for (int64_t i = 0; i < n; ++i) out.push_back(double(i));
  return out;
}

Numbers mapped(const Numbers& in, const std::vector<size_t>& places) {
  Numbers out;
  for (size_t place : places) out.push_back(in[place]);
  return out;
}

/// c[i, j] = sum over k of a(i, k) b(k, j).
Numbers matmul(int64_t m, int64_t n, int64_t k, const std::function<double(int64_t, int64_t)>& a,
                const std::function<double(int64_t, int64_t)>& b) {
  Numbers out;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      out.push_back(sum);
    }
  }
  return out;
}

Numbers softmax(const Numbers& in, size_t length) {
  Numbers out;
  for (size_t r = 0; r < in.size(); r += length) {
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += std::exp(in[r + i]);
    for (size_t i = 0; i < length; ++i) out.push_back(std::exp(in[r + i]) / sum);
  }
  return out;
}

}  // namespace

TEST_CASE("values from nothing") {
  check({{}, "%r: tensor<2 x 3, f32> = gir.full {value = 1.5}", {}, [](auto&) {
           return Numbers(6, 1.5);
         }});
  check({{}, "%r: tensor<2, u64> = gir.full {value = 7}", {}, [](auto&) { return Numbers{7, 7}; }});
  check({{}, "%r: tensor<2, bool> = gir.constant {values = [true, 0]}", {}, [](auto&) {
           return Numbers{1, 0};
         }});
  check({{}, "%r: tensor<3, f32> = gir.constant {values = [0.5, -inf, 2]}", {}, [](auto&) {
           return Numbers{0.5, -infinity, 2};
         }});
  check({{}, "%r: tensor<0 x 5, f32> = gir.constant {values = []}", {}, [](auto&) {
           return Numbers{};
         }});
  check({{}, "%r: tensor<2 x 3 x 2, i32> = gir.iota {axis = 1}", {}, [](auto&) {
           return Numbers{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2};
         }});
  std::vector<TensorValue> arguments;
  arguments.push_back(tensor(DType::F32, {3, 5}, counting(15)));
  check({{"%a: tensor<B x S, f32>"},
         "%r: tensor<i64> = gir.dim {value = <B*S - 1>}",
         std::move(arguments),
         [](auto&) { return Numbers{14}; }});
}

namespace {

std::vector<TensorValue> counted(const Dims& dims, DType dtype = DType::F32) {
  std::vector<TensorValue> out;
  out.push_back(tensor(dtype, dims, counting(*count_elements(dims))));
  return out;
}

std::vector<TensorValue> with(std::vector<TensorValue> values, TensorValue more) {
  values.push_back(std::move(more));
  return values;
}

}  // namespace

TEST_CASE("elements in other places") {
  check({{"%a: tensor<3 x 1, f32>"},
         "%r: tensor<2 x 3 x 2, f32> = gir.broadcast %a",
         counted({3, 1}),
         [](auto& in) {
           return mapped(in[0], {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
         }});
  check({{"%a: tensor<f32>"}, "%r: tensor<2, f32> = gir.broadcast %a", counted({}), [](auto& in) {
           return mapped(in[0], {0, 0});
         }});
  check({{"%a: tensor<1, f32>"},
         "%r: tensor<0 x 4, f32> = gir.broadcast %a",
         counted({1}),
         [](auto&) { return Numbers{}; }});
  check({{"%a: tensor<B x 6, f32>"},
         "%r: tensor<3 x B x 2, f32> = gir.reshape %a",
         counted({5, 6}),
         [](auto& in) { return in[0]; }});
  check({{"%a: tensor<2 x 3, i8>"},
         "%r: tensor<3 x 2, i8> = gir.transpose %a {perm = [1, 0]}",
         counted({2, 3}, DType::I8),
         [](auto& in) {
           return mapped(in[0], {0, 3, 1, 4, 2, 5});
         }});
  check({{"%a: tensor<2 x 2 x 3, bf16>"},
         "%r: tensor<3 x 2 x 2, bf16> = gir.transpose %a {perm = [2, 0, 1]}",
         counted({2, 2, 3}, DType::BF16),
         [](auto& in) {
           return mapped(in[0], {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
         }});
  check({{"%a: tensor<5 x S, f64>"},
         "%r: tensor<2 x S - 1, f64> = gir.slice %a {starts = [1, 1], steps = [3, 1]}",
         counted({5, 3}, DType::F64),
         [](auto& in) {
           return mapped(in[0], {4, 5, 13, 14});
         }});
  check({{"%a: tensor<5, f32>"},
         "%r: tensor<0, f32> = gir.slice %a {starts = [9], steps = [1]}",
         counted({5}),
         [](auto&) { return Numbers{}; }});
  check({{"%a: tensor<f32>"},
         "%r: tensor<f32> = gir.slice %a {starts = [], steps = []}",
         counted({}),
         [](auto& in) { return in[0]; }});
  check({{"%a: tensor<A x 6, f32>"},
         "%r: tensor<A x 2 x 2, f32> = gir.windows %a {axis = 1, dilation = 2, step = 3}",
         counted({2, 6}),
         [](auto&) { return Numbers{0, 2, 3, 5, 6, 8, 9, 11}; }});
  check({{"%a: tensor<A x 2, f32>"},
         "%r: tensor<A - 1 x 2 x 2, f32> = gir.windows %a {axis = 0, dilation = 1, step = 1}",
         counted({3, 2}),
         [](auto&) { return Numbers{0, 2, 1, 3, 2, 4, 3, 5}; }});
  check({{"%a: tensor<2 x A, f32>", "%b: tensor<2 x 1, f32>"},
         "%r: tensor<2 x 2*A + 1, f32> = gir.concat [%a, %b, %a] {axis = 1}",
         with(counted({2, 2}), tensor(DType::F32, {2, 1}, {10, 11})),
         [](auto&) { return Numbers{0, 1, 10, 0, 1, 2, 3, 11, 2, 3}; }});
  check({{"%a: tensor<A x 2, f32>", "%b: tensor<B x 2, f32>"},
         "%r: tensor<A + B x 2, f32> = gir.concat [%a, %b] {axis = 0}",
         with(counted({0, 2}), tensor(DType::F32, {1, 2}, {10, 11})),
         [](auto&) {
           return Numbers{10, 11};
         }});
}

TEST_CASE("rows of a table") {
  auto arguments = [] {
    std::vector<TensorValue> out;
    out.push_back(tensor(DType::I32, {2, 2}, {2, 0, -1, 3}));
    return with(std::move(out), tensor(DType::F32, {3, 2}, {10, 11, 20, 21, 30, 31}));
  };
  const double nan = std::nan("");
  check({{"%i: tensor<2 x 2, i32>", "%t: tensor<3 x 2, f32>"},
         "%r: tensor<2 x 2 x 2, f32> = gir.embedding %i, %t",
         arguments(),
         [&](auto&) { return Numbers{30, 31, 10, 11, nan, nan, nan, nan}; }});
  std::vector<TensorValue> integers;
  integers.push_back(tensor(DType::U64, {1}, {0x1p63}));
  check({{"%i: tensor<1, u64>", "%t: tensor<V x 1, u8>"},
         "%r: tensor<1 x 1, u8> = gir.embedding %i, %t",
         with(std::move(integers), tensor(DType::U8, {2, 1}, {5, 6})),
         [](auto&) { return Numbers{0}; }});
}

TEST_CASE("reductions") {
  auto reduce = [](const std::string& from, const std::string& to, const std::string& attributes,
                   std::vector<TensorValue> arguments, Numbers wanted) {
    check({{"%a: " + from},
           "%r: " + to + " = gir.reduce %a {" + attributes + "}",
           std::move(arguments),
           [&](auto&) { return wanted; }});
  };
  reduce("tensor<2 x 3, f32>", "tensor<2, f32>", R"(axes = [1], kind = "sum")", counted({2, 3}),
         {3, 12});
  reduce("tensor<2 x 3, f32>", "tensor<1 x 3, f32>", R"(axes = [0], keep = true, kind = "sum")",
         counted({2, 3}), {3, 5, 7});
  reduce("tensor<2 x 3 x 2, i32>", "tensor<3, i32>", R"(axes = [0, 2], kind = "max")",
         counted({2, 3, 2}, DType::I32), {7, 9, 11});
  reduce("tensor<2 x 3, f32>", "tensor<f32>", R"(axes = [0, 1], kind = "prod")", counted({2, 3}),
         {0});
  reduce("tensor<4, u8>", "tensor<u8>", R"(axes = [0], kind = "min")", counted({4}, DType::U8),
         {0});
  reduce("tensor<f32>", "tensor<f32>", R"(axes = [], kind = "sum")", counted({}), {0});
  reduce("tensor<3, f32>", "tensor<3, f32>", R"(axes = [], kind = "max")", counted({3}), {0, 1, 2});
}

TEST_CASE("reductions of no element") {
  struct Empty {
    const char* dtype;
    const char* kind;
    double wanted;
  };
  for (const Empty& empty : {Empty{"f32", "sum", 0},
                             {"f32", "prod", 1},
                             {"f32", "max", -infinity},
                             {"f32", "min", infinity},
                             {"i8", "max", -128},
                             {"i8", "min", 127},
                             {"u16", "min", 65535},
                             {"u64", "max", 0},
                             {"f8e4m3", "max", -448},
                             {"i4", "prod", 1}}) {
    GraphTest test;
    std::string dtype = empty.dtype;
    Op* f = test.function({"%a: tensor<2 x N, " + dtype + ">"},
                          "%r: tensor<2, " + dtype + "> = gir.reduce %a {axes = [1], kind = \"" +
                              empty.kind + "\"}\ngir.return [%r]");
    std::vector<TensorValue> arguments;
    arguments.push_back(tensor(*parse_dtype(dtype), {2, 0}, {}));
    check_close(numbers(run(test, f, arguments)), {empty.wanted, empty.wanted}, 0);
  }
}

TEST_CASE("a sum is taken in the operand's dtype, in row-major order") {
  GraphTest test;
  Op* f = test.function(
      {"%a: tensor<N, bf16>"},
      "%r: tensor<bf16> = gir.reduce %a {axes = [0], kind = \"sum\"}\ngir.return [%r]");
  std::vector<TensorValue> arguments;
  arguments.push_back(tensor(DType::BF16, {4}, {256, 1, 1, 2}));  // 256 + 1 is 256 in bf16
  CHECK(numbers(run(test, f, arguments)) == Numbers{258});
  CHECK(numbers(run(test, f, arguments, EvalMode::F64)) == Numbers{260});
}

TEST_CASE("matmuls") {
  const int64_t m = 7, n = 13, k = 19;
  auto at = [](const Numbers& x, int64_t columns) {
    return [&x, columns](int64_t i, int64_t j) { return x[size_t(i * columns + j)]; };
  };
  auto transposed = [](const Numbers& x, int64_t columns) {
    return [&x, columns](int64_t i, int64_t j) { return x[size_t(j * columns + i)]; };
  };
  auto pair = [](DType dtype, const Dims& a, const Dims& b) {
    std::vector<TensorValue> out;
    out.push_back(some_tensor(dtype, a, 1));
    out.push_back(some_tensor(dtype, b, 2));
    return out;
  };
  check({{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
         "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}",
         pair(DType::F32, {m, k}, {k, n}),
         [&](auto& in) { return matmul(m, n, k, at(in[0], k), at(in[1], n)); },
         1e-5});
  check({{"%a: tensor<K x M, bf16>", "%b: tensor<N x K, bf16>"},
         "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32, transpose_a = true, transpose_b = "
         "true}",
         pair(DType::BF16, {k, m}, {n, k}),
         [&](auto& in) { return matmul(m, n, k, transposed(in[0], m), transposed(in[1], k)); },
         1e-5});
  check({{"%a: tensor<M x K, f64>", "%b: tensor<K x 1, f64>"},
         "%r: tensor<M x 1, f64> = gir.gemm %a, %b {accum = f64}",
         pair(DType::F64, {1, 200}, {200, 1}),
         [&](auto& in) { return matmul(1, 1, 200, at(in[0], 200), at(in[1], 1)); },
         1e-13});
  check({{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
         "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}",
         pair(DType::F32, {2, 0}, {0, 3}),
         [&](auto&) { return Numbers(6, 0.0); }});
  check({{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
         "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}",
         pair(DType::F32, {0, 2}, {2, 3}),
         [&](auto&) { return Numbers{}; }});
  check({{"%a: tensor<2 x M x K, f32>", "%b: tensor<2 x K x N, f32>"},
         "%r: tensor<2 x M x N, f32> = gir.gemm %a, %b {accum = f32}",
         pair(DType::F32, {2, 1, 2}, {2, 2, 1}),
         [&](auto& in) {
           const Numbers &a = in[0], &b = in[1];
           return Numbers{a[0] * b[0] + a[1] * b[1], a[2] * b[2] + a[3] * b[3]};
         },
         1e-6});
  check({{"%a: tensor<2 x M x K, f32>", "%b: tensor<K x N, f32>"},
         "%r: tensor<2 x M x N, f32> = gir.gemm %a, %b {accum = f32}",
         pair(DType::F32, {2, 3, k}, {k, n}),
         [&](auto& in) { return matmul(6, n, k, at(in[0], k), at(in[1], n)); },
         1e-5});
}

TEST_CASE("integer matmuls wrap, narrow accumulators round") {
  GraphTest test;
  Op* wraps =
      test.function({"%a: tensor<1 x K, i8>", "%b: tensor<K x 1, i8>"},
                    "%r: tensor<1 x 1, i8> = gir.gemm %a, %b {accum = i8}\ngir.return [%r]");
  std::vector<TensorValue> bytes;
  bytes.push_back(tensor(DType::I8, {1, 2}, {100, 3}));
  bytes.push_back(tensor(DType::I8, {2, 1}, {2, 1}));
  CHECK(numbers(run(test, wraps, bytes)) == Numbers{203 - 256});

  Op* rounds =
      test.function({"%a: tensor<1 x K, bf16>", "%b: tensor<K x 1, bf16>"},
                    "%r: tensor<1 x 1, bf16> = gir.gemm %a, %b {accum = bf16}\ngir.return [%r]");
  std::vector<TensorValue> ones;
  ones.push_back(tensor(DType::BF16, {1, 1000}, Numbers(1000, 1.0)));
  ones.push_back(tensor(DType::BF16, {1000, 1}, Numbers(1000, 1.0)));
  // Rounded each 64 steps the sum stays exact up to 960; 40 more give 1000, exact too. Each step
  // rounded, it would stop at 256.
  CHECK(numbers(run(test, rounds, ones)) == Numbers{1000});
  ones[0].set(0, {.f = 1024});
  // 1023 + 64 = 1087 rounds to 1088; each further 64 is exact, and 40 after 960 rounds to the
  // nearest 8.
  CHECK(numbers(run(test, rounds, ones)) == Numbers{2024});
}

TEST_CASE("the products of an f32 matmul are fused and summed in the order of k") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
                        "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}\ngir.return [%r]");
  const int64_t m = 5, n = 37, k = 131;
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {m, k}, 3));
  arguments.push_back(some_tensor(DType::F32, {k, n}, 4));
  TensorValue result = run(test, f, arguments);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum = std::fmaf(arguments[0].as<float>()[size_t(i * k + l)],
                        arguments[1].as<float>()[size_t(l * n + j)], sum);
      }
      CHECK(result.as<float>()[size_t(i * n + j)] == sum);
    }
  }
}

TEST_CASE("softmax, norms and losses") {
  auto one = [](DType dtype, const Dims& dims) {
    std::vector<TensorValue> out;
    out.push_back(some_tensor(dtype, dims, 9));
    return out;
  };
  check({{"%a: tensor<B x V, f32>"},
         "%r: tensor<B x V, f32> = gir.softmax %a",
         one(DType::F32, {3, 17}),
         [](auto& in) { return softmax(in[0], 17); },
         1e-6});
  check({{"%a: tensor<B x V, f64>"},
         "%r: tensor<B x V, f64> = gir.softmax %a",
         one(DType::F64, {2, 1}),
         [](auto&) {
           return Numbers{1, 1};
         }});
  check({{"%a: tensor<B x V, f32>"},
         "%r: tensor<B x V, f32> = gir.softmax %a",
         one(DType::F32, {2, 0}),
         [](auto&) { return Numbers{}; }});
  auto norm = [](const Numbers& x, const Numbers* scale, size_t length) {
    Numbers out;
    for (size_t r = 0; r < x.size(); r += length) {
      double sum = 0;
      for (size_t i = 0; i < length; ++i) sum += x[r + i] * x[r + i];
      double root = std::sqrt(sum / double(length) + 0.25);
      for (size_t i = 0; i < length; ++i)
        out.push_back(x[r + i] / root * (scale ? (*scale)[i] : 1));
    }
    return out;
  };
  check({{"%a: tensor<B x D, f32>"},
         "%r: tensor<B x D, f32> = gir.rmsnorm %a, [] {eps = 0.25}",
         one(DType::F32, {3, 5}),
         [&](auto& in) { return norm(in[0], nullptr, 5); },
         1e-6});
  check({{"%a: tensor<B x D, f32>", "%s: tensor<D, f32>"},
         "%r: tensor<B x D, f32> = gir.rmsnorm %a, [%s] {eps = 0.25}",
         with(one(DType::F32, {3, 5}), some_tensor(DType::F32, {5}, 8)),
         [&](auto& in) { return norm(in[0], &in[1], 5); },
         1e-6});
  check({{"%l: tensor<4 x V, f32>", "%t: tensor<4, i64>"},
         "%r: tensor<4, f32> = gir.cross_entropy %l, %t",
         with(one(DType::F32, {4, 6}), tensor(DType::I64, {4}, {0, 5, 6, -1})),
         [](auto& in) {
           Numbers p = softmax(in[0], 6);
           return Numbers{-std::log(p[0]), -std::log(p[11]), std::nan(""), std::nan("")};
         },
         1e-6});
}

TEST_CASE("rows with infinities and NaN") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<B x V, f32>"},
                        "%r: tensor<B x V, f32> = gir.softmax %a\ngir.return [%r]");
  const double nan = std::nan("");
  std::vector<TensorValue> arguments;
  arguments.push_back(
      tensor(DType::F32, {4, 2}, {-infinity, -infinity, -infinity, 3, infinity, 0, nan, 0}));
  check_close(numbers(run(test, f, arguments)), {0, 0, 0, 1, nan, nan, nan, nan}, 0);

  Op* loss = test.function({"%l: tensor<2 x 2, f32>", "%t: tensor<2, i32>"},
                           "%r: tensor<2, f32> = gir.cross_entropy %l, %t\ngir.return [%r]");
  std::vector<TensorValue> masked;
  masked.push_back(tensor(DType::F32, {2, 2}, {-infinity, -infinity, -infinity, 3}));
  masked.push_back(tensor(DType::I32, {2}, {0, 0}));
  check_close(numbers(run(test, loss, masked)), {infinity, infinity}, 0);
}

TEST_CASE("attention weighs what a row sees, of keys that are there") {
  GraphTest test;
  auto attention = [&](const std::string& length, const std::string& attributes, int64_t held) {
    Op* f = test.function(
        {"%q: tensor<1 x 2 x 2 x 1, f32>", "%k: tensor<1 x 1 x 3 x 1, f32>", "%v: tensor<1 x 1 x 3 x 1, f32>",
         "%n: tensor<i64>"},
        "%r: tensor<1 x 2 x 2 x 1, f32>, %l: tensor<1 x 2 x 2, f32> = gir.flash_attention %q, %k, %v, [], [" + length +
            "], []" + attributes + "\ngir.return [%r]");
    std::vector<TensorValue> arguments;
    // The first head has equal scores for all keys, the second log(2) times the key's number.
    arguments.push_back(tensor(DType::F32, {1, 2, 2, 1}, {0, 0, std::log(2.0), std::log(2.0)}));
    arguments.push_back(tensor(DType::F32, {1, 1, 3, 1}, {0, 1, 2}));
    arguments.push_back(tensor(DType::F32, {1, 1, 3, 1}, {1, 2, 6}));
    arguments.push_back(tensor(DType::I64, {}, {double(held)}));
    return numbers(run(test, f, arguments));
  };
  check_close(attention("", "", 0), {3, 3, 29.0 / 7, 29.0 / 7}, 1e-6);
  check_close(attention("", " {causal = true}", 0), {1.5, 3, 5.0 / 3, 29.0 / 7}, 1e-6);
  check_close(attention("", " {causal = true, window = 1}", 0), {2, 6, 2, 6}, 1e-6);
  check_close(attention("%n", " {causal = true}", 1), {0, 1, 0, 1}, 1e-6);
  check_close(attention("%n", " {scale = 0.0}", 2), {1.5, 1.5, 1.5, 1.5}, 1e-6);
  // Of five keys the last three are there: 3 and 4 lie in rows 0 and 1, 2 in row 2.
  check_close(attention("%n", " {causal = true, rolling = true, scale = 0.0}", 5), {3.5, 3, 3.5, 3}, 1e-6);
  check_close(attention("%n", " {causal = true, rolling = true, window = 2, scale = 0.0}", 5), {3.5, 1.5, 3.5, 1.5},
              1e-6);
  check_close(attention("%n", " {rolling = true, scale = 0.0}", 2), {1.5, 1.5, 1.5, 1.5}, 1e-6);
}

TEST_CASE("random numbers come from philox words in order") {
  const uint64_t seed = 0x123456789abcdef0, stream = 77;
  std::vector<TensorValue> arguments;
  arguments.push_back(std::move(*TensorValue::make(DType::U64, {})));
  arguments[0].set(0, {.i = int64_t(seed)});
  auto word = [&](size_t i) { return philox::block(i / 4, seed ^ stream)[i % 4]; };
  Numbers uniform, normal;
  for (size_t i = 0; i < 21; ++i) {
    uniform.push_back(double(word(i) >> 8) / 16777216.0);
    double u1 = (double(word(i & ~size_t(1))) + 1) / 4294967296.0;
    double u2 = double(word(i | 1) >> 8) / 16777216.0;
    double angle = 2 * M_PI * u2;
    normal.push_back(std::sqrt(-2 * std::log(u1)) * (i % 2 ? std::sin(angle) : std::cos(angle)));
  }
  GraphTest test;
  Op* u = test.function(
      {"%s: tensor<u64>"},
      "%r: tensor<3 x 7, f32> = gir.philox_uniform %s {stream = 77}\ngir.return [%r]");
  CHECK(numbers(run(test, u, arguments)) == uniform);
  CHECK(numbers(run(test, u, arguments, EvalMode::F64)) == uniform);
  Op* n =
      test.function({"%s: tensor<u64>"},
                    "%r: tensor<3 x 7, f32> = gir.philox_normal %s {stream = 77}\ngir.return [%r]");
  check_close(numbers(run(test, n, arguments)), normal, 2e-6);
  check_close(numbers(run(test, n, arguments, EvalMode::F64)), normal, 1e-12);
}

TEST_CASE("elementwise ops on tensors give what they give on elements") {
  for (size_t k = 1; k <= size_t(ElementwiseKind::Cast); ++k) {
    ElementwiseKind kind = ElementwiseKind(k);
    const ElementwiseInfo& row = elementwise_info(kind);
    DType data = row.cls == ElementwiseClass::Logical ? DType::I32 : DType::F32;
    DType result = row.cls == ElementwiseClass::Compare   ? DType::Bool
                   : row.cls == ElementwiseClass::Convert ? DType::F16
                                                          : data;
    const int64_t count = 1500;
    std::vector<std::string> parameters;
    std::string operands;
    std::vector<TensorValue> arguments;
    for (unsigned o = 0; o < row.operands; ++o) {
      DType dtype = row.cls == ElementwiseClass::Choose && o == 0 ? DType::Bool : data;
      parameters.push_back("%p" + std::to_string(o) + ": tensor<N, " +
                           std::string(to_string(dtype)) + ">");
      operands += (o ? ", %p" : " %p") + std::to_string(o);
      Numbers values = some_numbers(count, o + 1);
      std::copy(special_numbers().begin(), special_numbers().end(),
                values.begin() + int64_t(40 * o));
      arguments.push_back(tensor(dtype, {count}, values));
    }
    GraphTest test;
    Op* f = test.function(parameters, "%r: tensor<N, " + std::string(to_string(result)) + "> = " +
                                          info(kind)->name + operands + "\ngir.return [%r]");
    TensorValue got = run(test, f, arguments);
    TensorValue wanted = std::move(*TensorValue::make(result, {count}));
    for (int64_t i = 0; i < count; ++i) {
      std::vector<Element> in;
      for (const TensorValue& argument : arguments) in.push_back(argument.get(i));
      wanted.set(i, evaluate_elementwise(kind, data, result, in));
    }
    INFO(row.name);
    check_same(got, wanted);
  }
}

TEST_CASE("a saturating cast stays finite") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<N, f32>"},
                        "%r: tensor<N, f8e4m3 saturate> = gir.cast %a\ngir.return [%r]");
  std::vector<TensorValue> arguments;
  arguments.push_back(tensor(DType::F32, {4}, {1000, -infinity, 1.5, std::nan("")}));
  check_close(numbers(run(test, f, arguments)), {448, -448, 1.5, std::nan("")}, 0);
  Op* g = test.function({"%a: tensor<N, i32>"},
                        "%r: tensor<N, f16 saturate> = gir.cast %a\ngir.return [%r]");
  std::vector<TensorValue> integers;
  integers.push_back(tensor(DType::I32, {2}, {1000000, -7}));
  check_close(numbers(run(test, g, integers)), {65504, -7}, 0);
  Op* h = test.function({"%a: tensor<N, i32>"},
                        "%r: tensor<N, u8 saturate> = gir.cast %a\ngir.return [%r]");
  std::vector<TensorValue> bytes;
  bytes.push_back(tensor(DType::I32, {4}, {300, -7, 255, 9}));
  check_close(numbers(run(test, h, bytes)), {255, 0, 255, 9}, 0);
}

TEST_CASE("bits of elements as numbers of another dtype") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<N, f32>"}, "%r: tensor<N, i32> = gir.bits %a\ngir.return [%r]");
  std::vector<TensorValue> arguments;
  arguments.push_back(tensor(DType::F32, {3}, {1, -0.0, 0}));
  check_close(numbers(run(test, f, arguments)), {0x3f800000, -2147483648.0, 0}, 0);
}

TEST_CASE("a kernel call goes to whoever can run kernels") {
  GraphTest test;
  Op* f =
      test.function({"%a: tensor<N, f32>"},
                    "%r: tensor<N, f32> = gir.kernel_call [%a] {kernel = @twice}\ngir.return [%r]");
  evaluated().insert("gir.kernel_call");
  EvalOptions options;
  CHECK_FALSE(evaluate(f, counted({3}), options, test.diagnostics));
  CHECK_THAT(test.messages(), Catch::Contains("does not call kernels, such as @twice"));
  options.call_kernel =
      [](Op*, const std::vector<const TensorValue*>& in, const DimValues& dims) -> Result<std::vector<TensorValue>> {
    CHECK(dims.at("N") == 3);
    std::vector<TensorValue> out;
    out.push_back(tensor(DType::F32, {3}, {0, 2, 4}));
    CHECK(numbers(*in[0]) == Numbers{0, 1, 2});
    return out;
  };
  auto results = evaluate(f, counted({3}), options, test.diagnostics);
  REQUIRE(results);
  CHECK(numbers(results->front()) == Numbers{0, 2, 4});
}

TEST_CASE("values are used again, and returned twice") {
  GraphTest test;
  Op* f = test.function(
      {"%a: tensor<2 x N, f32>"},
      "%0: tensor<2*N, f32> = gir.reshape %a\n%1: tensor<2 x N, f32> = gir.reshape %0\n"
      "%2: tensor<2 x N, f32> = gir.add %1, %a\ngir.return [%2, %a, %a]",
      3);
  auto results = evaluate(f, counted({2, 3}), {}, test.diagnostics);
  REQUIRE(results);
  CHECK(numbers((*results)[0]) == Numbers{0, 2, 4, 6, 8, 10});
  CHECK((*results)[0].dims() == Dims{2, 3});
  CHECK(numbers((*results)[1]) == numbers((*results)[2]));
}

TEST_CASE("loops, branches, checks and updates of a part") {
  GraphTest test;
  Op* f = test.function(
      {"%a: tensor<5, i64>"},
      "%z: tensor<i64> = gir.constant {values = [0]}\n"
      "%s: tensor<i64> = gir.for [%z] {count = 5, counter = \"i\"} do(%c: tensor<i64>) {"
      " %e: tensor<1, i64> = gir.slice %a {starts = [<i>], steps = [1]}"
      " %v: tensor<i64> = gir.reshape %e"
      " %n: tensor<i64> = gir.add %c, %v"
      " gir.yield [%n] }\n"
      "%h: tensor<i64> = gir.constant {values = [100]}\n"
      "%w: tensor<i64> = gir.while [%s] do(%p: tensor<i64>) {"
      " %l: tensor<bool> = gir.lt %p, %h"
      " gir.yield [%l] } do(%q: tensor<i64>) {"
      " %d: tensor<i64> = gir.add %q, %q"
      " gir.yield [%d] }\n"
      "%big: tensor<bool> = gir.ge %w, %h\n"
      "gir.check %big {message = \"it is not yet large\"}\n"
      "%one: tensor<i64> = gir.constant {values = [1]}\n"
      "%at: tensor<i64> = gir.cond [%big] do { gir.yield [%one] } do { gir.yield [%z] }\n"
      "%u: tensor<1, i64> = gir.reshape %w\n"
      "%r: tensor<5, i64> = gir.update_slice %a, %u, %at {axis = 0}\n"
      "gir.return [%r]");
  std::vector<TensorValue> arguments;
  arguments.push_back(*TensorValue::make(DType::I64, {5}));
  for (int64_t i = 0; i < 5; ++i) arguments[0].set(i, {.i = i});
  TensorValue result = run(test, f, arguments);
  int64_t wanted[] = {0, 160, 2, 3, 4};
  for (int64_t i = 0; i < 5; ++i) CHECK(result.get(i).i == wanted[i]);
}

TEST_CASE("a barrier is what stands before it") {
  GraphTest test;
  Op* f = test.function({"%a: tensor<2 x 3, f32>"},
                        "%s: tensor<f32> = gir.reduce %a {axes = [0, 1], kind = \"sum\"}\n"
                        "%b: tensor<2 x 3, f32> = gir.barrier %a, [%s]\n%r: tensor<2 x 3, f32> = gir.add %b, %a\n"
                        "gir.return [%r, %b]", 2);
  auto results = evaluate(f, counted({2, 3}), {}, test.diagnostics);
  REQUIRE(results);
  evaluated().insert("gir.barrier");
  CHECK(numbers((*results)[0]) == Numbers{0, 2, 4, 6, 8, 10});
  CHECK(numbers((*results)[1]) == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("every graph op has been evaluated") {
  Context context;
  register_ops(context);
  for (const OpInfo* row : context.all_ops()) {
    std::string_view name = row->name;  // a complete graph has none of these
    if (name.starts_with("gir.custom_") || name.starts_with("gir.checkpoint") || name == "gir.named") continue;
    INFO(row->name);
    CHECK(evaluated().count(row->name) == 1);
  }
}

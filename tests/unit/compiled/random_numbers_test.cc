// Random numbers inside of an entry, as machine code beside the interpreter.
//
// Uniform numbers are integers times 2^-24: the same bits. A normal number is sqrt(-2 log u) times
// a sine or cosine. In units of the last place, with the bounds of docs/numerics.md, compiled and
// interpreted logarithms are 1.5 apart and their roots 0.75; each root is rounded, which is 1 more;
// sines are 1.01 apart; each product is rounded, 1 again. That is below 4, and a unit may count
// twice where a binade ends: 8 units, relative to the number.

#include <catch2/catch.hpp>
#include <cmath>

#include "ir/graph/eval.h"
#include "unit/compiled/compiled_program.h"

using namespace tessera;

namespace {

using Tensors = test::CompiledProgram::Tensors;

constexpr double normal_bound = 8 * 0x1p-24;

/// An entry of %s: tensor<u64> and %x: tensor<M x N, f32> with results r0 and r1.
std::string entry_text(const std::string& body) {
  return "module @f level(graph) version(1) {\ngir.func @f(%s: tensor<u64>, %x: tensor<M x N, "
         "f32>) "
         "{args = [{kind = \"input\", name = \"s\"}, {kind = \"input\", name = \"x\"}], results = "
         "[{name = \"r0\"}, {name = \"r1\"}], role = \"entry\"} {\n" +
         body + "}\n}\n";
}

Tensors arguments(uint64_t seed, int64_t m, int64_t n) {
  Tensors given;
  given.push_back(*TensorValue::make(DType::U64, {}));
  given[0].set(0, {.i = int64_t(seed)});
  given.push_back(*TensorValue::make(DType::F32, {m, n}));
  for (int64_t e = 0; e < m * n; ++e) given[1].set(e, {.f = double(e % 7) - 3});
  return given;
}

/// The largest distance relative to the wanted number.
double relative_distance(const TensorValue& got, const TensorValue& wanted) {
  double most = 0;
  for (int64_t e = 0; e < got.count(); ++e) {
    double x = got.get(e).f, y = wanted.get(e).f;
    if (x != y) most = std::max(most, std::fabs(x - y) / std::fabs(y));
    if (std::isnan(x)) most = INFINITY;
  }
  return most;
}

void check_close(const Tensors& got, const Tensors& wanted, double bound) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    CHECK(relative_distance(got[i], wanted[i]) <= bound);
  }
}

void check_numbers(const std::string& body, double bound) {
  std::string text = entry_text(body);
  TextFixture f;
  auto modules = parse_modules(f.context, f.sources.add("f.tir", text), f.diagnostics);
  INFO(text << render_all(f.diagnostics, {}));
  REQUIRE(modules);
  for (const Machine* machine : test::runnable_machines()) {
    test::CompiledProgram program(text, *machine);
    INFO(machine->name << program.messages());
    REQUIRE(program.messages().empty());
    for (uint64_t seed : {uint64_t(0), uint64_t(42), 0xFEDCBA9876543210, ~uint64_t(0)}) {
      for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {7, 41}, {129, 130}, {0, 9}}) {
        INFO("seed " << seed << ", M = " << m << ", N = " << n);
        Tensors given = arguments(seed, m, n);
        auto wanted =
            graph::evaluate((*modules)[0]->find("f"), arguments(seed, m, n), {}, f.diagnostics);
        REQUIRE(wanted);
        check_close(program.launch(given, {{"M", m}, {"N", n}}), *wanted, bound);
        check_close(program.call(given, *wanted), *wanted, bound);
      }
    }
  }
}

}  // namespace

TEST_CASE("uniform numbers have the same bits compiled") {
  check_numbers(R"(
    %0: tensor<M x N, f32> = gir.philox_uniform %s {stream = 3}
    %1: tensor<M x N, f32> = gir.add %0, %x
    %2: tensor<N x M, f32> = gir.philox_uniform %s {stream = -1}
    %3: tensor<M x N, f32> = gir.transpose %2 {perm = [1, 0]}
    %4: tensor<M x N, f32> = gir.mul %3, %x
    gir.return [%1, %4]
)",
                0);
}

TEST_CASE("normal numbers are within the bounds of their functions compiled") {
  check_numbers(R"(
    %0: tensor<M x N, f32> = gir.philox_normal %s {stream = 5}
    %1: tensor<M*N, f32> = gir.philox_normal %s {stream = 5}
    gir.return [%0, %1]
)",
                normal_bound);
}

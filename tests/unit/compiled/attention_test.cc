// Attention compiled for every processor that runs here, in memory that ends where it may not be touched, beside the
// graph's interpreter: edges of blocks each way, groups of heads, masks, and nothing at all.

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "ir/graph/eval.h"
#include "unit/compiled/compiled_program.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;
using test::CompiledProgram;

namespace {

using Tensors = CompiledProgram::Tensors;
using DimValues = CompiledProgram::DimValues;

struct Case {
  std::string dtype, attributes;
  /// Operands beside q, k and v, by their slots: a bias of each weight, positions that are there, a seed.
  std::string others = "[], [], []";
};

const std::vector<DimValues> sizes = {{{"S", 70}, {"T", 130}}, {{"S", 1}, {"T", 300}}, {{"S", 64}, {"T", 64}},
                                      {{"S", 9}, {"T", 3}},    {{"S", 3}, {"T", 0}},   {{"S", 0}, {"T", 5}}};

bool has(const Case& of, const char* operand) {
  return of.others.find(operand) != std::string::npos;
}

std::string entry(const Case& of) {
  auto tensor = [&](const char* dims) { return std::string("tensor<") + dims + ", " + of.dtype + ">"; };
  std::string total = of.dtype == "f64" ? "f64" : "f32";
  std::string args = "%q: " + tensor("2 x 4 x S x 24") + ", %k: " + tensor("2 x 2 x T x 24") + ", %v: " +
                     tensor("2 x 2 x T x 20");
  if (has(of, "%b")) args += ", %b: " + tensor("2 x 4 x S x T");
  if (has(of, "%n")) args += ", %n: tensor<i64>";
  if (has(of, "%s")) args += ", %s: tensor<u64>";
  return entry_module(args,
                      "%y: tensor<2 x 4 x S x 20, " + total + ">, %l: tensor<2 x 4 x S, " + total +
                          "> = gir.flash_attention %q, %k, %v, " + of.others + of.attributes +
                          "\n%z: tensor<2 x 4 x S x 20, " + total + "> = gir.flash_attention %q, %k, %v, " + of.others +
                          of.attributes + "\ngir.return [%y, %l, %z]\n",
                      3);
}

Tensors operands(const Case& of, const DimValues& dims) {
  DType dtype = *parse_dtype(of.dtype);
  int64_t s = dims.at("S"), t = dims.at("T");
  std::vector<std::vector<int64_t>> extents = {{2, 4, s, 24}, {2, 2, t, 24}, {2, 2, t, 20}};
  if (has(of, "%b")) extents.push_back({2, 4, s, t});
  Tensors given;
  for (const std::vector<int64_t>& each : extents) given.push_back(*TensorValue::make(dtype, each));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(-2, 2);
  for (TensorValue& tensor : given) {
    for (int64_t e = 0; e < tensor.count(); ++e)
      tensor.set(e, {.f = decode_float(dtype, encode_float(dtype, real(random)))});
  }
  auto add = [&](DType type, int64_t value) {
    given.push_back(*TensorValue::make(type, {}));
    given.back().set(0, {.i = value});
  };
  if (has(of, "%n")) add(DType::I64, t - t / 3);
  if (has(of, "%s")) add(DType::U64, 0x123456789abcdef);
  return given;
}

Tensors clones(const Tensors& of) {
  Tensors made;
  for (const TensorValue& tensor : of) made.push_back(*tensor.clone());
  return made;
}

double largest_difference(const TensorValue& a, const TensorValue& b) {
  double most = 0;
  for (int64_t e = 0; e < a.count(); ++e) {
    double x = a.get(e).f, y = b.get(e).f;
    if (x == y) continue;
    most = std::max(most, std::isfinite(x - y) ? std::fabs(x - y) : INFINITY);
  }
  return most;
}

void check(const Machine& machine, const Case& of, double bound) {
  TextFixture text;
  auto modules = parse_modules(text.context, text.sources.add("f.tir", entry(of)), text.diagnostics);
  REQUIRE(modules);
  CompiledProgram program(entry(of), machine);
  INFO(machine.name << ", " << of.dtype << of.attributes << program.messages());
  REQUIRE(program.messages().empty());
  for (const DimValues& dims : sizes) {
    INFO("S = " << dims.at("S") << ", T = " << dims.at("T"));
    Tensors given = operands(of, dims);
    auto wanted = graph::evaluate((*modules)[0]->find("f"), clones(given), {}, text.diagnostics);
    REQUIRE(wanted);
    Tensors made = program.launch(given, dims);
    for (size_t i = 0; i < 3; ++i) CHECK(largest_difference(made[i], (*wanted)[i]) <= bound);
  }
}

}  // namespace

TEST_CASE("attention is right at all edges of blocks") {
  for (const Machine* machine : test::runnable_machines()) {
    check(*machine, {"f32", ""}, 1e-5);
    check(*machine, {"f32", " {causal = true}"}, 1e-5);
    check(*machine, {"f32", " {scale = 0.7, window = 17}"}, 1e-5);
    check(*machine, {"f64", " {causal = true, window = 40}"}, 1e-13);
    check(*machine, {"bf16", " {causal = true}"}, 2e-2);
    check(*machine, {"f32", " {causal = true, window = 30}", "[%b], [%n], []"}, 1e-5);
    check(*machine, {"bf16", " {window = 30}", "[%b], [%n], []"}, 2e-2);
    check(*machine, {"f32", " {causal = true, dropout = 0.3, stream = 77}", "[], [], [%s]"}, 2e-5);
  }
  const Machine& best = *test::runnable_machines().back();
  check(best, {"f64", " {dropout = 0.9, stream = 1}", "[%b], [%n], [%s]"}, 1e-12);
  check(best, {"f16", " {dropout = 0.5, stream = 9000000000000000000}", "[], [], [%s]"}, 1e-2);
}

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
  std::vector<DimValues> sizes;
};

const std::vector<DimValues> sizes = {{{"S", 70}, {"T", 130}}, {{"S", 1}, {"T", 300}}, {{"S", 64}, {"T", 64}},
                                      {{"S", 9}, {"T", 3}},    {{"S", 3}, {"T", 0}},   {{"S", 0}, {"T", 5}}};

std::string entry(const Case& of) {
  auto tensor = [&](const char* dims) { return std::string("tensor<") + dims + ", " + of.dtype + ">"; };
  std::string total = of.dtype == "f64" ? "f64" : "f32";
  return entry_module("%q: " + tensor("2 x 4 x S x 24") + ", %k: " + tensor("2 x 2 x T x 24") + ", %v: " +
                          tensor("2 x 2 x T x 20"),
                      "%y: tensor<2 x 4 x S x 20, " + total + ">, %l: tensor<2 x 4 x S, " + total +
                          "> = gir.flash_attention %q, %k, %v, [], [], []" + of.attributes + "\ngir.return [%y, %l]\n",
                      2);
}

Tensors operands(DType dtype, const DimValues& dims) {
  int64_t s = dims.at("S"), t = dims.at("T");
  Tensors given;
  for (auto [heads, rows, columns] : {std::tuple(4l, s, 24l), std::tuple(2l, t, 24l), std::tuple(2l, t, 20l)})
    given.push_back(*TensorValue::make(dtype, {2, heads, rows, columns}));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(-2, 2);
  for (TensorValue& tensor : given) {
    for (int64_t e = 0; e < tensor.count(); ++e)
      tensor.set(e, {.f = decode_float(dtype, encode_float(dtype, real(random)))});
  }
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
  for (const DimValues& dims : of.sizes) {
    INFO("S = " << dims.at("S") << ", T = " << dims.at("T"));
    Tensors given = operands(*parse_dtype(of.dtype), dims);
    auto wanted = graph::evaluate((*modules)[0]->find("f"), clones(given), {}, text.diagnostics);
    REQUIRE(wanted);
    Tensors made = program.launch(given, dims);
    for (size_t i = 0; i < 2; ++i) CHECK(largest_difference(made[i], (*wanted)[i]) <= bound);
  }
}

}  // namespace

TEST_CASE("attention is right at all edges of blocks") {
  for (const Machine* machine : test::runnable_machines()) {
    check(*machine, {"f32", "", sizes}, 1e-5);
    check(*machine, {"f32", " {causal = true}", sizes}, 1e-5);
    check(*machine, {"f32", " {scale = 0.7, window = 17}", sizes}, 1e-5);
    check(*machine, {"f64", " {causal = true, window = 40}", sizes}, 1e-13);
    check(*machine, {"bf16", " {causal = true}", sizes}, 2e-2);
  }
}

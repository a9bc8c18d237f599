// Products whose factors kernels of their own pack, on every target: beside sums in double, at
// sizes that are no multiples of anything, and with the same bits whatever the number of threads.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "unit/codegen/amx_emulator.h"
#include "unit/compiled/compiled_program.h"

using namespace tessera;
using test::AmxEmulator;
using test::CompiledProgram;

namespace {

using Tensors = CompiledProgram::Tensors;

struct Sizes {
  int64_t m, n, k;
};

/// More than one block along each axis and more than one part along k, edges, and nothing.
constexpr Sizes all_sizes[] = {{300, 800, 290}, {257, 385, 256}, {129, 127, 41}, {7, 1000, 1},
                               {1, 1, 7},       {41, 129, 0},    {0, 5, 3},      {5, 0, 3}};

std::string entry(const char* dtype, bool turned, const std::string& dims = "M K N") {
  std::string m = dims.substr(0, dims.find(' ')), n = dims.substr(dims.rfind(' ') + 1);
  std::string k = dims.substr(m.size() + 1, dims.size() - m.size() - n.size() - 2);
  std::string b = turned ? n + " x " + k : k + " x " + n;
  return "module @f level(graph) version(1) {\ngir.func @f(%a: tensor<" + m + " x " + k + ", " +
         dtype + ">, %b: tensor<" + b + ", " + dtype +
         ">) {args = [{kind = \"input\", name = \"a\"}, {kind = \"input\", name = \"b\"}], results "
         "= [{name = "
         "\"y\"}], role = \"entry\"} {\n%y: tensor<" +
         m + " x " + n +
         ", f32> = gir.gemm %a, %b {accum = f32, transpose_b = " + (turned ? "true" : "false") +
         "}\ngir.return [%y]\n}\n}\n";
}

Tensors factors(DType dtype, bool turned, Sizes s) {
  Tensors given;
  given.push_back(*TensorValue::make(dtype, {s.m, s.k}));
  given.push_back(
      *TensorValue::make(dtype, turned ? std::vector{s.n, s.k} : std::vector{s.k, s.n}));
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(-2, 2);
  for (TensorValue& tensor : given) {
    for (int64_t e = 0; e < tensor.count(); ++e)
      tensor.set(e, {.f = decode_float(dtype, encode_float(dtype, real(random)))});
  }
  return given;
}

/// Every 41st element against a sum in double; K roundings of f32 are allowed for.
void check_sums(const Tensors& given, const TensorValue& y, bool turned, Sizes s) {
  double worst = 0;
  for (int64_t e = 0; e < s.m * s.n; e += 41) {
    double exact = 0, size = 0;
    for (int64_t p = 0; p < s.k; ++p) {
      double b = given[1].get(turned ? e % s.n * s.k + p : p * s.n + e % s.n).f;
      exact += given[0].get(e / s.n * s.k + p).f * b;
      size += std::fabs(given[0].get(e / s.n * s.k + p).f * b);
    }
    double error = std::fabs(y.get(e).f - exact) / (double(s.k + 2) * 0x1p-24 * size + 1e-30);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  CHECK(worst <= 1);
}

bool has_pairs() {
  return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
}

/// Targets whose code runs here, if need be by emulation.
std::vector<const Machine*> machines() {
  std::vector<const Machine*> all = test::runnable_machines();
  bool wide = __builtin_cpu_supports("x86-64-v4");
  if (wide && has_pairs()) all.push_back(find_machine("cpu:x86-64-v4-bf16"));
  if (wide) all.push_back(find_machine("cpu:x86-64-v4-amx"));
  return all;
}

bool same_bits(const TensorValue& a, const TensorValue& b) {
  return a.byte_count() == b.byte_count() &&
         (!a.count() || !std::memcmp(a.data(), b.data(), a.byte_count()));
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

void check_products(const Machine& machine, DType dtype, bool turned) {
  bool emulated = machine.has_bf16_tiles && !AmxEmulator::is_native();
  CompiledProgram program(entry(dtype == DType::F32 ? "f32" : "bf16", turned), machine, !emulated);
  INFO(machine.name << (turned ? " N x K" : " K x N") << program.messages());
  REQUIRE(program.messages().empty());
  for (Sizes s : all_sizes) {
    INFO(s.m << " x " << s.n << " x " << s.k);
    Tensors given = factors(dtype, turned, s);
    Tensors made = program.launch(given, {{"M", s.m}, {"N", s.n}, {"K", s.k}});
    check_sums(given, made[0], turned, s);
    for (uint32_t threads = 1; threads < 4 && !emulated; ++threads) {
      program.set_threads(threads);
      CHECK(same_bits(program.call(given, made)[0], made[0]));
    }
  }
}

}  // namespace

TEST_CASE("products from shared panels are right at all edges, with any number of threads") {
  AmxEmulator emulator;
  for (const Machine* machine : machines()) {
    for (bool turned : {false, true}) {
      check_products(*machine, DType::BF16, turned);
      if (!machine->has_bf16_pairs) check_products(*machine, DType::F32, turned);
    }
  }
}

TEST_CASE("factors that several programs read are packed by kernels of their own") {
  auto launches = [&](const char* machine, const char* dtype, const std::string& dims) {
    CompiledProgram program(entry(dtype, false, dims), *find_machine(machine), false);
    INFO(program.messages());
    REQUIRE(program.messages().empty());
    return count(program.text(), "host.launch");
  };
  constexpr const char* pairs = "cpu:x86-64-v4-bf16";
  CHECK(launches(pairs, "bf16", "M K N") == 3);
  // One row of blocks reads b once; a little is packed sooner than another kernel is launched.
  CHECK(launches(pairs, "bf16", "200 K N") == 2);
  CHECK(launches(pairs, "bf16", "200 K 300") == 1);
  CHECK(launches(pairs, "bf16", "M 16 300") == 1);
  CHECK(launches(pairs, "f32", "M K N") == 3);
  CHECK(launches("cpu:x86-64-v4", "bf16", "M K N") == 3);
}

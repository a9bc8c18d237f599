// What share_reciprocals and expand_math write for a GPU, computed by target_eval.

#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/text/verifier.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/target_eval.h"

using namespace tessera;
using test::TargetEval;

namespace {

/// A function of buffers x and b of f32 with result y.
struct TargetFunction {
  TextFixture f;
  std::vector<std::unique_ptr<Module>> modules;
  Op* func = nullptr;
  int64_t steps = 0;
  std::map<std::string_view, int> counts;

  explicit TargetFunction(const std::string& body) {
    std::string text =
        "module @m level(target) version(1) {\n  target.func @k.0(%x: ptr, %b: ptr, %y: ptr) {dims = [], grid "
        "= [1], outputs = 1, params = [!tensor<8, f32>, !tensor<8, f32>, !tensor<8, f32>], schedule = {}, "
        "scratch = 0, threads = 32} {\n" +
        body + "\n  }\n}\n";
    auto read = parse_modules(f.context, f.sources.add("k.tir", text), f.diagnostics);
    INFO(render_all(f.diagnostics, {}));
    REQUIRE(read);
    modules = std::move(*read);
    func = modules[0]->body()->front();
  }
  void apply(Status (*pass)(Module&, PassContext&)) {
    PassContext context{f.diagnostics, find_machine("cuda:sm_90a"), nullptr, "", {}};
    REQUIRE(pass(*modules[0], context));
    REQUIRE(verify(*modules[0], f.diagnostics));
  }
  std::vector<float> operator()(const std::vector<float>& x, const std::vector<float>& b, size_t results) {
    std::vector<uint8_t> buffers[3];
    auto fill = [](std::vector<uint8_t>& bytes, const std::vector<float>& from) {
      bytes.resize(from.size() * 4);
      std::memcpy(bytes.data(), from.data(), bytes.size());
    };
    fill(buffers[0], x);
    fill(buffers[1], b);
    buffers[2].resize(results * 4);
    TargetEval eval({&buffers[0], &buffers[1], &buffers[2]});
    eval.run(func);
    steps = eval.steps();
    counts = eval.counts();
    std::vector<float> out(results);
    std::memcpy(out.data(), buffers[2].data(), results * 4);
    return out;
  }
};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

const std::string rows_divided =
    "%a: reg<f32 x 8> = target.load %x\n%d: reg<f32 x 2> = target.load %b\n%all: reg<f32 x 8> = target.shuffle %d, %d "
    "{lanes = [0, 0, 0, 0, 1, 1, 1, 1]}\n%q: reg<f32 x 8> = target.div %a, %all\ntarget.store %q, %y\ntarget.return";

}  // namespace

TEST_CASE("a shared reciprocal gives the bits of the division") {
  TargetFunction divide(rows_divided);
  divide.apply(share_reciprocals);
  std::mt19937 random(1);
  auto number = [&](int low, int high) {
    float significand = std::bit_cast<float>(0x3f800000 | uint32_t(random() & 0x7fffff));
    return std::ldexp(random() % 2 ? significand : -significand, low + int(random() % unsigned(high - low + 1)));
  };
  // Ordinary numbers and zeros stay on the short way, whose divisions are those of the two reciprocals.
  int shared = 0;
  for (int iteration = 0; iteration < 3000; ++iteration) {
    bool ordinary = iteration % 2 == 0;
    std::vector<float> a, b;
    for (int i = 0; i < 8; ++i) a.push_back(ordinary ? number(-100, 95) : number(-149, 127));
    for (int i = 0; i < 2; ++i) b.push_back(ordinary ? std::fabs(number(-24, 23)) : number(-149, 127));
    const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1.8p-130f, 0x1.fffffep127f};
    if (random() % 2) a[random() % 8] = special[random() % (ordinary ? 2 : 8)];
    if (!ordinary && random() % 2) b[random() % 2] = special[random() % 8];
    std::vector<float> q = divide(a, b, 8);
    for (size_t i = 0; i < 8; ++i) {
      INFO(fmt::format("{:a} / {:a} gives {:a}", a[i], b[i / 4], q[i]));
      REQUIRE(same(q[i], a[i] / b[i / 4]));
    }
    bool is_short = divide.counts.count("target.cast") == 0;
    if (ordinary) REQUIRE(is_short);
    shared += is_short;
  }
  CHECK(shared < 2250);
}

TEST_CASE("three steps divide all significands that come near the middle of two numbers") {
  // Where a quotient is more than 2.5 * 2^-24 units from such a middle no error of the steps moves it across. With
  // significands A and B as integers and a middle M these are the solutions of A 2^p - M B = e for small e; p is 24
  // where A >= B, else 25.
  constexpr uint32_t stride = 7;  // 1 for all of them
  int64_t tried = 0;
  for (int p : {24, 25}) {
    for (uint32_t divisor = 1u << 23; divisor < 1u << 24; divisor += stride) {
      int zeros = std::countr_zero(divisor);
      float b = float(divisor), r = 1 / b;
      uint64_t odd = divisor >> zeros, inverse = odd, modulus = uint64_t(1) << (p - zeros);
      for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
      for (int e = -5; e <= 5; ++e) {
        if (e % (1 << zeros) || e / (1 << zeros) % 2 == 0) continue;
        uint64_t middle = uint64_t(-int64_t(e / (1 << zeros))) * inverse % modulus;
        for (; middle < 1u << 25; middle += modulus) {
          int64_t dividend = int64_t(middle * divisor + uint64_t(int64_t(e))) >> p;
          bool fits = middle >= 1u << 24 && middle % 2 && dividend >= 1 << 23 && dividend < 1 << 24;
          if (!fits || (dividend >= int64_t(divisor)) != (p == 24)) continue;
          float a = float(dividend), q = a * r;
          float quotient = std::fma(-std::fma(q, b, -a), r, q);
          ++tried;
          if (!same(quotient, a / b)) FAIL(fmt::format("{} / {} gives {:a}", dividend, divisor, quotient));
        }
      }
    }
  }
  CHECK(tried > 1000000);
}

TEST_CASE("few elements, many divisors and other machines keep the division") {
  auto divisions = [](const std::string& body) {
    TargetFunction divide(body);
    divide.apply(share_reciprocals);
    return divide.func->region()->block_count();
  };
  CHECK(divisions(rows_divided) == 4);
  CHECK(divisions(
            "%a: reg<f32 x 8> = target.load %x\n%d: reg<f32 x 8> = target.load %b\n%q: reg<f32 x 8> = target.div %a, "
            "%d\ntarget.store %q, %y\ntarget.return") == 1);
  CHECK(
      divisions("%a: reg<f32 x 2> = target.load %x\n%c: reg<f32 x 2> = target.constant {value = 3.0}\n%q: reg<f32 x 2> "
                "= target.div %a, %c\ntarget.store %q, %y\ntarget.return") == 1);
  CHECK(
      divisions("%a: reg<f32 x 5> = target.load %x\n%c: reg<f32 x 5> = target.constant {value = 3.0}\n%q: reg<f32 x 5> "
                "= target.div %a, %c\ntarget.store %q, %y\ntarget.return") == 4);
}

TEST_CASE("exp of a GPU is exact but for the special function unit") {
  TargetFunction exp("%a: reg<f32 x 1> = target.load %x\n%e: reg<f32 x 1> = target.exp %a\ntarget.store %e, %y\n"
                     "target.return");
  exp.apply(expand_math);
  auto at = [&](float x) { return exp({x}, {0}, 1)[0]; };
  CHECK(at(0) == 1);
  CHECK(at(-0.0f) == 1);
  CHECK(at(INFINITY) == INFINITY);
  CHECK(same(at(-INFINITY), 0));
  CHECK(std::isnan(at(NAN)));
  CHECK(std::isfinite(at(88.7228f)));
  CHECK(at(88.7229f) == INFINITY);
  CHECK(same(at(-104.5f), 0));
  CHECK(same(at(-3e38f), 0));
  CHECK(at(3e38f) == INFINITY);
  double worst = 0;
  for (float x = -104; x < 88.7f; x += 0.00513f) {
    double exact = std::exp(double(x));
    double unit = std::ldexp(1, std::max(std::ilogb(exact) - 23, -149));
    worst = std::max(worst, std::fabs(double(at(x)) - exact) / unit);
  }
  CHECK(worst < 1);
  CHECK(exp.counts.at("nv.approx_exp2") == 1);
  CHECK(exp.steps <= 22);
}

TEST_CASE("functions of a GPU whose results are rounded take fewer steps, and are near the nearest number") {
  struct Rounded {
    const char* name;
    double (*exact)(double);
    int64_t steps;
  };
  static const auto sigmoid = +[](double x) { return 1 / (1 + std::exp(-x)); };
  const Rounded functions[] = {
      {"sigmoid", sigmoid, 18},
      {"silu", +[](double x) { return x == -INFINITY ? -0.0 : x * sigmoid(x); }, 20},
      {"gelu",
       +[](double x) {
         return x == -INFINITY ? -0.0 : x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
       },
       23},
  };
  auto body = [](std::string_view name, std::string_view narrow, std::string_view used) {
    return fmt::format("%a: reg<f32 x 1> = target.load %x\n%e: reg<f32 x 1> = target.{} %a\n{}"
                       "%n: reg<{} x 1> = target.cast %f\n%w: reg<f32 x 1> = target.cast %n\ntarget.store %w, %y\n"
                       "target.return",
                       name, used, narrow);
  };
  for (const Rounded& each : functions) {
    for (std::string_view narrow : {"bf16", "f16"}) {
      TargetFunction function(body(each.name, narrow, "%one: reg<f32 x 1> = target.constant {value = 1.0}\n"
                                                      "%f: reg<f32 x 1> = target.mul %e, %one\n"));
      function.apply(expand_math);
      DType dtype = narrow == "bf16" ? DType::BF16 : DType::F16;
      int digits = narrow == "bf16" ? 8 : 11, least = narrow == "bf16" ? -133 : -24;
      for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
        auto x = float(decode_float(dtype, bits));
        INFO(fmt::format("{} of {:a} in {}", each.name, x, narrow));
        float found = function({x}, {0}, 1)[0];
        double exact = each.exact(double(x));
        if (std::isnan(exact) || std::isinf(exact) || exact == 0) {
          REQUIRE(same(found, float(exact)));
          continue;
        }
        double unit = std::ldexp(1, std::max(std::ilogb(exact) - digits + 1, least));
        REQUIRE(std::fabs(double(found) - exact) <= 0.51 * unit);
      }
      CHECK(function.steps <= each.steps);
    }
  }
  // What is added to, or stored as it is, is computed with all digits.
  TargetFunction added(body("gelu", "bf16", "%f: reg<f32 x 1> = target.add %e, %a\n"));
  added.apply(expand_math);
  added({1}, {0}, 1);
  CHECK(added.steps > 30);
}

// Functions against MPFR: the largest error in units of the last place, over dense samples of each binade and edges,
// is printed and may not exceed the bound that docs/numerics.md states.

#include <fmt/format.h>
#include <mpfr.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "unit/codegen/elementwise_kernel.h"
#include "unit/codegen/exact.h"

using namespace tessera;
using namespace tessera::test;
using Kind = ElementwiseKind;
using Number = ExactNumber;

namespace {

struct Format {
  int digits;        ///< significant bits
  int least;         ///< exponent of the smallest number
  double overflow;   ///< half a unit beyond the largest finite number
};

Format format_of(DType dtype) {
  return dtype == DType::F32 ? Format{24, -149, 0x1.ffffffp127} : Format{53, -1074, INFINITY};
}

/// |found - wanted| in units of the last place of `wanted`; the largest double where one is infinite or NaN and
/// the other is not.
double error_in_ulps(const Format& format, double found, mpfr_ptr wanted) {
  constexpr double wrong = 1e300;
  bool beyond = mpfr_inf_p(wanted) || (format.digits == 24 ? std::fabs(mpfr_get_d(wanted, MPFR_RNDN)) >= format.overflow
                                                            : !std::isfinite(mpfr_get_d(wanted, MPFR_RNDN)));
  if (mpfr_nan_p(wanted)) return std::isnan(found) ? 0 : wrong;
  if (std::isnan(found)) return wrong;
  if (beyond || std::isinf(found)) {
    if (std::isinf(found) && beyond) return (found > 0) == (mpfr_sgn(wanted) > 0) ? 0 : wrong;
    // Within the allowed error of the border either is right; that is decided on the largest number.
    double largest =
        format.digits == 24 ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
    found = std::isinf(found) ? std::copysign(largest, found) : found;
    if (beyond) return std::fabs(found) == largest ? 1 : wrong;
  }
  if (mpfr_zero_p(wanted)) return found == 0 && std::signbit(found) == bool(mpfr_signbit(wanted)) ? 0 : wrong;
  Number difference;
  mpfr_sub_d(difference, wanted, found, MPFR_RNDN);
  long exponent = std::max<long>(mpfr_get_exp(wanted) - format.digits, format.least);
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference, MPFR_RNDN));
}

/// Numbers dense near the interesting places: every binade, the borders of ranges, multiples of pi/2, edges.
std::vector<double> arguments(DType dtype, int per_binade, double widest) {
  std::mt19937_64 random(5);
  std::vector<double> values = {0.0, -0.0, 1, -1, 0.5, -0.5, INFINITY, -INFINITY, NAN, 88.72283, 88.7229, -87.336,
                                -103.97, -104.1, 709.78, 709.79, -745.13, -745.14, -708.4, 0.6931472, 0.34657359,
                                0x1p-126, 0x1.fffffcp-127, 0x1p-149, 3.4028235e38, -3.4028235e38, 9.01, -9.01, 4, 6};
  int low = dtype == DType::F32 ? -149 : -1074;
  int high = dtype == DType::F32 ? 128 : 1024;
  for (int e = low; e < high; e += dtype == DType::F32 ? 1 : 7) {
    for (int i = 0; i < per_binade / 8; ++i) {
      double v = std::ldexp(1 + double(random() >> 11) * 0x1p-53, e);
      values.push_back(random() % 2 ? v : -v);
    }
  }
  for (int i = 0; i < per_binade * 160; ++i) values.push_back((double(random() >> 11) * 0x1p-52 - 1) * widest);
  for (int i = 0; i < per_binade * 40; ++i) values.push_back((double(random() >> 11) * 0x1p-52 - 1) * 2);
  for (int i = 0; i < per_binade * 10; ++i) values.push_back(double(i) * 0.5 * 3.14159265358979323846);
  if (dtype == DType::F32) {
    for (double& v : values) v = double(float(v));
  }
  return values;
}

std::vector<uint8_t> stored(DType dtype, const std::vector<double>& values) {
  std::vector<uint8_t> bytes(values.size() * byte_size(dtype));
  for (size_t i = 0; i < values.size(); ++i) store_element(dtype, {.f = values[i]}, &bytes[i * byte_size(dtype)]);
  return bytes;
}

double worst_error(Kind kind, DType dtype, const Machine& machine, const std::vector<double>& values, double& where) {
  ElementwiseKernels kernel({{kind, dtype, dtype}}, machine);
  std::vector<uint8_t> out = kernel.run(0, {stored(dtype, values)}, int64_t(values.size()));
  double worst = 0;
  Number x, y;
  for (size_t i = 0; i < values.size(); ++i) {
    double found = load_element(dtype, &out[i * byte_size(dtype)]).f;
    mpfr_set_d(x, values[i], MPFR_RNDN);
    exact(kind, y, x);
    if (std::isinf(values[i]) && values[i] < 0 && (kind == Kind::Gelu || kind == Kind::Silu)) mpfr_set_zero(y, -1);
    double error = error_in_ulps(format_of(dtype), found, y);
    if (error > worst) {
      worst = error;
      where = values[i];
    }
  }
  return worst;
}

struct Bound {
  Kind kind;
  double f32;
  double f64;  ///< 0 where there is no code
};

constexpr Bound bounds[] = {
#define MATH(Name, name, f32, f64, gpu, tangent) {Kind::Name, f32, f64},
#include "ir/numbers/elementwise.def"
};

}  // namespace

TEST_CASE("functions stay within their bounds") {
  for (const Machine* machine : runnable_machines()) {
    for (const Bound& bound : bounds) {
      for (DType dtype : {DType::F32, DType::F64}) {
        double limit = dtype == DType::F32 ? bound.f32 : bound.f64;
        if (limit == 0) continue;
        double widest = dtype == DType::F32 ? 120 : 760;
        double where = 0;
        double worst = worst_error(bound.kind, dtype, *machine, arguments(dtype, 64, widest), where);
        std::string line = fmt::format("{} {} {}: {:.3f} ulp at {} ({:a})", machine->name,
                                       elementwise_info(bound.kind).name, to_string(dtype), worst, where, where);
        fmt::print("{}\n", line);
        INFO(line);
        CHECK(worst <= limit);
      }
    }
  }
}

TEST_CASE("powers are those of C, correctly rounded but for near ties") {
  constexpr int64_t count = 20000;
  std::vector<uint8_t> x = sample(DType::F32, count, 1), y = sample(DType::F32, count, 2);
  for (const Machine* machine : runnable_machines()) {
    ElementwiseKernels kernel({{Kind::Pow, DType::F32, DType::F32}}, *machine);
    std::vector<uint8_t> out = kernel.run(0, {x, y}, count);
    double worst = 0;
    std::string where;
    Number a, b, wanted;
    for (int64_t i = 0; i < count; ++i) {
      double base = load_element(DType::F32, &x[size_t(i) * 4]).f,
             power = load_element(DType::F32, &y[size_t(i) * 4]).f;
      mpfr_set_d(a, base, MPFR_RNDN);
      mpfr_set_d(b, power, MPFR_RNDN);
      mpfr_pow(wanted, a, b, MPFR_RNDN);
      double found = load_element(DType::F32, &out[size_t(i) * 4]).f;
      double error = error_in_ulps(format_of(DType::F32), found, wanted);
      if (error > worst) {
        worst = error;
        where = fmt::format("pow({}, {}) = {}", base, power, found);
      }
    }
    INFO(where);
    CHECK(worst <= 0.51);
  }
}

TEST_CASE("functions of f16 and bf16 are those of f32 rounded once") {
  for (const Machine* machine : runnable_machines()) {
    for (DType dtype : {DType::F16, DType::BF16}) {
      std::vector<uint8_t> inputs = all_patterns(dtype);
      std::vector<double> wide;
      for (size_t i = 0; i < 65536; ++i) wide.push_back(load_element(dtype, &inputs[2 * i]).f);
      for (Kind kind : {Kind::Exp, Kind::Log, Kind::Tanh, Kind::Gelu, Kind::Erf, Kind::Sin}) {
        ElementwiseKernels kernels({{kind, dtype, dtype}, {kind, DType::F32, DType::F32}}, *machine);
        std::vector<uint8_t> narrow = kernels.run(0, {inputs}, 65536);
        std::vector<uint8_t> single = kernels.run(1, {stored(DType::F32, wide)}, 65536);
        size_t different = 0;
        for (size_t i = 0; i < 65536; ++i) {
          double rounded = load_element(DType::F32, &single[4 * i]).f;
          uint16_t wanted = uint16_t(encode_float(dtype, rounded)), found;
          std::memcpy(&found, &narrow[2 * i], 2);
          different += wanted != found && !(std::isnan(rounded) && std::isnan(decode_float(dtype, found)));
        }
        INFO(elementwise_info(kind).name << " " << to_string(dtype));
        CHECK(different == 0);
      }
    }
  }
}

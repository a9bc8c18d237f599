// The errors of functions of f32 over all 2^32 arguments.
//
// Doubles are the reference while searching: their error is below 2^-27 units of f32's last place. The error at the
// argument where it is largest is then measured by MPFR.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <sstream>
#include <stdexcept>

#include "check/tools/function_table.h"
#include "unit/codegen/exact.h"

namespace tessera::check {

namespace {

using Kind = ElementwiseKind;

constexpr int64_t chunk = 1 << 20;
constexpr uint64_t arguments = uint64_t(1) << 32;

/// numerator / (1 + e^-y), from e to what is not positive, so that nothing overflows.
double logistic(double y, double numerator) {
  double decay = std::exp(-std::fabs(y));
  return (y < 0 ? std::max(numerator, -1e6) * decay : numerator) / (1 + decay);
}

double gelu(double x) {
  double inner = std::clamp(x, -1e6, 1e6);  // a NaN stays one
  return logistic(2 * std::sqrt(2 / std::numbers::pi) * (inner + 0.044715 * inner * inner * inner), x);
}

/// By its series where two terms are enough, which most numbers of f32 are.
double erfinv(double x) {
  Element operand{.f = x};
  if (std::fabs(x) < 0x1p-14) return std::sqrt(std::numbers::pi) / 2 * (x + std::numbers::pi / 12 * x * x * x);
  return evaluate_elementwise(Kind::Erfinv, DType::F64, DType::F64, {&operand, 1}).f;
}

using Reference = double (*)(double);

/// Null for what is exact, and for what two roundings define.
Reference reference(Kind kind) {
  switch (kind) {
    case Kind::Exp: return [](double x) { return std::exp(x); };
    case Kind::Exp2: return [](double x) { return std::exp2(x); };
    case Kind::Expm1: return [](double x) { return std::expm1(x); };
    case Kind::Log: return [](double x) { return std::log(x); };
    case Kind::Log2: return [](double x) { return std::log2(x); };
    case Kind::Log1p: return [](double x) { return std::log1p(x); };
    case Kind::Sin: return [](double x) { return std::sin(x); };
    case Kind::Cos: return [](double x) { return std::cos(x); };
    case Kind::Tanh: return [](double x) { return std::tanh(x); };
    case Kind::Erf: return [](double x) { return std::erf(x); };
    case Kind::Erfinv: return erfinv;
    case Kind::Sigmoid: return [](double x) { return logistic(x, 1); };
    case Kind::Silu: return [](double x) { return logistic(x, x); };
    case Kind::Gelu: return gelu;
    default: return nullptr;
  }
}

/// One in the last place of f32 of a finite number other than 0.
double last_place(double exact) {
  int exponent = int(std::bit_cast<uint64_t>(exact) >> 52 & 0x7ff) - 1023;
  int place = std::clamp(exponent, -126, 127) - 23;
  return std::bit_cast<double>(uint64_t(place + 1023) << 52);
}

/// What an infinity counts as, the first number that f32 has not.
constexpr double beyond = 0x1p128, overflow = 0x1.ffffffp127;

double bounded(double value) { return std::clamp(value, -beyond, beyond); }

struct Worst {
  double units = 0;
  float at = 0;
  int64_t wrong = 0;
};

void measure(float x, float found, double exact, Worst& worst) {
  if (std::isnan(exact) || std::isnan(found)) {
    worst.wrong += std::isnan(exact) != std::isnan(found);
    return;
  }
  if (exact == 0) {
    worst.wrong += found != 0 || std::signbit(found) != std::signbit(exact);
    return;
  }
  double wanted = std::fabs(exact) >= overflow ? std::copysign(beyond, exact) : exact;
  double units = std::fabs(bounded(found) - wanted) / last_place(wanted);
  if (units <= worst.units) return;
  worst.units = units;
  worst.at = x;
}

/// Machine code of one function.
class Single {
 public:
  Single(const Function& function, int64_t count)
      : reference_(reference(function.kind)), subject_(source_of({&function, 1}, DType::F32)) {
    operands_.push_back(std::move(*TensorValue::make(DType::F32, {count})));
    if (!subject_.entry()) throw std::runtime_error(subject_.messages());
    shapes_ = std::move(*subject_.interpret(operands_));
    if (!subject_.prepare(Way::Code, runnable_cpus().back())) throw std::runtime_error(subject_.messages());
  }

  float* operand() { return reinterpret_cast<float*>(operands_[0].data()); }

  void measure_all(Worst& worst) {
    std::optional<Tensors> found = subject_.compute(operands_, shapes_, *subject_.bind(operands_));
    if (!found) throw std::runtime_error(subject_.problem());
    const auto* result = reinterpret_cast<const float*>((*found)[0].data());
    for (int64_t i = 0; i < operands_[0].count(); ++i) {
      measure(operand()[i], result[i], reference_(operand()[i]), worst);
    }
  }

  float value(float x) {
    *operand() = x;
    std::optional<Tensors> found = subject_.compute(operands_, shapes_, *subject_.bind(operands_));
    if (!found) throw std::runtime_error(subject_.problem());
    return *reinterpret_cast<const float*>((*found)[0].data());
  }

 private:
  Reference reference_;
  Subject subject_;
  Tensors operands_, shapes_;
};

/// The error at one argument, by MPFR.
double exact_error(const Function& function, float x) {
  test::ExactNumber argument, wanted;
  mpfr_set_flt(argument, x, MPFR_RNDN);
  test::exact(function.kind, wanted, argument);
  double nearest = mpfr_get_d(wanted, MPFR_RNDN);
  if (std::fabs(nearest) >= overflow) mpfr_set_d(wanted, std::copysign(beyond, nearest), MPFR_RNDN);
  mpfr_sub_d(wanted, wanted, bounded(Single(function, 1).value(x)), MPFR_RNDN);
  return std::fabs(mpfr_get_d(wanted, MPFR_RNDN)) / last_place(nearest);
}

std::string line_of(const Function& function, float x) {
  return fmt::format("| {} | {:.3f} | `{:a}` |", function.name, exact_error(function, x), x);
}

}  // namespace

std::string search_singles(std::span<const Function> functions, unsigned shard, unsigned shards) {
  std::string lines;
  for (const Function& function : functions) {
    if (!reference(function.kind)) continue;
    Single code(function, chunk);
    Worst worst;
    for (uint64_t first = shard * uint64_t(chunk); first < arguments; first += shards * uint64_t(chunk)) {
      for (uint64_t i = 0; i < uint64_t(chunk); ++i) code.operand()[i] = std::bit_cast<float>(uint32_t(first + i));
      code.measure_all(worst);
    }
    lines += line_of(function, worst.at);
    lines += worst.wrong ? fmt::format(" **{} wrong** |\n", worst.wrong) : "\n";
  }
  return lines;
}

std::string remeasured_singles(const std::string& lines) {
  std::string made;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    auto same = [&](const Function& function) { return line.starts_with(fmt::format("| {} |", function.name)); };
    auto function = std::ranges::find_if(measured_functions(), same);
    size_t place = line.find('`');
    if (function == measured_functions().end() || place == std::string::npos) {
      made += line + "\n";
      continue;
    }
    made += line_of(*function, std::strtof(line.c_str() + place + 1, nullptr)) + "\n";
  }
  return made;
}

}  // namespace tessera::check

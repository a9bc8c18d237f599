// Elementwise ops against formulas in double, on ordinary and special numbers of every dtype.

#include "ir/numbers/elementwise.h"

#include <cstring>
#include <functional>
#include <map>

#include "unit/ir/tensor_fixture.h"

using namespace tessera;

namespace {

using Kind = ElementwiseKind;
using Formula = std::function<double(double, double, double)>;

double smaller(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// By halving, of the error function near 0 and of its complement near 1.
double inverse_of_erf(double x) {
  long double size = std::fabs(x), low = 0, high = 8;
  if (!(size < 1)) return size == 1 ? x * HUGE_VAL : std::nan("");
  if (size < 1e-12L) return double(x * std::sqrt(M_PIl) / 2);
  for (int i = 0; i < 100; ++i) {
    long double middle = (low + high) / 2;
    bool is_below = size < 0.5L ? std::erf(middle) < size : std::erfc(middle) > 1 - size;
    (is_below ? low : high) = middle;
  }
  return std::copysign(double(low), x);
}

/// Each op on floats as a formula; null for ops that floats do not have.
const std::map<Kind, Formula>& formulas() {
  using D = double;
  static const std::map<Kind, Formula> table = {
      {Kind::Neg, [](D a, D, D) { return -a; }},
      {Kind::Abs, [](D a, D, D) { return a < 0    ? -a
                                         : a == 0 ? 0.0
                                                  : a; }},
      {Kind::Sign, [](D a, D, D) { return a > 0   ? 1
                                          : a < 0 ? -1
                                                  : a; }},
      {Kind::Exp, [](D a, D, D) { return std::exp(a); }},
      {Kind::Exp2, [](D a, D, D) { return std::pow(2.0, a); }},
      {Kind::Expm1, [](D a, D, D) { return std::expm1(a); }},
      {Kind::Log, [](D a, D, D) { return std::log(a); }},
      {Kind::Log2, [](D a, D, D) { return std::log2(a); }},
      {Kind::Log1p, [](D a, D, D) { return std::log1p(a); }},
      {Kind::Sqrt, [](D a, D, D) { return std::sqrt(a); }},
      {Kind::Rsqrt, [](D a, D, D) { return 1 / std::sqrt(a); }},
      {Kind::Reciprocal, [](D a, D, D) { return 1 / a; }},
      {Kind::Sin, [](D a, D, D) { return std::sin(a); }},
      {Kind::Cos, [](D a, D, D) { return std::cos(a); }},
      {Kind::Tanh, [](D a, D, D) { return std::tanh(a); }},
      {Kind::Sigmoid,
       [](D a, D, D) { return a > 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a)); }},
      {Kind::Erf, [](D a, D, D) { return std::erf(a); }},
      {Kind::Erfinv, [](D a, D, D) { return inverse_of_erf(a); }},
      {Kind::Gelu,
       [](D a, D, D) {
         if (std::fabs(a) > 40) return a > 0 ? a : std::isnan(a) ? a : -0.0;
         // 1 + tanh(u) = 2 / (1 + exp(-2u)), which does not cancel below 0.
         long double x = a, u = std::sqrt(2 / M_PIl) * (x + 0.044715L * x * x * x);
         return D(x / (1 + std::exp(-2 * u)));
       }},
      {Kind::Silu, [](D a, D, D) { return a == -infinity ? -0.0 : a / (1 + std::exp(-a)); }},
      {Kind::Relu, [](D a, D, D) { return a <= 0 ? 0.0 : a; }},
      {Kind::Floor, [](D a, D, D) { return std::floor(a); }},
      {Kind::Ceil, [](D a, D, D) { return std::ceil(a); }},
      {Kind::Round,
       [](D a, D, D) {
         return std::isfinite(a) ? std::copysign(a - std::remainder(a, 1.0), a) : a;
       }},
      {Kind::Trunc, [](D a, D, D) { return a < 0 ? std::ceil(a) : std::floor(a); }},
      {Kind::Not, nullptr},
      {Kind::Add, [](D a, D b, D) { return a + b; }},
      {Kind::Sub, [](D a, D b, D) { return a - b; }},
      {Kind::Mul, [](D a, D b, D) { return a * b; }},
      {Kind::Div, [](D a, D b, D) { return a / b; }},
      {Kind::FloorDiv, [](D a, D b, D) { return std::floor(a / b); }},
      {Kind::Mod,
       [](D a, D b, D) {
         D r = std::fmod(a, b);
         return r != 0 && (r < 0) != (b < 0) ? r + b : std::copysign(r, b);
       }},
      {Kind::Pow, [](D a, D b, D) { return std::pow(a, b); }},
      {Kind::Min, [](D a, D b, D) { return smaller(a, b); }},
      {Kind::Max, [](D a, D b, D) { return -smaller(-a, -b); }},
      {Kind::And, nullptr},
      {Kind::Or, nullptr},
      {Kind::Xor, nullptr},
      {Kind::Shl, nullptr},
      {Kind::Shr, nullptr},
      {Kind::Eq, [](D a, D b, D) { return a == b; }},
      {Kind::Ne, [](D a, D b, D) { return !(a == b); }},
      {Kind::Lt, [](D a, D b, D) { return b > a; }},
      {Kind::Le, [](D a, D b, D) { return b >= a; }},
      {Kind::Gt, [](D a, D b, D) { return b < a; }},
      {Kind::Ge, [](D a, D b, D) { return b <= a; }},
      {Kind::Select, [](D a, D b, D c) { return a != 0 ? b : c; }},
      {Kind::Fma, [](D a, D b, D c) { return std::fma(a, b, c); }},
      {Kind::Cast, [](D a, D, D) { return a; }},
  };
  return table;
}

std::vector<Element> elements_of(const TensorValue& value) {
  std::vector<Element> out(size_t(value.count()));
  load_elements(value.dtype(), value.data(), out.data(), out.size());
  return out;
}

/// Triples of special numbers and of ordinary ones, as three columns.
std::vector<std::vector<double>> columns() {
  std::vector<std::vector<double>> out(3);
  const std::vector<double>& s = special_numbers();
  for (size_t i = 0; i < s.size() * s.size(); ++i) {
    out[0].push_back(s[i % s.size()]);
    out[1].push_back(s[i / s.size()]);
    out[2].push_back(s[(i * 7 + 3) % s.size()]);
  }
  for (size_t c = 0; c < 3; ++c) {
    for (double x : some_numbers(300, c + 5)) out[c].push_back(x * 3);
  }
  return out;
}

bool exact_in_one_rounding(Kind kind) {
  return !is_transcendental(kind) && kind != Kind::Rsqrt && kind != Kind::Mod;
}

/// As compiled code rounds: to f32, and from there to narrower dtypes.
double rounded_once(DType dtype, double value) {
  return decode_float(dtype,
                      encode_float(dtype, dtype == DType::F64 ? value : double(float(value))));
}

void check_float(Kind kind, DType dtype, const std::vector<Element>& in, Element got) {
  const ElementwiseInfo& row = elementwise_info(kind);
  bool to_bool = row.cls == ElementwiseClass::Compare;
  bool condition = row.cls == ElementwiseClass::Choose;
  double a = condition ? double(in[0].i) : in[0].f;
  double b = in.size() > 1 ? in[1].f : 0, c = in.size() > 2 ? in[2].f : 0;
  double wanted = formulas().at(kind)(a, b, c);
  if (to_bool) {
    CHECK(got.i == int64_t(wanted));
    return;
  }
  if (kind == Kind::Fma && dtype != DType::F64) wanted = std::fmaf(float(a), float(b), float(c));
  if (kind == Kind::FloorDiv) wanted = std::floor(rounded_once(dtype, a / b));
  double rounded = rounded_once(dtype, wanted);
  INFO(row.name << " of " << to_string(dtype) << " " << a << ", " << b << ", " << c << " gives "
                << got.f << ", wanted " << wanted);
  if (std::isnan(rounded)) {
    CHECK(std::isnan(got.f));
    return;
  }
  if (exact_in_one_rounding(kind) || std::isinf(rounded)) {
    CHECK(same_element(dtype, got, {.f = rounded}));
    return;
  }
  double ulp = dtype == DType::F64 ? 0x1p-50 : dtype == DType::F32 ? 0x1p-22 : 0x1p-2;
  // exp(-2u) multiplies the rounding of u by 2u, which is up to 30 before the result vanishes.
  if (kind == Kind::Gelu) ulp *= 16;
  CHECK(std::fabs(got.f - rounded) <= ulp * std::fabs(rounded) + 0x1p-149);
}

std::vector<Element> bool_column(const std::vector<double>& numbers) {
  std::vector<Element> out;
  for (double x : numbers) out.push_back({.i = x > 0});
  return out;
}

std::vector<std::vector<Element>> operands_of(Kind kind, DType dtype) {
  const ElementwiseInfo& row = elementwise_info(kind);
  std::vector<std::vector<double>> numbers = columns();
  std::vector<std::vector<Element>> out;
  for (unsigned o = 0; o < row.operands; ++o) {
    int64_t count = int64_t(numbers[o].size());
    bool condition = row.cls == ElementwiseClass::Choose && o == 0;
    out.push_back(condition ? bool_column(numbers[o])
                            : elements_of(tensor(dtype, {count}, numbers[o])));
  }
  return out;
}

}  // namespace

TEST_CASE("float ops give what their formulas give") {
  REQUIRE(formulas().size() == size_t(Kind::Cast));
  for (const auto& [kind, formula] : formulas()) {
    if (!formula || kind == Kind::Cast) continue;
    for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::F8E5M2}) {
      auto operands = operands_of(kind, dtype);
      bool to_bool = elementwise_info(kind).cls == ElementwiseClass::Compare;
      for (size_t i = 0; i < operands[0].size(); ++i) {
        std::vector<Element> in;
        for (const auto& column : operands) in.push_back(column[i]);
        check_float(kind, dtype, in,
                    evaluate_elementwise(kind, dtype, to_bool ? DType::Bool : dtype, in));
      }
    }
  }
}

TEST_CASE("f64 functions of large arguments have all their digits") {
  auto of = [](Kind kind, double x) {
    Element operand{.f = x};
    return evaluate_elementwise(kind, DType::F64, DType::F64, {&operand, 1}).f;
  };
  // Computed with sixty digits.
  CHECK(of(Kind::Sigmoid, -720) == 2.0322308024e-313);
  CHECK(of(Kind::Silu, -720) == -1.46320617774547e-310);
  CHECK(of(Kind::Gelu, -8.5) == -1.0174447308598297e-24);
}

TEST_CASE("many elements at once give the same bits as one by one") {
  for (size_t k = 1; k <= size_t(Kind::Cast); ++k) {
    Kind kind = Kind(k);
    const ElementwiseInfo& row = elementwise_info(kind);
    for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F8E4M3, DType::I64, DType::I8,
                        DType::I4, DType::U64, DType::U16, DType::Bool}) {
      bool real = row.cls == ElementwiseClass::Real && !is_float(dtype);
      bool logical = row.cls == ElementwiseClass::Logical && is_float(dtype);
      bool arithmetic = row.cls == ElementwiseClass::Arithmetic && dtype == DType::Bool;
      if (real || logical || arithmetic) continue;
      auto operands = operands_of(kind, dtype);
      DType result = row.cls == ElementwiseClass::Compare   ? DType::Bool
                     : row.cls == ElementwiseClass::Convert ? DType::BF16
                                                            : dtype;
      std::vector<const Element*> pointers;
      for (const auto& column : operands) pointers.push_back(column.data());
      std::vector<Element> out(operands[0].size());
      evaluate_elementwise_many(kind, dtype, result, pointers, out.data(), out.size());
      size_t differences = 0;
      for (size_t i = 0; i < out.size(); ++i) {
        std::vector<Element> in;
        for (const auto& column : operands) in.push_back(column[i]);
        differences += !same_element(result, out[i], evaluate_elementwise(kind, dtype, result, in));
      }
      INFO(row.name << " of " << to_string(dtype));
      CHECK(differences == 0);
    }
  }
}

TEST_CASE("elements are stored and read back") {
  for (DType dtype : {DType::F64, DType::F32, DType::TF32, DType::BF16, DType::F16, DType::F8E4M3,
                      DType::F8E5M2, DType::I64, DType::I4, DType::U8, DType::Bool}) {
    TensorValue value = tensor(dtype, {int64_t(special_numbers().size())}, special_numbers());
    std::vector<Element> elements = elements_of(value);
    TensorValue copy = tensor(dtype, value.dims(), std::vector<double>(size_t(value.count())));
    store_elements(dtype, elements.data(), copy.data(), elements.size());
    check_same(value, copy);
    for (size_t i = 0; i < elements.size(); ++i) {
      CHECK(same_element(dtype, elements[i], value.get(int64_t(i))));
    }
  }
}

namespace {

int64_t integer(Kind kind, DType dtype, int64_t a, int64_t b = 0) {
  Element operands[] = {{.i = a}, {.i = b}};
  return evaluate_elementwise(kind, dtype, dtype, {operands, elementwise_info(kind).operands}).i;
}

}  // namespace

TEST_CASE("integers wrap, and divisions and shifts have no traps") {
  CHECK(integer(Kind::Add, DType::I8, 127, 1) == -128);
  CHECK(integer(Kind::Add, DType::U8, 255, 1) == 0);
  CHECK(integer(Kind::Sub, DType::U64, 0, 1) == -1);
  CHECK(integer(Kind::Mul, DType::I32, 0x10000, 0x10000) == 0);
  CHECK(integer(Kind::Neg, DType::I64, INT64_MIN) == INT64_MIN);
  CHECK(integer(Kind::Abs, DType::I8, -128) == -128);
  CHECK(integer(Kind::Div, DType::I64, INT64_MIN, -1) == INT64_MIN);
  CHECK(integer(Kind::Div, DType::I32, -7, 2) == -3);
  CHECK(integer(Kind::Div, DType::I32, 7, 0) == 0);
  CHECK(integer(Kind::Div, DType::U64, -2, 2) == INT64_MAX);
  CHECK(integer(Kind::FloorDiv, DType::I32, -7, 2) == -4);
  CHECK(integer(Kind::Mod, DType::I32, -7, 2) == 1);
  CHECK(integer(Kind::Mod, DType::I32, 7, -2) == -1);
  CHECK(integer(Kind::Mod, DType::I64, INT64_MIN, -1) == 0);
  CHECK(integer(Kind::Shl, DType::I8, 1, 7) == -128);
  CHECK(integer(Kind::Shl, DType::I8, 1, 8) == 0);
  CHECK(integer(Kind::Shl, DType::I8, 1, -1) == 0);
  CHECK(integer(Kind::Shr, DType::I8, -128, 100) == -1);
  CHECK(integer(Kind::Shr, DType::U8, 128, 100) == 0);
  CHECK(integer(Kind::Not, DType::Bool, 1) == 0);
  CHECK(integer(Kind::Not, DType::U8, 0) == 255);
  CHECK(integer(Kind::Max, DType::U64, -1, 1) == -1);
  CHECK(integer(Kind::Min, DType::I64, -1, 1) == -1);
  CHECK(integer(Kind::Sign, DType::U64, -1) == 1);
  CHECK(integer(Kind::Relu, DType::I8, -5) == 0);
}

namespace {

Element converted(DType from, DType to, Element value) {
  return evaluate_elementwise(Kind::Cast, from, to, {&value, 1});
}

}  // namespace

TEST_CASE("casts clamp, wrap and round once") {
  CHECK(converted(DType::F32, DType::I8, {.f = 300}).i == 127);
  CHECK(converted(DType::F32, DType::I8, {.f = -300}).i == -128);
  CHECK(converted(DType::F32, DType::U8, {.f = -1}).i == 0);
  CHECK(converted(DType::F32, DType::I64, {.f = infinity}).i == INT64_MAX);
  CHECK(converted(DType::F32, DType::U64, {.f = infinity}).i == -1);
  CHECK(converted(DType::F32, DType::I32, {.f = std::nan("")}).i == 0);
  CHECK(converted(DType::F32, DType::I32, {.f = -2.75}).i == -2);
  CHECK(converted(DType::I32, DType::I8, {.i = 0x1ff}).i == -1);
  CHECK(converted(DType::I32, DType::Bool, {.i = 256}).i == 1);
  CHECK(converted(DType::F32, DType::Bool, {.f = -0.0}).i == 0);
  CHECK(converted(DType::F32, DType::Bool, {.f = std::nan("")}).i == 1);
  CHECK(converted(DType::Bool, DType::F16, {.i = 1}).f == 1);
  CHECK(converted(DType::F32, DType::F8E5M2, {.f = 1e9}).f == infinity);
  CHECK(std::isnan(converted(DType::F32, DType::F8E4M3, {.f = 1e9}).f));
  // 2^24 + 1 and a bit: rounding through f32 first would end on the other side of the tie of bf16.
  CHECK(converted(DType::F64, DType::BF16, {.f = 0x1.0100000001p0}).f == 0x1.02p0);
  CHECK(converted(DType::U64, DType::F32, {.i = -1}).f == 0x1p64);
  CHECK(converted(DType::I64, DType::F32, {.i = (int64_t(1) << 60) + (int64_t(1) << 36) + 1}).f ==
        0x1.000002p60);
}

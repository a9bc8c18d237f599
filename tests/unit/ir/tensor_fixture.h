#pragma once
// Tensors from numbers, and comparisons of them, for tests.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ir/numbers/tensor.h"

namespace tessera {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// A tensor whose elements are these numbers, rounded to the dtype.
inline TensorValue tensor(DType dtype, std::vector<int64_t> dims,
                          const std::vector<double>& values) {
  TensorValue result = std::move(*TensorValue::make(dtype, std::move(dims)));
  REQUIRE(result.count() == int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    Element element{.f = values[i]};
    result.set(int64_t(i),
               evaluate_elementwise(ElementwiseKind::Cast, DType::F64, dtype, {&element, 1}));
  }
  return result;
}

/// The elements as doubles.
inline std::vector<double> numbers(const TensorValue& value) {
  std::vector<double> out;
  for (int64_t i = 0; i < value.count(); ++i) {
    Element element = value.get(i);
    out.push_back(
        evaluate_elementwise(ElementwiseKind::Cast, value.dtype(), DType::F64, {&element, 1}).f);
  }
  return out;
}

/// Numbers that look random and are the same in every run (a linear congruential generator), in
/// [-2, 2).
inline std::vector<double> some_numbers(int64_t count, uint64_t seed = 1) {
  std::vector<double> out;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(double(state >> 33) * 0x1p-29 - 2);
  }
  return out;
}

inline TensorValue some_tensor(DType dtype, const std::vector<int64_t>& dims, uint64_t seed = 1) {
  return tensor(dtype, dims, some_numbers(*count_elements(dims), seed));
}

/// Numbers at which arithmetic has its corners, all of them exact in f32.
inline const std::vector<double>& special_numbers() {
  static const std::vector<double> values = {0.0,
                                             -0.0,
                                             1.0,
                                             -1.0,
                                             0.5,
                                             -0.5,
                                             1.5,
                                             -1.5,
                                             2.5,
                                             -2.5,
                                             3.0,
                                             -3.0,
                                             7.0,
                                             100.0,
                                             -100.0,
                                             0x1p-149,
                                             -0x1p-149,
                                             0x1p-126,
                                             -0x1p-126,
                                             0x1.8p-127,
                                             0x1.fffffep127,
                                             -0x1.fffffep127,
                                             0x1p24,
                                             0x1p31,
                                             0x1p63,
                                             -0x1p63,
                                             0x1.000002p0,
                                             0x1.fffffep-1,
                                             infinity,
                                             -infinity,
                                             std::nan("")};
  return values;
}

/// Bit for bit, except that a NaN equals any NaN.
inline bool same_element(DType dtype, Element a, Element b) {
  if (!is_float(dtype)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return a.f == b.f && std::signbit(a.f) == std::signbit(b.f);
}

inline void check_same(const TensorValue& a, const TensorValue& b) {
  REQUIRE(a.dtype() == b.dtype());
  REQUIRE(a.dims() == b.dims());
  for (int64_t i = 0; i < a.count(); ++i) {
    bool same = same_element(a.dtype(), a.get(i), b.get(i));
    if (same) continue;
    INFO("element " << i << " of " << to_string(a.dtype()) << ": " << numbers(a)[size_t(i)]
                    << " and " << numbers(b)[size_t(i)]);
    CHECK(same);
    return;
  }
  SUCCEED();
}

/// Within a relative (of the larger one) or absolute error; NaN and infinities must agree.
inline void check_close(const std::vector<double>& actual, const std::vector<double>& wanted,
                        double tolerance) {
  REQUIRE(actual.size() == wanted.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i << ": " << actual[i] << ", wanted " << wanted[i]);
    if (std::isnan(wanted[i])) {
      CHECK(std::isnan(actual[i]));
    } else if (std::isinf(wanted[i])) {
      CHECK(actual[i] == wanted[i]);
    } else {
      CHECK(std::fabs(actual[i] - wanted[i]) <= tolerance * std::max(1.0, std::fabs(wanted[i])));
    }
  }
}

}  // namespace tessera

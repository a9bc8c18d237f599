#include "check/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/check.h"

namespace tessera::check {

namespace {

bool is_unsigned_64(DType dtype) { return dtype == DType::U64; }

std::string text_of(DType dtype, Element value) {
  if (is_float(dtype)) return fmt::format("{:.9g}", value.f);
  return is_unsigned_64(dtype) ? fmt::format("{}", uint64_t(value.i)) : fmt::format("{}", value.i);
}

}  // namespace

bool is_before(DType dtype, Element a, Element b) {
  if (is_float(dtype)) return a.f < b.f || (a.f == b.f && std::signbit(a.f) && !std::signbit(b.f));
  return is_unsigned_64(dtype) ? uint64_t(a.i) < uint64_t(b.i) : a.i < b.i;
}

Element smaller(DType dtype, Element a, Element b) { return is_before(dtype, b, a) ? b : a; }
Element larger(DType dtype, Element a, Element b) { return is_before(dtype, a, b) ? b : a; }

Range point_range(DType dtype, Element value) {
  if (is_float(dtype) && std::isnan(value.f)) return {{.f = infinity}, {.f = -infinity}, true};
  return {value, value, false};
}

Range any_value(DType dtype) {
  if (dtype == DType::F8E4M3) return {{.f = -448}, {.f = 448}, true};
  if (is_float(dtype)) return {{.f = -infinity}, {.f = infinity}, true};
  const DTypeInfo& info = dtype_info(dtype);
  if (info.cls == DTypeClass::Bool) return {{.i = 0}, {.i = 1}};
  if (info.cls == DTypeClass::Unsigned) {
    return {{.i = 0}, {.i = info.bits == 64 ? -1 : (int64_t(1) << info.bits) - 1}};
  }
  int64_t most = int64_t((uint64_t(1) << (info.bits - 1)) - 1);
  return {{.i = -most - 1}, {.i = most}};
}

bool has_numbers(DType dtype, const Range& range) {
  return !is_before(dtype, range.high, range.low);
}

Range hull(DType dtype, const Range& a, const Range& b) {
  if (!has_numbers(dtype, a)) return {b.low, b.high, a.nan || b.nan};
  if (!has_numbers(dtype, b)) return {a.low, a.high, a.nan || b.nan};
  return {smaller(dtype, a.low, b.low), larger(dtype, a.high, b.high), a.nan || b.nan};
}

bool is_point(DType dtype, const Range& range) {
  return !range.nan && !is_before(dtype, range.low, range.high) && has_numbers(dtype, range);
}

bool contains(DType dtype, const Range& range, Element value) {
  if (is_float(dtype) && std::isnan(value.f)) return range.nan;
  return !is_before(dtype, value, range.low) && !is_before(dtype, range.high, value);
}

std::string to_text(DType dtype, const Range& range) {
  if (!has_numbers(dtype, range)) return "nan";
  std::string text = is_point(dtype, {range.low, range.high})
                         ? text_of(dtype, range.low)
                         : fmt::format("[{}, {}]", text_of(dtype, range.low), text_of(dtype, range.high));
  return range.nan ? text + " or nan" : text;
}

double magnitude(const Range& range) {
  if (range.low.f > range.high.f) return 0;
  return std::max(std::fabs(range.low.f), std::fabs(range.high.f));
}

int precision(DType dtype) {
  switch (dtype) {
    case DType::F64: return 53;
    case DType::F32: return 24;
    case DType::TF32: return 11;
    case DType::F16: return 11;
    case DType::BF16: return 8;
    case DType::F8E4M3: return 4;
    case DType::F8E5M2: return 3;
    default: TSR_UNREACHABLE("not a float dtype");
  }
}

double unit_roundoff(DType dtype) { return std::ldexp(1.0, -precision(dtype)); }

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::F64: return std::numeric_limits<double>::max();
    case DType::F32:
    case DType::TF32:
    case DType::BF16: return std::ldexp(2 - std::ldexp(1.0, 1 - precision(dtype)), 127);
    case DType::F16: return 65504;
    case DType::F8E4M3: return 448;
    case DType::F8E5M2: return 57344;
    default: TSR_UNREACHABLE("not a float dtype");
  }
}

double rounded(DType dtype, double value) { return decode_float(dtype, encode_float(dtype, value)); }

Range rounded_range(DType dtype, double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return any_value(dtype);
  double first = rounded(dtype, low), last = rounded(dtype, high);
  bool nan = false;
  if (std::isnan(first)) first = low < 0 ? -largest_finite(dtype) : infinity, nan = true;
  if (std::isnan(last)) last = high > 0 ? largest_finite(dtype) : -infinity, nan = true;
  return {{.f = first}, {.f = last}, nan};
}

RangeTensor RangeTensor::of(const TensorValue& value) {
  RangeTensor tensor{value.dtype(), value.dims(), {}};
  tensor.ranges.reserve(size_t(value.count()));
  for (int64_t i = 0; i < value.count(); ++i) {
    tensor.ranges.push_back(point_range(value.dtype(), value.get(i)));
  }
  return tensor;
}

std::optional<TensorValue> RangeTensor::exact() const {
  std::optional<TensorValue> value = TensorValue::make(dtype, dims);
  if (!value) return std::nullopt;
  for (size_t i = 0; i < ranges.size(); ++i) {
    bool only_nan = ranges[i].nan && !has_numbers(dtype, ranges[i]);
    if (!only_nan && !is_point(dtype, ranges[i])) return std::nullopt;
    value->set(int64_t(i), only_nan ? Element{.f = std::nan("")} : ranges[i].low);
  }
  return value;
}

}  // namespace tessera::check

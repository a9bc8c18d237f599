// Which dtype widens to which, against the values themselves.

#include <catch2/catch.hpp>
#include <cmath>

#include "frontend/values/check_numerics.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

const std::vector<DType> dtypes = {
#define DTYPE(Name, bits, cls, text) DType::Name,
#include "ir/numbers/dtypes.def"
#undef DTYPE
};

/// Every value of a dtype of up to 16 bits, as a double.
std::vector<double> values(DType dtype) {
  std::vector<double> all;
  unsigned bits = dtype_info(dtype).bits;
  for (uint64_t pattern = 0; pattern < (uint64_t(1) << bits); ++pattern) {
    if (is_float(dtype)) {
      double value = decode_float(dtype, pattern);
      if (std::isfinite(value)) all.push_back(value);
    } else {
      bool negative = dtype_info(dtype).cls == DTypeClass::Signed && pattern >> (bits - 1);
      all.push_back(double(pattern) - (negative ? double(uint64_t(1) << bits) : 0));
    }
  }
  return all;
}

bool holds_value(DType dtype, double value) {
  if (is_float(dtype)) {
    return decode_float(dtype, encode_float(dtype, value)) == value;
  }
  unsigned bits = dtype_info(dtype).bits;
  bool is_signed = dtype_info(dtype).cls == DTypeClass::Signed;
  double low = is_signed ? -std::ldexp(1, int(bits) - 1) : 0;
  double high = std::ldexp(1, int(bits) - (is_signed ? 1 : 0)) - 1;
  return std::trunc(value) == value && value >= low && value <= high;
}

}  // namespace

TEST_CASE("A dtype widens to those that hold all its values") {
  for (DType from : dtypes) {
    if (dtype_info(from).bits > 16 || from == DType::Bool) continue;
    std::vector<double> all = values(from);
    for (DType to : dtypes) {
      if (to == DType::Bool || (is_float(from) && !is_float(to))) continue;
      bool holds = true;
      for (double value : all) holds = holds && holds_value(to, value);
      INFO(to_string(from) << " to " << to_string(to));
      CHECK(widens_to(from, to) == holds);
    }
  }
}

TEST_CASE("Wide dtypes, bool and the border between floats and integers") {
  CHECK(widens_to(DType::F32, DType::F64));
  CHECK(!widens_to(DType::F64, DType::F32));
  CHECK(!widens_to(DType::F32, DType::TF32));
  CHECK(widens_to(DType::TF32, DType::F32));
  CHECK(widens_to(DType::I32, DType::F64));
  CHECK(!widens_to(DType::I32, DType::F32));
  CHECK(!widens_to(DType::I64, DType::F64));
  CHECK(!widens_to(DType::U64, DType::I64));
  CHECK(widens_to(DType::U32, DType::I64));
  CHECK(!widens_to(DType::F16, DType::I64));
  for (DType other : dtypes) {
    if (other == DType::Bool) continue;
    CHECK(!widens_to(DType::Bool, other));
    CHECK(!widens_to(other, DType::Bool));
  }
}

TEST_CASE("What a value is computed in") {
  Policies none, narrow;
  narrow.accum = DType::BF16;
  CHECK(compute_dtype(DType::BF16, none) == DType::F32);
  CHECK(compute_dtype(DType::BF16, narrow) == DType::BF16);
  CHECK(compute_dtype(DType::F8E4M3, none) == DType::F32);
  CHECK(compute_dtype(DType::F64, none) == DType::F64);
  CHECK(compute_dtype(DType::I8, none) == DType::I8);
  CHECK(contraction_dtype(DType::I8, none) == DType::I32);
  CHECK(contraction_dtype(DType::U8, none) == DType::U32);
  CHECK(contraction_dtype(DType::I64, none) == DType::I64);
}

TEST_CASE("Spellings of dtypes") {
  CHECK(dtype_by_name("fp32") == DType::F32);
  CHECK(dtype_by_name("half") == DType::F16);
  CHECK(dtype_by_name("int8") == DType::I8);
  CHECK(dtype_by_name("f8e4m3") == DType::F8E4M3);
  CHECK(!dtype_by_name("float33"));
  for (std::string_view name : dtype_names()) CHECK(dtype_by_name(name));
}

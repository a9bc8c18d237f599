// Elementwise ops and reductions: runs of elements are decoded, computed and encoded again.

#include <algorithm>
#include <array>
#include <limits>

#include "ir/graph/eval_ops.h"
#include "support/check.h"

namespace tessera::graph {

namespace {

constexpr int64_t run_length = 1024;

const std::byte* address(const TensorValue& value, int64_t i) {
  return value.data() + size_t(i) * byte_size(value.dtype());
}

}  // namespace

void eval_elementwise(ElementwiseKind kind, DType dtype,
                      std::span<const TensorValue* const> operands, TensorValue& result) {
  std::vector<Element> buffers(operands.size() * run_length), out(run_length);
  std::array<const Element*, 3> runs{};
  for (size_t o = 0; o < operands.size(); ++o) runs[o] = buffers.data() + o * run_length;
  for (int64_t at = 0; at < result.count(); at += run_length) {
    size_t count = size_t(std::min(run_length, result.count() - at));
    for (size_t o = 0; o < operands.size(); ++o) {
      load_elements(operands[o]->dtype(), address(*operands[o], at),
                    buffers.data() + o * run_length, count);
    }
    evaluate_elementwise_many(kind, dtype, result.dtype(), {runs.data(), operands.size()},
                              out.data(), count);
    store_elements(result.dtype(), out.data(),
                   result.data() + (address(result, at) - result.data()), count);
  }
}

namespace {

/// The nearest of the integers of a range.
Element nearest(Element value, DType dtype, IntegerRange range) {
  bool is_signed = dtype_info(dtype).cls == DTypeClass::Signed;
  if (is_signed && value.i < 0) return {.i = std::max(value.i, range.least)};
  return {.i = int64_t(std::min(uint64_t(value.i), range.greatest))};
}

}  // namespace

void eval_cast(const TensorValue& a, bool saturate, TensorValue& result) {
  const TensorValue* operand = &a;
  bool rounds = is_float(result.dtype());
  // A float becomes an integer in range anyway, and any number but 0 true.
  if (!saturate || (is_float(a.dtype()) && !rounds) || result.dtype() == DType::Bool) {
    return eval_elementwise(ElementwiseKind::Cast, a.dtype(), {&operand, 1}, result);
  }
  for (int64_t i = 0; !rounds && i < result.count(); ++i) {
    Element within = nearest(a.get(i), a.dtype(), integer_range(result.dtype()));
    result.set(i, evaluate_elementwise(ElementwiseKind::Cast, a.dtype(), result.dtype(), {&within, 1}));
  }
  if (!rounds) return;
  // An integer is rounded as usual; whether that overflows shows only afterwards.
  for (int64_t i = 0; i < result.count(); ++i) {
    Element value = a.get(i);
    double number = value.f;
    if (!is_float(a.dtype())) {
      number = evaluate_elementwise(ElementwiseKind::Cast, a.dtype(), DType::F64, {&value, 1}).f;
    }
    result.set(i, {.f = decode_float(result.dtype(), encode_float(result.dtype(), number, true))});
  }
}

namespace {

/// The least value of a dtype: -inf where it has one.
Element least(DType dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (dtype == DType::F8E4M3) return {.f = -448};
  if (is_float(dtype)) return {.f = -infinity};
  unsigned bits = dtype_info(dtype).bits;
  if (dtype_info(dtype).cls != DTypeClass::Signed) return {.i = 0};
  return {.i = -int64_t((uint64_t(1) << (bits - 1)) - 1) - 1};
}

Element greatest(DType dtype) {
  if (is_float(dtype)) return {.f = -least(dtype).f};
  unsigned bits = dtype_info(dtype).bits - (dtype_info(dtype).cls == DTypeClass::Signed ? 1 : 0);
  return {.i = int64_t(bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1)};
}

}  // namespace

Reduction reduction(std::string_view kind, DType dtype) {
  Element one{.i = 1}, zero{.i = 0};
  if (is_float(dtype)) one.f = 1;
  if (kind == "sum") return {ElementwiseKind::Add, zero};
  if (kind == "prod") return {ElementwiseKind::Mul, one};
  if (kind == "max") return {ElementwiseKind::Max, least(dtype)};
  if (kind == "min") return {ElementwiseKind::Min, greatest(dtype)};
  TSR_UNREACHABLE("no such reduction");
}

namespace {

/// For each axis of `dims`, how far the result's position moves along it: 0 along a reduced axis.
Extents reduced_strides(const Extents& dims, std::span<const int64_t> axes) {
  Extents strides(dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (std::find(axes.begin(), axes.end(), int64_t(i)) != axes.end()) continue;
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

/// Folds a row of elements into what starts at `into`: into one element, or each into its own.
void fold_row(const Reduction& reduction, DType dtype, const std::vector<Element>& row,
              bool into_one, Element* into) {
  if (!into_one) {
    const Element* operands[] = {into, row.data()};
    return evaluate_elementwise_many(reduction.combine, dtype, dtype, operands, into, row.size());
  }
  Element operands[2] = {*into, {}};
  for (Element element : row) {
    operands[1] = element;
    operands[0] = evaluate_elementwise(reduction.combine, dtype, dtype, operands);
  }
  *into = operands[0];
}

}  // namespace

void eval_reduce(const TensorValue& a, std::string_view kind, std::span<const int64_t> axes,
                 TensorValue& result) {
  DType dtype = a.dtype();
  Reduction how = reduction(kind, dtype);
  std::vector<Element> folded(size_t(result.count()), how.identity);
  const Extents& dims = a.dims();
  Extents strides = reduced_strides(dims, axes);
  size_t outer = dims.empty() ? 0 : dims.size() - 1;
  int64_t length = dims.empty() ? 1 : dims.back();
  bool into_one = !dims.empty() && strides.back() == 0;
  std::vector<Element> row(size_t(a.count() ? length : 0));
  Extents index(outer, 0);
  int64_t position = 0;
  for (int64_t at = 0; at < a.count(); at += length) {
    load_elements(dtype, address(a, at), row.data(), row.size());
    fold_row(how, dtype, row, into_one, folded.data() + position);
    for (size_t axis = outer; axis-- > 0;) {
      position += strides[axis];
      if (++index[axis] < dims[axis]) break;
      position -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  store_elements(dtype, folded.data(), result.data(), folded.size());
}

}  // namespace tessera::graph

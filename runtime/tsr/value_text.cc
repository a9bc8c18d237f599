#include "runtime/tsr/value_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "runtime/tsr/graph_ir.h"

namespace tessera::tool {

namespace {

constexpr int64_t most_elements = 8;

/// A NaN has no sign that matters.
template <typename T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
  }
  std::array<char, 32> buffer;
  char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

std::string element_text(const TensorValue& value, int64_t i) {
  Element element = value.get(i);
  switch (value.dtype()) {
    case DType::F64: return number_text(element.f);
    case DType::Bool: return element.i ? "true" : "false";
    case DType::U64: return number_text(uint64_t(element.i));
    default: return is_float(value.dtype()) ? number_text(float(element.f)) : number_text(element.i);
  }
}

/// The elements from `next` on that an axis and those behind it have.
std::string axis_text(const TensorValue& value, size_t axis, int64_t& next) {
  if (axis == value.rank()) return element_text(value, next++);
  std::string text;
  for (int64_t i = 0; i < value.dims()[axis]; ++i) text += (i ? ", " : "") + axis_text(value, axis + 1, next);
  return "[" + text + "]";
}

}  // namespace

bool is_short(std::span<const int64_t> shape) {
  std::optional<int64_t> count = format::element_count(shape);
  return count && *count > 0 && *count <= most_elements;
}

std::string value_text(const format::TensorView& tensor) {
  TensorValue value;
  if (!is_short(tensor.shape) || !to_value(tensor, value)) return {};
  int64_t next = 0;
  return axis_text(value, 0, next);
}

}  // namespace tessera::tool

#pragma once
// Compiles an entry and evaluates its graph on small tensors.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ir/graph/eval.h"
#include "unit/frontend/fixture.h"

namespace tessera::frontend {

/// A tensor's extents and elements, as numbers.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> values;
  DType dtype = DType::F32;

  friend bool operator==(const Numbers& a, const Numbers& b) {
    return a.dims == b.dims && a.values == b.values && a.dtype == b.dtype;
  }
  friend std::ostream& operator<<(std::ostream& out, const Numbers& n) {
    return out << fmt::format("{} [{}] {}", to_string(n.dtype), fmt::join(n.dims, ", "),
                              fmt::join(n.values, ", "));
  }
};

/// 0, 1, 2, … of these extents.
inline Numbers counting(std::vector<int64_t> dims, DType dtype = DType::F32) {
  Numbers numbers{std::move(dims), {}, dtype};
  int64_t count = 1;
  for (int64_t dim : numbers.dims) count *= dim;
  for (int64_t i = 0; i < count; ++i) numbers.values.push_back(double(i));
  return numbers;
}

inline TensorValue to_tensor(const Numbers& numbers) {
  TensorValue tensor = std::move(*TensorValue::make(numbers.dtype, numbers.dims));
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    Element element{};
    if (is_float(numbers.dtype)) {
      element.f = numbers.values[i];
    } else {
      element.i = int64_t(numbers.values[i]);
    }
    tensor.set(int64_t(i), element);
  }
  return tensor;
}

inline Numbers to_numbers(const TensorValue& tensor) {
  Numbers numbers{tensor.dims(), {}, tensor.dtype()};
  for (int64_t i = 0; i < tensor.count(); ++i) {
    Element element = tensor.get(i);
    numbers.values.push_back(is_float(tensor.dtype()) ? element.f : double(element.i));
  }
  return numbers;
}

/// The results of function `name` of a source text.
inline std::vector<Numbers> run(const std::string& text, const std::string& name,
                                const std::vector<Numbers>& inputs) {
  Fixture fixture;
  std::string graph = fixture.compile(text);
  INFO(graph);
  REQUIRE(fixture.result.graph);
  std::vector<TensorValue> arguments;
  for (const Numbers& input : inputs) arguments.push_back(to_tensor(input));
  auto results = graph::evaluate(fixture.result.graph->find(name), std::move(arguments), {},
                                 fixture.diagnostics);
  INFO(render_all(fixture.diagnostics, {}));
  REQUIRE(results);
  std::vector<Numbers> numbers;
  for (const TensorValue& result : *results) numbers.push_back(to_numbers(result));
  return numbers;
}

/// The one result of `def f(x: Tensor[<type>]): return <expression>`.
inline Numbers apply(const std::string& type, const std::string& expression, const Numbers& x) {
  std::string text = "@jit\ndef f(x: Tensor[" + type + "]):\n    return " + expression + "\n";
  return run(text, "f", {x}).at(0);
}

}  // namespace tessera::frontend

#pragma once
// What generators of programs share: values by type, dims, choices.

#include <functional>
#include <optional>

#include "check/program.h"
#include "check/random.h"

namespace tessera::check {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    program_.dims = std::make_shared<DimTable>();
    program_.seed = seed;
  }

 protected:
  const Node& node(int index) const { return program_.nodes[size_t(index)]; }
  const ValueType& type(int index) const { return node(index).type; }
  int count() const { return int(program_.nodes.size()); }

  int add(std::string text, std::vector<int> operands, ValueType type);
  int argument(ValueType type, Fill fill);
  /// A value made before, recent ones more often.
  int any();
  /// One for which the test holds, or -1 after some tries.
  int any_with(const std::function<bool(const ValueType&)>& test);

  Dim number(int64_t value) { return dims().constant(value); }
  Dim symbol(std::string_view name) { return dims().symbol(name); }
  DimTable& dims() { return *program_.dims; }

  Random random_;
  Program program_;
};

/// The dims of an elementwise op on both; nullopt where they do not fit.
std::optional<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);
/// A number that a dtype has, as it is written.
std::string literal(Random& random, DType dtype);

}  // namespace tessera::check

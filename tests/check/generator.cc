#include "check/generator.h"

#include <algorithm>

namespace tessera::check {

int Generator::add(std::string text, std::vector<int> operands, ValueType type) {
  static constexpr Style styles[] = {Style::Inline, Style::Inline, Style::Inline, Style::Named,
                                     Style::Named,  Style::Named,  Style::Function, Style::Lambda};
  Node made;
  made.text = std::move(text), made.operands = std::move(operands), made.type = std::move(type);
  made.style = random_.of(styles);
  program_.nodes.push_back(std::move(made));
  return count() - 1;
}

int Generator::argument(ValueType type, Fill fill) {
  Node made;
  made.type = std::move(type), made.style = Style::Named, made.fill = fill, made.salt = random_.next();
  program_.nodes.push_back(std::move(made));
  return count() - 1;
}

int Generator::any() {
  size_t all = program_.nodes.size();
  if (random_.one_in(2)) return int(random_.pick(all));
  return int(all - 1 - random_.pick(std::min<size_t>(all, 4)));
}

int Generator::any_with(const std::function<bool(const ValueType&)>& test) {
  for (int tries = 0; tries < 12; ++tries) {
    int value = any();
    if (test(type(value))) return value;
  }
  return -1;
}

std::optional<std::vector<Dim>> broadcast_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> out = a.size() > b.size() ? a : b;
  const std::vector<Dim>& other = a.size() > b.size() ? b : a;
  size_t skip = out.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    Dim& dim = out[skip + i];
    if (dim == other[i] || other[i]->is_constant(1)) continue;
    if (!dim->is_constant(1)) return std::nullopt;
    dim = other[i];
  }
  return out;
}

std::string literal(Random& random, DType dtype) {
  static constexpr const char* floats[] = {"0.5", "2.0", "1.0", "-1.0", "0.25", "3.0", "-0.75", "0.0", "1.5"};
  static constexpr const char* integers[] = {"1", "2", "3", "0", "5", "-1", "-3"};
  if (is_float(dtype)) return random.of(floats);
  if (dtype_info(dtype).cls == DTypeClass::Signed) return random.of(integers);
  return integers[random.pick(5)];
}

}  // namespace tessera::check

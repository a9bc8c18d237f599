#include "ir/graph/constants.h"

#include <algorithm>
#include <cmath>

namespace tessera::graph {

Element element_of(Attr value, DType dtype) {
  if (is_float(dtype)) {
    return {.f = decode_float(dtype, encode_float(dtype, value->number))};
  }
  if (value->is(AttrKind::Bool)) return {.i = value->boolean};
  return {.i = value->is(AttrKind::Int) ? value->integer : int64_t(value->number)};
}

Attr attribute_of(Context& context, DType dtype, Element element) {
  return is_float(dtype) ? context.number(element.f) : context.integer(element.i);
}

bool same_element(DType dtype, Element a, Element b) {
  if (!is_float(dtype)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
  return a.f == b.f && std::signbit(a.f) == std::signbit(b.f);
}

Attr uniform_value(Value* value) {
  Op* op = value->def();
  while (op && kind_of(op) == OpKind::Broadcast) op = op->operand(0)->def();
  if (!op) return nullptr;
  if (kind_of(op) == OpKind::Full) return op->attr(attr::Full::value);
  if (kind_of(op) != OpKind::Constant) return nullptr;
  const std::vector<Attr>& values = op->attr(attr::Constant::values);
  if (values.empty()) return nullptr;
  DType dtype = value->type()->dtype;
  Element first = element_of(values[0], dtype);
  bool equal = std::all_of(values.begin(), values.end(), [&](Attr other) {
    return same_element(dtype, first, element_of(other, dtype));
  });
  return equal ? values[0] : nullptr;
}

std::optional<Element> uniform_element(Value* value) {
  Attr stated = uniform_value(value);
  return stated ? std::optional(element_of(stated, value->type()->dtype)) : std::nullopt;
}

bool is_full_value(Attr value, DType dtype) {
  return dtype != DType::U64 || element_of(value, dtype).i >= 0;
}

Value* uniform(Builder& builder, Attr value, Type type) {
  if (is_full_value(value, type->dtype)) {
    return builder.value(info(OpKind::Full), {}, type, {attr::Full::value(value)});
  }
  Context& context = builder.context();
  Type element = type->rank() == 0 ? type : context.tensor({}, type->dtype);
  Value* constant = builder.value(info(OpKind::Constant), {}, element,
                                  {attr::Constant::values(context.array({value}))});
  if (type->rank() == 0) return constant;
  return builder.value(info(OpKind::Broadcast), {{constant}}, type);
}

}  // namespace tessera::graph

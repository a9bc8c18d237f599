#include "ir/text/symbols.h"

namespace tessera {

void for_each_symbol(Type type, const std::function<void(std::string_view)>& visit) {
  for (Dim dim : type->dims) for_each_symbol(dim, visit);
  for (Dim dim : type->strides) for_each_symbol(dim, visit);
  if (type->offset) for_each_symbol(type->offset, visit);
}

void for_each_symbol(Attr attribute, const std::function<void(std::string_view)>& visit) {
  if (attribute->dim) for_each_symbol(attribute->dim, visit);
  if (attribute->type) for_each_symbol(attribute->type, visit);
  for (Attr element : attribute->elements) for_each_symbol(element, visit);
  for (const auto& [key, value] : attribute->entries) for_each_symbol(value, visit);
}

void for_each_symbol(Op* op, const std::function<void(std::string_view)>& visit) {
  for (const OpAttr& attribute : op->attributes()) for_each_symbol(attribute.value, visit);
  for (unsigned i = 0; i < op->result_count(); ++i) for_each_symbol(op->result(i)->type(), visit);
}

void verify_free_dims(Op* kernel, OpVerifier& verifier) {
  std::set<std::string, std::less<>> known;
  Block* body = kernel->region()->front();
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    for_each_symbol(body->arg(i)->type(), [&](std::string_view name) { known.emplace(name); });
  }
  auto check = [&](Op* op) {
    for_each_symbol(op, [&](std::string_view name) {
      if (verifier.failed() || known.contains(name)) return;
      verifier.error("symbol '{}' occurs in no parameter's type", name);
    });
  };
  check(kernel);
  walk(kernel, check);
}

}  // namespace tessera

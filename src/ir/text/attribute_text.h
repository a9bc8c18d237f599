#pragma once
// Attributes by name, for what reads and checks IR as text. All other code has keys (attribute_key.h).

#include "ir/core/module.h"

namespace tessera {

struct AttributeText {
  static Attr find(const Op* op, std::string_view name) { return op->find(name); }
  /// The name must live as long as the context.
  static OpAttr make(std::string_view name, Attr value) { return {name, value}; }
  static void set(Module& module, std::string_view name, Attr value) {
    module.put_attribute(name, value);
  }
};

}  // namespace tessera

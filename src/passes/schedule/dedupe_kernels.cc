// One kernel of each kind: launches of a kernel that equals an earlier one launch that instead.
// Kernels have their own dims, so equality is that of the text without names.

#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "passes/analysis/kernels.h"
#include "passes/pass.h"

namespace tessera {

Status dedupe_kernels(Module& module, PassContext&) {
  std::vector<Op*> kept;
  std::map<std::string, Op*, std::less<>> replaced;
  for (Op* op : *module.body()) {
    if (!op->is(schedule::info(schedule::OpKind::Kernel))) continue;
    bool is_new = true;
    for (Op* known : kept) {
      if (!same_kernel(known, op)) continue;
      replaced.emplace(symbol_name(op), known);
      is_new = false;
      break;
    }
    if (is_new) kept.push_back(op);
  }
  for (Op* op : *module.body()) {
    walk(op, [&](Op* inner) {
      if (!inner->is(host::info(host::OpKind::Launch))) return;
      // Equal kernels have the same free dims, so the binding stays.
      auto kept_one = [&](Attr name) {
        auto it = replaced.find(name->string);
        return it == replaced.end() ? name : module.context().symbol(symbol_name(it->second));
      };
      inner->set_attr("kernel", kept_one(inner->attr("kernel")));
      Attr variants = inner->attr("variants");
      if (!variants) return;
      std::vector<Attr> names;
      for (Attr name : variants->elements) names.push_back(kept_one(name));
      inner->set_attr("variants", module.context().array(std::move(names)));
    });
  }
  for (const auto& [name, known] : replaced) module.find(name)->erase();
  return success;
}

}  // namespace tessera

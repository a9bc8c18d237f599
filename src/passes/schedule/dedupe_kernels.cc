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
      auto kept_one = [&](std::string_view name) {
        auto it = replaced.find(name);
        return std::string(it == replaced.end() ? name : symbol_name(it->second));
      };
      inner->set(host::attr::Launch::kernel, kept_one(inner->attr(host::attr::Launch::kernel)));
      if (!inner->has(host::attr::Launch::variants)) return;
      std::vector<std::string> names;
      for (std::string_view name : inner->attr(host::attr::Launch::variants))
        names.push_back(kept_one(name));
      inner->set(host::attr::Launch::variants, names);
    });
  }
  for (const auto& [name, known] : replaced) module.find(name)->erase();
  return success;
}

}  // namespace tessera

#include "ir/target/distinct_kernels.h"

#include <unordered_map>

#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "ir/text/printer.h"

namespace tessera::target {

namespace {

/// A kernel's text without its name and places: equal texts are equal code.
std::string body_text(Op* function) {
  std::string text = print(function, {.locations = false});
  return text.substr(text.find('('));
}

}  // namespace

std::vector<DistinctKernel> distinct_kernels(std::span<Module* const> modules) {
  std::vector<DistinctKernel> kernels;
  std::unordered_map<std::string, size_t> known;
  for (Module* module : modules) {
    for (Op* op : *module->body()) {
      if (!op->is(info(OpKind::Func)) || op->region()->empty()) continue;
      std::string text = body_text(op);
      auto [it, is_new] = known.try_emplace(text, kernels.size());
      if (is_new) {
        kernels.push_back({op, {}, std::move(text)});
      } else {
        kernels[it->second].twins.push_back(op);
      }
    }
  }
  return kernels;
}

std::map<std::string, std::string, std::less<>> twin_names(std::span<Module* const> modules) {
  std::map<std::string, std::string, std::less<>> names;
  for (const DistinctKernel& kernel : distinct_kernels(modules)) {
    for (Op* twin : kernel.twins) names.emplace(symbol_name(twin), symbol_name(kernel.function));
  }
  return names;
}

}  // namespace tessera::target

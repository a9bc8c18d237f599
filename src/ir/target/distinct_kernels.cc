#include "ir/target/distinct_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "ir/text/printer.h"

namespace tessera::target {

namespace {

using attr::Func;

/// What the code of a kernel is made of: its parameters and its body without places, and of its attributes those that
/// are no metadata. Equal texts are equal code.
std::string code_text(Op* kernel) {
  std::string text = print(kernel, {.locations = false, .bare = kernel});
  auto number = [&](const auto& key) { return int64_t(kernel->attr(key).value_or(0)); };
  std::string_view checked = kernel->has(Func::checks) ? "checked" : "not checked";
  return fmt::format("{}\n{} buffers, {} dims, {} threads, {} registers, {} bytes, {}, clusters of {}",
                     text.substr(text.find('(')), kernel->attr(Func::params).size(), kernel->attr(Func::dims).size(),
                     number(Func::threads), number(Func::registers), number(Func::shared),
                     checked, fmt::join(kernel->attr(Func::cluster), " "));
}

}  // namespace

std::vector<DistinctKernel> distinct_kernels(std::span<Module* const> modules) {
  std::vector<DistinctKernel> kernels;
  std::unordered_map<std::string, size_t> known;
  for (Module* module : modules) {
    for (Op* op : *module->body()) {
      if (!op->is(info(OpKind::Func)) || op->region()->empty()) continue;
      std::string text = code_text(op);
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

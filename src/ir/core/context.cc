#include "ir/core/context.h"

#include <algorithm>

#include "ir/core/op_info.h"

namespace tessera {

Context::Context() = default;
Context::~Context() = default;

uint32_t Context::add_call(std::string name, Loc at) {
  calls_.push_back({std::move(name), at});
  return uint32_t(calls_.size() - 1);
}

std::string_view Context::intern(std::string_view text) {
  auto& slot = strings_[std::string(text)];
  if (!slot) slot = std::make_unique<std::string>(text);
  return *slot;
}

void Context::register_ops(const OpInfo* const* begin, const OpInfo* const* end) {
  for (auto it = begin; it != end; ++it) ops_.emplace((*it)->name, *it);
}

const OpInfo* Context::find_op(std::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : it->second;
}

std::vector<const OpInfo*> Context::all_ops() const {
  std::vector<const OpInfo*> all;
  for (const auto& [name, info] : ops_) all.push_back(info);
  std::sort(all.begin(), all.end(),
            [](const OpInfo* a, const OpInfo* b) { return a->name < b->name; });
  return all;
}

}  // namespace tessera

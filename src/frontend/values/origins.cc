#include "frontend/values/origins.h"

#include <algorithm>
#include <vector>

namespace tessera::frontend {

const Value* entering(const Value* argument) {
  const Block* block = argument->block();
  const Op* loop = block ? block->parent_op() : nullptr;
  if (!loop || loop->operand_count() == 0 || block->arg_count() < loop->operand_count()) return nullptr;
  size_t others = block->arg_count() - loop->operand_count();
  if (argument->index() < others) return nullptr;
  const Value* value = loop->operand(unsigned(argument->index() - others));
  return value->type() == argument->type() ? value : nullptr;
}

const Value* source_of_dtype(const Value* value) {
  constexpr size_t most_values = 64;
  DType dtype = value->type()->dtype;
  std::vector<const Value*> seen = {value}, sources;
  for (size_t i = 0; i < seen.size() && seen.size() < most_values; ++i) {
    const Op* op = seen[i]->def();
    size_t before = seen.size();
    auto follow = [&](const Value* operand) {
      bool is_new = std::find(seen.begin(), seen.end(), operand) == seen.end();
      if (operand && operand->type()->dtype == dtype && is_new) seen.push_back(operand);
    };
    if (!op) {
      follow(entering(seen[i]));
    } else if (op->region_count() != 0) {
      if (seen[i]->index() < op->operand_count()) follow(op->operand(seen[i]->index()));
    } else {
      for (unsigned k = 0; k < op->operand_count(); ++k) follow(op->operand(k));
    }
    if (seen.size() == before) sources.push_back(seen[i]);
  }
  auto argument = std::find_if(sources.begin(), sources.end(), [](const Value* source) { return !source->def(); });
  if (argument != sources.end()) return *argument;
  return sources.empty() ? value : sources.back();
}

}  // namespace tessera::frontend

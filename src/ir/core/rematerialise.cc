#include "ir/core/rematerialise.h"

#include "ir/core/dominance.h"
#include "ir/core/module.h"

namespace tessera {

Value* available_before(Value* value, Op* user, std::map<Value*, Value*>& copies) {
  if (Dominance().dominates(value, user)) return value;
  auto it = copies.find(value);
  if (it != copies.end()) return it->second;
  Op* def = value->def();
  if (!def || !def->is_pure() || def->region_count()) return nullptr;
  std::map<Value*, Value*> operands;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    Value* operand = available_before(def->operand(i), user, copies);
    if (!operand) return nullptr;
    operands[def->operand(i)] = operand;
  }
  Op* copy = user->module()->clone(def, operands);
  copy->move_before(user);
  for (unsigned i = 0; i < def->result_count(); ++i) copies[def->result(i)] = copy->result(i);
  return copies[value];
}

}  // namespace tessera

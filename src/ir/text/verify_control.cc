#include "ir/text/verify_control.h"

namespace tessera {

namespace {

/// True, unless it is reported, if a value's type is the wanted one but for policies.
bool expect_type(OpVerifier& verifier, Type type, Type wanted, unsigned region, std::string_view what, size_t number) {
  if (type->kind == wanted->kind && type->dtype == wanted->dtype && same_dims(type, wanted)) return true;
  verifier.error("{} {} of region {} is {}, not {}", what, number, region, type->text, wanted->text);
  return false;
}

/// A region that is one block, which takes values of the types `arguments` and ends with a `yield` of values of
/// the types `results`; policies may differ.
bool expect_region(OpVerifier& verifier, Op* op, unsigned region, const OpInfo* yield,
                   std::span<const Type> arguments, std::span<const Type> results) {
  Block* block = op->region(region)->front();
  if (!block || block->next()) return verifier.error("region {} is not one block", region), false;
  Op* end = block->terminator();
  if (!end || !end->is(yield)) return verifier.error("region {} does not end with {}", region, yield->name), false;
  if (block->arg_count() != arguments.size() || end->operand_count() != results.size()) {
    verifier.error("region {} takes {} values and yields {}, not {} and {}", region, block->arg_count(),
                   end->operand_count(), arguments.size(), results.size());
    return false;
  }
  for (unsigned i = 0; i < arguments.size(); ++i) {
    if (!expect_type(verifier, block->arg(i)->type(), arguments[i], region, "argument", i)) return false;
  }
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!expect_type(verifier, end->operand(i)->type(), results[i], region, "yielded value", i)) return false;
  }
  return true;
}

std::vector<Type> types_of(const std::vector<Value*>& values) {
  std::vector<Type> types;
  for (Value* value : values) types.push_back(value->type());
  return types;
}

/// The initial values of a loop and its results have the same types.
bool expect_carried(OpVerifier& verifier, Op* op, unsigned inits) {
  if (op->slot_size(inits) != op->result_count()) {
    verifier.error("it carries {} values and gives {}", op->slot_size(inits), op->result_count());
    return false;
  }
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type init = op->in(inits, i)->type(), result = op->result(i)->type();
    if (init->dtype == result->dtype && same_dims(init, result)) continue;
    verifier.error("value {} starts as {} and ends as {}", i, init->text, result->text);
    return false;
  }
  return true;
}

}  // namespace

bool expect_loop(OpVerifier& verifier, Op* op, unsigned inits, unsigned body, const OpInfo* yield) {
  if (!expect_carried(verifier, op, inits)) return false;
  std::vector<Type> types = types_of(op->ins(inits));
  return expect_region(verifier, op, body, yield, types, types);
}

bool expect_while(OpVerifier& verifier, Op* op, unsigned inits, unsigned condition, unsigned body,
                  const OpInfo* yield) {
  if (!expect_loop(verifier, op, inits, body, yield)) return false;
  std::vector<Type> truth = {op->module()->context().tensor({}, DType::Bool)};
  return expect_region(verifier, op, condition, yield, types_of(op->ins(inits)), truth);
}

bool expect_branches(OpVerifier& verifier, Op* op, BranchChoice choice, unsigned then, unsigned otherwise,
                     const OpInfo* yield, std::span<const Type> arguments) {
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) types.push_back(op->result(i)->type());
  if (choice.by_sizes == (choice.condition != nullptr)) {
    verifier.error("{} a region", choice.by_sizes ? "a condition and facts of sizes choose" : "nothing chooses");
    return false;
  }
  if (choice.condition && !expect_condition(verifier, choice.condition)) return false;
  return expect_region(verifier, op, then, yield, arguments, types) &&
         expect_region(verifier, op, otherwise, yield, arguments, types);
}

bool expect_condition(OpVerifier& verifier, Value* condition) {
  Type type = condition->type();
  if (type->dtype == DType::Bool && type->dims.empty()) return true;
  verifier.error("the condition must be a bool of rank 0, not {}", type->text);
  return false;
}

}  // namespace tessera

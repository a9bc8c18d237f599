#include "ir/text/verifier.h"

#include <algorithm>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/dominance.h"
#include "ir/text/attribute_text.h"
#include "ir/text/entries.h"
#include "ir/text/printer.h"
#include "ir/text/properties.h"
#include "support/diagnostic_rows.h"

namespace tessera {

void OpVerifier::report(const std::string& message) {
  failed_ = true;
  diagnostics_.report(diag::ir_verify, op_->loc(), std::string(op_->name()), message);
}

bool level_allows(Level module_level, Level op_level) {
  if (module_level == op_level) return true;
  return op_level == Level::Host && module_level != Level::Graph;
}

namespace {

class ModuleVerifier {
 public:
  ModuleVerifier(Module& module, DiagnosticEngine& diagnostics)
      : module_(module), diagnostics_(diagnostics) {}

  Status run() {
    if (!check_module()) return failure;
    std::set<std::string_view> symbols;
    for (Op* op : *module_.body()) {
      OpVerifier verifier(op, diagnostics_);
      if (!op->info().has(Function)) verifier.error("it may not stand at the top of a module");
      if (op->info().has(Function) && !symbols.insert(symbol_name(op)).second) {
        verifier.error("symbol @{} is defined twice", symbol_name(op));
      }
      if (verifier.failed()) return failure;
      if (!check(op)) return failure;
    }
    return success;
  }

 private:
  bool check_module() {
    bool holds = true;
    for (const auto& [name, value] : module_.attributes()) {
      auto is_it = [&](const common::Row& row) {
        return row.group == "Module" && row.name == name;
      };
      auto row = std::ranges::find_if(common::rows(), is_it);
      std::string problem;
      if (row == common::rows().end()) {
        problem = fmt::format("it has no attribute '{}'", name);
      } else if (!fits(value, row->type)) {
        problem = type_problem(name, row->type, value);
      }
      holds = expect_none(problem) && holds;
    }
    return holds && expect_none(problem_of_facts(module_));
  }

  /// Reports a problem of the module's own, unless it is empty.
  bool expect_none(const std::string& problem) {
    if (problem.empty()) return true;
    Loc loc = module_.body()->empty() ? Loc{} : module_.body()->front()->loc();
    diagnostics_.report(diag::ir_verify, loc, "module", problem);
    return false;
  }

  /// Checks an op and all inside it; stops at the first op that breaks a rule.
  bool check(Op* op) {
    OpVerifier verifier(op, diagnostics_);
    check_level(op, verifier);
    check_values(op, verifier);
    check_attributes(op, verifier);
    check_blocks(op, verifier);
    if (!verifier.failed()) check_dominance(op, verifier);
    if (!verifier.failed() && op->info().has(SameType)) check_same_type(op, verifier);
    if (!verifier.failed() && common::is_along_axis(op)) check_axis(op, verifier);
    if (!verifier.failed() && op->info().verify) op->info().verify(op, verifier);
    if (verifier.failed()) return false;
    for (unsigned r = 0; r < op->region_count(); ++r) {
      for (Block* block = op->region(r)->front(); block; block = block->next()) {
        for (Op* inner : *block) {
          if (!check(inner)) return false;
        }
      }
    }
    if (op->info().verify_inside) op->info().verify_inside(op, verifier);
    return !verifier.failed();
  }

  /// A module has host functions beside kernels of its own level; neither has ops of the other inside.
  void check_level(Op* op, OpVerifier& verifier) {
    Level level = op->info().level;
    if (level_allows(module_.level(), level)) {
      Op* parent = op->parent();
      if (!parent || (parent->info().level == Level::Host) == (level == Level::Host)) return;
      return verifier.error("it is an op of level {} inside of '{}'", to_string(level), parent->name());
    }
    verifier.error("it is an op of level {} in a module of level {}", to_string(level), to_string(module_.level()));
  }

  void check_values(Op* op, OpVerifier& verifier) {
    const OpInfo& info = op->info();
    for (unsigned s = 0; s < op->slot_count(); ++s) {
      const Slot& slot = info.slot(SlotKind::Operand, s);
      unsigned size = op->slot_size(s);
      if (slot.arity == Arity::One && size != 1) verifier.error("operand '{}' is missing", slot.name);
      if (slot.arity == Arity::Optional && size > 1) {
        verifier.error("operand '{}' takes at most one value", slot.name);
      }
      for (Value* value : op->ins(s)) check_class(value->type(), slot, "operand", verifier);
    }
    size_t slots = info.count(SlotKind::Result);
    bool many = slots != 0 && info.slot(SlotKind::Result, slots - 1).arity == Arity::Many;
    if (many ? op->result_count() < slots - 1 : op->result_count() != slots) {
      verifier.error("it has {} results, not {}{}", op->result_count(), many ? "at least " : "",
                     many ? slots - 1 : slots);
      return;
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      const Slot& slot = info.slot(SlotKind::Result, std::min<size_t>(i, slots - 1));
      check_class(op->result(i)->type(), slot, "result", verifier);
    }
  }

  void check_class(Type type, const Slot& slot, std::string_view what, OpVerifier& verifier) {
    if (belongs_to(type, slot.value)) return;
    verifier.error("{} '{}' must be {}, not {}", what, slot.name, to_string(slot.value), type->text);
  }

  void check_attributes(Op* op, OpVerifier& verifier) {
    const OpInfo& info = op->info();
    for (const Slot& slot : info.slots) {
      if (slot.kind != SlotKind::Attribute) continue;
      Attr value = AttributeText::find(op, slot.name);
      if (!value) {
        if (slot.arity == Arity::One) verifier.error("attribute '{}' is missing", slot.name);
        continue;
      }
      if (!fits(value, slot.attr)) {
        verifier.error("{}", type_problem(slot.name, slot.attr, value));
      } else if (slot.attr == AttrType::Facts) {
        check_facts(slot.name, value, verifier);
      }
    }
    for (const OpAttr& attribute : op->attributes()) {
      bool known = info.find_attribute(attribute.name) ||
                   (attribute.name == common::Function::symbol.name && info.has(Function));
      if (!known) verifier.error("it has no attribute '{}'", attribute.name);
    }
  }

  /// Facts have the entries of guards, whether calls test them or they are assumed.
  void check_facts(std::string_view name, Attr facts, OpVerifier& verifier) {
    for (Attr fact : facts->elements) {
      std::string problem = entry::problem_of(fact, entry::Dict::Guard);
      if (!problem.empty()) verifier.error("an element of '{}' is wrong: {}", name, problem);
    }
  }

  /// Names the first element of a list that is not what the row says.
  static std::string type_problem(std::string_view name, AttrType type, Attr value) {
    AttrType element = element_type(type);
    if (element == type || !value->is(AttrKind::Array)) {
      return fmt::format("attribute '{}' must be {}, not {}", name, to_string(type), value->text);
    }
    auto bad =
        std::ranges::find_if_not(value->elements, [&](Attr each) { return fits(each, element); });
    return fmt::format("each of '{}' must be {}, not {}", name, to_string(element), (*bad)->text);
  }

  void check_blocks(Op* op, OpVerifier& verifier) {
    const OpInfo& info = op->info();
    if (info.has(Terminator) != (op->block() && op->block()->back() == op)) {
      if (info.has(Terminator)) verifier.error("it ends a block, and ops follow it");
      if (!info.has(Terminator) && op->parent()) verifier.error("it ends a block without being a terminator");
    }
    for (unsigned r = 0; r < op->region_count(); ++r) {
      bool declaration = info.has(Function) && op->region(r)->empty();
      if (op->region(r)->empty() && !declaration) verifier.error("region {} has no block", r);
      for (Block* block = op->region(r)->front(); block; block = block->next()) {
        if (block->empty()) verifier.error("a block in it is empty");
      }
    }
    if (op->region_count() != info.count(SlotKind::Region)) {
      verifier.error("it has {} regions, not {}", op->region_count(), info.count(SlotKind::Region));
    }
    if (op->successors().size() != info.count(SlotKind::Successor)) {
      verifier.error("it has {} successors, not {}", op->successors().size(),
                     info.count(SlotKind::Successor));
    }
    for (unsigned i = 0; i < op->successors().size(); ++i) check_successor(op, i, verifier);
  }

  void check_successor(Op* op, unsigned n, OpVerifier& verifier) {
    Block* block = op->successors()[n].block;
    std::vector<Value*> arguments = op->successor_args(n);
    if (block->region() != op->block()->region()) {
      verifier.error("successor {} is in another region", n);
    } else if (block == block->region()->front()) {
      verifier.error("successor {} is the entry block", n);
    } else if (arguments.size() != block->arg_count()) {
      verifier.error("successor {} takes {} arguments, not {}", n, block->arg_count(), arguments.size());
    } else {
      for (unsigned i = 0; i < arguments.size(); ++i) {
        if (arguments[i]->type() == block->arg(i)->type()) continue;
        verifier.error("argument {} of successor {} must be {}, not {}", i, n,
                       block->arg(i)->type()->text, arguments[i]->type()->text);
      }
    }
  }

  void check_dominance(Op* op, OpVerifier& verifier) {
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (!dominance_.dominates(op->operand(i), op)) {
        verifier.error("operand {} is not available here: its definition does not dominate the use", i);
      }
    }
  }

  void check_same_type(Op* op, OpVerifier& verifier) {
    Type first = op->operand_count() ? op->operand(0)->type() : op->result()->type();
    auto same = [&](Type type) {
      return type->kind == first->kind && type->dtype == first->dtype && same_dims(type, first) &&
             type->lanes == first->lanes;
    };
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Type type = op->operand(i)->type();
      if (!same(type)) verifier.error("operand {} must be {}, not {}", i, first->text, type->text);
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Type type = op->result(i)->type();
      if (!same(type)) verifier.error("result {} must be {}, not {}", i, first->text, type->text);
    }
  }

  void check_axis(Op* op, OpVerifier& verifier) {
    int64_t axis = op->attr(common::Along::axis), rank = int64_t(op->operand(0)->type()->rank());
    if (axis < 0 || axis >= rank) verifier.error("axis {} is outside a tile of rank {}", axis, rank);
  }

  Module& module_;
  DiagnosticEngine& diagnostics_;
  Dominance dominance_;
};

bool same_shape(Type a, Type b) {
  return a->kind == b->kind && same_dims(a, b) && a->lanes == b->lanes;
}

}  // namespace

bool expect_result(Op* op, OpVerifier& verifier, const std::vector<Dim>& dims, DType dtype) {
  Type type = op->result()->type();
  if (type->dims != dims) {
    verifier.error("the result has dims {}, not {}", to_text(type->dims), to_text(dims));
  } else if (type->dtype != dtype) {
    verifier.error("the result has dtype {}, not {}", to_string(type->dtype), to_string(dtype));
  }
  return !verifier.failed();
}

void verify_elementwise(Op* op, OpVerifier& verifier) {
  const ElementwiseInfo& row = elementwise_info(op->info().elementwise);
  Type result = op->result()->type();
  unsigned first_data = row.cls == ElementwiseClass::Choose ? 1 : 0;
  Type data = op->operand(first_data)->type();
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Type type = op->operand(i)->type();
    if (!same_shape(type, result)) {
      verifier.error("operand {} has another shape than the result: {} and {}", i, type->text, result->text);
      return;
    }
    if (i >= first_data && type->dtype != data->dtype) {
      verifier.error("operands differ in dtype: {} and {}", to_string(data->dtype), to_string(type->dtype));
    }
  }
  if (first_data == 1 && op->operand(0)->type()->dtype != DType::Bool) {
    verifier.error("the condition must be bool, not {}", to_string(op->operand(0)->type()->dtype));
  }
  if (!accepts(row.cls, data->dtype)) {
    verifier.error("it does not take {}", to_string(data->dtype));
  }
  if (op->info().elementwise == ElementwiseKind::Bits && !has_same_bits(data->dtype, result->dtype)) {
    verifier.error("{} and {} differ in size", to_string(data->dtype), to_string(result->dtype));
  }
  if (row.cls == ElementwiseClass::Convert) return;
  DType wanted = row.cls == ElementwiseClass::Compare ? DType::Bool : data->dtype;
  if (result->dtype != wanted) {
    verifier.error("the result must be {}, not {}", to_string(wanted), to_string(result->dtype));
  }
}

Status verify(Module& module, DiagnosticEngine& diagnostics) {
  return ModuleVerifier(module, diagnostics).run();
}

}  // namespace tessera

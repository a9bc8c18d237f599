#include "ir/host/ops.h"

#include <algorithm>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/host/verify.h"
#include "ir/text/dim_conditions.h"
#include "ir/text/verify_entries.h"
#include "support/check.h"

namespace tessera::host {

namespace {

Dim element_count(Op* op, Type type) {
  DimTable& dims = op->module()->context().dims();
  return tessera::element_count(dims, type->dims);
}

void verify_alias(Op* op, OpVerifier& verifier) {
  Type from = op->in(in::Alias::a)->type();
  Type to = op->result()->type();
  if (from->dtype != to->dtype) {
    verifier.error("the result must be of dtype {}, not {}", to_string(from->dtype),
                   to_string(to->dtype));
  }
  Dim given = element_count(op, from), wanted = element_count(op, to);
  if (given == wanted) return;
  DimTable& dims = op->module()->context().dims();
  if (decide(dims, {Relation::Equal, given, wanted}, facts_around(op)) == true) return;
  verifier.error("{} and {} have different numbers of elements", from->text, to->text);
}

void verify_constant(Op* op, OpVerifier& verifier) {
  Dim count = element_count(op, op->result()->type());
  const std::vector<Attr>& values = op->attr(attr::Constant::values);
  if (!count->constant()) return verifier.error("its dims must be constants");
  if (*count->constant() != int64_t(values.size())) {
    verifier.error("{} has {} elements, but {} values are given", op->result()->type()->text,
                   count->text, values.size());
  }
}

using DictsKey = AttrKey<AttrType::Dicts, Arity::One>;

/// Elements of args or results: dictionaries with a name of their own.
template <typename Name>
void verify_named(Op* op, DictsKey key, entry::Dict row, Name name, size_t count, OpVerifier& verifier) {
  const std::vector<Attr>& entries = op->attr(key);
  if (entries.size() != count) {
    return verifier.error("'{}' describes {} values, not {}", key.name, entries.size(), count);
  }
  verify_dicts(op, key, row, verifier);
  if (verifier.failed()) return;
  std::set<std::string_view> names;
  for (Attr item : entries) {
    std::string_view given = entry::read(item, name);
    if (given.empty()) return verifier.error("an entry of '{}' has no name", key.name);
    if (!names.insert(given).second) return verifier.error("'{}' has two entries named '{}'", key.name, given);
  }
}

void verify_func(Op* op, OpVerifier& verifier) {
  if (op->region(at::Func::body)->empty()) return verifier.error("it has no body");
  Block* body = op->region(at::Func::body)->front();
  verify_named(op, attr::Func::args, entry::Dict::Argument, entry::Argument::name, body->arg_count(), verifier);
  if (verifier.failed()) return;
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    if (!type->is(TypeKind::Tensor))
      verifier.error("argument {} must be a tensor, not {}", i, type->text);
    std::string_view kind = entry::read(op->attr(attr::Func::args)[i], entry::Argument::kind);
    if (kind == "input" || kind == "param") continue;
    verifier.error("argument {} must be of kind \"input\" or \"param\"", i);
  }
  Op* last = body->terminator();
  if (!last || !last->is(info(OpKind::Return)))
    return verifier.error("it does not end in host.return");
  verify_named(op, attr::Func::results, entry::Dict::Result, entry::Result::name, last->operand_count(), verifier);
  if (!verifier.failed()) verify_numerics(op, verifier);
  if (!verifier.failed()) verify_memory(op, verifier);
}

void verify_return(Op* op, OpVerifier& verifier) {
  if (!op->parent() || !op->parent()->is(info(OpKind::Func)))
    verifier.error("it is not in a host.func");
}

/// Types of a kernel's parameters, results last. Below Tile level, where parameters are addresses,
/// `params` of the kernel lists them.
std::vector<Type> parameter_types(Op* kernel) {
  if (kernel->has(common::Kernel::params)) return kernel->attr(common::Kernel::params);
  std::vector<Type> types;
  if (kernel->region()->empty()) return types;
  Block* body = kernel->region()->front();
  for (unsigned i = 0; i < body->arg_count(); ++i) types.push_back(body->arg(i)->type());
  return types;
}

/// The dims bound to symbols that no parameter has, and symbols that are not bound.
void verify_binding(Op* op, std::string_view kernel, const std::vector<Type>& types, OpVerifier& verifier) {
  std::vector<std::string> free;
  for (Type type : types) {
    for (Dim extent : type->dims) {
      for_each_symbol(extent, [&](std::string_view name) { free.emplace_back(name); });
    }
  }
  for (const auto& [name, value] : op->attr(attr::Launch::dims)->entries) {
    if (!value->dim) verifier.error("'{}' must be bound to a dim, not {}", name, value->text);
    bool known = std::find(free.begin(), free.end(), name) != free.end();
    if (!known) verifier.error("kernel @{} has no free dim '{}'", kernel, name);
  }
  for (const std::string& name : free) {
    if (op->attr(attr::Launch::dims)->get(name)) continue;
    return verifier.error("the free dim '{}' of kernel @{} is not bound", name, kernel);
  }
}

void verify_operand(Op* op, std::string_view kernel, unsigned position, Type parameter, Type given,
                    OpVerifier& verifier) {
  DimTable& dims = op->module()->context().dims();
  Attr binding = op->attr(attr::Launch::dims);
  auto bound = [&](std::string_view name) { return binding->get(name)->dim; };
  bool same = parameter->dtype == given->dtype && parameter->dims.size() == given->dims.size();
  for (size_t i = 0; same && i < given->dims.size(); ++i) {
    same = dims.substitute(parameter->dims[i], bound) == given->dims[i];
  }
  if (same) return;
  verifier.error("value {} is {}, but parameter {} of kernel @{} is {} under {}", position,
                 given->text, position, kernel, parameter->text, binding->text);
}

/// One of the kernels that a launch may run.
void verify_choice(Op* op, std::string_view name, OpVerifier& verifier) {
  Op* kernel = op->module()->find(name);
  unsigned operands = op->slot_size(in::Launch::operands);
  Attr outputs = kernel ? kernel->node(common::Kernel::outputs) : nullptr;
  if (!outputs || !outputs->is(AttrKind::Int))
    return verifier.error("there is no kernel @{}", name);
  std::vector<Type> types = parameter_types(kernel);
  if (outputs->integer != op->result_count() ||
      types.size() != size_t(operands) + op->result_count()) {
    return verifier.error("kernel @{} takes {} operands and {} results, not {} and {}", name,
                          int64_t(types.size()) - outputs->integer, outputs->integer, operands,
                          op->result_count());
  }
  for (Type type : types) {
    if (!type || !type->is(TypeKind::Tensor)) {
      return verifier.error("a parameter of kernel @{} is not a tensor", name);
    }
  }
  verify_binding(op, name, types, verifier);
  if (verifier.failed()) return;
  for (unsigned i = 0; i < types.size(); ++i) {
    Value* value = i < operands ? op->operand(i) : op->result(i - operands);
    verify_operand(op, name, i, types[i], value->type(), verifier);
  }
}

/// The kernel that is run where no variant is must be one that always may be.
void verify_certain(Op* op, OpVerifier& verifier) {
  Op* kernel = choices(op).back();
  DimTable& dims = op->module()->context().dims();
  std::vector<DimFact> known = facts_around(op);
  for (const DimFact& fact : assumptions(op, kernel)) {
    if (decide(dims, fact, known) == true) continue;
    verifier.error("{} need not hold, so kernel @{} can only be a variant", fact.text(), symbol_name(kernel));
  }
}

/// The slot of the buffers whose memory a launch or a branch takes.
unsigned over_of(const Op* op) {
  return op->is(info(OpKind::If)) ? unsigned(in::If::over) : unsigned(in::Launch::over);
}

}  // namespace

/// `places` names each buffer in `over` once, for a result of its type.
void verify_places(Op* op, OpVerifier& verifier) {
  AttrList places = op->attr(common::Over::places);
  size_t over = op->slot_size(over_of(op)), taken = 0;
  if (!op->has(common::Over::places) && over == 0) return;
  if (places.size() != op->result_count()) {
    return verifier.error("'places' gives a number for each of the results");
  }
  std::vector<bool> seen(over);
  for (unsigned i = 0; i < op->result_count(); ++i) {
    int64_t place = places[i];
    if (place < -1 || place >= int64_t(over))
      return verifier.error("place {} is none of {} buffers", place, over);
    if (place < 0) continue;
    if (seen[size_t(place)]) return verifier.error("buffer {} is taken twice", place);
    seen[size_t(place)] = true;
    ++taken;
    Type memory = op->in(over_of(op), unsigned(place))->type(), result = op->result(i)->type();
    if (memory->dtype == result->dtype && same_dims(memory, result)) continue;
    verifier.error("result {} is {}, and the buffer it takes is {}", i, result->text, memory->text);
  }
  if (taken != over) verifier.error("{} of {} buffers are taken", taken, over);
}

namespace {

void verify_launch(Op* op, OpVerifier& verifier) {
  std::string_view name = op->attr(attr::Launch::kernel);
  verify_places(op, verifier);
  if (verifier.failed()) return;
  verify_choice(op, name, verifier);
  if (!verifier.failed()) verify_certain(op, verifier);
  for (std::string_view variant : op->attr(attr::Launch::variants))
    verify_choice(op, variant, verifier);
}

}  // namespace

Value* root_of(Value* value) {
  while (value->def() && value->def()->is(info(OpKind::Alias))) value = value->def()->operand(0);
  return value;
}

Value* place_of(Op* op, unsigned result) {
  AttrList places = op->attr(common::Over::places);
  if (result >= places.size()) return nullptr;
  int64_t place = places[result];
  std::vector<Value*> over = op->ins(over_of(op));
  return place < 0 || size_t(place) >= over.size() ? nullptr : over[size_t(place)];
}

Value* memory_before(Value* root) {
  Op* def = root->def();
  Op* op = def ? def : root->block()->parent_op();
  switch (kind_of(op)) {
    case OpKind::Launch: return place_of(op, root->index());
    case OpKind::Copy: return op->in(in::Copy::over);
    case OpKind::For:
    case OpKind::While: return op->operand(root->index());
    case OpKind::If: return def ? place_of(op, root->index()) : op->in(in::If::over, root->index());
    case OpKind::Func:
    case OpKind::Return:
    case OpKind::Alias:
    case OpKind::Fill:
    case OpKind::Constant:
    case OpKind::Check:
    case OpKind::Print:
    case OpKind::Yield: return nullptr;
  }
  TSR_UNREACHABLE("unknown op");
}

Op* function_of(Op* op) {
  while (op->parent()) op = op->parent();
  return op;
}

std::vector<DimFact> facts_around(Op* op) {
  DimTable& dims = op->module()->context().dims();
  std::vector<DimFact> facts;
  auto add = [&](std::span<const DimFact> more) { facts.insert(facts.end(), more.begin(), more.end()); };
  for (Op *inner = op, *around = op->parent(); around; inner = around, around = around->parent()) {
    if (around->is(info(OpKind::For))) {
      Dim counter = dims.symbol(around->attr(attr::For::counter));
      facts.push_back({Relation::GreaterEqual, counter, dims.constant(0)});
      facts.push_back({Relation::Less, counter, around->attr(attr::For::count)});
    } else if (around->is(info(OpKind::If)) && around->has(attr::If::when)) {
      bool is_taken = inner->block()->region() == around->region(at::If::then);
      add(facts_of_branch(dims, read_facts(around->attr(attr::If::when)), is_taken));
    } else if (around->is(info(OpKind::Func))) {
      add(read_facts(around->attr(attr::Func::guards)));
    }
  }
  return facts;
}

std::vector<DimFact> assumptions(Op* launch, Op* kernel) {
  DimTable& dims = launch->module()->context().dims();
  Attr binding = launch->attr(attr::Launch::dims);
  auto bound = [&](std::string_view name) {
    Attr value = binding->get(name);
    return value ? value->dim : nullptr;
  };
  std::vector<DimFact> facts = read_facts(kernel->attr(common::Kernel::assume));
  for (DimFact& fact : facts) {
    fact.left = dims.substitute(fact.left, bound);
    fact.right = dims.substitute(fact.right, bound);
  }
  return facts;
}

std::vector<Op*> choices(Op* launch) {
  std::vector<Op*> kernels;
  for (std::string_view name : launch->attr(attr::Launch::variants))
    kernels.push_back(launch->module()->find(name));
  kernels.push_back(launch->module()->find(launch->attr(attr::Launch::kernel)));
  return kernels;
}

bool may_run(Op* launch, Op* kernel) {
  std::string_view name = symbol_name(kernel);
  return launch->attr(attr::Launch::kernel) == name ||
         std::ranges::count(launch->attr(attr::Launch::variants), name);
}

#define OPS_FILE "ir/host/ops.def"
#define OPS_LEVEL Level::Host
#define OP_PREFIX "host."
#include "ir/core/op_table.inc"

}  // namespace tessera::host

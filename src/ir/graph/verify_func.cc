#include <set>

#include "ir/graph/ops.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

namespace {

/// The string under `key` of a dict, or empty.
std::string_view entry(Attr dict, std::string_view key) {
  Attr value = dict->get(key);
  return value && value->is(AttrKind::String) ? std::string_view(value->string)
                                              : std::string_view();
}

/// Checks a list of {name, …}: names are there and differ.
void check_names(const std::vector<Attr>& list, std::string_view what, OpVerifier& verifier) {
  std::set<std::string_view> names;
  for (Attr item : list) {
    if (entry(item, "name").empty()) {
      verifier.error("each element of '{}' has a name", what);
    } else if (!names.insert(entry(item, "name")).second) {
      verifier.error("'{}' names '{}' twice", what, entry(item, "name"));
    }
  }
}

void check_arguments(Op* op, OpVerifier& verifier) {
  const std::vector<Attr>& args = op->attr(attr::Func::args);
  check_names(args, "args", verifier);
  if (verifier.failed()) return;
  Block* body = op->region()->front();
  if (args.size() != body->arg_count()) {
    verifier.error("it has {} parameters and describes {}", body->arg_count(),
                   args.size());
    return;
  }
  for (Attr item : args) {
    std::string_view kind = entry(item, "kind");
    if (kind == "input" || kind == "param") continue;
    verifier.error("the kind of parameter '{}' must be \"input\" or \"param\"",
                   entry(item, "name"));
  }
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    if (!args[i]->get("dim")) continue;
    Type type = body->arg(i)->type();
    bool is_number = type->is(TypeKind::Tensor) && type->rank() == 0 && is_integer(type->dtype);
    if (entry(args[i], "dim").empty() || !is_number) {
      verifier.error("parameter {} binds a dimension and is no integer of rank 0", i);
    }
  }
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    if (!type->is(TypeKind::Tensor))
      verifier.error("parameter {} must be a tensor, not {}", i, type->text);
  }
}

/// Each donated input has one result in its memory.
void check_donations(Op* op, OpVerifier& verifier) {
  std::set<std::string_view> donated;
  for (Attr item : op->attr(attr::Func::args)) {
    Attr flag = item->get("donated");
    if (!flag) continue;
    if (!flag->is(AttrKind::Bool) || entry(item, "kind") != "input") {
      return verifier.error("only an input is donated, and 'donated' is true or false");
    }
    if (flag->boolean) donated.insert(entry(item, "name"));
  }
  for (Attr item : op->attr(attr::Func::results)) {
    std::string_view donor = entry(item, "alias_of");
    if (donor.empty() || donated.erase(donor)) continue;
    return verifier.error("result '{}' cannot have the memory of '{}'", entry(item, "name"), donor);
  }
  if (!donated.empty()) verifier.error("no result has the memory of '{}'", *donated.begin());
}

void check_role(Op* op, OpVerifier& verifier) {
  std::string_view role = op->attr(attr::Func::role);
  if (role != "entry" && role != "init") {
    verifier.error("its role must be \"entry\" or \"init\", not \"{}\"", role);
    return;
  }
  if (role == "entry") {
    if (op->has(attr::Func::params)) verifier.error("only an initialiser names parameters");
    return;
  }
  if (op->attr(attr::Func::params).empty())
    verifier.error("an initialiser names its parameters in 'params'");
  if (op->attr(attr::Func::results).size() != 1) verifier.error("an initialiser has one result");
  Block* body = op->region()->front();
  Type seed = body->arg_count() == 1 ? body->arg(0)->type() : nullptr;
  if (!seed || seed->dtype != DType::U64 || seed->rank() != 0) {
    verifier.error("an initialiser has one parameter, a seed of type tensor<u64>");
  }
}

/// Checks that each of a list of dicts has a string under `key`.
void check_dicts(Op* op, AttrKey<AttrType::Dicts, Arity::Optional> list, std::string_view key,
                 OpVerifier& verifier) {
  for (Attr item : op->attr(list)) {
    if (entry(item, key).empty())
      return verifier.error("each element of '{}' has a {}", list.name, key);
  }
}

/// Bounds of a promise are two numbers in order.
void check_bounds(Op* op, OpVerifier& verifier) {
  for (Attr item : op->attr(attr::Func::numerics)) {
    Attr bounds = item->get("bounded");
    if (!bounds) continue;
    bool fit = bounds->is(AttrKind::Array) && bounds->elements.size() == 2 &&
               bounds->elements[0]->is(AttrKind::Float) &&
               bounds->elements[1]->is(AttrKind::Float) &&
               bounds->elements[0]->number <= bounds->elements[1]->number;
    if (!fit) verifier.error("the bounds in 'numerics' are two numbers in order");
  }
}

}  // namespace

void verify_func(Op* op, OpVerifier& verifier) {
  if (op->region()->empty()) return verifier.error("it has no body");
  if (op->region()->block_count() != 1) return verifier.error("its body is one block");
  if (!op->region()->front()->terminator()) return verifier.error("its body ends with gir.return");
  check_arguments(op, verifier);
  check_names(op->attr(attr::Func::results), "results", verifier);
  if (!verifier.failed()) check_donations(op, verifier);
  check_dicts(op, attr::Func::numerics, "function", verifier);
  check_dicts(op, attr::Func::hints, "kind", verifier);
  if (!verifier.failed()) check_bounds(op, verifier);
  if (!verifier.failed()) check_role(op, verifier);
}

void verify_return(Op* op, OpVerifier& verifier) {
  Op* function = op->parent();
  if (!function || kind_of(function) != OpKind::Func) return verifier.error("it ends a function");
  size_t wanted = function->attr(attr::Func::results).size();
  if (op->operand_count() != wanted) {
    verifier.error("the function has {} results, and {} are returned", wanted, op->operand_count());
    return;
  }
  const std::vector<Attr>& args = function->attr(attr::Func::args);
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    std::string_view donor = entry(function->attr(attr::Func::results)[i], "alias_of");
    for (unsigned a = 0; a < args.size() && !donor.empty(); ++a) {
      if (entry(args[a], "name") != donor) continue;
      Type memory = function->region()->front()->arg(a)->type(), type = op->operand(i)->type();
      if (memory->dtype == type->dtype && same_dims(memory, type)) continue;
      verifier.error("result {} is {}, and the memory of '{}' is {}", i, type->text, donor, memory->text);
    }
  }
}

void verify_kernel_call(Op* op, OpVerifier& verifier) {
  constexpr int64_t most_parameters = 1000;
  Attr sizes = op->attr(attr::KernelCall::sizes);
  for (const auto& [name, size] : sizes ? sizes->entries : std::vector<NamedAttr>()) {
    if (!size->dim) verifier.error("'{}' of 'sizes' is no size", name);
  }
  if (!op->has(attr::KernelCall::parameters)) return;
  AttrList parameters = op->attr(attr::KernelCall::parameters);
  int64_t next = 0;
  bool fits = parameters.size() == op->operand_count();
  for (int64_t number : parameters) {
    fits &= number >= next && number < most_parameters;
    next = number + 1;
  }
  if (!fits) verifier.error("'parameters' has for each operand its number, in order");
}

}  // namespace tessera::graph

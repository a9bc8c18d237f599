#include <set>

#include "ir/graph/ops.h"
#include "ir/graph/verify.h"
#include "ir/text/verify_entries.h"

namespace tessera::graph {

namespace {

using entry::Argument, entry::Result;

/// Checks that names are not empty, and differ.
template <typename Name>
void check_names(const std::vector<Attr>& list, std::string_view what, Name name, OpVerifier& verifier) {
  std::set<std::string_view> names;
  for (Attr item : list) {
    if (entry::read(item, name).empty()) {
      verifier.error("each element of '{}' has a name", what);
    } else if (!names.insert(entry::read(item, name)).second) {
      verifier.error("'{}' names '{}' twice", what, entry::read(item, name));
    }
  }
}

void check_arguments(Op* op, OpVerifier& verifier) {
  const std::vector<Attr>& args = op->attr(attr::Func::args);
  verify_dicts(op, attr::Func::args, entry::Dict::Argument, verifier);
  if (!verifier.failed()) check_names(args, "args", Argument::name, verifier);
  if (verifier.failed()) return;
  Block* body = op->region()->front();
  if (args.size() != body->arg_count()) {
    verifier.error("it has {} parameters and describes {}", body->arg_count(),
                   args.size());
    return;
  }
  for (Attr item : args) {
    std::string_view kind = entry::read(item, Argument::kind);
    if (kind == "input" || kind == "param") continue;
    verifier.error("the kind of parameter '{}' must be \"input\" or \"param\"",
                   entry::read(item, Argument::name));
  }
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    std::optional<std::string_view> dim = entry::read(args[i], Argument::dim);
    if (!dim) continue;
    Type type = body->arg(i)->type();
    bool is_number = type->is(TypeKind::Tensor) && type->rank() == 0 && is_integer(type->dtype);
    if (dim->empty() || !is_number) {
      verifier.error("parameter {} binds a dimension and is not an integer of rank 0", i);
    }
  }
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    if (!type->is(TypeKind::Tensor))
      verifier.error("parameter {} must be a tensor, not {}", i, type->text);
  }
}

/// Each donated argument has one result in its memory.
void check_donations(Op* op, OpVerifier& verifier) {
  std::set<std::string_view> donated;
  for (Attr item : op->attr(attr::Func::args)) {
    if (!entry::read(item, Argument::donated)) continue;
    donated.insert(entry::read(item, Argument::name));
  }
  for (Attr item : op->attr(attr::Func::results)) {
    std::string_view donor = entry::text_of(item, Result::alias_of);
    if (donor.empty() || donated.erase(donor)) continue;
    return verifier.error("result '{}' cannot have the memory of '{}'", entry::read(item, Result::name), donor);
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

}  // namespace

void verify_func(Op* op, OpVerifier& verifier) {
  if (op->region()->empty()) return verifier.error("it has no body");
  if (op->region()->block_count() != 1) return verifier.error("its body is one block");
  if (!op->region()->front()->terminator()) return verifier.error("its body ends with gir.return");
  check_arguments(op, verifier);
  verify_dicts(op, attr::Func::results, entry::Dict::Result, verifier);
  if (!verifier.failed()) check_names(op->attr(attr::Func::results), "results", Result::name, verifier);
  if (!verifier.failed()) check_donations(op, verifier);
  verify_numerics(op, verifier);
  verify_dicts(op, attr::Func::hints, entry::Dict::Hint, verifier);
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
    std::string_view donor = entry::text_of(function->attr(attr::Func::results)[i], Result::alias_of);
    for (unsigned a = 0; a < args.size() && !donor.empty(); ++a) {
      if (entry::read(args[a], Argument::name) != donor) continue;
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
    if (!size->dim) verifier.error("'{}' of 'sizes' is not a size", name);
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

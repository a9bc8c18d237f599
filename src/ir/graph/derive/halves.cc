#include "ir/graph/derive/halves.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/graph/op_facts.h"
#include "ir/graph/ops.h"
#include "ir/graph/regions.h"
#include "ir/text/entries.h"

namespace tessera::graph {

namespace {

using entry::Argument, entry::Result;

/// Whether an op is done again rather than its result kept.
bool is_done_again(Op* op) {
  if (!op->is_pure() || op->result_count() != 1) return false;
  Role role = facts(op).role;
  bool is_random = op->is(info(OpKind::PhiloxUniform)) || op->is(info(OpKind::PhiloxNormal));
  return is_random || role == Role::View || role == Role::Source || role == Role::Constant ||
         op->info().elementwise != ElementwiseKind::None;
}

/// The ops of a function's block that read what depends on these values.
std::set<Op*> depending(Block* block, const std::vector<Value*>& on) {
  std::set<const Value*> known(on.begin(), on.end());
  std::set<Op*> found;
  for (Op* op : *block) {
    bool depends = false;
    for_each_operand(op, [&](Value* value) { depends = depends || known.count(value); });
    if (!depends || op->is_terminator()) continue;
    found.insert(op);
    for (unsigned i = 0; i < op->result_count(); ++i) known.insert(op->result(i));
  }
  return found;
}

/// What the second half reads of the first.
class Kept {
 public:
  Kept(Op* function, std::set<Op*> second, unsigned values)
      : block_(function->region()->front()), second_(std::move(second)) {
    std::vector<Attr> described = function->attr(attr::Func::args);
    for (unsigned i = 0; i < block_->arg_count(); ++i) {
      if (entry::read(described[i], Argument::donated)) updated_.insert(block_->arg(i));
    }
    Op* end = block_->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      (i < values ? values_ : derivatives_).push_back(end->operand(i));
    }
  }

  std::vector<Value*> find() {
    for (Op* op : *block_) {
      if (second_.count(op)) for_each_operand(op, [&](Value* value) { visit(value); });
    }
    for (Value* derivative : derivatives_) visit(derivative);
    for (; !waiting_.empty();) {
      Op* op = waiting_.back();
      waiting_.pop_back();
      for_each_operand(op, [&](Value* operand) { visit(operand); });
    }
    return found_;
  }

 private:
  void visit(Value* value) {
    Op* op = value->def();
    if (updated_.count(value) && seen_.insert(value).second) found_.push_back(value);
    if (!op || op->block() != block_ || second_.count(op) || !seen_.insert(value).second) return;
    if (!is_done_again(op) || is_in_memory(value)) return found_.push_back(value);
    waiting_.push_back(op);
  }

  /// Whether the first half has it in memory anyway.
  bool is_in_memory(Value* value) const {
    if (facts(value->def()).role == Role::Source) return false;
    if (std::ranges::find(values_, value) != values_.end()) return true;
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* reader = use->owner();
      if (reader->block() != block_) return true;
      if (!reader->is_terminator() && !second_.count(reader) && !is_done_again(reader)) return true;
    }
    return false;
  }

  Block* block_;
  std::set<Op*> second_;
  std::vector<Value*> values_, derivatives_, found_;
  std::set<const Value*> updated_;  ///< arguments whose memory the first half changes
  std::set<const Value*> seen_;
  std::vector<Op*> waiting_;  ///< done again; what they read was not visited
};

void drop_unread(Block* block, const std::function<bool(Op*)>& is_dropped) {
  std::vector<Op*> ops;
  for (Op* op : *block) ops.push_back(op);
  for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
    Op* op = *at;
    bool used = op->is_terminator() || !(op->is_pure() || is_dropped(op));
    for (unsigned i = 0; i < op->result_count(); ++i) used = used || !op->result(i)->unused();
    if (!used) op->erase();
  }
}

/// Drops the arguments for which `stays` is false, and what describes them.
void keep_arguments(Op* function, const std::function<bool(Value*, Attr)>& stays) {
  Block* block = function->region()->front();
  std::vector<Attr> described = function->attr(attr::Func::args), kept;
  unsigned at = 0;
  for (Attr argument : described) {
    if (!stays(block->arg(at), argument)) {
      block->erase_arg(at);
      continue;
    }
    kept.push_back(argument);
    ++at;
  }
  function->set(attr::Func::args, std::move(kept));
}

/// The sizes that an argument gives values to.
void add_bound(Value* argument, Attr described, std::set<std::string, std::less<>>& bound) {
  for (Dim dim : argument->type()->dims) bound.insert(std::string(dim->symbol()));
  if (auto dim = entry::read(described, Argument::dim)) bound.insert(std::string(*dim));
}

/// Leaves out what the second half does not read, where other arguments have its sizes.
void drop_arguments(Op* function) {
  Block* block = function->region()->front();
  std::vector<Attr> described = function->attr(attr::Func::args);
  std::set<std::string, std::less<>> bound = {""};
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    if (!block->arg(i)->unused()) add_bound(block->arg(i), described[i], bound);
  }
  keep_arguments(function, [&](Value* argument, Attr described) {
    std::set<std::string, std::less<>> own;
    add_bound(argument, described, own);
    if (argument->unused() && std::ranges::includes(bound, own)) return false;
    bound.merge(own);
    return true;
  });
}

void add_input(Op* function, unsigned at, Value* argument, std::string_view name) {
  std::vector<Attr> described = function->attr(attr::Func::args);
  Context& context = function->module()->context();
  argument->set_name(context.intern(name));
  described.insert(described.begin() + at,
                   entry::make_dict(context, {Argument::kind(context, "input"), Argument::name(context, name)}));
  function->set(attr::Func::args, std::move(described));
}

}  // namespace

Op* split_halves(Op* function, unsigned values, std::vector<Value*> cotangents, std::string_view name) {
  Module& module = *function->module();
  Context& context = module.context();
  Block* first = function->region()->front();
  drop_unread(first, [](Op*) { return false; });
  std::vector<Value*> kept = Kept(function, depending(first, cotangents), values).find();
  std::map<Value*, Value*> copies;
  Op* other = module.clone(function, copies);
  other->move_to_end(module.body());
  set_symbol_name(other, name);
  Block* second = other->region()->front();

  std::vector<Value*> returned = first->terminator()->ins(in::Return::values), derivatives;
  std::vector<Attr> names = function->attr(attr::Func::results);
  for (size_t i = values; i < returned.size(); ++i) derivatives.push_back(copies.at(returned[i]));
  other->set(attr::Func::results, std::vector<Attr>(names.begin() + values, names.end()));
  second->terminator()->set_slot(in::Return::values, derivatives);
  returned.resize(values);
  names.resize(values);
  std::set<std::string, std::less<>> taken;
  for (Attr argument : function->attr(attr::Func::args)) taken.emplace(entry::read(argument, Argument::name));
  std::set<std::string, std::less<>> given;
  for (Attr result : names) given.emplace(entry::read(result, Result::name));
  unsigned numbered = 0;
  for (Value* value : kept) {
    auto result = std::ranges::find(returned.begin(), returned.begin() + values, value);
    std::string saved;
    if (result != returned.begin() + values) {
      saved = entry::text_of(names[size_t(result - returned.begin())], Result::name);
    }
    if (saved.empty() || taken.count(saved)) {
      do saved = fmt::format("saved.{}", numbered++);
      while (taken.count(saved) || given.count(saved));
      returned.push_back(value);
      names.push_back(entry::make_dict(context, {Result::name(context, saved)}));
    }
    Value* copy = copies.at(value);
    copy->replace_all_uses(second->add_arg(context.tensor(value->type()->dims, value->type()->dtype)));
    add_input(other, second->arg_count() - 1, second->arg(second->arg_count() - 1), saved);
  }
  first->terminator()->set_slot(in::Return::values, returned);
  function->set(attr::Func::results, std::move(names));

  drop_unread(first, [](Op*) { return false; });
  drop_unread(second, [](Op* op) { return op->is(info(OpKind::Check)); });
  keep_arguments(function, [&](Value* argument, Attr) { return std::ranges::count(cotangents, argument) == 0; });
  drop_arguments(other);
  other->remove(attr::Func::numerics);
  return other;
}

}  // namespace tessera::graph

// Lets results take memory that nobody reads again, instead of a copy of it.
//
// graph_to_schedule copies a buffer wherever somebody is to write over it: before a launch that
// updates a part, before a loop that carries it, and at the end into an argument that the caller
// donated. Here the copies go for which there is no need:
//
//   1. Of a buffer that its block made, or that a loop carries, and that nothing reads after the
//      copy. The copy's takers take the buffer itself.
//   2. At the end, of what already lies in a copy of the same argument: if nothing reads the
//      argument after that first copy, both go, and the argument is updated where it is.
//   3. At the end, of what a kernel computes element by element: if nothing reads the argument
//      after that launch, it writes there. The kernel itself may read the argument where each
//      program reads just the tile that it writes.
//
// A state of many gigabytes is so updated in place, and a program that looks at the old state after
// it has made the new one still means what it says. Rules 2 and 3 write to an argument before the end of the call;
// where a check may end it behind that, the copies stay, so that a call that fails leaves its arguments alone. In a
// branch a check that comes before what it writes does no harm.

#include <algorithm>
#include <set>

#include "ir/core/builder.h"
#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using host::OpKind;

/// The op of `block` that an op is or stands in.
Op* ancestor_in(Block* block, Op* op) {
  while (op && op->block() != block) op = op->parent();
  return op;
}

/// Calls `visit` for each use of a buffer's memory, under whatever dims.
template <typename F>
void for_each_use(Value* root, F&& visit) {
  for (Use* use = root->first_use(); use; use = use->next()) {
    if (use->owner()->is(host::info(OpKind::Alias))) {
      for_each_use(use->owner()->result(), visit);
    } else {
      visit(use->owner());
    }
  }
}

/// Whether an op after `op`, in its block or inside of one there, uses the buffer; but for `except`.
bool is_used_after(Value* root, Op* op, const Op* except = nullptr) {
  bool used = false;
  for_each_use(root, [&](Op* user) {
    Op* at = ancestor_in(op->block(), user);
    used = used || !at || (user != except && op->is_before(at));
  });
  return used;
}

/// A buffer that its block may give away: made there, or carried by the loop around.
bool belongs_to_block(Value* root, Block* block, Op* function) {
  if (root->parent_block() != block) return false;
  if (root->def()) return !root->def()->is(host::info(OpKind::Constant));
  return block->parent_op() != function;
}

bool is_copy(Op* op) {
  return op && op->is(host::info(OpKind::Copy));
}

/// The copy, over nothing, that the memory of a value is; null when it comes from elsewhere.
Op* copy_behind(Value* value) {
  Value* root = host::root_of(value);
  while (Value* before = host::memory_before(root)) root = host::root_of(before);
  return is_copy(root->def()) ? root->def() : nullptr;
}

/// Whether a check may come after the op.
bool may_end_after(Op* op) {
  bool found = false;
  auto look = [&](Op* other) { found = found || other->is(host::info(OpKind::Check)); };
  for (Op* at = op; at && !found; at = at->parent()) {
    for (Op* next = at->next(); next && !found; next = next->next()) {
      look(next);
      walk(next, look);
    }
    bool repeats = at->is(host::info(OpKind::For)) || at->is(host::info(OpKind::While));
    if (repeats) walk(at, look);
  }
  return found;
}

/// Whether a check may come after something is written to memory that was given to `root` alone.
bool may_end_after_write(Value* root) {
  bool found = false;
  for_each_use(root, [&](Op* user) {
    auto given = [&](Value* value) { return value && host::root_of(value) == root; };
    bool writes = false;
    for (unsigned i = 0; i < user->result_count() && !found; ++i) {
      if (!given(host::memory_before(user->result(i)))) continue;
      found = may_end_after_write(user->result(i));
      writes |= !user->is(host::info(OpKind::If));
    }
    found = found || (writes && may_end_after(user));
    if (!user->is(host::info(OpKind::If))) return;
    for (unsigned i = 0; i < user->slot_size(host::in::If::over); ++i) {
      if (!given(user->in(host::in::If::over, i))) continue;
      for (unsigned r = 0; r < 2; ++r) found = found || may_end_after_write(user->region(r)->front()->arg(i));
    }
  });
  return found;
}

// Kernels that may write over what they read.

/// Elementwise work on tiles: no element depends on another one. A kernel with any other op writes elsewhere.
bool is_local(Op* op) {
  using S = schedule::OpKind;
  if (op->info().elementwise != ElementwiseKind::None) return true;
  switch (schedule::kind_of(op)) {
    case S::Tile:
    case S::Yield:
    case S::Return:
    case S::Load:
    case S::Store:
    case S::Full:
    case S::Extract:
    case S::Splat:
    case S::Constant:
    case S::Dim:
    case S::Iota:
    case S::Broadcast:
    case S::Reshape:
      return true;
    default:
      return false;
  }
}

/// Whether each program reads of parameter `input` just the tile that it writes of result `output`.
bool may_write_over(Op* kernel, unsigned input, unsigned output) {
  Block* body = kernel->region()->front();
  unsigned outputs = unsigned(kernel->attr(common::Kernel::outputs));
  Value* from = body->arg(input);
  Value* to = body->arg(body->arg_count() - outputs + output);
  bool local = from->type() == to->type() && to->has_one_use();
  walk(kernel, [&](Op* op) { local = local && is_local(op); });
  Op* store = local ? to->first_use()->owner() : nullptr;
  if (!store || !store->is(schedule::info(schedule::OpKind::Store))) return false;
  std::vector<Value*> place = store->ins(schedule::in::Store::index);
  for (Use* use = from->first_use(); use; use = use->next()) {
    Op* load = use->owner();
    bool same = load->is(schedule::info(schedule::OpKind::Load)) && load->block() == store->block() &&
                load->ins(schedule::in::Load::index) == place &&
                load->result()->type()->dims == store->in(schedule::in::Store::value)->type()->dims;
    if (!same) return false;
  }
  return true;
}

/// Whether all kernels of a launch compute element by element, and a result may take that memory.
bool may_take(Op* launch, unsigned result, Value* memory) {
  for (Op* kernel : host::choices(launch)) {
    bool local = true;
    walk(kernel, [&](Op* op) { local = local && is_local(op); });
    if (!local) return false;
    for (unsigned i = 0; i < launch->slot_size(host::in::Launch::operands); ++i) {
      if (host::root_of(launch->operand(i)) == memory && !may_write_over(kernel, i, result)) return false;
    }
  }
  return true;
}

class MemoryReuse {
 public:
  explicit MemoryReuse(Op* function) : function_(function) {}

  void run() {
    give_away_all();
    Op* end = function_->region()->front()->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) leave_in_argument(end->operand(i));
    give_away_all();  // of what a result was copied from
  }

 private:
  void give_away_all() {
    std::vector<Op*> copies;
    walk(function_, [&](Op* op) {
      if (is_copy(op) && !op->in(host::in::Copy::over)) copies.push_back(op);
    });
    for (Op* copy : copies) give_away(copy);
  }

  /// Rule 1.
  void give_away(Op* copy) {
    Value* root = host::root_of(copy->operand(0));
    if (!belongs_to_block(root, copy->block(), function_) || is_used_after(root, copy)) return;
    copy->result()->replace_all_uses(copy->operand(0));
    copy->erase();
  }

  /// Rules 2 and 3, for a result that is copied into an argument.
  void leave_in_argument(Value* result) {
    Op* last = host::root_of(result)->def();
    Value* argument = is_copy(last) ? last->in(host::in::Copy::over) : nullptr;
    if (!argument || argument->def()) return;
    Op* first = copy_behind(last->operand(0));
    if (first && host::root_of(first->operand(0)) == argument && first->block() == last->block()) {
      if (is_used_after(argument, first, last) || may_end_after_write(first->result())) return;
      last->result()->replace_all_uses(last->operand(0));
      last->erase();
      first->result()->replace_all_uses(first->operand(0));
      first->erase();
    } else {
      compute_in_argument(last, argument);
    }
  }

  /// A buffer under the dims of another type with as many elements, before an op.
  static Value* under(Value* buffer, Type type, Op* before) {
    if (buffer->type() == type) return buffer;
    Builder builder(*before->module());
    builder.set_before(before);
    builder.set_loc(before->loc());
    return builder.value(host::info(OpKind::Alias), {{buffer}}, type);
  }

  void compute_in_argument(Op* last, Value* argument) {
    Value* computed = host::root_of(last->operand(0));
    Op* launch = computed->def();
    bool own = launch && launch->is(host::info(OpKind::Launch)) && launch->block() == last->block() &&
               !host::place_of(launch, computed->index());
    if (!own || may_end_after(launch) || is_used_after(argument, launch, last)) return;
    if (!may_take(launch, computed->index(), argument)) return;
    std::vector<Value*> over = launch->ins(host::in::Launch::over);
    std::vector<int64_t> places(launch->result_count(), -1);
    if (launch->has(host::attr::Launch::places)) places = launch->attr(host::attr::Launch::places);
    places[computed->index()] = int64_t(over.size());
    over.push_back(under(argument, computed->type(), launch));
    last->result()->replace_all_uses(last->operand(0));
    last->erase();
    launch->set_slot(host::in::Launch::over, over);
    launch->set(host::attr::Launch::places, places);
  }

  Op* function_;
};

}  // namespace

Status reuse_memory(Module& module, PassContext&) {
  for (Op* op : *module.body()) {
    if (op->is(host::info(OpKind::Func))) MemoryReuse(op).run();
  }
  return success;
}

}  // namespace tessera

// Rules of the ops that hold regions: a kernel's parts agree on its axes, its symbols and what
// regions give.

#include <algorithm>
#include <set>

#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/schedule/verify.h"
#include "ir/text/entries.h"
#include "ir/text/symbols.h"

namespace tessera::schedule {

namespace {

using entry::Axis;

void verify_axis(Attr axis, std::set<std::string_view>& names, OpVerifier& verifier) {
  if (!entry::problem_of(axis, entry::Dict::Axis).empty()) {
    verifier.error("an axis has name, extent, block and grid, not {}", axis->text);
    return;
  }
  std::string_view name = entry::read(axis, Axis::name);
  if (!names.insert(name).second) verifier.error("axis '{}' is declared twice", name);
  Dim extent = entry::read(axis, Axis::extent), block = entry::read(axis, Axis::block);
  auto constant = block->constant();
  if ((!constant || *constant < 1) && extent != block) {
    verifier.error("the block of axis '{}' is neither a constant from 1 up nor the whole extent", name);
  }
}

/// Types of a region's arguments from `first` on, and what its terminator yields, are those of the
/// op's results.
void verify_carried(Op* op, unsigned first, OpVerifier& verifier) {
  Block* body = op->region()->front();
  Op* yield = body->terminator();
  if (!yield || !yield->is(info(OpKind::Yield)))
    return verifier.error("its region does not end in sched.yield");
  if (body->next()) verifier.error("its region has more than one block");
  if (yield->operand_count() != op->result_count()) {
    return verifier.error("its region yields {} values, not {}", yield->operand_count(),
                          op->result_count());
  }
  if (body->arg_count() != first + op->result_count()) {
    return verifier.error("its region has {} arguments, not {}", body->arg_count(),
                          first + op->result_count());
  }
  for (unsigned i = 0; i < first; ++i) {
    if (!belongs_to(body->arg(i)->type(), ValueClass::Index))
      verifier.error("argument {} is not an i64 index", i);
  }
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type type = op->result(i)->type();
    if (yield->operand(i)->type() != type) {
      verifier.error("value {} that its region yields is {}, not {}", i,
                     yield->operand(i)->type()->text, type->text);
    }
    if (body->arg(first + i)->type() != type) {
      verifier.error("carried argument {} is {}, not {}", i, body->arg(first + i)->type()->text,
                     type->text);
    }
  }
}

Op* enclosing_kernel(Op* op) {
  while (op && !op->is(info(OpKind::Kernel))) op = op->parent();
  return op;
}

/// The kernel's axis of that name, or null.
Attr find_axis(Op* kernel, std::string_view name) {
  if (!kernel) return nullptr;
  for (Attr axis : kernel->attr(attr::Kernel::axes)) {
    if (entry::read(axis, Axis::name) == name) return axis;
  }
  return nullptr;
}

}  // namespace

void verify_kernel(Op* op, OpVerifier& verifier) {
  std::set<std::string_view> names;
  for (Attr axis : op->attr(attr::Kernel::axes)) verify_axis(axis, names, verifier);
  for (const ScheduleProblem& problem : check_schedule(op->attr(attr::Kernel::schedule))) {
    verifier.error("{}", to_string(problem));
  }
  Block* body = op->region()->front();
  if (!body) return verifier.error("it has no body");
  if (body->next()) verifier.error("its body has more than one block");
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    if (!belongs_to(body->arg(i)->type(), ValueClass::Tensor))
      verifier.error("parameter {} is not a tensor", i);
  }
  int64_t outputs = op->attr(attr::Kernel::outputs);
  if (outputs < 1 || outputs > int64_t(body->arg_count())) {
    verifier.error("it has {} parameters and cannot have {} outputs", body->arg_count(), outputs);
  }
  size_t grids = 0;
  for (Op* inner : *body) grids += inner->is(info(OpKind::Tile));
  if (grids != 1) verifier.error("it has {} sched.tile, not 1", grids);
  if (!body->terminator() || !body->terminator()->is(info(OpKind::Return))) {
    verifier.error("its body does not end in sched.return");
  }
  if (!verifier.failed()) verify_free_dims(op, verifier);
}

void verify_return(Op* op, OpVerifier& verifier) {
  if (!op->parent() || !op->parent()->is(info(OpKind::Kernel)))
    verifier.error("it stands in no sched.kernel");
}

void verify_yield(Op* op, OpVerifier& verifier) {
  Op* parent = op->parent();
  bool fits = parent && (parent->is(info(OpKind::Tile)) || parent->is(info(OpKind::Pipeline)) ||
                         parent->is(info(OpKind::If)));
  if (!fits) verifier.error("it stands in no sched.tile, sched.pipeline or sched.if");
}

void verify_tile(Op* op, OpVerifier& verifier) {
  Op* kernel = op->parent();
  if (!kernel || !kernel->is(info(OpKind::Kernel)))
    return verifier.error("it stands in no sched.kernel");
  std::vector<std::string_view> named = op->attr(attr::Tile::axes);
  std::vector<std::string_view> wanted;
  for (Attr axis : kernel->attr(attr::Kernel::axes)) {
    if (entry::read(axis, Axis::grid)) wanted.push_back(entry::read(axis, Axis::name));
  }
  if (named != wanted)
    return verifier.error("its axes must be the kernel's grid axes: {}", fmt::join(wanted, ", "));
  verify_carried(op, unsigned(wanted.size()), verifier);
}

void verify_if(Op* op, OpVerifier& verifier) {
  if (op->in(in::If::condition)->type()->dtype != DType::Bool) verifier.error("its condition must be bool");
  for (unsigned r = 0; r < 2; ++r) {
    Block* body = op->region(r)->front();
    Op* yield = body ? body->terminator() : nullptr;
    if (!yield || !yield->is(info(OpKind::Yield)))
      return verifier.error("region {} does not end in sched.yield", r);
    if (yield->operand_count() != op->result_count()) {
      return verifier.error("region {} yields {} values, not {}", r, yield->operand_count(), op->result_count());
    }
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (yield->operand(i)->type() == op->result(i)->type()) continue;
      verifier.error("value {} that region {} yields is {}, not {}", i, r, yield->operand(i)->type()->text,
                     op->result(i)->type()->text);
    }
  }
}

void verify_pipeline(Op* op, OpVerifier& verifier) {
  std::vector<Value*> inits = op->ins(in::Pipeline::inits);
  if (inits.size() != op->result_count()) {
    return verifier.error("it starts with {} values and gives {}", inits.size(),
                          op->result_count());
  }
  for (unsigned i = 0; i < inits.size(); ++i) {
    if (inits[i]->type() == op->result(i)->type()) continue;
    verifier.error("initial value {} is {}, not {}", i, inits[i]->type()->text,
                   op->result(i)->type()->text);
  }
  if (auto count = op->attr(attr::Pipeline::count)->constant(); count && *count < 0)
    verifier.error("its count is negative");
  size_t bounds = op->ins(in::Pipeline::bounds).size();
  if (bounds != 0 && bounds != 2) verifier.error("it has {} bounds, not two", bounds);
  if (op->has(attr::Pipeline::stages) && op->required(attr::Pipeline::stages) < 1)
    verifier.error("its stages are fewer than 1");
  if (op->has(attr::Pipeline::axis)) {
    Attr axis = find_axis(enclosing_kernel(op), op->required(attr::Pipeline::axis));
    if (!axis || entry::read(axis, Axis::grid)) {
      verifier.error("'{}' is not a loop axis of its kernel", op->required(attr::Pipeline::axis));
    }
  }
  verify_carried(op, 1, verifier);
}

}  // namespace tessera::schedule

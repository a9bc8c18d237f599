// Loops and branches of the old program inside of a block of stages, and dots whose rows are the
// columns of fragments.
//
// A loop-carried tile that is larger than a fragment lies in scratch memory, where an iteration
// changes it fragment by fragment: the result of a dot that adds to it, or of arithmetic on it, is
// stored in its place. That is correct only if nothing else reads the value from the start of the
// iteration; the new values of other tiles are stored apart, and copied at the end of the
// iteration.

#include <algorithm>
#include <set>

#include "passes/tile/cpu/fragment_panels.h"
#include "passes/tile/cpu/fragment_stages.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

bool FragmentStages::may_choose_rows() const {
  return emitter_.row() < 0 && emitter_.column() >= 0 && emitter_.is_bound(emitter_.column());
}

void FragmentStages::store_all(Value* value, const std::vector<int>& axes, const FragmentMemory& memory) {
  if (axes.size() > 1) {
    std::vector<int> inner(axes.begin() + 1, axes.end());
    emitter_.loop(axes[0], 1, nullptr, TailKind::Limited, {}, [&](const FragmentEmitter::Values&) {
      store_all(value, inner, memory);
      return FragmentEmitter::Values{};
    });
    return;
  }
  int row = emitter_.row(), column = emitter_.column();
  int axis = axes.back();
  bool rows = may_choose_rows();
  emitter_.set_shape(rows ? axis : row, rows ? column : axis);
  auto store = [&](const FragmentEmitter::Values&) {
    emitter_.store(emitter_.demand(value), memory);
    return FragmentEmitter::Values{};
  };
  emitter_.loop(axis, rows ? shape_.rows : width_of(axis), nullptr, TailKind::Limited, {}, store);
  emitter_.set_shape(row, column);
}

void FragmentStages::transpose_operands(Op* dot) {
  const TileAxes& axes = emitter_.axes();
  int column = emitter_.column();
  if (!may_choose_rows()) return;
  for (Value* operand : {dot->in(in::Dot::a), dot->in(in::Dot::b)}) {
    std::vector<int> unbound = emitter_.unbound(operand);
    bool transposes = runs_along(operand, column) && unbound.size() == 1 && is_readable(operand, axes) &&
                 lies_along(operand, unbound[0], axes);
    if (!transposes) continue;
    FragmentMemory memory = scratch_for(operand, unbound);
    emitter_.set_shape(unbound[0], column);
    auto copy = [&](const FragmentEmitter::Values&) {
      emitter_.store(emitter_.demand(operand), memory);
      return FragmentEmitter::Values{};
    };
    emitter_.loop(unbound[0], shape_.lanes, nullptr, TailKind::Limited, {}, copy);
    emitter_.set_shape(-1, column);
    emitter_.keep_in(operand, memory);
  }
}

namespace {

/// Whether an iteration only changes the loop-carried value of that number element by element, by a
/// dot that adds to it or by arithmetic, and reads it for nothing else. Its fragments can then be
/// replaced one after the other in its memory. Not so for a value that the iteration yields twice,
/// or for the result of a scan, which stays where the scan's loop stored it.
bool changes_in_place(Op* loop, unsigned i) {
  Block* body = loop->region()->front();
  Value* last = body->back()->operand(i);
  if (!last->def() || last->def()->block() != body || last->def()->is(tile::info(OpKind::Scan))) return false;
  for (unsigned other = 0; other < loop->result_count(); ++other) {
    if (other != i && body->back()->operand(other) == last) return false;
  }
  std::vector<Value*> reached = {body->arg(i + 1)};
  for (size_t next = 0; next < reached.size(); ++next) {
    Value* value = reached[next];
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* user = use->owner();
      if (user == body->back()) {
        if (value != last) return false;
        continue;
      }
      bool adds = user->is(tile::info(OpKind::Dot)) && user->in(in::Dot::c) == value &&
                  user->result() == last && use->index() == user->slot_begin(in::Dot::c);
      bool same = user->info().elementwise != ElementwiseKind::None && user->block() == body;
      if (!adds && !same) return false;
      if (std::find(reached.begin(), reached.end(), user->result()) == reached.end())
        reached.push_back(user->result());
    }
  }
  return true;
}

}  // namespace

/// Brings carried tiles that are larger than a fragment to scratch memory; gives the others.
FragmentEmitter::Values FragmentStages::enter_loop(Op* loop, std::vector<bool>& in_memory) {
  FragmentEmitter::Values inits;
  Block* body = loop->region()->front();
  for (unsigned i = 0; i < loop->result_count(); ++i) {
    Value* result = loop->result(i);
    std::vector<int> unbound = emitter_.unbound(result);
    in_memory.push_back(!unbound.empty());
    if (unbound.empty()) {
      inits.push_back(emitter_.demand(loop->in(in::For::inits, i)));
      continue;
    }
    if (!shape_.keeps) {
      emitter_.reject(loop, "it carries a tile that does not fit in one fragment");
      return inits;
    }
    FragmentMemory memory = scratch_for(result, unbound);
    store_all(loop->in(in::For::inits, i), unbound, memory);
    emitter_.keep_in(result, memory);
    emitter_.keep_in(body->arg(i + 1), memory);
    if (changes_in_place(loop, i)) scratch_[{body->back()->operand(i), unbound}] = memory;
  }
  return inits;
}

FragmentEmitter::Values FragmentStages::end_iteration(Op* loop, const std::vector<bool>& in_memory) {
  Op* yield = loop->region()->front()->back();
  FragmentEmitter::Values next;
  std::vector<unsigned> replaced;
  std::set<Value*> stored;
  auto store = [&](Value* value) {
    bool is_root = value->def() && is_fragment_root(value->def(), emitter_.axes());
    if (is_root || !stored.insert(value).second) return;
    std::vector<int> unbound = emitter_.unbound(value);
    FragmentMemory memory = scratch_for(value, unbound);
    store_all(value, unbound, memory);
    emitter_.keep_in(value, memory);
  };
  for (unsigned i = 0; i < loop->result_count(); ++i) {
    if (!in_memory[i]) {
      next.push_back(emitter_.demand(yield->operand(i)));
    } else if (changes_in_place(loop, i)) {
      store(yield->operand(i));
    } else {
      replaced.push_back(i);
    }
  }
  for (unsigned i : replaced) store(yield->operand(i));
  for (unsigned i : replaced) {
    std::vector<int> unbound = emitter_.unbound(loop->result(i));
    store_all(yield->operand(i), unbound, scratch_for(loop->result(i), unbound));
  }
  return next;
}

void FragmentStages::write_loop(const Root& root) {
  Op* op = root.op;
  std::vector<bool> in_memory;
  FragmentEmitter::Values inits = enter_loop(op, in_memory);
  if (emitter_.failed()) return;
  auto kept = emitter_.kept();
  Block* body = op->region()->front();
  FragmentEmitter::Values last = emitter_.old_loop(op, in_memory, inits, [&](const FragmentEmitter::Values&) {
    write_stages(body);
    return end_iteration(op, in_memory);
  });
  emitter_.set_kept(std::move(kept));
  for (unsigned i = 0, next = 0; i < op->result_count(); ++i) {
    if (!in_memory[i]) emitter_.remember(op->result(i), last[next++]);
  }
}

/// Both branches store results larger than a fragment in the same scratch memory.
void FragmentStages::write_branch(const Root& root) {
  Op* op = root.op;
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Value* result = op->result(i);
    std::vector<int> unbound = emitter_.unbound(result);
    if (unbound.empty()) {
      types.push_back(result->type()->is(TypeKind::Tile) ? emitter_.fragment_type(result) : result->type());
    } else if (!shape_.keeps) {
      return emitter_.reject(op, "it gives a tile that does not fit in one fragment",
                             "load before the branch, so that its sides only compute, or give each axis of the tile a "
                             "block in the schedule that registers hold");
    } else {
      emitter_.keep_in(result, scratch_for(result, unbound));
    }
  }
  FragmentEmitter::Values results = emitter_.old_branch(op, types, [&](unsigned region) {
    Block* body = op->region(region)->front();
    auto kept = emitter_.kept();
    write_stages(body);
    FragmentEmitter::Values values;
    for (unsigned i = 0; i < op->result_count() && !emitter_.failed(); ++i) {
      Value* value = body->back()->operand(i);
      std::vector<int> unbound = emitter_.unbound(op->result(i));
      if (unbound.empty()) {
        values.push_back(emitter_.demand(value));
      } else {
        store_all(value, unbound, scratch_for(op->result(i), unbound));
      }
    }
    emitter_.set_kept(std::move(kept));
    return values;
  });
  if (emitter_.failed()) return;
  for (unsigned i = 0, next = 0; i < op->result_count(); ++i) {
    if (emitter_.unbound(op->result(i)).empty()) emitter_.remember(op->result(i), results[next++]);
  }
}

}  // namespace tessera

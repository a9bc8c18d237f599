// Replaces branches without effects by a select between the results of both sides.
//
// A program without memory of its own has nowhere to keep a result larger than a fragment where the
// two sides of a branch join. A select is computed fragment by fragment, like the ops that read it.
// Both sides are then computed. That is safe: they have no effects, and they contain no load, which
// the condition might guard.

#include <ranges>
#include <vector>

#include "ir/tile/build.h"
#include "passes/tile/common/tile_axes.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

bool only_computes(Op* branch) {
  for (unsigned i = 0; i < branch->region_count(); ++i) {
    for (Op* op : *branch->region(i)->front()) {
      if (!op->is_terminator() && (op->region_count() > 0 || !op->is_pure())) return false;
    }
  }
  return true;
}

bool gives_tiles(Op* branch) {
  for (unsigned i = 0; i < branch->result_count(); ++i) {
    if (branch->result(i)->type()->is(TypeKind::Tile)) return true;
  }
  return false;
}

void take_apart(Op* branch) {
  Builder builder(*branch->module());
  builder.set_before(branch);
  builder.set_loc(branch->loc());
  std::vector<Value*> sides[2];
  for (unsigned i = 0; i < 2; ++i) {
    Block* body = branch->region(i)->front();
    while (!body->front()->is_terminator()) body->front()->move_before(branch);
    for (unsigned j = 0; j < branch->result_count(); ++j) sides[i].push_back(body->back()->operand(j));
  }
  Value* condition = branch->in(in::If::condition);
  for (unsigned i = 0; i < branch->result_count(); ++i) {
    Value* result = branch->result(i);
    Value* chosen = condition;
    if (result->type()->is(TypeKind::Tile)) {
      Type type = builder.context().with_dtype(result->type(), DType::Bool);
      chosen = builder.value(tile::info(OpKind::Splat), {{condition}}, type);
    }
    Value* selected = tile::elementwise(builder, ElementwiseKind::Select, {chosen, sides[0][i], sides[1][i]});
    selected->set_name(result->name());
    result->replace_all_uses(selected);
  }
  branch->erase();
}

}  // namespace

void branches_to_selects(Op* kernel) {
  std::vector<Op*> branches;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::If))) branches.push_back(op);
  });
  // Inner branches first: they may be all that keeps the outer one from being replaced.
  for (Op* branch : branches | std::views::reverse) {
    if (gives_tiles(branch) && only_computes(branch)) take_apart(branch);
  }
}

}  // namespace tessera

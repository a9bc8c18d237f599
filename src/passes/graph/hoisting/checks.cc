// Asks before a loop what its iterations would ask one by one.
//
// A check ends the call, and what a call wrote by then it has written: a cache that is updated
// where it lies must not be half full when the check of a later iteration fails. The room of a
// cache in a loop is a check of a value that grows by the same amount in each iteration (`length +
// n <= S_max`, then `length = length + n`), so that the last iteration asks for the most: a
// `gir.check` of its condition stands before the loop instead. What a loop leaves in such a value
// is known before it runs, too, and a check behind the loop is asked as one of the value before it:
// it has nothing to wait for (graph_to_schedule brings checks to the front as far as what they read
// allows).
//
// Checks in a `while`, under a condition, or of anything else stay where they are; reuse_memory
// lets such a call work on copies.

#include "passes/graph/hoisting/checks.h"

#include "ir/graph/build.h"
#include "passes/analysis/speculation.h"

namespace tessera {

namespace {

using graph::OpKind;

/// A scalar as another plus a size. Without the other it is a size.
struct Advance {
  Value* from;
  Dim by;
  bool over_loop = false;  ///< what lies between them is a loop
};

class CheckHoisting {
 public:
  explicit CheckHoisting(Module& module) : module_(module), dims_(module.context().dims()) {}

  void run(Block* block) {
    for (Op *op = block->front(), *next = nullptr; op; op = next) {
      next = op->next();
      for (unsigned r = 0; r < op->region_count(); ++r) {
        for (Block* inner = op->region(r)->front(); inner; inner = inner->next()) run(inner);
      }
      if (op->is(graph::info(OpKind::For))) hoist_from(op);
      if (op->is(graph::info(OpKind::Check))) ask_before_loops(op);
    }
  }

 private:
  /// `from + by <= limit`, asked for if there are `iterations`, and `from + least >= 0` where that is asked for, too: a
  /// condition that can be moved.
  struct Bound {
    Advance value;
    Dim limit;
    Dim iterations;
    Dim least = nullptr;
  };

  Advance advance(Value* value) {
    Op* def = value->def();
    Advance itself{value, dims_.constant(0)};
    if (!def || value->type()->rank() != 0 || value->type()->dtype != DType::I64) return itself;
    if (def->is(graph::info(OpKind::Dim))) return {nullptr, def->attr(graph::attr::Dim::value)};
    if (def->is(graph::info(OpKind::Full)) &&
        def->attr(graph::attr::Full::value)->is(AttrKind::Int)) {
      return {nullptr, dims_.constant(def->attr(graph::attr::Full::value)->integer)};
    }
    if (def->is(graph::info(OpKind::For))) return over_loop(def, value->index());
    if (!def->is(graph::info(ElementwiseKind::Add))) return itself;
    Advance a = advance(def->operand(0)), b = advance(def->operand(1));
    if (a.from && b.from) return itself;
    return {a.from ? a.from : b.from, dims_.add(a.by, b.by), a.over_loop || b.over_loop};
  }

  /// What the loop leaves: the value before it, as often further on as there are iterations.
  Advance over_loop(Op* loop, unsigned carried) {
    std::optional<Dim> step = step_of(loop, carried);
    if (!step) return {loop->result(carried), dims_.constant(0)};
    Advance before = advance(loop->operand(carried));
    return {before.from, dims_.add(before.by, dims_.mul(iterations(loop), *step)), true};
  }

  /// How far a carried value goes in each iteration, if always as far.
  std::optional<Dim> step_of(Op* loop, unsigned carried) {
    Block* body = loop->region()->front();
    Advance iteration = advance(body->terminator()->operand(carried));
    bool depends = mentions(iteration.by, loop->attr(graph::attr::For::counter));
    if (iteration.from != body->arg(carried) || iteration.by->overflow || depends) {
      return std::nullopt;
    }
    return iteration.by;
  }

  Dim iterations(Op* loop) {
    return dims_.max(loop->attr(graph::attr::For::count), dims_.constant(0));
  }

  std::optional<Bound> bound_of(Value* condition) {
    Op* op = condition->def();
    if (op && op->is(graph::info(ElementwiseKind::Or))) {
      for (unsigned i : {0u, 1u}) {
        Dim iterations = absent_iterations(op->operand(i));
        std::optional<Bound> bound = iterations ? bound_of(op->operand(1 - i)) : std::nullopt;
        if (bound) return bound->iterations = dims_.min(iterations, bound->iterations), bound;
      }
    }
    if (op && op->is(graph::info(ElementwiseKind::And))) return bound_from_zero(op);
    if (!op || !op->is(graph::info(ElementwiseKind::Le))) return std::nullopt;
    Advance value = advance(op->operand(0)), limit = advance(op->operand(1));
    bool known = value.from && !limit.from && !value.by->overflow && !limit.by->overflow;
    return known ? std::optional(Bound{value, limit.by, dims_.constant(1)}) : std::nullopt;
  }

  /// `0 <= x` and a bound of the same x.
  std::optional<Bound> bound_from_zero(Op* both) {
    Op* floor = both->operand(0)->def();
    std::optional<Bound> bound = bound_of(both->operand(1));
    if (!bound || !floor || !floor->is(graph::info(ElementwiseKind::Le))) return std::nullopt;
    Advance zero = advance(floor->operand(0)), value = advance(floor->operand(1));
    bool fits = !zero.from && zero.by->is_constant(0) && value.from == bound->value.from && !value.by->overflow;
    return fits ? (bound->least = value.by, bound) : std::nullopt;
  }

  /// The iterations of which a condition says that there are none; null if it says something else.
  Dim absent_iterations(Value* condition) {
    Op* op = condition->def();
    if (!op || !op->is(graph::info(ElementwiseKind::Le))) return nullptr;
    Advance iterations = advance(op->operand(0)), none = advance(op->operand(1));
    return !iterations.from && !none.from && none.by->is_constant(0) ? iterations.by : nullptr;
  }

  Value* condition(Builder& builder, const Bound& bound, std::span<const DimFact> facts) {
    // Nothing is added to the value first, which might wrap.
    Dim none = dims_.constant(0), limit = dims_.sub(bound.limit, bound.value.by);
    Value* holds =
        graph::elementwise(builder, ElementwiseKind::Le, {bound.value.from, graph::dim(builder, limit)});
    if (bound.least) {
      Value* value = graph::add(builder, bound.value.from, graph::dim(builder, bound.least));
      Value* floor = graph::elementwise(builder, ElementwiseKind::Le, {graph::dim(builder, none), value});
      holds = graph::elementwise(builder, ElementwiseKind::And, {floor, holds});
    }
    if (decide(dims_, {Relation::Greater, bound.iterations, none}, facts) == true) return holds;
    Value* no_iteration =
        graph::elementwise(builder, ElementwiseKind::Le,
                           {graph::dim(builder, bound.iterations), graph::dim(builder, none)});
    return graph::elementwise(builder, ElementwiseKind::Or, {no_iteration, holds});
  }

  Builder before(Op* op, Loc loc) {
    Builder builder(module_);
    builder.set_before(op);
    builder.set_loc(loc);
    return builder;
  }

  void ask_before_loops(Op* check) {
    std::optional<Bound> bound = bound_of(check->operand(0));
    if (!bound || !bound->value.over_loop) return;
    Builder builder = before(check, check->loc());
    check->set_operand(0, condition(builder, *bound, graph::facts_around(check)));
  }

  void hoist_from(Op* loop) {
    for (Op *op = loop->region()->front()->front(), *next = nullptr; op; op = next) {
      next = op->next();
      if (op->is(graph::info(OpKind::Check))) hoist(op, loop);
    }
  }

  /// What the check asks for in the last iteration, of what is known before the loop; nothing if that
  /// is not the most that it asks for in any iteration.
  std::optional<Bound> in_last_iteration(Op* check, Op* loop, std::span<const DimFact> facts) {
    std::optional<Bound> bound = bound_of(check->operand(0));
    Block* body = loop->region()->front();
    if (!bound || bound->value.from->def() || bound->value.from->parent_block() != body) return std::nullopt;
    for (Dim dim : {bound->value.by, bound->limit, bound->iterations}) {
      if (mentions(dim, loop->attr(graph::attr::For::counter))) return std::nullopt;
    }
    unsigned carried = bound->value.from->index();
    std::optional<Dim> step = step_of(loop, carried);
    bool grows = step && decide(dims_, {Relation::GreaterEqual, *step, dims_.constant(0)}, facts) == true;
    Advance first = advance(loop->operand(carried));
    if (!grows || !first.from) return std::nullopt;
    Dim so_far = dims_.mul(dims_.sub(iterations(loop), dims_.constant(1)), *step);
    Dim least = bound->least ? dims_.add(first.by, bound->least) : nullptr;
    first.by = dims_.add(dims_.add(first.by, bound->value.by), so_far);
    if (first.by->overflow || (least && least->overflow)) return std::nullopt;
    return Bound{first, bound->limit,
                 dims_.min(bound->iterations, loop->attr(graph::attr::For::count)), least};
  }

  void hoist(Op* check, Op* loop) {
    std::vector<DimFact> facts = graph::facts_around(loop);
    std::optional<Bound> bound = in_last_iteration(check, loop, facts);
    if (!bound) return;
    Builder builder = before(loop, check->loc());
    Value* holds = condition(builder, *bound, facts);
    std::string message(check->attr(graph::attr::Check::message));
    message += ", in one of " + loop->attr(graph::attr::For::count)->text + " iterations";
    builder.op(graph::info(OpKind::Check), {{holds}}, {},
               {graph::attr::Check::message(module_.context(), message)});
    check->erase();
  }

  Module& module_;
  DimTable& dims_;
};

}  // namespace

void hoist_checks(Module& module) {
  for (Op* function : *module.body()) {
    for (unsigned r = 0; r < function->region_count(); ++r) CheckHoisting(module).run(function->region(r)->front());
  }
}

}  // namespace tessera

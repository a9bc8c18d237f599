#include "passes/graph/to_schedule/split_reductions.h"

#include <map>
#include <set>

#include "ir/graph/build.h"
#include "ir/graph/ops.h"
#include "ir/text/dim_conditions.h"
#include "passes/analysis/access.h"
#include "passes/analysis/graph_reads.h"
#include "passes/graph/to_schedule/reduction_parts.h"
#include "passes/graph/to_schedule/split_places.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Rows of a part of columns.
constexpr int64_t rows_of_part = 256;
/// Columns from which on there are programs enough.
constexpr int64_t enough_columns = 16384;
/// Elements of an axis that is reduced for itself: fewer would leave much to the second reduction.
constexpr int64_t enough_to_begin_with = 64;

/// Gives the reduction of parts.
Op* split(ReductionParts& parts, Builder& builder, int64_t length) {
  Value* total = graph::reduce(builder, parts.reduced(parts.whole(length)), parts.kind(), {parts.axis()});
  Op* of_parts = total->def();
  ReducedPart rest = parts.rest(length);
  if (!rest.count->is_constant(0)) total = parts.combined(total, parts.reduced(rest));
  parts.replace(total);
  return of_parts;
}

/// Arithmetic on single elements and views that the reduction reads through, in order; what they read may be memory.
std::vector<Op*> read_through(Op* reduce) {
  constexpr size_t most = 64;
  std::vector<Op*> found;
  std::set<Op*> seen;
  auto visit = [&](auto& self, Value* value) -> void {
    Op* op = value->def();
    if (!op || op->block() != reduce->block() || seen.size() >= most) return;
    bool is_made_again = op->info().elementwise != ElementwiseKind::None || is_made_where_read(op);
    if (!is_made_again || is_rounded_matmul(op) || !seen.insert(op).second) return;
    for (unsigned i = 0; i < op->operand_count(); ++i) self(self, op->operand(i));
    found.push_back(op);
  };
  visit(visit, reduce->operand(0));
  return found;
}

/// What the reduction is the only operand of, where that is a cast.
Op* cast_of(Op* reduce) {
  Use* use = reduce->result()->first_use();
  bool is_only = use && !use->next() && use->owner()->block() == reduce->block();
  return is_only && graph::kind_of(use->owner()) == OpKind::Cast ? use->owner() : nullptr;
}

/// Puts a choice by sizes in place of a reduction; gives the reduction that is done where the facts hold.
Op* chosen_where(Op* reduce, const std::vector<DimFact>& when) {
  Module& module = *reduce->module();
  Op* cast = cast_of(reduce);
  Op* last = cast ? cast : reduce;
  OpState state;
  state.info = graph::info(OpKind::Cond);
  state.loc = reduce->loc();
  state.operands.resize(1);
  state.results = {last->result()->type()};
  state.attributes = {graph::attr::Cond::when(module.context(), fact_attrs(module.context(), when))};
  Op* choice = module.create(state);
  choice->move_before(last);
  std::vector<Op*> ops = read_through(reduce);
  ops.push_back(reduce);
  if (cast) ops.push_back(cast);
  Op* chosen = nullptr;
  for (unsigned r : {graph::at::Cond::otherwise, graph::at::Cond::then}) {
    Block* block = choice->region(r)->add_block();
    std::map<Value*, Value*> copies;
    for (Op* op : ops) {
      Op* made = module.clone(op, copies);
      made->move_to_end(block);
      if (op == reduce) chosen = made;
    }
    Builder builder(module, block);
    builder.set_loc(reduce->loc());
    builder.op(graph::info(OpKind::Yield), {{copies.at(last->result())}}, {});
  }
  last->result()->replace_all_uses(choice->result());
  last->erase();
  if (cast) reduce->erase();
  return chosen;
}

/// Whether columns are few, and of several axes that are reduced the last is long.
bool is_cut_at_last_axis(Op* reduce, const ReductionParts& parts, Dim columns) {
  Dim last = parts.last_of_several();
  if (!last || parts.axis() != 0 || columns->is_constant(1)) return false;
  DimTable& table = reduce->module()->context().dims();
  std::vector<DimFact> known = graph::facts_around(reduce);
  DimFact is_long{Relation::GreaterEqual, last, table.constant(enough_to_begin_with)};
  DimFact are_few{Relation::Less, columns, table.constant(enough_columns)};
  return decide(table, is_long, known) != false && decide(table, are_few, known) != false;
}

/// Whether what is reduced is computed from values of its shape, and others read it, too, so that one kernel can do
/// both, with as few elements along the last axis as a program takes in a short time.
bool is_computed_for_others(Op* reduce, const ReductionParts& parts) {
  constexpr int64_t most = 4096;
  Dim last = parts.last_of_several();
  if (!last || last->constant().value_or(most + 1) > most) return false;
  Op* op = reduce->operand(0)->def();
  bool is_arithmetic = op && op->block() == reduce->block() && op->info().elementwise != ElementwiseKind::None &&
                       op->info().elementwise != ElementwiseKind::Cast;
  return is_arithmetic && !op->result()->has_one_use();
}

/// What sizes have to be, beyond what is known of them, for columns to be cut into parts: they are long, and too few
/// for the programs of a GPU. Nothing where they are not.
std::optional<std::vector<DimFact>> when_cut(Op* reduce, const ReductionParts& parts, Dim columns, int64_t length) {
  DimTable& table = reduce->module()->context().dims();
  std::vector<DimFact> known = graph::facts_around(reduce), open;
  for (const DimFact& fact : {DimFact{Relation::GreaterEqual, parts.length(), table.constant(2 * length)},
                              DimFact{Relation::Less, columns, table.constant(enough_columns)}}) {
    std::optional<bool> holds = decide(table, fact, known);
    if (holds == false) return std::nullopt;
    if (!holds) open.push_back(fact);
  }
  return open;
}

/// `levels`: how often parts are themselves made parts of.
void split_columns(Op* reduce, int levels) {
  Builder builder(*reduce->module());
  ReductionParts whole(builder, reduce);
  Dim columns = count_elements(builder.context().dims(), whole.columns());
  bool is_one_axis = whole.is_one_axis();
  if ((!is_one_axis || is_computed_for_others(reduce, whole)) && is_cut_at_last_axis(reduce, whole, columns)) {
    builder.set_before(reduce);
    builder.set_loc(reduce->loc());
    return split_columns(whole.last_axis_first(), levels - 1);
  }
  if (!is_one_axis || whole.axis() != 0) return;
  int64_t length = columns->is_constant(1) ? elements_of_part : rows_of_part;
  std::optional<std::vector<DimFact>> when = when_cut(reduce, whole, columns, length);
  if (!when) return;
  if (!when->empty()) reduce = chosen_where(reduce, *when);
  builder.set_before(reduce);
  builder.set_loc(reduce->loc());
  ReductionParts parts(builder, reduce);
  Op* of_parts = split(parts, builder, length);
  if (levels > 1 && !parts.columns().empty()) split_columns(of_parts, levels - 1);
}

}  // namespace

void split_reductions(Op* function) {
  std::vector<Op*> found;
  walk(function, [&](Op* op) {
    if (graph::kind_of(op) == OpKind::Reduce) found.push_back(op);
  });
  // Few columns have many parts, each of which is little.
  constexpr int levels = 2;
  for (Op* op : found) split_columns(op, levels);
}

bool can_split_row(Op* reduce) {
  Builder builder(*reduce->module());
  ReductionParts parts(builder, reduce);
  return parts.is_one_axis() && count_elements(builder.context().dims(), parts.columns())->is_constant(1);
}

void split_rows(const std::vector<Op*>& reductions) {
  std::vector<Op*> left = split_places(reductions);
  for (Op* reduce : left) {
    Builder builder(*reduce->module());
    builder.set_before(reduce);
    builder.set_loc(reduce->loc());
    ReductionParts parts(builder, reduce);
    split(parts, builder, elements_of_part);
  }
}

}  // namespace tessera

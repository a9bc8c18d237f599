#include "passes/graph/to_schedule/split_reductions.h"

#include "ir/graph/build.h"
#include "passes/analysis/access.h"
#include "passes/graph/to_schedule/reduction_parts.h"
#include "passes/graph/to_schedule/split_places.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Rows of a part of columns.
constexpr int64_t rows_of_part = 256;
/// Columns from which on there are programs enough.
constexpr int64_t enough_columns = 16384;

/// Gives the reduction of parts.
Op* split(ReductionParts& parts, Builder& builder, int64_t length) {
  Value* total = graph::reduce(builder, parts.reduced(parts.whole(length)), parts.kind(), {parts.axis()});
  Op* of_parts = total->def();
  ReducedPart rest = parts.rest(length);
  if (!rest.count->is_constant(0)) total = parts.combined(total, parts.reduced(rest));
  parts.replace(total);
  return of_parts;
}

/// `levels`: how often parts are themselves made parts of.
void split_columns(Op* reduce, int levels) {
  Builder builder(*reduce->module());
  builder.set_before(reduce);
  builder.set_loc(reduce->loc());
  ReductionParts parts(builder, reduce);
  if (!parts.is_one_axis() || parts.axis() != 0) return;
  Dim columns = count_elements(builder.context().dims(), parts.columns());
  int64_t length = columns->is_constant(1) ? elements_of_part : rows_of_part;
  bool is_short = parts.length()->constant() && *parts.length()->constant() < 2 * length;
  bool is_wide = columns->constant() && *columns->constant() >= enough_columns;
  if (is_short || is_wide) return;
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

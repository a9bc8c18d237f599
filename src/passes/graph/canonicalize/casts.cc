// Casts. Where a value is rounded is part of a program's meaning, so a cast is dropped only where
// it is shown to change no bit, and none is added.

#include <algorithm>
#include <map>
#include <optional>

#include "ir/graph/build.h"
#include "passes/analysis/graph_reads.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;

/// True if the type asks for more than its dtype's rounding.
bool rounds_specially(Type type) {
  return type->policies.saturate || type->policies.stochastic_round;
}

/// Digits of the significand with its leading one, and the exponents of the greatest and of the
/// least (denormal) power of two.
struct Range {
  int digits, most, least;
};
Range range(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return {53, 1023, -1074};
    case DType::F32:
      return {24, 127, -149};
    case DType::TF32:
      return {11, 127, -136};
    case DType::BF16:
      return {8, 127, -133};
    case DType::F16:
      return {11, 15, -24};
    case DType::F8E4M3:
      return {4, 8, -9};
    default:
      return {3, 15, -16};
  }
}

/// Bits of an integer dtype without its sign.
int magnitude_bits(DType dtype) {
  if (dtype == DType::Bool) return 1;
  return dtype_info(dtype).bits - (dtype_info(dtype).cls == DTypeClass::Signed ? 1 : 0);
}

/// True if every value of `from` is a value of `to`: then the cast there rounds nothing.
bool holds_all_values(DType from, DType to) {
  if (is_float(from)) {
    if (!is_float(to)) return false;
    // f8e4m3 has no infinity to hold one, and no other float is without.
    if (to == DType::F8E4M3) return from == to;
    Range a = range(from), b = range(to);
    return a.digits <= b.digits && a.most <= b.most && a.least >= b.least;
  }
  if (is_float(to)) return magnitude_bits(from) <= range(to).digits && to != DType::F8E4M3;
  if (to == DType::Bool) return from == DType::Bool;
  bool keeps_sign =
      dtype_info(from).cls != DTypeClass::Signed || dtype_info(to).cls == DTypeClass::Signed;
  return keeps_sign && magnitude_bits(from) <= magnitude_bits(to);
}

/// To the dtype it has.
bool same_dtype(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Cast) return false;
  Type from = op->operand(0)->type(), to = op->result()->type();
  if (from->dtype != to->dtype || rounds_specially(to)) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// To a dtype that holds every value, and back.
bool there_and_back(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Cast || rounds_specially(op->result()->type())) return false;
  Op* there = def_of(op->operand(0), OpKind::Cast);
  if (!there || rounds_specially(there->result()->type())) return false;
  Value* value = there->operand(0);
  DType from = value->type()->dtype, through = there->result()->type()->dtype;
  if (op->result()->type()->dtype != from || !holds_all_values(from, through)) return false;
  return replace_by(op, value, rewriter);
}

/// Views that a value is of a wider cast of, from the value on; nothing for other values. What else uses them does not
/// matter to their meaning, but then they are not worth moving.
std::optional<std::vector<Op*>> views_of_cast(Value* value) {
  std::vector<Op*> views;
  for (Op* op = value->def(); op && value->has_one_use(); value = op->operand(0), op = value->def()) {
    switch (graph::kind_of(op)) {
      case OpKind::Transpose:
      case OpKind::Reshape: views.push_back(op); continue;
      case OpKind::Cast: {
        Type to = op->result()->type();
        if (rounds_specially(to) || !holds_all_values(dtype_of(op->operand(0)), to->dtype)) return std::nullopt;
        views.push_back(op);
        std::ranges::reverse(views);
        return views;
      }
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Parts that were cast to a dtype which holds all their values are put together before they are cast, so that less is
/// moved.
bool concat_of_casts(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Concat || rounds_specially(op->result()->type())) return false;
  std::vector<std::vector<Op*>> chains;
  for (Value* part : op->ins(graph::in::Concat::parts)) {
    std::optional<std::vector<Op*>> views = views_of_cast(part);
    if (!views || (!chains.empty() && dtype_of((*views)[0]->operand(0)) != dtype_of(chains[0][0]->operand(0))))
      return false;
    chains.push_back(std::move(*views));
  }
  auto narrow = [&](Type type, Type like) {
    return rewriter.context().tensor(type->dims, like->dtype, like->policies);
  };
  std::vector<Value*> parts;
  for (const std::vector<Op*>& chain : chains) {
    Value* part = chain[0]->operand(0);
    Type like = part->type();
    for (Op* view : std::span(chain).subspan(1)) {
      std::map<Value*, Value*> operands{{view->operand(0), part}};
      Op* made = rewriter.module().clone(view, operands);
      rewriter.insert(made);
      made->result()->set_type(narrow(view->result()->type(), like));
      part = made->result();
    }
    parts.push_back(part);
  }
  Type type = op->result()->type();
  Value* all = rewriter.value(graph::info(OpKind::Concat), {parts}, narrow(type, parts[0]->type()),
                              {graph::attr::Concat::axis(op->node(graph::attr::Concat::axis))});
  rewriter.replace(op, rewriter.value(graph::info(OpKind::Cast), {{all}}, type));
  return true;
}

/// Whether an op is a view that has each element once, at most.
bool is_view_without_copies(Op* op) {
  OpKind kind = graph::kind_of(op);
  return kind == OpKind::Transpose || kind == OpKind::Reshape || kind == OpKind::Slice;
}

bool rounds_to(Op* op, DType dtype) {
  Type to = op->result()->type();
  return graph::kind_of(op) == OpKind::Cast && to->dtype == dtype && to->policies.empty();
}

/// Whether a value is only ever cast to a dtype, itself or through views in the same block.
bool is_only_rounded_to(Value* value, DType dtype) {
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* op = use->owner();
    if (op->block() != value->def()->block()) return false;
    bool is_followed = is_view_without_copies(op) && op->result()->type()->policies.empty() &&
                       is_only_rounded_to(op->result(), dtype);
    if (!is_followed && !rounds_to(op, dtype)) return false;
  }
  return value->first_use() != nullptr;
}

/// Puts a cast before each reader of a value, views and casts alike, which `same_dtype` then drops.
void round_before_readers(Value* value, Value* rounded, DType dtype, Rewriter& rewriter) {
  std::vector<Op*> readers;
  for (Use* use = value->first_use(); use; use = use->next()) readers.push_back(use->owner());
  for (Op* op : readers) {
    rewriter.set_before(op);
    Value* now = rounded;
    if (!now) rewriter.changed((now = graph::cast(rewriter, value, dtype))->def());
    if (!is_view_without_copies(op)) {
      rewriter.set_operand(op, 0, now);
      continue;
    }
    std::map<Value*, Value*> operands{{value, now}};
    Op* view = rewriter.module().clone(op, operands);
    rewriter.insert(view);
    view->result()->set_type(rewriter.context().tensor(op->result()->type()->dims, dtype));
    rewriter.changed(view);
    round_before_readers(op->result(), view->result(), dtype, rewriter);
  }
}

/// What is computed and only read by casts to a smaller dtype behind views is rounded as soon as it is computed: what
/// computes it can store it so, and views that have to be copied move less. An elementwise op and a view may change
/// places.
bool cast_of_views(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Cast || !op->result()->type()->policies.empty()) return false;
  Value* value = op->operand(0);
  DType from = dtype_of(value), to = dtype_of(op->result());
  if (!is_float(from) || !is_float(to) || byte_size(to) >= byte_size(from)) return false;
  bool has_views = false;
  for (; value->def() && is_view_without_copies(value->def()); value = value->def()->operand(0)) {
    has_views = true;
  }
  Op* def = value->def();
  bool is_computed =
      def && def->block() == op->block() && graph_role(def) != GraphRole::Source && !def->region_count();
  if (!has_views || !is_computed || dtype_of(value) != from || !is_only_rounded_to(value, to)) return false;
  round_before_readers(value, nullptr, to, rewriter);
  return true;
}

}  // namespace

std::span<const Pattern> cast_patterns() {
  static constexpr Pattern patterns[] = {
      {"cast_of_views", cast_of_views},
      {"concat_of_casts", concat_of_casts},
      {"same_dtype", same_dtype},
      {"there_and_back", there_and_back},
  };
  return patterns;
}

}  // namespace tessera::canonical

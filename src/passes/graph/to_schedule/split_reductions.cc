#include "passes/graph/to_schedule/split_reductions.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "passes/analysis/access.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Elements of a part of everything; rows of a part of columns.
constexpr int64_t elements_of_part = 8192, rows_of_part = 256;
/// Columns from which on there are programs enough.
constexpr int64_t enough_columns = 16384;
/// Ops that are done again for parts and rest.
constexpr size_t most_repeated = 32;

class Split {
 public:
  /// `levels`: how often parts are themselves made parts of.
  Split(Op* reduce, int levels)
      : reduce_(reduce), levels_(levels), builder_(*reduce->module()), table_(builder_.context().dims()) {}

  void run() {
    const std::vector<int64_t> axes = reduce_->attr(graph::attr::Reduce::axes);
    const std::vector<Dim>& dims = reduce_->operand(0)->type()->dims;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != int64_t(i)) return;
    }
    std::vector<Dim> reduced(dims.begin(), dims.begin() + int64_t(axes.size()));
    columns_.assign(dims.begin() + int64_t(axes.size()), dims.end());
    length_ = count_elements(table_, reduced);
    Dim columns = count_elements(table_, columns_);
    int64_t part = columns->is_constant(1) ? elements_of_part : rows_of_part;
    bool is_short = length_->constant() && *length_->constant() < 2 * part;
    bool is_wide = columns->constant() && *columns->constant() >= enough_columns;
    std::set<Value*> seen;
    if (!axes.empty() && !is_short && !is_wide && is_one_axis(reduce_->operand(0), axes.size(), seen)) split(part);
  }

 private:
  void split(int64_t part) {
    builder_.set_before(reduce_);
    builder_.set_loc(reduce_->loc());
    Dim parts = table_.floordiv(length_, table_.constant(part));
    Dim covered = table_.mul(parts, table_.constant(part)), rest = table_.sub(length_, covered);
    Value* sums = along(table_.constant(0), covered, {parts, table_.constant(part)}, 1);
    Value* total = graph::reduce(builder_, sums, kind(), {0});
    Op* of_parts = total->def();
    if (!rest->is_constant(0)) total = combined(total, along(covered, rest, {rest}, 0));
    Type type = reduce_->result()->type();
    total = graph::cast(builder_, graph::reshape(builder_, total, type->dims), type->dtype);
    reduce_->result()->replace_all_uses(total);
    reduce_->erase();
    if (levels_ > 1 && !columns_.empty()) Split(of_parts, levels_ - 1).run();
  }

  /// Whether what the reduction reads can be walked along its first `count` axes as if they were one: values that
  /// arithmetic is done on repeat along all of them or none.
  bool is_one_axis(Value* value, size_t count, std::set<Value*>& seen) const {
    if (count == 1 || !seen.insert(value).second) return true;
    Op* op = value->def();
    if (!op || op->block() != reduce_->block()) return true;
    if (op->info().elementwise != ElementwiseKind::None) {
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        if (!is_one_axis(op->operand(i), count, seen)) return false;
      }
      return true;
    }
    if (op->is(graph::info(OpKind::Transpose)) || op->is(graph::info(OpKind::Slice))) return false;
    if (!op->is(graph::info(OpKind::Broadcast))) return true;
    const std::vector<Dim>&to = value->type()->dims, &from = op->operand(0)->type()->dims;
    size_t lead = to.size() - from.size(), repeated = 0;
    for (size_t i = 0; i < count; ++i) repeated += i < lead || from[i - lead] != to[i];
    return repeated == 0 || repeated == count;
  }

  std::string kind() const { return std::string(reduce_->attr(common::Along::kind)); }

  /// What `count` rows from `start` on come to along an axis, read as rows of these extents; with the precision of
  /// sums.
  Value* along(Dim start, Dim count, std::vector<Dim> extents, int64_t axis) {
    extents.insert(extents.end(), columns_.begin(), columns_.end());
    auto view = [&](Value* value) {
      std::vector<Dim> flat{length_}, starts{start}, taken{count};
      flat.insert(flat.end(), columns_.begin(), columns_.end());
      taken.insert(taken.end(), columns_.begin(), columns_.end());
      starts.resize(flat.size(), table_.constant(0));
      Value* rows = graph::reshape(builder_, value, flat);
      rows = graph::slice(builder_, rows, starts, std::vector<int64_t>(flat.size(), 1), taken);
      return graph::reshape(builder_, rows, extents);
    };
    std::map<Value*, Value*> known;
    Value* value = viewed(reduce_->operand(0), view, known);
    DType dtype = value->type()->dtype;
    bool rounds = is_float(dtype) && byte_size(dtype) < 4 && (kind() == "sum" || kind() == "prod");
    if (rounds) value = graph::cast(builder_, value, DType::F32);
    return graph::reduce(builder_, value, kind(), {axis});
  }
  /// The view of a value; of arithmetic that of its operands.
  Value* viewed(Value* value, const std::function<Value*(Value*)>& view, std::map<Value*, Value*>& known) {
    auto it = known.find(value);
    if (it != known.end()) return it->second;
    Op* op = value->def();
    bool again = op && op->block() == reduce_->block() && op->info().elementwise != ElementwiseKind::None &&
                 known.size() < most_repeated;
    for (unsigned i = 0; again && i < op->operand_count(); ++i) {
      again = op->operand(i)->type()->dims == value->type()->dims;
    }
    if (!again) return known[value] = view(value);
    std::map<Value*, Value*> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      operands[op->operand(i)] = viewed(op->operand(i), view, known);
    }
    Op* made = builder_.module().clone(op, operands);
    builder_.insert(made);
    Context& context = builder_.context();
    made->result()->set_type(context.tensor(made->operand(0)->type()->dims, value->type()->dtype));
    return known[value] = made->result();
  }

  Value* combined(Value* a, Value* b) {
    std::string_view name = reduce_->attr(common::Along::kind);
    ElementwiseKind op = name == "sum"    ? ElementwiseKind::Add
                         : name == "prod" ? ElementwiseKind::Mul
                         : name == "max"  ? ElementwiseKind::Max
                                          : ElementwiseKind::Min;
    return graph::elementwise(builder_, op, {a, b});
  }

  Op* reduce_;
  int levels_;
  Builder builder_;
  DimTable& table_;
  std::vector<Dim> columns_;
  Dim length_ = nullptr;
};

}  // namespace

void split_reductions(Op* function) {
  std::vector<Op*> found;
  walk(function, [&](Op* op) {
    if (graph::kind_of(op) == OpKind::Reduce) found.push_back(op);
  });
  // Few columns have many parts, each of which is little.
  constexpr int levels = 2;
  for (Op* op : found) Split(op, levels).run();
}

}  // namespace tessera

#include "passes/graph/to_schedule/reduction_parts.h"

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "passes/analysis/access.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Ops that are done again for a part.
constexpr size_t most_repeated = 32;

}  // namespace

bool is_rounded_matmul(Op* op) {
  if (!op->is(graph::info(OpKind::Cast)) || !op->operand(0)->has_one_use()) return false;
  Op* def = op->operand(0)->def();
  return def && def->is(graph::info(OpKind::Gemm)) &&
         byte_size(op->result()->type()->dtype) < byte_size(op->operand(0)->type()->dtype);
}

Op* numbers_along(Value* value, size_t axis) {
  size_t behind = value->type()->rank() - axis;
  Op* op = value->def();
  while (op && op->is(graph::info(OpKind::Broadcast))) {
    if (op->operand(0)->type()->rank() < behind) return nullptr;
    op = op->operand(0)->def();
  }
  if (!op || !op->is(graph::info(OpKind::Iota))) return nullptr;
  size_t rank = op->result()->type()->rank();
  size_t along = size_t(op->attr(common::Along::axis));
  bool is_whole = op->result()->type()->dims[along] == value->type()->dims[axis];
  return rank - along == behind && is_whole ? op : nullptr;
}

ReductionParts::ReductionParts(Builder& builder, Op* reduce)
    : builder_(builder), table_(builder.context().dims()), reduce_(reduce) {
  const std::vector<int64_t> axes = reduce->attr(graph::attr::Reduce::axes);
  const std::vector<Dim>& dims = reduce->operand(0)->type()->dims;
  neighbours_ = !axes.empty();
  for (size_t i = 0; i < axes.size(); ++i) neighbours_ &= axes[i] == axes[0] + int64_t(i);
  if (!neighbours_) return;
  auto first = dims.begin() + axes.front(), behind = dims.begin() + axes.back() + 1;
  rows_.assign(dims.begin(), first);
  reduced_.assign(first, behind);
  columns_.assign(behind, dims.end());
  length_ = count_elements(table_, reduced_);
}

bool ReductionParts::is_one_axis() const {
  std::set<Value*> seen;
  return neighbours_ && walks_as_one(reduce_->operand(0), seen);
}

bool ReductionParts::walks_as_one(Value* value, std::set<Value*>& seen) const {
  if (reduced_.size() == 1 || !seen.insert(value).second) return true;
  Op* op = value->def();
  if (!op || op->block() != reduce_->block()) return true;
  if (op->info().elementwise != ElementwiseKind::None) {
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (!walks_as_one(op->operand(i), seen)) return false;
    }
    return true;
  }
  if (op->is(graph::info(OpKind::Transpose)) || op->is(graph::info(OpKind::Slice))) return false;
  if (!op->is(graph::info(OpKind::Broadcast))) return true;
  const std::vector<Dim>&to = value->type()->dims, &from = op->operand(0)->type()->dims;
  size_t lead = to.size() - from.size(), repeated = 0;
  for (size_t i = rows_.size(); i < rows_.size() + reduced_.size(); ++i)
    repeated += i < lead || from[i - lead] != to[i];
  return repeated == 0 || repeated == reduced_.size();
}

std::string ReductionParts::kind() const { return std::string(reduce_->attr(common::Along::kind)); }

std::vector<Dim> ReductionParts::around(const std::vector<Dim>& extents) const {
  std::vector<Dim> dims = rows_;
  dims.insert(dims.end(), extents.begin(), extents.end());
  dims.insert(dims.end(), columns_.begin(), columns_.end());
  return dims;
}

ReducedPart ReductionParts::whole(int64_t length) const {
  Dim part = table_.constant(length), parts = table_.floordiv(length_, part);
  return {table_.constant(0), table_.mul(parts, part), {parts, part}};
}

ReducedPart ReductionParts::rest(int64_t length) const {
  Dim covered = whole(length).count, rest = table_.sub(length_, covered);
  return {covered, rest, {rest}};
}

Value* ReductionParts::view(Value* value, const ReducedPart& part) {
  std::vector<Dim> starts(rows_.size() + 1 + columns_.size(), table_.constant(0));
  starts[rows_.size()] = part.start;
  Value* line = graph::reshape(builder_, value, around({length_}));
  line = graph::slice(builder_, line, starts, std::vector<int64_t>(starts.size(), 1), around({part.count}));
  return graph::reshape(builder_, line, around(part.extents));
}

/// The numbers of a gir.iota along the reduced axis; null for any other value.
Value* ReductionParts::numbers(Value* value, const ReducedPart& part) {
  DType dtype = value->type()->dtype;
  Op* iota = reduced_.size() == 1 ? numbers_along(value, rows_.size()) : nullptr;
  if (!iota || !is_integer(dtype)) return nullptr;
  std::vector<Dim> dims = around(part.extents);
  int64_t last = axis() + int64_t(part.extents.size()) - 1;
  Value* number = graph::iota(builder_, last, dims, DType::I64);
  Value* start = graph::broadcast_to(builder_, graph::dim(builder_, part.start), dims);
  if (last != axis()) {
    Value* length = graph::broadcast_to(builder_, graph::dim(builder_, part.extents.back()), dims);
    Value* before = graph::mul(builder_, graph::iota(builder_, axis(), dims, DType::I64), length);
    number = graph::add(builder_, number, before);
  }
  return graph::cast(builder_, graph::add(builder_, number, start), dtype);
}

bool ReductionParts::is_repeated(Op* op, const Known& known) const {
  bool is_arithmetic = op && op->block() == reduce_->block() && op->info().elementwise != ElementwiseKind::None;
  if (!is_arithmetic || known.size() >= most_repeated || is_rounded_matmul(op)) return false;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (op->operand(i)->type()->dims != op->result()->type()->dims) return false;
  }
  return true;
}

Value* ReductionParts::read(Value* value, const ReducedPart& part) {
  Known known;
  return read(value, part, known);
}

Value* ReductionParts::read(Value* value, const ReducedPart& part, Known& known) {
  auto it = known.find(value);
  if (it != known.end()) return it->second;
  Op* op = value->def();
  if (!is_repeated(op, known)) {
    Value* made = numbers(value, part);
    return known[value] = made ? made : view(value, part);
  }
  std::map<Value*, Value*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) operands[op->operand(i)] = read(op->operand(i), part, known);
  Op* made = builder_.module().clone(op, operands);
  builder_.insert(made);
  Context& context = builder_.context();
  Type type = value->type();
  made->result()->set_type(context.tensor(made->operand(0)->type()->dims, type->dtype, type->policies));
  return known[value] = made->result();
}

Value* ReductionParts::reduced(const ReducedPart& part) {
  return reduced(read(reduce_->operand(0), part), {axis() + int64_t(part.extents.size()) - 1});
}

Value* ReductionParts::reduced(Value* value, const std::vector<int64_t>& axes) {
  DType dtype = value->type()->dtype;
  bool rounds = is_float(dtype) && byte_size(dtype) < 4 && (kind() == "sum" || kind() == "prod");
  if (rounds) value = graph::cast(builder_, value, DType::F32);
  return graph::reduce(builder_, value, kind(), axes);
}

Op* ReductionParts::last_axis_first() {
  std::vector<int64_t> axes = reduce_->attr(graph::attr::Reduce::axes);
  Value* along_last = reduced(reduce_->operand(0), {axes.back()});
  axes.pop_back();
  Value* total = reduced(along_last, axes);
  replace(total);
  return total->def();
}

Value* ReductionParts::combined(Value* a, Value* b) {
  std::string name = kind();
  ElementwiseKind op = name == "sum"    ? ElementwiseKind::Add
                       : name == "prod" ? ElementwiseKind::Mul
                       : name == "max"  ? ElementwiseKind::Max
                                        : ElementwiseKind::Min;
  return graph::elementwise(builder_, op, {a, b});
}

void ReductionParts::replace(Value* result) {
  Type type = reduce_->result()->type();
  result = graph::cast(builder_, graph::reshape(builder_, result, type->dims), type->dtype);
  reduce_->result()->replace_all_uses(result);
  reduce_->erase();
}

}  // namespace tessera

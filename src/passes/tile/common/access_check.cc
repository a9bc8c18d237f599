#include "passes/tile/common/access_check.h"

#include "ir/target/ops.h"

namespace tessera {

using Kind = ElementwiseKind;

namespace {

constexpr int64_t entry_bytes = 64;

/// The value of a folded condition.
bool is_known(Value* condition, bool wanted) {
  Op* def = condition->def();
  if (!def || !def->is(target::info(target::OpKind::Constant))) return false;
  Attr value = def->attr(target::attr::Constant::value);
  return value->is(AttrKind::Int) && (value->integer != 0) == wanted;
}

}  // namespace

std::vector<CheckedRange> ranges_of(TargetBuilder& b, Sizes& sizes, AccessedMemory memory, Type tile,
                                    const std::vector<Value*>& offsets, const std::vector<Value*>& limits) {
  DimTable& table = b.context().dims();
  size_t lead = offsets.size() - tile->rank();
  std::vector<CheckedRange> ranges;
  for (size_t i = 0; i < offsets.size(); ++i) {
    Value* count = i < lead ? b.index(1) : sizes.of(tile->dims[i - lead]);
    if (i >= lead && !limits.empty()) count = b.min(count, limits[i - lead]);
    ranges.push_back({int64_t(i), offsets[i], count, sizes.of(memory.type->dims[i])});
  }
  if (memory.type == memory.root) return ranges;
  Value* least = sizes.of(memory.type->offset);
  Value* greatest = least;
  for (size_t i = 0; i < offsets.size(); ++i) {
    Dim stride = memory.type->strides[i];
    Value* by = sizes.of(stride);
    Value* last = b.add(offsets[i], b.sub(ranges[i].count, b.index(1)));
    Value *from = b.mul(offsets[i], by), *to = b.mul(last, by);
    bool forwards = proves_le(table, table.constant(0), stride);
    least = b.add(least, forwards ? from : b.min(from, to));
    greatest = b.add(greatest, forwards ? to : b.max(from, to));
  }
  Value* count = b.add(b.sub(greatest, least), b.index(1));
  ranges.push_back({-1, least, count, sizes.of(element_count(table, memory.root->dims))});
  return ranges;
}

Value* AccessCheck::is_outside(const CheckedRange& range) {
  std::optional<int64_t> first = b_.as_constant(range.first), count = b_.as_constant(range.count);
  std::optional<int64_t> extent = b_.as_constant(range.extent);
  if (first && count && extent && *first >= 0 && *first + *count <= *extent) return nullptr;
  if (first == 0 && range.count == range.extent) return nullptr;
  Value* past = b_.op(Kind::Gt, b_.add(range.first, range.count), range.extent);
  if (first && *first >= 0) return past;
  return b_.bit_or(past, b_.op(Kind::Lt, range.first, b_.index(0)));
}

Value* AccessCheck::is_some(const CheckedRange& range) {
  std::optional<int64_t> count = b_.as_constant(range.count);
  return count && *count > 0 ? nullptr : b_.op(Kind::Gt, range.count, b_.index(0));
}

Value* AccessCheck::violation() {
  outside_.clear();
  Value *any = nullptr, *all = nullptr;
  for (const CheckedRange& range : ranges_) {
    Value* outside = is_outside(range);
    outside_.push_back(outside);
    if (outside) any = any ? b_.bit_or(any, outside) : outside;
    Value* some = is_some(range);
    if (some) all = all ? b_.bit_and(all, some) : some;
  }
  if (!any || is_known(any, false)) return nullptr;
  return all ? b_.bit_and(any, all) : any;
}

Value* AccessCheck::any_violation() {
  outside_.clear();
  Value* any = nullptr;
  for (const CheckedRange& range : ranges_) {
    Value* outside = is_outside(range);
    Value* some = outside ? is_some(range) : nullptr;
    if (some) outside = b_.bit_and(outside, some);
    outside_.push_back(outside);
    if (outside) any = any ? b_.bit_or(any, outside) : outside;
  }
  return any;
}

void AccessCheck::record(Value* log, Value* site, Value* program) {
  Value* fields[] = {site, program, nullptr, nullptr, nullptr, nullptr};
  for (size_t i = ranges_.size(); i-- > 0;) {
    if (!outside_[i]) continue;
    const CheckedRange& range = ranges_[i];
    Value* of_range[] = {b_.index(range.axis), range.first, range.count, range.extent};
    for (size_t f = 0; f < 4; ++f) {
      Value*& field = fields[2 + f];
      field = field ? b_.select(outside_[i], of_range[f], field) : of_range[f];
    }
  }
  Type index = b_.context().scalar(DType::I64);
  Value* entry = b_.at().value(target::info(target::OpKind::AtomicAdd), {{log}, {b_.index(1)}}, index);
  Value* room = b_.load(b_.offset(log, b_.index(8)), index);
  Block* write = b_.new_block();
  Block* join = b_.new_block();
  b_.cond_branch(b_.op(Kind::Lt, entry, room), write, {}, join, {});
  b_.at().set_end(write);
  Value* at = b_.offset(log, b_.mul(b_.add(entry, b_.index(1)), b_.index(entry_bytes)));
  int64_t place = 0;
  for (Value* field : fields) b_.store(field, b_.offset(at, b_.index(8 * place++)));
  b_.branch(join);
  b_.at().set_end(join);
}

}  // namespace tessera

#include "passes/target/target_builder.h"

#include <utility>

#include "ir/target/ops.h"

namespace tessera {

using Kind = ElementwiseKind;
using target::OpKind;

TargetBuilder::TargetBuilder(Module& module, Op* func)
    : builder_(module), constants_(module), region_(func->region()) {
  Block* entry = region_->front();
  builder_.set_end(entry);
  builder_.set_loc(func->loc());
  constants_.set_loc(func->loc());
  constants_.set_end(entry);
}

Value* TargetBuilder::constant(Type type, Attr value) {
  Value*& slot = made_[{type, value}];
  if (slot) return slot;
  // The first op that is no constant of ours marks the place; the entry block may still be empty.
  Op* place = region_->front()->front();
  while (place && place->is(target::info(OpKind::Constant))) place = place->next();
  if (place) {
    constants_.set_before(place);
  } else {
    constants_.set_end(region_->front());
  }
  slot = constants_.value(target::info(OpKind::Constant), {}, type,
                          {target::attr::Constant::value(value)});
  return slot;
}

Value* TargetBuilder::integer(Type type, int64_t value) { return constant(type, context().integer(value)); }
Value* TargetBuilder::number(Type type, double value) { return constant(type, context().number(value)); }
Value* TargetBuilder::full(Type type, Attr value) {
  bool is_integer = value->is(AttrKind::Int);
  if (is_float(type->dtype)) return number(type, is_integer ? double(value->integer) : value->number);
  if (is_integer) return integer(type, type->dtype == DType::Bool ? value->integer != 0 : value->integer);
  Element operand{.f = value->number};
  return integer(type, evaluate_elementwise(Kind::Cast, DType::F64, type->dtype, {&operand, 1}).i);
}

Value* TargetBuilder::index(int64_t value) { return integer(context().scalar(DType::I64), value); }

Value* TargetBuilder::zero(Type type) { return is_float(type->dtype) ? number(type, 0.0) : integer(type, 0); }

std::optional<int64_t> TargetBuilder::as_constant(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(target::info(OpKind::Constant)) || !value->type()->is(TypeKind::Scalar)) return {};
  Attr attr = def->attr(target::attr::Constant::value);
  if (is_float(value->type()->dtype) || !attr->is(AttrKind::Int)) return {};
  Element number{.i = attr->integer};
  return evaluate_elementwise(Kind::Cast, DType::I64, value->type()->dtype, {&number, 1}).i;
}

/// Whether sizes and indices are of it; the rest is not folded here.
static bool is_number(DType dtype) { return dtype == DType::I64 || dtype == DType::I32 || dtype == DType::U32; }

Value* TargetBuilder::fold(Kind kind, Value* a, Value* b) {
  Type type = a->type();
  if (!type->is(TypeKind::Scalar) || !is_number(type->dtype)) return nullptr;
  std::optional<int64_t> x = as_constant(a), y = as_constant(b);
  if (x && y) {
    Element operands[] = {{.i = *x}, {.i = *y}};
    bool compare = elementwise_info(kind).cls == ElementwiseClass::Compare;
    DType result = compare ? DType::Bool : type->dtype;
    return integer(like(type, result), evaluate_elementwise(kind, type->dtype, result, operands).i);
  }
  if (kind == Kind::Add && x == 0) return b;
  if ((kind == Kind::Add || kind == Kind::Sub) && y == 0) return a;
  if (kind == Kind::Mul && (x == 0 || y == 0)) return integer(type, 0);
  if (kind == Kind::Mul && x == 1) return b;
  if ((kind == Kind::Mul || kind == Kind::Div || kind == Kind::FloorDiv) && y == 1) return a;
  if (kind == Kind::Mod && y == 1) return integer(type, 0);
  return nullptr;
}

Value* TargetBuilder::op(Kind kind, Value* a) { return builder_.value(target::info(kind), {{a}}, a->type()); }

Value* TargetBuilder::op(Kind kind, Value* a, Value* b) {
  if (Value* folded = fold(kind, a, b)) return folded;
  bool compare = elementwise_info(kind).cls == ElementwiseClass::Compare;
  Type result = compare ? like(a->type(), DType::Bool) : a->type();
  return builder_.value(target::info(kind), {{a}, {b}}, result);
}

Value* TargetBuilder::shl(Value* a, int64_t bits) { return op(Kind::Shl, a, integer(a->type(), bits)); }
Value* TargetBuilder::shr(Value* a, int64_t bits) { return op(Kind::Shr, a, integer(a->type(), bits)); }

Value* TargetBuilder::fma(Value* a, Value* b, Value* c) {
  return builder_.value(target::info(Kind::Fma), {{a}, {b}, {c}}, a->type());
}

Value* TargetBuilder::select(Value* condition, Value* a, Value* b) {
  if (a == b) return a;
  if (std::optional<int64_t> known = as_constant(condition)) return *known ? a : b;
  return builder_.value(target::info(Kind::Select), {{condition}, {a}, {b}}, a->type());
}

Value* TargetBuilder::cast(Value* a, DType to) {
  if (a->type()->dtype == to) return a;
  if (std::optional<int64_t> known = as_constant(a); known && is_number(a->type()->dtype) && is_number(to)) {
    Element operand{.i = *known};
    return integer(like(a->type(), to), evaluate_elementwise(Kind::Cast, a->type()->dtype, to, {&operand, 1}).i);
  }
  return builder_.value(target::info(Kind::Cast), {{a}}, like(a->type(), to));
}

Value* TargetBuilder::bitcast(Value* a, DType to) {
  if (a->type()->dtype == to) return a;
  Type type = like(a->type(), to);
  if (type->is(TypeKind::Reg)) {
    type = context().reg(to, a->type()->lanes * byte_size(a->type()->dtype) / byte_size(to));
  }
  return builder_.value(target::info(OpKind::Bitcast), {{a}}, type);
}

Value* TargetBuilder::splat(Value* scalar, int64_t lanes) {
  Type type = context().reg(scalar->type()->dtype, lanes);
  if (std::optional<int64_t> known = as_constant(scalar)) return integer(type, *known);
  return builder_.value(target::info(OpKind::Splat), {{scalar}}, type);
}

Value* TargetBuilder::iota(Type reg) { return builder_.value(target::info(OpKind::Iota), {}, reg); }

Value* TargetBuilder::mask(Value* count, int64_t lanes) {
  Type type = context().reg(DType::Bool, lanes);
  if (std::optional<int64_t> known = as_constant(count); known && (*known <= 0 || *known >= lanes)) {
    return integer(type, *known > 0);
  }
  return builder_.value(target::info(OpKind::Mask), {{count}}, type);
}

Value* TargetBuilder::extract(Value* reg, int64_t lane) {
  return builder_.value(target::info(OpKind::Extract), {{reg}}, context().scalar(reg->type()->dtype),
                        {target::attr::Extract::lane(context(), lane)});
}

Value* TargetBuilder::insert(Value* reg, Value* scalar, int64_t lane) {
  return builder_.value(target::info(OpKind::Insert), {{reg}, {scalar}}, reg->type(),
                        {target::attr::Insert::lane(context(), lane)});
}

Value* TargetBuilder::shuffle(Value* a, Value* b, std::span<const int64_t> lanes) {
  Type type = context().reg(a->type()->dtype, int64_t(lanes.size()));
  return builder_.value(
      target::info(OpKind::Shuffle), {{a}, {b}}, type,
      {target::attr::Shuffle::lanes(context(), std::vector<int64_t>(lanes.begin(), lanes.end()))});
}

Value* TargetBuilder::offset(Value* base, Value* bytes) {
  if (as_constant(bytes) == 0) return base;
  return builder_.value(target::info(OpKind::Offset), {{base}, {bytes}}, base->type());
}

Value* TargetBuilder::load(Value* address, Type type, bool invariant) {
  return builder_.value(target::info(OpKind::Load), {{address}}, type,
                        {target::attr::Load::invariant(context(), invariant)});
}

Value* TargetBuilder::load_masked(Value* address, Value* mask, Value* fill) {
  return builder_.value(target::info(OpKind::LoadMasked), {{address}, {mask}, {fill}}, fill->type());
}

Value* TargetBuilder::gather(Value* base, Value* offsets, Value* mask, Value* fill) {
  return builder_.value(target::info(OpKind::Gather), {{base}, {offsets}, {mask}, {fill}}, fill->type());
}

Op* TargetBuilder::store(Value* value, Value* address) {
  return builder_.op(target::info(OpKind::Store), {{value}, {address}}, {});
}

Op* TargetBuilder::store_masked(Value* value, Value* address, Value* mask) {
  return builder_.op(target::info(OpKind::StoreMasked), {{value}, {address}, {mask}}, {});
}

Block* TargetBuilder::new_block() { return region_->add_block(); }

void TargetBuilder::branch(Block* to, std::vector<Value*> arguments) {
  builder_.op(target::info(OpKind::Branch), {}, {}, {}, {{to, std::move(arguments)}});
}

void TargetBuilder::cond_branch(Value* condition, Block* then, std::vector<Value*> then_arguments,
                                Block* otherwise, std::vector<Value*> otherwise_arguments) {
  if (std::optional<int64_t> known = as_constant(condition)) {
    return *known ? branch(then, std::move(then_arguments)) : branch(otherwise, std::move(otherwise_arguments));
  }
  builder_.op(target::info(OpKind::CondBranch), {{condition}}, {}, {},
              {{then, std::move(then_arguments)}, {otherwise, std::move(otherwise_arguments)}});
}

std::vector<Value*> TargetBuilder::choose(Value* condition, const std::function<std::vector<Value*>()>& make_fast,
                                          const std::function<std::vector<Value*>()>& make_slow) {
  Op* following = builder_.before();
  Block* before = following->block();
  std::vector<Block*> later;
  for (Block* block = before->next(); block; block = block->next()) later.push_back(block);
  Block *fast = new_block(), *slow = new_block(), *join = new_block();
  for (Block* block : later) region_->move_to_end(block);  // definitions stay before uses
  while (Op* op = following ? std::exchange(following, following->next()) : nullptr) op->move_to_end(join);
  Op* first = join->front();
  builder_.set_end(before);
  cond_branch(condition, fast, {}, slow, {});
  builder_.set_end(fast);
  std::vector<Value*> values = make_fast(), results;
  for (Value* value : values) results.push_back(join->add_arg(value->type()));
  branch(join, std::move(values));
  builder_.set_end(slow);
  branch(join, make_slow());
  builder_.set_before(first);
  return results;
}

}  // namespace tessera

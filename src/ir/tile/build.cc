#include "ir/tile/build.h"

#include <limits>

#include "support/check.h"

namespace tessera::tile {

namespace {

Type index_type(Builder& builder) {
  return builder.context().scalar(DType::I64);
}

using Known = std::optional<int64_t>;

// Sums and products of known numbers; unknown where they overflow.
Known known_add(Known x, Known y) {
  int64_t sum;
  if (!x || !y || __builtin_add_overflow(*x, *y, &sum)) return std::nullopt;
  return sum;
}
Known known_sub(Known x, Known y) {
  int64_t difference;
  if (!x || !y || __builtin_sub_overflow(*x, *y, &difference)) return std::nullopt;
  return difference;
}
Known known_mul(Known x, Known y) {
  int64_t product;
  if (!x || !y || __builtin_mul_overflow(*x, *y, &product)) return std::nullopt;
  return product;
}

}  // namespace

Value* index(Builder& builder, int64_t value) {
  return builder.value(info(OpKind::Constant), {}, index_type(builder),
                       {attr::Constant::value(builder.context(), value)});
}

int64_t programs_of_cluster(Op* kernel) {
  int64_t programs = 1;
  for (int64_t extent : kernel->attr(attr::Kernel::cluster)) programs *= extent;
  return programs;
}

Value* dim(Builder& builder, Dim value) {
  if (std::optional<int64_t> constant = value->constant()) return index(builder, *constant);
  return builder.value(info(OpKind::Dim), {}, index_type(builder),
                       {attr::Dim::value(builder.context(), value)});
}

Value* program_id(Builder& builder, int64_t axis) {
  return builder.value(info(OpKind::ProgramId), {}, index_type(builder),
                       {attr::ProgramId::axis(builder.context(), axis)});
}

std::optional<int64_t> known_index(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(info(OpKind::Constant)) || value->type()->dtype != DType::I64)
    return std::nullopt;
  Attr attr = def->attr(attr::Constant::value);
  return attr->is(AttrKind::Int) ? std::optional(attr->integer) : std::nullopt;
}

Value* add(Builder& builder, Value* a, Value* b) {
  Known x = known_index(a), y = known_index(b);
  if (Known folded = known_add(x, y)) return index(builder, *folded);
  if (x == 0) return b;
  if (y == 0) return a;
  return elementwise(builder, ElementwiseKind::Add, {a, b});
}

Value* sub(Builder& builder, Value* a, Value* b) {
  Known x = known_index(a), y = known_index(b);
  if (Known folded = known_sub(x, y)) return index(builder, *folded);
  if (y == 0) return a;
  if (a == b) return index(builder, 0);
  return elementwise(builder, ElementwiseKind::Sub, {a, b});
}

Value* mul(Builder& builder, Value* a, Value* b) {
  Known x = known_index(a), y = known_index(b);
  if (Known folded = known_mul(x, y)) return index(builder, *folded);
  if (x == 1) return b;
  if (y == 1) return a;
  if (x == 0 || y == 0) return index(builder, 0);
  return elementwise(builder, ElementwiseKind::Mul, {a, b});
}

Value* min(Builder& builder, Value* a, Value* b) {
  std::optional<int64_t> x = known_index(a), y = known_index(b);
  if (x && y) return *x <= *y ? a : b;
  if (a == b) return a;
  return elementwise(builder, ElementwiseKind::Min, {a, b});
}

Value* round_down(Builder& builder, Value* a, int64_t k) {
  if (k == 1) return a;
  if (std::optional<int64_t> x = known_index(a)) return index(builder, *x - ((*x % k) + k) % k);
  if (a->def() && a->def()->is(info(OpKind::Dim))) {
    DimTable& dims = builder.context().dims();
    Dim size = dims.constant(k);
    return dim(builder, dims.mul(dims.floordiv(a->def()->attr(attr::Dim::value), size), size));
  }
  return sub(builder, a, elementwise(builder, ElementwiseKind::Mod, {a, index(builder, k)}));
}

Value* elementwise(Builder& builder, ElementwiseKind kind, const std::vector<Value*>& operands) {
  std::vector<std::vector<Value*>> slots;
  for (Value* operand : operands) slots.push_back({operand});
  Type type = operands.back()->type();
  if (elementwise_info(kind).cls == ElementwiseClass::Compare) {
    type = builder.context().with_dtype(type, DType::Bool);
  }
  return builder.value(info(kind), std::move(slots), type);
}

Value* cast(Builder& builder, Value* a, DType dtype) {
  if (a->type()->dtype == dtype) return a;
  return builder.value(info(ElementwiseKind::Cast), {{a}},
                       builder.context().with_dtype(a->type(), dtype));
}

Value* full(Builder& builder, Type type, Attr value) {
  return builder.value(info(OpKind::Full), {}, type, {attr::Full::value(value)});
}

Value* broadcast(Builder& builder, Value* a, const std::vector<Dim>& dims) {
  if (a->type()->dims == dims) return a;
  return builder.value(info(OpKind::Broadcast), {{a}},
                       builder.context().tile(dims, a->type()->dtype));
}

Value* reduce_keep(Builder& builder, Value* a, std::string_view kind, int64_t axis) {
  Context& context = builder.context();
  std::vector<Dim> dims = a->type()->dims;
  if (dims[size_t(axis)]->is_constant(1)) return a;
  dims[size_t(axis)] = context.dims().constant(1);
  return builder.value(info(OpKind::Reduce), {{a}, {}}, context.tile(dims, a->type()->dtype),
                       {attr::Reduce::axis(context, axis),
                        attr::Reduce::keep(context, true),
                        attr::Reduce::kind(context, kind)});
}

Value* merge(Builder& builder, Value* a, Value* b, const std::vector<Value*>& limits) {
  return builder.value(info(OpKind::Merge), {{a}, {b}, limits}, a->type());
}

Value* pair_rows(Builder& builder, Value* a) {
  Type type = a->type();
  DimTable& dims = builder.context().dims();
  Dim rows = dims.constant(*type->dims[0]->constant() / 2),
      columns = dims.constant(*type->dims[1]->constant() * 2);
  return builder.value(info(OpKind::PairRows), {{a}},
                       builder.context().tile({rows, columns}, type->dtype));
}

Value* dot_pairs(Builder& builder, Value* a, Value* b, Value* c, bool sequential) {
  std::vector<OpAttr> attributes;
  if (sequential) attributes.push_back(attr::DotPairs::sequential(builder.context(), true));
  return builder.value(info(OpKind::DotPairs), {{a}, {b}, {c}}, c->type(), std::move(attributes));
}

Attr reduction_identity(Context& context, std::string_view kind, DType dtype) {
  bool sum = kind == "sum", prod = kind == "prod", greatest = kind == "min";
  if (is_float(dtype)) {
    // f8e4m3 has no infinity.
    double top = dtype == DType::F8E4M3 ? 448 : std::numeric_limits<double>::infinity();
    return context.number(sum ? 0 : prod ? 1 : greatest ? top : -top);
  }
  if (sum || prod) return context.integer(prod);
  unsigned bits = dtype_info(dtype).bits;
  if (dtype_info(dtype).cls == DTypeClass::Unsigned) {
    return context.integer(greatest ? int64_t(~uint64_t(0) >> (64 - bits)) : 0);
  }
  int64_t top = int64_t(~uint64_t(0) >> (65 - bits));
  return context.integer(greatest ? top : -top - 1);
}

Attr outside_of(Op* op) {
  bool is_gather = op->is(info(OpKind::Gather));
  if (Attr fill = is_gather ? op->attr(attr::Gather::fill) : op->attr(attr::Take::fill)) return fill;
  Context& context = op->module()->context();
  bool has_nan = is_float(op->result()->type()->dtype);
  return has_nan ? context.number(std::numeric_limits<double>::quiet_NaN()) : context.integer(0);
}

ElementwiseKind reduction_op(std::string_view kind) {
  if (kind == "sum") return ElementwiseKind::Add;
  if (kind == "prod") return ElementwiseKind::Mul;
  return kind == "max" ? ElementwiseKind::Max : ElementwiseKind::Min;
}

Value* load(Builder& builder, Value* memory, const std::vector<Value*>& offsets,
            const std::vector<Value*>& limits, Type result, Attr fill) {
  return builder.value(info(OpKind::Load), {{memory}, offsets, limits}, result,
                       {attr::Load::fill(fill)});
}

void store(Builder& builder, Value* value, Value* memory, const std::vector<Value*>& offsets,
           const std::vector<Value*>& limits) {
  builder.op(info(OpKind::Store), {{value}, {memory}, offsets, limits}, {});
}

Value* alloc(Builder& builder, Dim elements, DType dtype) {
  Type type = builder.context().contiguous_view({elements}, dtype, MemorySpace::Scratch);
  return builder.value(info(OpKind::Alloc), {}, type);
}

Value* view(Builder& builder, Value* memory, std::vector<Dim> dims, std::vector<Dim> strides,
            Dim offset) {
  Type type = memory->type();
  MemorySpace space = type->is(TypeKind::View) ? type->space : MemorySpace::Global;
  Type result =
      builder.context().view(std::move(dims), type->dtype, std::move(strides), offset, space);
  return builder.value(info(OpKind::View), {{memory}}, result);
}

Op* for_loop(Builder& builder, Value* lo, Value* hi, Value* step, const std::vector<Value*>& inits,
             int64_t unroll) {
  std::vector<Type> types;
  for (Value* init : inits) types.push_back(init->type());
  Op* loop = builder.op(info(OpKind::For), {{lo}, {hi}, {step}, inits}, types);
  if (unroll > 1) loop->set(attr::For::unroll, unroll);
  Block* body = loop->region(at::For::body)->add_block();
  body->add_arg(lo->type());
  for (Type type : types) body->add_arg(type);
  return loop;
}

void yield(Builder& builder, const std::vector<Value*>& values) {
  builder.op(info(OpKind::Yield), {values}, {});
}

}  // namespace tessera::tile

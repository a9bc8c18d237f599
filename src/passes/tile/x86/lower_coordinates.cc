// Elements by their coordinates: each lane has a place of its own, and a mask says whether there is one.


#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// The places of the elements in a part of a fragment.
KernelLowering::Places KernelLowering::places_of(Memory memory, const std::vector<Value*>& index, size_t part,
                                               int64_t lanes) {
  DimTable& dims = b_.context().dims();
  Type type = memory.type;
  std::vector<Dim> strides = tile::strides_of(b_.context(), type);
  Dim size = dims.constant(byte_size(type->dtype));
  Places places{memory.base, nullptr, nullptr};
  if (type->is(TypeKind::View)) places.base = b_.offset(places.base, dim(dims.mul(type->offset, size)));
  auto spread = [&](Value* scalar) { return lanes == 1 ? scalar : b_.splat(scalar, lanes); };
  for (size_t i = 0; i < index.size(); ++i) {
    Value* number = b_.cast(values_.at(index[i])[part], DType::I64);
    Value* inside = b_.bit_and(b_.op(Kind::Ge, number, spread(b_.index(0))),
                               b_.op(Kind::Lt, number, spread(dim(type->dims[i]))));
    Value* bytes = b_.mul(number, spread(dim(dims.mul(strides[i], size))));
    places.inside = places.inside ? b_.bit_and(places.inside, inside) : inside;
    places.bytes = places.bytes ? b_.add(places.bytes, bytes) : bytes;
  }
  if (!places.inside) {
    places.inside = b_.op(Kind::Eq, spread(b_.index(0)), spread(b_.index(0)));
    places.bytes = spread(b_.index(0));
  }
  return places;
}

void KernelLowering::lower_take(Op* op) {
  Value* result = op->result();
  Memory from = memory(op->in(in::Take::memory));
  FragmentShape shape = shape_of(result);
  DType dtype = stored_dtype(result->type()->dtype);
  std::vector<Value*> parts;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    for (int64_t part = 0; part < shape.parts_per_row(); ++part) {
      int64_t lanes = shape.lanes(part);
      Places places = places_of(from, op->ins(in::Take::index), parts.size(), lanes);
      Value* outside = b_.full(b_.context().scalar(dtype), tile::outside_of(op));
      Value* taken = take_lanes(places, lanes, outside);
      if (result->type()->dtype == DType::Bool) taken = b_.op(Kind::Ne, taken, b_.zero(taken->type()));
      parts.push_back(taken);
    }
  }
  define(result, std::move(parts));
}

Value* KernelLowering::take_lanes(const Places& places, int64_t lanes, Value* outside) {
  auto one = [&](Value* bytes, Value* inside) {
    return b_.extract(b_.load_masked(b_.offset(places.base, bytes), b_.splat(inside, 1), b_.splat(outside, 1)), 0);
  };
  if (lanes == 1) return one(places.bytes, places.inside);
  Value* all = b_.splat(outside, lanes);
  if (byte_size(outside->type()->dtype) >= 4) return b_.gather(places.base, places.bytes, places.inside, all);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    all = b_.insert(all, one(b_.extract(places.bytes, lane), b_.extract(places.inside, lane)), lane);
  }
  return all;
}

void KernelLowering::lower_scatter(Op* op) {
  Value* stored = op->in(in::Scatter::value);
  Memory to = memory(op->in(in::Scatter::memory));
  Fragment from = fragment(stored);
  std::vector<Value*> limits;
  for (Value* limit : op->ins(in::Scatter::limits)) limits.push_back(scalar(limit));
  size_t next = 0;
  for (int64_t row = 0; row < from.shape.rows(); ++row) {
    std::vector<int64_t> index = from.shape.row_index(row);
    Value* there = nullptr;  // of a row, by the limits before the last
    for (size_t i = 0; i + 1 < limits.size() && i < index.size(); ++i) {
      Value* below = b_.op(Kind::Lt, b_.index(index[i]), limits[i]);
      there = there ? b_.bit_and(there, below) : below;
    }
    for (int64_t part = 0; part < from.shape.parts_per_row(); ++part) {
      int64_t lanes = from.shape.lanes(part);
      Value* value = from.parts[next];
      if (value->type()->dtype == DType::Bool) value = b_.cast(value, DType::U8);
      Places places = places_of(to, op->ins(in::Scatter::index), next++, lanes);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value* wanted = lanes == 1 ? places.inside : b_.extract(places.inside, lane);
        if (there) wanted = b_.bit_and(wanted, there);
        if (!limits.empty()) {
          wanted = b_.bit_and(wanted, b_.op(Kind::Lt, b_.index(part * from.shape.chunk + lane), limits.back()));
        }
        Value* element = lanes == 1 ? value : b_.extract(value, lane);
        Value* address = b_.offset(places.base, lanes == 1 ? places.bytes : b_.extract(places.bytes, lane));
        put_element(op->attr(attr::Scatter::add), element, address, wanted);
      }
    }
  }
}

void KernelLowering::put_element(bool adds, Value* element, Value* address, Value* wanted) {
  if (!adds) {
    b_.store_masked(b_.splat(element, 1), address, b_.splat(wanted, 1));
    return;
  }
  Block* then = b_.new_block();
  Block* join = b_.new_block();
  b_.cond_branch(wanted, then, {}, join, {});
  b_.at().set_end(then);
  b_.at().value(target::info(target::OpKind::AtomicAdd), {{address}, {element}}, element->type());
  b_.branch(join);
  b_.at().set_end(join);
}

}  // namespace tessera

// Ops that only move elements.

#include <algorithm>
#include <bit>

#include "ir/core/common_attributes.h"
#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

Value* KernelLowering::element(const Fragment& from, int64_t row, int64_t column) {
  Value* part = from.part(row, column / from.shape.chunk);
  return part->type()->is(TypeKind::Reg) ? b_.extract(part, column % from.shape.chunk) : part;
}

/// One shuffle where two registers hold all elements, else lane by lane.
Value* KernelLowering::assemble(const Fragment& from, DType dtype, const std::vector<Place>& places) {
  int64_t chunk = from.shape.chunk;
  if (places.size() == 1) return element(from, places[0].row, places[0].column);
  std::vector<Value*> sources;
  std::vector<int64_t> lanes;
  for (const Place& place : places) {
    Value* source = from.part(place.row, place.column / chunk);
    auto it = std::find(sources.begin(), sources.end(), source);
    if (it == sources.end()) it = sources.insert(sources.end(), source);
    lanes.push_back((it - sources.begin()) * std::max<int64_t>(source->type()->lanes, 1) + place.column % chunk);
  }
  bool shuffles = sources.size() <= 2 && sources[0]->type()->is(TypeKind::Reg) &&
                  sources[0]->type() == sources.back()->type();
  if (shuffles) {
    bool same = int64_t(lanes.size()) == sources[0]->type()->lanes && sources.size() == 1;
    for (size_t i = 0; same && i < lanes.size(); ++i) same = lanes[i] == int64_t(i);
    return same ? sources[0] : b_.shuffle(sources[0], sources.back(), lanes);
  }
  Value* all = b_.zero(b_.context().reg(dtype, int64_t(places.size())));
  for (size_t i = 0; i < places.size(); ++i) {
    all = b_.insert(all, element(from, places[i].row, places[i].column), int64_t(i));
  }
  return all;
}

void KernelLowering::lower_broadcast(Op* op) {
  Fragment from = fragment(op->operand(0));
  FragmentShape to = shape_of(op->result());
  bool along_lanes = from.shape.columns() != to.columns();
  std::vector<Value*> parts;
  for (int64_t row = 0; row < to.rows(); ++row) {
    std::vector<int64_t> index = to.row_index(row);
    for (size_t i = 0; i < index.size(); ++i) {
      if (from.shape.extents[i] == 1) index[i] = 0;
    }
    int64_t source = from.shape.row_of(index);
    for (int64_t part = 0; part < to.parts_per_row(); ++part) {
      Value* value = from.part(source, along_lanes ? 0 : part);
      bool spread = along_lanes && to.lanes(part) > 1;
      parts.push_back(spread ? b_.splat(value, to.lanes(part)) : value);
    }
  }
  define(op->result(), std::move(parts));
}

/// The order of the elements stays, so element i of the result is element i of the operand.
void KernelLowering::define_reshaped(Value* result, const Fragment& from) {
  FragmentShape to = shape_of(result);
  int64_t from_columns = from.shape.columns();
  if (from_columns == to.columns()) return define(result, from.parts);
  std::vector<Value*> parts;
  for (int64_t row = 0; row < to.rows(); ++row) {
    for (int64_t part = 0; part < to.parts_per_row(); ++part) {
      std::vector<Place> places;
      for (int64_t lane = 0; lane < to.lanes(part); ++lane) {
        int64_t linear = row * to.columns() + part * to.chunk + lane;
        places.push_back({linear / from_columns, linear % from_columns});
      }
      parts.push_back(assemble(from, result->type()->dtype, places));
    }
  }
  define(result, std::move(parts));
}

void KernelLowering::lower_reshape(Op* op) { define_reshaped(op->result(), fragment(op->operand(0))); }

void KernelLowering::lower_transpose(Op* op) {
  Fragment from = fragment(op->operand(0));
  FragmentShape to = shape_of(op->result());
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
  DType dtype = op->result()->type()->dtype;
  size_t rank = perm.size();
  bool last_two = rank >= 2 && perm[rank - 1] == int64_t(rank) - 2 && perm[rank - 2] == int64_t(rank) - 1;
  for (size_t i = 0; i + 2 < rank; ++i) last_two = last_two && perm[i] == int64_t(i);
  if (last_two) return define(op->result(), transpose_last_two(from, dtype));
  std::vector<Value*> parts;
  for (int64_t row = 0; row < to.rows(); ++row) {
    std::vector<int64_t> index = to.row_index(row);
    index.push_back(0);
    for (int64_t part = 0; part < to.parts_per_row(); ++part) {
      std::vector<Place> places;
      for (int64_t lane = 0; lane < to.lanes(part); ++lane) {
        index.back() = part * to.chunk + lane;
        std::vector<int64_t> source(rank);
        for (size_t i = 0; i < rank; ++i) source[size_t(perm[i])] = index[i];
        places.push_back({from.shape.row_of(source), source.back()});
      }
      parts.push_back(assemble(from, dtype, places));
    }
  }
  define(op->result(), std::move(parts));
}

namespace {

/// Transposes `lanes` registers of `lanes` elements: log2(lanes) steps, each of which exchanges one bit of the row's
/// number with that bit of the lane's.
void transpose_square(TargetBuilder& b, std::vector<Value*>& rows) {
  int64_t lanes = int64_t(rows.size());
  for (int64_t bit = lanes / 2; bit > 0; bit /= 2) {
    std::vector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool second = lane & bit;
      low.push_back(second ? lanes + lane - bit : lane);
      high.push_back(second ? lanes + lane : lane + bit);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & bit) continue;
      Value* first = rows[size_t(i)];
      Value* second = rows[size_t(i + bit)];
      rows[size_t(i)] = b.shuffle(first, second, low);
      rows[size_t(i + bit)] = b.shuffle(first, second, high);
    }
  }
}

/// `part` with `lanes` lanes: further ones undefined, or those past the end dropped.
Value* resized(TargetBuilder& b, Value* part, int64_t lanes) {
  if (part->type()->is(TypeKind::Scalar)) return lanes == 1 ? part : b.splat(part, lanes);
  if (part->type()->lanes == lanes) return part;
  if (lanes == 1) return b.extract(part, 0);
  std::vector<int64_t> picks;
  for (int64_t i = 0; i < lanes; ++i) picks.push_back(std::min(i, part->type()->lanes - 1));
  return b.shuffle(part, part, picks);
}

}  // namespace

std::vector<Value*> KernelLowering::transpose_last_two(const Fragment& from, DType dtype) {
  FragmentShape to = from.shape;
  size_t rank = to.extents.size();
  std::swap(to.extents[rank - 1], to.extents[rank - 2]);
  int64_t height = from.shape.extents[rank - 2];
  int64_t width = from.shape.columns();
  std::vector<Value*> parts(size_t(to.part_count()));
  for (int64_t batch = 0; batch < from.shape.rows() / height; ++batch) {
    for (int64_t top = 0; top < height; top += to.chunk) {
      for (int64_t part = 0; part < from.shape.parts_per_row(); ++part) {
        int64_t left = part * from.shape.chunk;
        int64_t used = std::max(from.shape.lanes(part), std::min(to.chunk, height - top));
        int64_t side = int64_t(std::bit_ceil(uint64_t(used)));
        std::vector<Value*> square;
        for (int64_t i = 0; i < side; ++i) {
          bool there = top + i < height;
          square.push_back(there ? resized(b_, from.part(batch * height + top + i, part), side)
                                 : b_.zero(part_type(b_.context(), dtype, side)));
        }
        if (side > 1) transpose_square(b_, square);
        for (int64_t i = 0; i < from.shape.lanes(part); ++i) {
          int64_t row = batch * width + left + i;
          int64_t target = top / to.chunk;
          parts[size_t(row * to.parts_per_row() + target)] = resized(b_, square[size_t(i)], to.lanes(target));
        }
      }
    }
  }
  return parts;
}

void KernelLowering::lower_iota(Op* op) {
  Value* result = op->result();
  FragmentShape shape = shape_of(result);
  size_t axis = size_t(op->attr(common::Along::axis));
  bool along_lanes = axis + 1 == shape.extents.size();
  DType dtype = result->type()->dtype;
  Value* start = op->in(in::Iota::start) ? scalar(op->in(in::Iota::start)) : b_.index(0);
  std::vector<Value*> parts;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    int64_t at = along_lanes ? 0 : shape.row_index(row)[axis];
    for (int64_t part = 0; part < shape.parts_per_row(); ++part) {
      int64_t first = along_lanes ? part * shape.chunk : at;
      Value* value = b_.cast(b_.add(start, b_.index(first)), dtype);
      if (shape.lanes(part) > 1) {
        value = b_.splat(value, shape.lanes(part));
        if (along_lanes) value = b_.add(value, b_.iota(value->type()));
      }
      parts.push_back(value);
    }
  }
  define(result, std::move(parts));
}

void KernelLowering::lower_merge(Op* op) {
  Fragment a = fragment(op->in(in::Merge::a)), other = fragment(op->in(in::Merge::b));
  std::vector<Value*> limits = op->ins(in::Merge::limits);
  Access bounds{nullptr, a.shape, op->result()->type()->dtype, {}, {}};
  for (Value* limit : limits) bounds.limits.push_back(scalar(limit));
  std::vector<Value*> parts;
  for (int64_t row = 0; row < a.shape.rows(); ++row) {
    Value* count = row_count(bounds, a.shape.row_index(row));
    for (int64_t part = 0; part < a.shape.parts_per_row(); ++part) {
      Value* left = b_.sub(count, b_.index(part * a.shape.chunk));
      int64_t lanes = a.shape.lanes(part);
      Value* first = lanes > 1 ? b_.mask(left, lanes) : b_.op(Kind::Gt, left, b_.index(0));
      parts.push_back(b_.select(first, a.part(row, part), other.part(row, part)));
    }
  }
  define(op->result(), std::move(parts));
}

}  // namespace tessera

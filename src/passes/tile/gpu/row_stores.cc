#include "passes/tile/gpu/row_stores.h"

#include <algorithm>
#include <numeric>

#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/tile/build.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/tile/gpu/column_parts.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/pipeline/builders.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace in = tile::in;

namespace {

constexpr int64_t vector_bytes = 16;
constexpr int lanes = 32;

class RowStore {
 public:
  RowStore(Op* store, Divisibility& known)
      : store_(store),
        known_(known),
        builder_(*store->module()),
        value_(store->in(in::Store::value)),
        memory_(store->in(in::Store::memory)) {}

  bool run(int64_t free) {
    Type tile = value_->type();
    if (!is_global(memory_) || !tile->layout.starts_with("#wgmma<acc") || tile->rank() != 2) return false;
    if (loads_rows(value_) && !find_sources(value_)) sources_.clear();
    DType moved = sources_.empty() ? tile->dtype : sources_[0]->type()->dtype;
    int64_t width = part_line / byte_size(moved), columns = *tile->dims[1]->constant();
    if (columns % width || !find_layouts(int(*tile->dims[0]->constant()), int(width))) return false;
    Context& context = builder_.context();
    Type plain = context.tile({tile->dims[0], context.dims().constant(width)}, moved);
    std::optional<SharedLayout> shared = staged_along(plain, 1);
    if (!shared) return false;
    Type buffers = shared_type(context, plain, *shared, part_buffers);
    if (tile::shared_bytes(buffers) > free) return false;
    Op* kernel = store_->parent();
    while (kernel->parent()) kernel = kernel->parent();
    builder_.set_loc(store_->loc());
    builder_.set_before(kernel->region()->front()->front());
    ring_ = tile::alloc_shared(builder_, buffers);
    builder_.set_before(store_);
    Op* before = nullptr;
    if (is_in_loop(store_)) {
      tile::barrier(builder_);
      before = store_->prev();
    }
    ColumnParts own(builder_, *own_), by_rows(builder_, *rows_, [&](Value* source, int64_t first) {
      return exchanged(ColumnParts(builder_, *own_).of(source, first));
    });
    for (int64_t c = 0; c < columns; c += width) {
      store_part(sources_.empty() ? exchanged(own.of(value_, c)) : by_rows.of(value_, c), c);
    }
    // Where buffers come round evenly, the last barrier is behind all that read the first of them.
    if (before && exchanges_ % part_buffers == 0) before->erase();
    erase_with_operands(store_);
    return true;
  }

 private:
  /// Whether tiles of memory are read on the way to the value, element by element.
  bool loads_rows(Value* value) {
    Op* def = value->def();
    if (!def || def->block() != store_->block() || !value->type()->is(TypeKind::Tile)) return false;
    if (def->is(tile::info(OpKind::Load))) return is_global(def->in(in::Load::memory)) && is_tile(value);
    bool found = false;
    for (unsigned i = 0; is_computed(def) && i < def->operand_count(); ++i) found |= loads_rows(def->operand(i));
    return found;
  }

  bool is_tile(Value* value) const { return value->type()->dims == value_->type()->dims; }

  /// Collects the tiles that take the way through shared memory where all else is computed by rows; false where
  /// something cannot be.
  bool find_sources(Value* value) {
    Type type = value->type();
    if (!type->is(TypeKind::Tile)) return true;
    if (type->rank() != 2 || type->dims[1] != value_->type()->dims[1]) return false;
    Op* def = value->def();
    bool is_here = def && def->block() == store_->block();
    if (is_here && def->is(tile::info(OpKind::Load)) && is_global(def->in(in::Load::memory))) return true;
    if (is_here && loaded_line(def)) return true;
    if (is_here && is_computed(def)) {
      for (unsigned i = 0; i < def->operand_count(); ++i) {
        if (!find_sources(def->operand(i))) return false;
      }
      return true;
    }
    bool fits = is_tile(value) && type->layout == value_->type()->layout &&
                (sources_.empty() || sources_[0]->type()->dtype == type->dtype);
    sources_.push_back(value);
    return fits;
  }

  bool find_layouts(int rows, int width) {
    int warps = layout::parse_layout(value_->type()->layout)->warps();
    int32_t extents[] = {rows, width};
    own_ = layout::wgmma_accumulator(rows, width, warps);
    rows_ = layout::blocked(extents, int(vector()), lanes, warps);
    return own_ && rows_;
  }

  /// How many elements a thread stores at a time: rows start at multiples of them.
  int64_t vector() {
    int64_t elements = vector_bytes / byte_size(value_->type()->dtype);
    Type memory = memory_->type();
    std::vector<Dim> strides = tile::strides_of(builder_.context(), memory);
    for (size_t i = 0; i + 1 < strides.size(); ++i) elements = std::gcd(elements, known_.of(strides[i]));
    elements = std::gcd(elements, known_.of(memory->dims.back()));
    if (memory->is(TypeKind::View)) elements = std::gcd(elements, known_.of(memory->offset));
    return elements;
  }

  /// The part in the layout of rows.
  Value* exchanged(Value* part) {
    Context& context = builder_.context();
    Value* buffer = tile::slot(builder_, ring_, tile::index(builder_, exchanges_++ % part_buffers));
    Value* zero = tile::index(builder_, 0);
    tile::store(builder_, part, buffer, {zero, zero}, {});
    tile::barrier(builder_);
    Type plain = context.tile(part->type()->dims, part->type()->dtype);
    return tile::load(builder_, buffer, {zero, zero}, {}, context.with_layout(plain, layout::print(*rows_)));
  }

  void store_part(Value* part, int64_t first) {
    std::vector<Value*> offsets = store_->ins(in::Store::offsets), limits = store_->ins(in::Store::limits);
    Value* shift = tile::index(builder_, first);
    offsets.back() = tile::add(builder_, offsets.back(), shift);
    if (!limits.empty()) limits.back() = tile::sub(builder_, limits.back(), shift);
    tile::store(builder_, part, memory_, offsets, limits);
  }

  Op* store_;
  Divisibility& known_;
  Builder builder_;
  Value* value_;
  Value* memory_;
  std::vector<Value*> sources_;  ///< what takes the way through shared memory; none: the value itself
  std::optional<layout::Layout> own_, rows_;
  Value* ring_ = nullptr;
  int64_t exchanges_ = 0;
};

}  // namespace

bool store_by_rows(Op* store, Divisibility& known, int64_t free) { return RowStore(store, known).run(free); }

}  // namespace tessera

// Writes tile.sort as a sorting network whose elements change places in memory of the program.
//
// A bitonic network sorts a line of 2^n elements in n rounds. Each makes sorted runs of B elements from pairs of runs
// of B/2. Its first step compares element i of a run with element B-1-i, the next ones compare elements that are
// B/4, B/8, … 1 apart. Each puts the lesser element first, so what a step does with an element does not depend on
// its place.
//
// In memory no element has to find its partner. The elements that a step compares are tiles of their own: views whose
// strides step over the others, from the end of the run where the first step of a round needs it. Several steps follow
// each other in registers: the elements of a run are cut into 2^s tiles, which s steps compare with each other. All of
// it is loads, stores, minima and maxima. The first runs of 2^s elements need no order, so each of those tiles takes
// neighbours, as many as there are runs.
//
// Threads of a warp take elements that lie one, two, four, … apart, and memory has a power of two of banks, of which
// they would share few. So every 128 bytes are followed by an element that is left out. Where all of a line is stored
// or loaded at once, it lies without these.
//
// Of a line that falls and then rises the last round sorts all; its first step compares elements as its others do. What
// fills up the line comes behind it and is greater, so it still falls and then rises.
//
// Elements that a tile does not have come last: they are the greatest number (the least, of a descending sort). NaN
// becomes infinity, and the places of as many elements as were NaN become NaN.

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "ir/core/common_attributes.h"
#include "ir/core/kernel_size.h"
#include "ir/tile/build.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/common/decompose_tile_ops.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

Op* kernel_of(Op* op) {
  while (op->parent()) op = op->parent();
  return op;
}

/// How many elements of a line of the tile lie side by side in the shared memory of a GPU's block, each time followed
/// by one that is left out: as many as its banks have room for. 0 where nothing is left out, as lines themselves lie
/// side by side or are shorter.
int64_t sort_group(Type tile, size_t axis, int64_t length) {
  bool is_last = std::all_of(tile->dims.begin() + std::ptrdiff_t(axis) + 1, tile->dims.end(),
                             [](Dim extent) { return extent->is_constant(1); });
  constexpr int64_t bytes_of_banks = 128;
  int64_t group = bytes_of_banks / byte_size(tile->dtype);
  return is_last && group <= length ? group : 0;
}

/// Which sorts can be written so.
class SortLimits {
 public:
  SortLimits(Op* sort, PassContext& context)
      : kernel_(kernel_of(sort)), sort_(sort), type_(sort->result()->type()), context_(context) {}

  bool check() const {
    if (!check_extents() || !check_elements()) return false;
    bool is_in_order = type_->dims[axis()]->constant() <= 1;
    return is_in_order || !context_.machine->is_gpu() || (check_shared() && check_registers());
  }

 private:
  static constexpr int64_t most_elements = int64_t(1) << 31;  ///< of a tile in a source, too

  size_t axis() const { return size_t(sort_->attr(attr::Sort::axis)); }

  bool reject(const std::string& reason, const char* help) const {
    context_.diagnostics.report(diag::unsupported_tile_split, sort_->loc(), std::string(sort_->name()), reason)
        .help(help);
    return false;
  }

  bool check_extents() const {
    Dim sorted = type_->dims[axis()], open = sorted;
    for (Dim extent : type_->dims) {
      if (context_.machine->is_gpu() && !extent->constant()) open = extent;
    }
    if (open->constant()) return true;
    constexpr const char* whole =
        "a tile is sorted whole, and a block would sort each part alone: declare the size of the axis as a number, or "
        "sort whole tensors with sort(x)";
    return reject("the extent " + open->text + " of its tile is not known",
                  open == sorted ? whole : "give the axis a block in the schedule");
  }

  /// The elements of a tile, or one more than the most; `open` is what an extent that is no number counts as.
  static int64_t elements(Type tile, int64_t open) {
    int64_t count = 1;
    for (Dim dim : tile->dims) {
      int64_t extent = std::max<int64_t>(dim->constant().value_or(open), 1);
      if (count > most_elements / extent) return most_elements + 1;
      count *= extent;
    }
    return count;
  }

  bool check_elements() const {
    if (elements(type_, 1) <= most_elements) return true;
    return reject(fmt::format("{} has more than {} elements", type_->text, most_elements),
                  "give the axes smaller blocks in the schedule");
  }

  bool check_shared() const {
    int64_t extent = *type_->dims[axis()]->constant(), length = int64_t(std::bit_ceil(uint64_t(extent)));
    int64_t size = byte_size(type_->dtype), group = sort_group(type_, axis(), length);
    int64_t line = length + (group ? length / group : 0);
    int64_t bytes = elements(type_, 1) / extent * line * size;
    int64_t available = context_.machine->gpu.shared_per_block;
    if (bytes <= available) return true;
    int64_t fit = available / size;
    if (group) fit = fit * group / (group + 1);
    context_.diagnostics
        .report(diag::schedule_shared_memory, sort_->loc(), kernel_name(kernel_), bytes, available, bytes - available)
        .help(fmt::format("'{}' keeps its tile there, in lines of {} elements; at most {} elements of {} fit: use "
                          "smaller blocks",
                          sort_->name(), length, fit, to_string(type_->dtype)));
    return false;
  }

  /// Tiles that registers do not hold are cut up, but not those of kernels that exchange elements in shared memory.
  bool check_registers() const {
    int64_t most = gpu_schedule(kernel_, *context_.machine).most_elements();
    Type large = nullptr;
    bool has_dot = false;
    walk(kernel_, [&](Op* op) {
      has_dot |= op->is(tile::info(OpKind::Dot));
      for (unsigned i = 0; i < op->result_count(); ++i) {
        Type type = op->result(i)->type();
        if (type->is(TypeKind::Tile) && elements(type, most_elements) > most) large = type;
      }
    });
    if (has_dot || !large) return true;
    return reject(fmt::format("its kernel has {}, and the registers of its warps hold {} elements", large->text, most),
                  "use more warps or smaller blocks");
  }

  Op* kernel_;
  Op* sort_;
  Type type_;
  PassContext& context_;
};

class SortDecomposition {
 public:
  SortDecomposition(Op* sort, const Machine& machine)
      : kernel_(kernel_of(sort)),
        sort_(sort),
        machine_(machine),
        has_threads_(machine.is_gpu()),
        descending_(sort->attr(attr::Sort::descending)),
        is_bitonic_(sort->attr(attr::Sort::bitonic)),
        axis_(size_t(sort->attr(attr::Sort::axis))),
        builder_(*sort->module()) {
    builder_.set_before(sort);
    builder_.set_loc(sort->loc());
  }

  void run() {
    Value *given = sort_->in(in::Sort::a), *x = given;
    Type type = x->type();
    extent_ = *type->dims[axis_]->constant();
    present_ = present();
    if (extent_ > 1 && type->dtype == DType::Bool) {
      x = tile::cast(builder_, sorted(tile::cast(builder_, x, DType::U8)), DType::Bool);
    } else if (extent_ > 1) {
      x = is_float(type->dtype) ? sorted_floats(x) : sorted(x);
    }
    if (Value* there = is_there(type); there && x != given) x = op(Kind::Select, {there, x, given});
    sort_->result()->replace_all_uses(x);
    sort_->erase();
  }

 private:
  Context& context() { return builder_.context(); }
  Dim constant(int64_t value) { return context().dims().constant(value); }
  Value* op(Kind kind, const std::vector<Value*>& operands) { return tile::elementwise(builder_, kind, operands); }
  Value* full(Type type, Attr value) { return tile::full(builder_, type, value); }

  /// The number that comes last, or first.
  Attr end(bool last, DType dtype) {
    return tile::reduction_identity(context(), last != descending_ ? "min" : "max", dtype);
  }

  Value* sorted_floats(Value* x) {
    Type type = x->type();
    Value* is_nan = op(Kind::Ne, {x, x});
    Value* numbers = op(Kind::Select, {is_nan, full(type, tile::reduction_identity(context(), "min", type->dtype)), x});
    if (Value* there = is_there(type)) is_nan = op(Kind::And, {is_nan, there});
    Value* count = counted(is_nan);
    Value* in_order = sorted(numbers);
    Value* place = places(type);
    Value* all = present_ ? splat(present_, place->type()) : full(place->type(), context().integer(extent_));
    Value* was_nan = descending_ ? op(Kind::Lt, {place, count}) : op(Kind::Ge, {place, op(Kind::Sub, {all, count})});
    Value* nan = full(type, context().number(std::numeric_limits<double>::quiet_NaN()));
    return op(Kind::Select, {was_nan, nan, in_order});
  }

  /// How many elements of the line hold, at each of its places.
  Value* counted(Value* flags) {
    Type type = flags->type();
    std::vector<Dim> left = type->dims, kept = type->dims;
    left.erase(left.begin() + std::ptrdiff_t(axis_));
    kept[axis_] = constant(1);
    Value* sum = builder_.value(tile::info(OpKind::Reduce), {{tile::cast(builder_, flags, DType::I32)}, {}},
                                context().tile(left, DType::I32),
                                {attr::Reduce::kind(context(), "sum"), attr::Reduce::axis(context(), int64_t(axis_))});
    sum = builder_.value(tile::info(OpKind::Reshape), {{sum}}, context().tile(kept, DType::I32));
    return tile::broadcast(builder_, sum, type->dims);
  }

  Value* places(Type type) {
    return builder_.value(tile::info(OpKind::Iota), {{}}, context().tile(type->dims, DType::I32),
                          {attr::Iota::axis(context(), int64_t(axis_))});
  }

  Value* splat(Value* scalar, Type type) { return builder_.value(tile::info(OpKind::Splat), {{scalar}}, type); }

  Value* present() {
    Value* limit = sort_->in(in::Sort::limit);
    if (!limit || tile::known_index(limit).value_or(0) >= extent_) return nullptr;
    limit = op(Kind::Max, {tile::min(builder_, limit, tile::index(builder_, extent_)), tile::index(builder_, 0)});
    return tile::cast(builder_, limit, DType::I32);
  }

  Value* is_there(Type type) {
    if (!present_) return nullptr;
    Value* place = places(type);
    return op(Kind::Lt, {place, splat(present_, place->type())});
  }

  /// Sorts elements of which none is NaN.
  Value* sorted(Value* x) {
    Type type = x->type();
    if (Value* there = is_there(type)) x = op(Kind::Select, {there, x, full(type, end(true, type->dtype))});
    place(type);
    std::vector<Dim> dims = type->dims, strides = strides_;
    strides.insert(strides.begin() + std::ptrdiff_t(axis_), step_);
    Value* all = window(dims, strides, 0);
    barrier();  // what lay there before has been read
    store(x, all);
    if (length_ > extent_) {
      dims[axis_] = constant(length_ - extent_);
      store(full(context().tile(dims, type->dtype), end(true, type->dtype)), window(dims, strides, extent_));
    }
    barrier();
    if (is_bitonic_) {
      round(length_, false);
    } else {
      int64_t run = sort_first_runs();
      while (run < length_) round(run *= 2, true);
    }
    return load(all);
  }

  /// Lays out memory for lines of a power of two: a thread's vectors run along other axes where there are enough lines.
  void place(Type type) {
    length_ = int64_t(std::bit_ceil(uint64_t(extent_)));
    others_ = type->dims;
    others_.erase(others_.begin() + std::ptrdiff_t(axis_));
    DimTable& dims = context().dims();
    Dim lines = constant(1);
    for (Dim extent : others_) lines = dims.mul(lines, extent);
    bool is_last = std::all_of(type->dims.begin() + std::ptrdiff_t(axis_) + 1, type->dims.end(),
                               [](Dim extent) { return extent->is_constant(1); });
    constexpr int64_t vector = 16;
    bool by_lines = has_threads_ ? !is_last : lines->constant().value_or(vector) >= vector;
    step_ = by_lines ? lines : constant(1);
    int64_t group = has_threads_ ? sort_group(type, axis_, length_) : 0;
    left_out_ = group ? 1 : 0;
    group_ = group ? group : length_;
    Dim stride = constant(by_lines ? 1 : place_of(length_));
    strides_.assign(others_.size(), nullptr);
    for (size_t i = others_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride = dims.mul(stride, others_[i]);
    }
    // Elements of a tile that are worth the threads' while.
    int64_t fewest = has_threads_ ? gpu_schedule(kernel_, machine_).threads() : 256;
    int64_t elements = length_ * lines->constant().value_or(1);
    int most = has_threads_ ? 4 : 2;
    for (steps_ = 1; steps_ < most && elements >> (steps_ + 1) >= fewest;) ++steps_;
    Builder start = at_start();
    Dim size = dims.mul(constant(place_of(length_)), lines);
    if (!has_threads_) {
      memory_ = tile::alloc(start, size, type->dtype);
    } else {
      Type shared = context().contiguous_view({size}, type->dtype, MemorySpace::Shared);
      memory_ = start.value(tile::info(OpKind::AllocShared), {}, shared);
    }
  }

  /// Memory and its windows are made once, before all loops.
  Builder at_start() {
    Builder start(*kernel_->module());
    start.set_before(kernel_->region()->front()->front());
    if (memory_) start.set_after(memory_->def());
    start.set_loc(sort_->loc());
    return start;
  }

  /// Runs of as many elements as tiles are compared at once, of elements in any order.
  int64_t sort_first_runs() {
    int64_t count = std::min(length_, int64_t(1) << steps_);
    std::vector<Value*> tiles;
    for (int64_t t = 0; t < count; ++t) {
      Axes axes = axes_of_others();
      add(axes, length_ / group_, group_ / count);
      add(axes, group_ / count, 1);
      tiles.push_back(load(window(axes, t * (length_ / count))));
    }
    barrier();
    for (int64_t run = 2; run <= count; run *= 2) exchange(tiles, run, true);
    for (int64_t t = 0; t < count; ++t) store(tiles[size_t(t)], piece(count, 1, t, false, count < length_));
    barrier();
    return count;
  }

  /// Sorts runs of `run` elements, of two sorted halves or of what falls and then rises.
  void round(int64_t run, bool halves) {
    bool is_apart = !is_bitonic_;  // the elements that groups leave out lie between them
    for (int64_t part = run; part > 1;) {
      int steps = std::min(steps_, std::countr_zero(uint64_t(part)));
      bool leaves_apart = part >> steps > 1 || run < length_;
      compare(part, int64_t(1) << steps, halves && part == run, is_apart, leaves_apart);
      part >>= steps;
      is_apart = leaves_apart;
    }
  }

  /// Steps within the parts of `part` elements, each of which is cut into `count` tiles.
  void compare(int64_t part, int64_t count, bool mirrored, bool is_apart, bool leaves_apart) {
    std::vector<Value*> from, to, tiles;
    int64_t width = part / count;
    for (int64_t t = 0; t < count; ++t) {
      // The second half of a run is taken from its end.
      bool reversed = mirrored && t >= count / 2;
      int64_t offset = t * width + (reversed ? width - 1 : 0);
      from.push_back(piece(part, width, offset, reversed, is_apart));
      bool stays = is_apart == leaves_apart || !left_out_;
      to.push_back(stays ? from.back() : piece(part, width, offset, reversed, leaves_apart));
      tiles.push_back(load(from.back()));
    }
    barrier();
    exchange(tiles, count, mirrored);
    for (size_t t = 0; t < tiles.size(); ++t) store(tiles[t], to[t]);
    barrier();
  }

  /// The steps of runs of `run` tiles.
  void exchange(std::vector<Value*>& tiles, int64_t run, bool mirrored) {
    for (int64_t distance = run / 2; distance > 0; distance /= 2) {
      for (int64_t t = 0; t < int64_t(tiles.size()); ++t) {
        if (t & distance) continue;
        exchange(tiles[size_t(t)], tiles[size_t(mirrored ? t ^ (run - 1) : t + distance)]);
      }
      mirrored = false;
    }
  }

  void exchange(Value*& a, Value*& b) {
    Value* less = op(Kind::Min, {a, b});
    Value* greater = op(Kind::Max, {a, b});
    a = descending_ ? greater : less;
    b = descending_ ? less : greater;
  }

  /// Extents and strides of elements in memory, without extents of 1.
  struct Axes {
    std::vector<Dim> dims, strides;

    void add(Dim extent, Dim stride) {
      if (extent->is_constant(1)) return;
      dims.push_back(extent);
      strides.push_back(stride);
    }
  };

  Axes axes_of_others() {
    Axes axes;
    for (size_t i = 0; i < others_.size(); ++i) axes.add(others_[i], strides_[i]);
    return axes;
  }

  /// An axis along the line.
  void add(Axes& axes, int64_t extent, int64_t stride) {
    axes.add(constant(extent), context().dims().mul(constant(stride), step_));
  }

  /// Where an element of a line lies, if each group is followed by what is left out.
  int64_t place_of(int64_t element) const { return element + element / group_ * left_out_; }

  /// `width` elements of each part, from the one at `offset`; `apart` where each group is followed by one left out.
  Value* piece(int64_t part, int64_t width, int64_t offset, bool reversed, bool apart) {
    auto place = [&](int64_t element) { return apart ? place_of(element) : element; };
    Axes axes = axes_of_others();
    int64_t whole = std::max(part, group_), line = std::min(width, group_), sign = reversed ? -1 : 1;
    add(axes, length_ / whole, place(whole));
    add(axes, whole / part, part);
    add(axes, width / line, sign * place(group_));
    add(axes, line, sign);
    return window(axes, place(offset));
  }

  Value* window(Axes axes, int64_t offset) {
    if (axes.dims.empty()) axes = {{constant(1)}, {constant(1)}};
    return window(axes.dims, axes.strides, offset);
  }

  Value* window(const std::vector<Dim>& dims, const std::vector<Dim>& strides, int64_t offset) {
    Builder start = at_start();
    return tile::view(start, memory_, dims, strides, context().dims().mul(constant(offset), step_));
  }

  std::vector<Value*> origin(Value* memory) { return {memory->type()->rank(), tile::index(builder_, 0)}; }

  Value* load(Value* memory) {
    Type type = memory->type();
    return tile::load(builder_, memory, origin(memory), {}, context().tile(type->dims, type->dtype));
  }
  void store(Value* value, Value* memory) { tile::store(builder_, value, memory, origin(memory), {}); }

  void barrier() {
    if (has_threads_) builder_.op(tile::info(OpKind::Barrier), {}, {});
  }

  Op* kernel_;
  Op* sort_;
  const Machine& machine_;
  bool has_threads_;  ///< a program is run by several threads, which share memory
  bool descending_;
  bool is_bitonic_;   ///< the elements of a line fall, then rise
  size_t axis_;
  Builder builder_;
  int64_t extent_ = 0, length_ = 0;     ///< of a line: in the tile, in the network
  int64_t group_ = 0, left_out_ = 0;    ///< elements that lie side by side, and that are left out behind them
  std::vector<Dim> others_, strides_;   ///< of the other axes: extents, strides in memory
  Dim step_ = nullptr;                  ///< from one element of a line to the next
  int steps_ = 1;                       ///< at once
  Value* memory_ = nullptr;
  Value* present_ = nullptr;  ///< how many elements of a line take part, an i32; null: all
};

}  // namespace

template <>
Status decompose<OpKind::Sort>(Op* sort, PassContext& context) {
  if (!SortLimits(sort, context).check()) return failure;
  SortDecomposition(sort, *context.machine).run();
  return success;
}

}  // namespace tessera

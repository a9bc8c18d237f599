// Random numbers in kernels: word i % 4 of Philox4x32-10 with counter i / 4, where i is the
// element's number in the whole tensor, not in the tile. So every schedule gives the same numbers,
// and an entry's `uniform` with the same seed gives the same bits.

#include <algorithm>
#include <array>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/dims.h"
#include "ir/numbers/philox.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
using Kind = ElementwiseKind;

namespace {

/// Philox on tiles. What is the same for all elements, the keys, is computed in tiles of one element.
class TilePhilox {
 public:
  TilePhilox(Builder& builder, Value* numbers)
      : builder_(builder), numbers_(numbers), dims_(numbers->type()->dims), ones_(dims_.size(), one()) {}

  /// In [0, 1): the upper 24 bits of each element's word times 2^-24. `key` is a u64 tile of one element.
  Value* uniform(Value* key, int64_t stream) {
    if (stream != 0) key = op(Kind::Xor, key, number(uint64_t(stream), DType::U64, ones_));
    std::array<Value*, 2> k = {cast(key, DType::U32), high(key)};
    Value* block = op(Kind::Shr, numbers_, number(2, DType::U64, dims_));
    Value* zero = number(0, DType::U32, dims_);
    std::array<Value*, 4> c = {cast(block, DType::U32), high(block), zero, zero};
    for (int round = 0; round < philox::rounds; ++round) {
      Value* p0 = product(c[0], philox::multiplier_0);
      Value* p1 = product(c[2], philox::multiplier_1);
      c = {op(Kind::Xor, op(Kind::Xor, high(p1), c[1]), spread(k[0])), cast(p1, DType::U32),
           op(Kind::Xor, op(Kind::Xor, high(p0), c[3]), spread(k[1])), cast(p0, DType::U32)};
      k[0] = op(Kind::Add, k[0], number(philox::increment_0, DType::U32, ones_));
      k[1] = op(Kind::Add, k[1], number(philox::increment_1, DType::U32, ones_));
    }
    Value* even = choose(2, c[2], c[0]);
    Value* odd = choose(2, c[3], c[1]);
    Value* bits = op(Kind::Shr, choose(1, odd, even), number(8, DType::U32, dims_));
    Value* scale = builder_.value(info(OpKind::Full), {}, type(dims_, DType::F32),
                                  {schedule::attr::Full::value(builder_.context(), 0x1p-24)});
    return op(Kind::Mul, cast(bits, DType::F32), scale);
  }

 private:
  Dim one() { return builder_.context().dims().constant(1); }
  Type type(const std::vector<Dim>& dims, DType dtype) { return builder_.context().tile(dims, dtype); }
  Value* number(uint64_t value, DType dtype, const std::vector<Dim>& dims) {
    return builder_.value(info(OpKind::Full), {}, type(dims, dtype),
                          {schedule::attr::Full::value(builder_.context(), int64_t(value))});
  }
  Value* op(Kind kind, Value* a, Value* b) { return builder_.value(info(kind), {{a}, {b}}, a->type()); }
  Value* cast(Value* a, DType dtype) {
    return builder_.value(info(Kind::Cast), {{a}}, builder_.context().with_dtype(a->type(), dtype));
  }
  Value* high(Value* wide) {
    return cast(op(Kind::Shr, wide, number(32, DType::U64, wide->type()->dims)), DType::U32);
  }
  Value* product(Value* word, uint32_t by) {
    return op(Kind::Mul, cast(word, DType::U64), number(by, DType::U64, dims_));
  }
  Value* spread(Value* key) {
    if (dims_ == ones_) return key;
    return builder_.value(info(OpKind::Broadcast), {{key}}, type(dims_, DType::U32));
  }
  /// `a` where the element's number has the bit, else `b`.
  Value* choose(uint64_t bit, Value* a, Value* b) {
    Value* masked = op(Kind::And, numbers_, number(bit, DType::U64, dims_));
    Value* set = builder_.value(info(Kind::Ne), {{masked}, {number(0, DType::U64, dims_)}}, type(dims_, DType::Bool));
    return builder_.value(info(Kind::Select), {{set}, {a}, {b}}, a->type());
  }

  Builder& builder_;
  Value* numbers_;
  std::vector<Dim> dims_, ones_;
};

bool is_integer_ir(const Datum& datum, TypeKind kind) {
  if (!datum.is_ir()) return false;
  Type type = datum.as_ir().value->type();
  return type->is(kind) && is_integer(type->dtype);
}

}  // namespace

/// A seed as a u64 tile of one element, of that rank; null when an error was reported.
Value* KernelBuilder::seed_key(const Datum& seed, size_t rank, Loc loc) {
  Type type = context().tile(std::vector<Dim>(rank, dims().constant(1)), DType::U64);
  if (seed.is(DatumKind::Int)) {
    return ops_.builder().value(info(OpKind::Full), {}, type,
                                {schedule::attr::Full::value(context(), seed.as_int())});
  }
  if (is_integer_ir(seed, TypeKind::Scalar)) {
    return ops_.builder().value(info(OpKind::Splat), {{ops_.convert(seed.as_ir().value, DType::U64)}}, type);
  }
  bool single = is_integer_ir(seed, TypeKind::Tile) &&
                std::ranges::all_of(seed.as_ir().value->type()->dims, [](Dim dim) { return dim->is_constant(1); });
  if (single) return ops_.reshape(ops_.convert(seed.as_ir().value, DType::U64), type->dims);
  report(diag::wrong_kind, loc, "the seed", describe_given(seed), "an integer").help("load it: tile.load(seed)");
  return nullptr;
}

/// The number of each element of a tile in the space of all of them: of the grid's axes, then of the loops around, the
/// last fastest. Axes of the tile are recognised by their extents, in the order of their
/// declaration. Weights of a softmax in a loop have its axis last, and are the same along axes that
/// they lack: those of the values.
Value* KernelBuilder::element_numbers(const std::vector<Dim>& dims, bool weights, Loc loc) {
  struct Coordinate {
    const KernelAxis* axis;
    Value* index;
    int dim = -1;
  };
  std::vector<Coordinate> coordinates;
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.grid) coordinates.push_back({&axis, axis.index});
  }
  std::vector<Coordinate> loops;
  for (Block* block = ops_.builder().block(); block && block->parent_op(); block = block->parent_op()->block()) {
    auto loop = block->arg_count() ? kernel_.loop_axes.find(block->arg(0)) : kernel_.loop_axes.end();
    if (loop != kernel_.loop_axes.end() && !loop->second->grid) loops.push_back({loop->second, block->arg(0)});
  }
  coordinates.insert(coordinates.end(), loops.rbegin(), loops.rend());
  bool by_loop = weights && !loops.empty() && loops.front().axis->tile == dims.back();
  if (by_loop) coordinates.back().dim = int(dims.size()) - 1;
  for (size_t i = 0; i + by_loop < dims.size(); ++i) {
    if (dims[i]->is_constant(1)) continue;
    auto found = std::find_if(coordinates.begin(), coordinates.end(),
                              [&](const Coordinate& c) { return c.dim < 0 && c.axis->tile == dims[i]; });
    if (found == coordinates.end()) {
      report(diag::wrong_kind, loc, "the tile", fmt::format("of extent {}", dims[i]->text),
             "one along axes of the grid and of loops around")
          .help("number the elements: tile.uniform(seed, index)");
      return nullptr;
    }
    found->dim = int(i);
  }
  auto is_shared = [](const Coordinate& c) { return c.dim < 0 && !c.axis->tile->is_constant(1); };
  if (weights) std::erase_if(coordinates, is_shared);
  if (std::any_of(coordinates.begin(), coordinates.end(), is_shared)) {
    evaluator_.unsupported(loc, "dropout of a tile that lacks an axis along which a program has several elements");
    return nullptr;
  }
  Builder& builder = ops_.builder();
  builder.set_loc(loc);
  Datum sum = Datum::integer(0);
  Dim stride = this->dims().constant(1);
  auto apply = [&](Kind kind, const Datum& a, const Datum& b) {
    Datum operands[] = {a, b};
    return ops_.elementwise(kind, operands, loc);
  };
  for (size_t c = coordinates.size(); c-- > 0;) {
    const Coordinate& at = coordinates[c];
    Dim extent = at.dim < 0 ? this->dims().constant(1) : at.axis->tile;
    Value* within = numbered({at.index, extent, at.axis->extent}, loc);
    std::vector<Dim> shape(dims.size(), this->dims().constant(1));
    if (at.dim >= 0) shape[size_t(at.dim)] = at.axis->tile;
    // Elsewhere a program takes one element of the axis at a time.
    Datum term = apply(Kind::Mul, ops_.handle(ops_.reshape(within, shape), loc), Datum::dim(stride));
    sum = sum.is_ir() ? apply(Kind::Add, sum, term) : term;
    stride = this->dims().mul(stride, at.axis->extent);
  }
  if (!sum.is_ir()) return nullptr;
  return ops_.convert(ops_.broadcast_to(sum.as_ir().value, dims), DType::U64);
}

Datum KernelBuilder::random_uniform(const BoundArguments& arguments) {
  enum Argument : size_t { Seed, Index, Stream };
  auto stream = evaluator_.expect_int(arguments[Stream], arguments.locs[Stream], "the stream");
  if (!stream) return Datum::poison();
  if (!is_integer_ir(arguments[Index], TypeKind::Tile)) {
    report(diag::wrong_kind, arguments.locs[Index], "the index of 'tile.uniform'", describe(arguments[Index]),
           "a tile of integers")
        .help("number the elements: tile.row_index() * N + tile.col_index()");
    return Datum::poison();
  }
  ops_.builder().set_loc(arguments.call);
  Value* seed = seed_key(arguments[Seed], arguments[Index].as_ir().value->type()->rank(), arguments.locs[Seed]);
  if (!seed) return Datum::poison();
  Value* numbers = ops_.convert(arguments[Index].as_ir().value, DType::U64);
  return ops_.handle(TilePhilox(ops_.builder(), numbers).uniform(seed, *stream), arguments.call);
}

/// The seed that the kernel's call gives; poison, with a diagnostic, where it gives none.
Datum KernelBuilder::load_seed_of_call(Loc loc) {
  if (!kernel_.seed_of_call) {
    report(diag::missing_argument, loc, "seed", "dropout_in_kernel")
        .help("only the kernel's own body may leave it out, in a call that knows the probability is not 0");
    return Datum::poison();
  }
  ops_.builder().set_loc(loc);
  Value* tile = ops_.builder().value(info(OpKind::Load), {{kernel_.seed_of_call}, {}}, context().tile({}, DType::U64));
  return ops_.handle(ops_.builder().value(info(OpKind::Extract), {{tile}}, context().scalar(DType::U64)), loc);
}

/// Which elements of a tile of those dims have a random number of at least p; poison where an error
/// was reported.
Datum KernelBuilder::undropped(const BoundArguments& arguments, double p, const std::vector<Dim>& dims, bool weights) {
  enum Argument : size_t { Tile, Probability, Seed, Index, Stream };
  auto stream = evaluator_.expect_int(arguments[Stream], arguments.locs[Stream], "the stream");
  if (!stream) return Datum::poison();
  bool by_call = arguments[Seed].is_none();
  Datum given = by_call ? load_seed_of_call(arguments.call) : arguments[Seed];
  if (by_call) *stream += kernel_.draws_by_call++;
  Value* seed = given.is_poison() ? nullptr : seed_key(given, dims.size(), arguments.locs[Seed]);
  if (!seed) return Datum::poison();
  Value* numbers = nullptr;
  if (arguments[Index].is_none()) {
    numbers = element_numbers(dims, weights, arguments.call);
  } else if (is_integer_ir(arguments[Index], TypeKind::Tile)) {
    Datum whole = ops_.broadcast(arguments[Index], dims, arguments.locs[Index]);
    if (!whole.is_poison()) numbers = ops_.convert(whole.as_ir().value, DType::U64);
  } else {
    report(diag::wrong_kind, arguments.locs[Index], "the index of 'dropout_in_kernel'", describe(arguments[Index]),
           "a tile of integers");
  }
  if (!numbers) return Datum::poison();
  Datum number = ops_.handle(TilePhilox(ops_.builder(), numbers).uniform(seed, *stream), arguments.call);
  return apply_kind(Kind::Ge, {number, Datum::number(p)}, arguments.call);
}

/// x where its random number is at least p, scaled so that the mean stays, else 0. Weights of a softmax that nobody has
/// asked for yet stay so.
Datum KernelBuilder::dropout(const BoundArguments& arguments) {
  enum Argument : size_t { Tile, Probability };
  const auto* weights = arguments[Tile].object_as<OnlineSoftmax>();
  bool deferred = weights && weights->part == SoftmaxPart::Weights && weights->kept.is_none();
  Datum x = deferred ? weights->scores : materialised(arguments[Tile]);
  if (!x.is_ir() || !x.as_ir().value->type()->is(TypeKind::Tile)) {
    if (x.is_poison()) return x;
    report(diag::wrong_kind, arguments.locs[Tile], "the value of 'dropout_in_kernel'", describe(x), "a tile");
    return Datum::poison();
  }
  auto p = evaluator_.expect_number(arguments[Probability], arguments.locs[Probability], "the probability");
  if (!p) return Datum::poison();
  if (!(*p >= 0 && *p < 1)) {
    report(diag::wrong_kind, arguments.locs[Probability], "the probability", fmt::format("{}", *p),
           "a number from 0 up and below 1");
    return Datum::poison();
  }
  if (*p == 0) return arguments[Tile];
  Datum kept = undropped(arguments, *p, x.as_ir().value->type()->dims, deferred);
  double factor = 1 / (1 - *p);
  if (kept.is_poison() || !deferred) return dropped(x, kept, factor, arguments.call);
  return Datum::object(std::make_shared<OnlineSoftmax>(x, weights->scale, weights->part, weights->loc, kept, factor));
}

Datum KernelBuilder::dropped(const Datum& x, const Datum& kept, double factor, Loc loc) {
  Datum scaled = apply_kind(Kind::Mul, {x, Datum::number(factor)}, loc);
  return apply_kind(Kind::Select, {kept, scaled, Datum::number(0.0)}, loc);
}

}  // namespace tessera::frontend

// Writes random numbers as integer arithmetic, which fuses into the kernel that uses them like any
// other elementwise op.
//
// gir.philox_uniform and gir.philox_normal define element i of a tensor (row-major) by word i % 4
// of Philox4x32-10 with counter i / 4 and key seed ^ stream: a function of i alone. So i is written
// as a sum of coordinates times strides (gir.iota, in u64: the index of a symbolic shape), the ten
// rounds follow on u32 with products in u64, and the word is chosen by the index's low bits. A
// round is
//
//   (c0, c1, c2, c3) <- (hi(m1*c2) ^ c1 ^ k0,  lo(m1*c2),  hi(m0*c0) ^ c3 ^ k1,  lo(m0*c0)),   k +=
//   increments
//
// as in ir/core/philox.h. Each element computes its whole block; there is no order in which words
// would have to be handed out, which is why every schedule gives the same bits. The key lives in
// rank 0.
//
// The float ops after it are those by which ops.def defines the numbers, one IR op for each
// rounding, so that the interpreter gives the same bits before and after.
//
// Functions of role "init" keep their ops: the interpreter runs them, and has a faster way.

#include <array>
#include <numbers>

#include "ir/graph/build.h"
#include "ir/numbers/philox.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;
using Kind = ElementwiseKind;

class RandomDecomposer {
 public:
  explicit RandomDecomposer(Op* op) : op_(op), dims_(op->result()->type()->dims), b_(*op->module()) {
    b_.set_before(op);
    b_.set_loc(op->loc());
  }

  void run() {
    Value* numbers = graph::kind_of(op_) == OpKind::PhiloxUniform ? uniform() : normal();
    numbers->set_name(op_->result()->name());
    op_->result()->replace_all_uses(graph::cast_to(b_, numbers, op_->result()->type()));
    op_->erase();
  }

 private:
  using Words = std::array<Value*, 4>;

  Value* op(Kind kind, std::initializer_list<Value*> operands) {
    return graph::elementwise(b_, kind, operands);
  }
  Value* number(uint64_t value, DType dtype) {
    return b_.value(graph::info(OpKind::Full), {}, b_.context().tensor(dims_, dtype),
                    {graph::attr::Full::value(b_.context(), int64_t(value))});
  }
  Value* real(double value) { return graph::full(b_, value, dims_, DType::F32); }
  Value* low(Value* word) { return graph::cast(b_, word, DType::U32); }
  Value* high(Value* word) { return low(op(Kind::Shr, {word, number(32, DType::U64)})); }
  Value* product(Value* word, uint32_t multiplier) {
    Value* wide = graph::cast(b_, word, DType::U64);
    return graph::mul(b_, wide, number(multiplier, DType::U64));
  }

  Value* index();
  std::array<Value*, 2> key();
  Words words();
  Value* bit(uint64_t mask);
  Value* of_pair(Value* first, Value* second);
  Value* unit(Value* word);
  Value* uniform();
  Value* normal();

  Op* op_;
  const std::vector<Dim> dims_;
  Builder b_;
  Value* index_ = nullptr;
};

/// The number of the element in row-major order.
Value* RandomDecomposer::index() {
  DimTable& table = b_.context().dims();
  Dim stride = table.constant(1);
  Value* sum = nullptr;
  for (size_t axis = dims_.size(); axis-- > 0; stride = table.mul(stride, dims_[axis])) {
    if (dims_[axis]->is_constant(1)) continue;
    Value* term = graph::iota(b_, int64_t(axis), dims_, DType::U64);
    if (!stride->is_constant(1)) {
      Value* factor = graph::cast(b_, graph::dim(b_, stride), DType::U64);
      term = graph::mul(b_, term, graph::broadcast_to(b_, factor, dims_));
    }
    sum = sum ? graph::add(b_, sum, term) : term;
  }
  return sum ? sum : number(0, DType::U64);
}

/// Low and high word of seed ^ stream, of rank 0.
std::array<Value*, 2> RandomDecomposer::key() {
  Value* seed = op_->in(graph::in::PhiloxUniform::seed);
  Value* stream = graph::scalar(b_, op_->attr(graph::attr::PhiloxUniform::stream), DType::U64);
  Value* key = op(Kind::Xor, {seed, stream});
  Value* upper = op(Kind::Shr, {key, graph::scalar(b_, 32, DType::U64)});
  return {low(key), low(upper)};
}

/// The four words of the element's block.
RandomDecomposer::Words RandomDecomposer::words() {
  index_ = index();
  Value* block = op(Kind::Shr, {index_, number(2, DType::U64)});
  Value* zero = number(0, DType::U32);
  Words c = {low(block), high(block), zero, zero};
  std::array<Value*, 2> k = key();
  for (int round = 0; round < philox::rounds; ++round) {
    Value* p0 = product(c[0], philox::multiplier_0);
    Value* p1 = product(c[2], philox::multiplier_1);
    Value* k0 = graph::broadcast_to(b_, k[0], dims_);
    Value* k1 = graph::broadcast_to(b_, k[1], dims_);
    c = {op(Kind::Xor, {op(Kind::Xor, {high(p1), c[1]}), k0}), low(p1),
         op(Kind::Xor, {op(Kind::Xor, {high(p0), c[3]}), k1}), low(p0)};
    k[0] = graph::add(b_, k[0], graph::scalar(b_, philox::increment_0, DType::U32));
    k[1] = graph::add(b_, k[1], graph::scalar(b_, philox::increment_1, DType::U32));
  }
  return c;
}

/// True where the element's number has the bit.
Value* RandomDecomposer::bit(uint64_t mask) {
  Value* masked = op(Kind::And, {index_, number(mask, DType::U64)});
  return op(Kind::Ne, {masked, number(0, DType::U64)});
}

/// `first` for the first two elements of a block, `second` for the others.
Value* RandomDecomposer::of_pair(Value* first, Value* second) {
  return graph::select(b_, bit(2), second, first);
}

/// In [0, 1): the upper 24 bits times 2^-24.
Value* RandomDecomposer::unit(Value* word) {
  Value* bits = op(Kind::Shr, {word, number(8, DType::U32)});
  return graph::mul(b_, graph::cast(b_, bits, DType::F32), real(0x1p-24));
}

Value* RandomDecomposer::uniform() {
  Words w = words();
  Value* even = of_pair(w[0], w[2]);
  Value* odd = of_pair(w[1], w[3]);
  return unit(graph::select(b_, bit(1), odd, even));
}

/// Box and Muller, of the pair in which the element is.
Value* RandomDecomposer::normal() {
  Words w = words();
  Value* even_word = of_pair(w[0], w[2]);
  Value* odd_word = of_pair(w[1], w[3]);
  Value* above_zero = graph::add(b_, graph::cast(b_, even_word, DType::U64), number(1, DType::U64));
  Value* u1 = graph::mul(b_, graph::cast(b_, above_zero, DType::F32), real(0x1p-32));
  Value* log = op(Kind::Log, {u1});
  Value* radius = op(Kind::Sqrt, {graph::mul(b_, log, real(-2))});
  Value* angle = graph::mul(b_, unit(odd_word), real(2 * std::numbers::pi));
  Value* wave = graph::select(b_, bit(1), op(Kind::Sin, {angle}), op(Kind::Cos, {angle}));
  return graph::mul(b_, radius, wave);
}

}  // namespace

Status decompose_random(Module& module, PassContext&) {
  std::vector<Op*> draws;
  for (Op* function : *module.body()) {
    bool runs = function->is(graph::info(OpKind::Func)) &&
                function->attr(graph::attr::Func::role) != "init";
    if (!runs) continue;
    walk(function, [&](Op* op) {
      OpKind kind = graph::kind_of(op);
      if (kind == OpKind::PhiloxUniform || kind == OpKind::PhiloxNormal) draws.push_back(op);
    });
  }
  for (Op* op : draws) RandomDecomposer(op).run();
  return success;
}

}  // namespace tessera

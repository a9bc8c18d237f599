// Computes with integers of 4 bits in 8.
//
// No machine has instructions for them, and two would share a byte of memory. Inside a function each
// value of i4 becomes one of i8 that is what the i4 would be: what may leave the range from -8 to 7,
// such as a sum, is brought back modulo 16 by two shifts, and a cast of a float is clamped first, as
// a cast to i4 does. Views, loops and matmuls then have nothing of i4 left.
//
// Arguments, results and operands of kernels keep their dtype and are cast at the border, which no
// machine can do either: weights are stored two to a byte, as u8 (stdlib/quantised.tsr).
//
// Functions of role "init" keep their ops: the interpreter runs them.

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;
using Kind = ElementwiseKind;

bool is_narrow(Value* value) {
  return value->type()->dtype == DType::I4;
}

/// Whether an elementwise op on numbers from -8 to 7 gives such numbers.
bool stays_in_range(Kind kind) {
  switch (kind) {
    case Kind::Select:
    case Kind::Min:
    case Kind::Max:
    case Kind::And:
    case Kind::Or:
    case Kind::Xor:
    case Kind::Not:
    case Kind::Shr:
      return true;
    default:
      return false;
  }
}

class Widening {
 public:
  explicit Widening(Op* function) : function_(function), b_(*function->module()) {}

  void run() {
    std::vector<Op*> computing;  // ops whose results are of i4
    std::vector<std::pair<Op*, unsigned>> border;
    walk(function_, [&](Op* op) {
      bool keeps = op->is(graph::info(OpKind::Return)) || op->is(graph::info(OpKind::KernelCall));
      for (unsigned i = 0; keeps && i < op->operand_count(); ++i) {
        if (is_narrow(op->operand(i))) border.emplace_back(op, i);
      }
      for (unsigned i = 0; i < op->result_count(); ++i) {
        if (!is_narrow(op->result(i))) continue;
        computing.push_back(op);
        break;
      }
    });
    for (Op* op : computing) widen_results(op);
    walk(function_, [&](Op* op) {
      for (unsigned r = 0; r < op->region_count(); ++r) widen_arguments(op->region(r)->front());
    });
    enter_arguments();
    for (Op* op : computing) widen(op);
    for (auto [op, position] : border) {
      b_.set_before(op);
      b_.set_loc(op->loc());
      op->set_operand(position, graph::cast(b_, op->operand(position), DType::I4));
    }
  }

 private:
  Type widened(Type type) const {
    Policies policies;
    policies.saturate = type->policies.saturate;
    return b_.context().tensor(type->dims, DType::I8, policies);
  }

  void widen_results(Op* op) {
    if (op->is(graph::info(OpKind::KernelCall))) return;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (is_narrow(op->result(i))) op->result(i)->set_type(widened(op->result(i)->type()));
    }
  }

  void widen_arguments(Block* block) {
    for (unsigned i = 0; i < block->arg_count(); ++i) {
      if (is_narrow(block->arg(i))) block->arg(i)->set_type(widened(block->arg(i)->type()));
    }
  }

  void enter_arguments() {
    Block* body = function_->region()->front();
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      if (!is_narrow(body->arg(i)) || body->arg(i)->unused()) continue;
      b_.set_before(body->front());
      b_.set_loc(function_->loc());
      take_over(body->arg(i), graph::cast(b_, body->arg(i), DType::I8));
    }
  }

  /// All who read `value` read `instead`, which is made of it by the ops from `first` on.
  void take_over(Value* value, Value* instead, Op* first = nullptr) {
    value->replace_all_uses(instead);
    (first ? first : instead->def())->set_operand(0, value);
  }

  void widen(Op* op) {
    if (op->is(graph::info(OpKind::KernelCall))) {
      for (unsigned i = 0; i < op->result_count(); ++i) {
        b_.set_after(op);
        if (is_narrow(op->result(i))) take_over(op->result(i), graph::cast(b_, op->result(i), DType::I8));
      }
      return;
    }
    b_.set_loc(op->loc());
    Kind kind = op->info().elementwise;
    bool extreme =
        op->is(graph::info(OpKind::Reduce)) && op->attr(common::Along::kind)[0] == 'm';  // max, min
    bool saturates = kind == Kind::Cast && op->result()->type()->policies.saturate;
    bool counts = op->is(graph::info(OpKind::Iota)) || op->is(graph::info(OpKind::Dim));
    if (kind == Kind::Cast && is_float(op->operand(0)->type()->dtype)) {
      b_.set_before(op);
      op->set_operand(0, clamped(op->operand(0)));
    } else if (extreme || saturates) {  // of nothing: the least or greatest number
      b_.set_after(op);
      Value* bounded = clamped(op->result());
      take_over(op->result(), bounded, bounded->def()->operand(0)->def());
    } else if (counts || op->is(graph::info(OpKind::Reduce)) || (kind != Kind::None && !stays_in_range(kind))) {
      wrap(op->result());
    }
  }

  Value* number(int64_t value, Type type) { return graph::full(b_, double(value), type->dims, type->dtype); }

  /// Of a NaN a NaN.
  Value* clamped(Value* value) {
    Value* above = graph::elementwise(b_, Kind::Max, {value, number(-8, value->type())});
    return graph::elementwise(b_, Kind::Min, {above, number(7, value->type())});
  }

  /// Modulo 16.
  void wrap(Value* value) {
    b_.set_after(value->def());
    Value* four = number(4, value->type());
    Value* high = graph::elementwise(b_, Kind::Shl, {value, four});
    take_over(value, graph::elementwise(b_, Kind::Shr, {high, four}), high->def());
  }

  Op* function_;
  Builder b_;
};

}  // namespace

Status widen_int4(Module& module, PassContext&) {
  for (Op* function : *module.body()) {
    bool runs = function->is(graph::info(OpKind::Func)) &&
                function->attr(graph::attr::Func::role) != "init";
    if (runs) Widening(function).run();
  }
  return success;
}

}  // namespace tessera

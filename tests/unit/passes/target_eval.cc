#include "unit/passes/target_eval.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ir/target/ops.h"

namespace tessera::test {

using target::OpKind;

namespace {

size_t lanes_of(Type type) { return type->is(TypeKind::Reg) ? size_t(type->lanes) : 1; }

double flushed(double a) { return std::fabs(a) < 0x1p-126 ? std::copysign(0.0, a) : a; }

}  // namespace

void TargetEval::enter(Block* entry) {
  for (unsigned i = 0; i < buffers_.size(); ++i) values_[entry->arg(i)] = {{}, i, 0};
}

void TargetEval::run_warp(Op* func, const std::vector<std::vector<uint8_t>*>& buffers) {
  std::vector<TargetEval> warp;
  for (int64_t thread = 0; thread < 32; ++thread) warp.emplace_back(buffers, thread);
  Block* block = func->region()->front();
  for (TargetEval& thread : warp) {
    thread.warp_ = &warp;
    thread.enter(block);
  }
  while (block) {
    for (Op* op : *block) {
      for (TargetEval& thread : warp) {
        if (!op->is_terminator()) thread.step(op);
      }
    }
    Block* from = block;
    block = warp[0].leave(from->terminator());
    for (size_t i = 1; i < warp.size(); ++i) {
      if (warp[i].leave(from->terminator()) != block) throw std::runtime_error("threads part");
    }
  }
}

const TargetEval& TargetEval::sender(Op* shuffle) {
  bool butterfly = shuffle->is(target::info(OpKind::ShuffleXor));
  int64_t lane = butterfly ? thread_ ^ shuffle->attr(target::attr::ShuffleXor::mask)
                           : in(shuffle, 1).lanes[0].i;
  return warp_->at(size_t(lane % 32));
}

void TargetEval::run(Op* func) {
  Block* block = func->region()->front();
  enter(block);
  while (block) {
    for (Op* op : *block) {
      ++steps_;
      ++counts_[op->name()];
      if (!op->is_terminator()) step(op);
    }
    block = leave(block->terminator());
  }
}

Block* TargetEval::leave(Op* terminator) {
  unsigned taken = 0;
  if (terminator->is(target::info(OpKind::Return))) return nullptr;
  if (terminator->is(target::info(OpKind::CondBranch))) taken = in(terminator, 0).lanes[0].i ? 0 : 1;
  Block* to = terminator->successors()[taken].block;
  std::vector<Data> arguments;
  for (Value* value : terminator->successor_args(taken)) arguments.push_back(values_.at(value));
  for (unsigned i = 0; i < arguments.size(); ++i) values_[to->arg(i)] = arguments[i];
  return to;
}

uint8_t* TargetEval::place(Op* op, unsigned address, int64_t bytes) {
  const Data& pointer = in(op, address);
  std::vector<uint8_t>& buffer = *buffers_.at(pointer.buffer);
  if (pointer.offset < 0 || pointer.offset + bytes > int64_t(buffer.size())) throw std::runtime_error("out of bounds");
  return buffer.data() + pointer.offset;
}

void TargetEval::step(Op* op) {
  switch (target::kind_of(op)) {
    case OpKind::Offset:
      values_[op->result()] = in(op, 0);
      values_[op->result()].offset += in(op, 1).lanes[0].i;
      return;
    case OpKind::StoreMasked: {
      const std::vector<Element>&lanes = in(op, 0).lanes, &mask = in(op, 2).lanes;
      DType dtype = op->operand(0)->type()->dtype;
      for (size_t i = 0; i < lanes.size(); ++i) {
        int64_t bytes = byte_size(dtype), end = int64_t(i + 1) * bytes;
        if (mask[i].i) store_element(dtype, lanes[i], place(op, 1, end) + end - bytes);
      }
      return;
    }
    case OpKind::Store: {
      const std::vector<Element>& lanes = in(op, 0).lanes;
      DType dtype = op->operand(0)->type()->dtype;
      store_elements(dtype, lanes.data(), place(op, 1, int64_t(lanes.size() * byte_size(dtype))), lanes.size());
      return;
    }
    default: values_[op->result()] = {evaluate(op), 0, 0};
  }
}

std::vector<Element> TargetEval::bitcast(Op* op) {
  Type from = op->operand(0)->type(), to = op->result()->type();
  std::vector<uint8_t> bytes(lanes_of(from) * byte_size(from->dtype));
  store_elements(from->dtype, in(op, 0).lanes.data(), bytes.data(), lanes_of(from));
  std::vector<Element> out(lanes_of(to));
  load_elements(to->dtype, bytes.data(), out.data(), out.size());
  return out;
}

std::vector<Element> TargetEval::evaluate(Op* op) {
  Type type = op->result()->type();
  size_t count = lanes_of(type);
  std::vector<Element> out;
  auto each = [&](auto&& lane) {
    for (size_t i = 0; i < count; ++i) out.push_back(lane(i));
    return out;
  };
  if (ElementwiseKind kind = op->info().elementwise; kind != ElementwiseKind::None) {
    return each([&](size_t i) {
      Element operands[3];
      for (unsigned n = 0; n < op->operand_count(); ++n) {
        const std::vector<Element>& lanes = in(op, n).lanes;
        operands[n] = lanes[lanes.size() == 1 ? 0 : i];
      }
      DType from = op->operand(kind == ElementwiseKind::Select ? 1 : 0)->type()->dtype;
      return evaluate_elementwise(kind, from, type->dtype, {operands, op->operand_count()});
    });
  }
  switch (target::kind_of(op)) {
    case OpKind::Constant: {
      Attr value = op->attr(target::attr::Constant::value);
      double number = value->is(AttrKind::Int) ? double(value->integer) : value->number;
      return each([&](size_t) { return is_float(type->dtype) ? Element{.f = number} : Element{.i = value->integer}; });
    }
    case OpKind::ThreadId: return {Element{.i = thread_}};
    case OpKind::CtaId: return {Element{.i = 0}};
    case OpKind::ShuffleXor:
    case OpKind::ShuffleIndex: return sender(op).values_.at(op->operand(0)).lanes;
    case OpKind::Concat:
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        out.insert(out.end(), in(op, i).lanes.begin(), in(op, i).lanes.end());
      }
      return out;
    case OpKind::Splat: return each([&](size_t) { return in(op, 0).lanes[0]; });
    case OpKind::Extract: return {in(op, 0).lanes[size_t(op->attr(target::attr::Extract::lane))]};
    case OpKind::Shuffle: {
      std::vector<Element> both = in(op, 0).lanes;
      both.insert(both.end(), in(op, 1).lanes.begin(), in(op, 1).lanes.end());
      for (int64_t lane : op->attr(target::attr::Shuffle::lanes))
        out.push_back(both.at(size_t(lane)));
      return out;
    }
    case OpKind::Bitcast: return bitcast(op);
    case OpKind::Load: {
      out.resize(count);
      load_elements(type->dtype, place(op, 0, int64_t(count) * byte_size(type->dtype)), out.data(), count);
      return out;
    }
    case OpKind::FmaClamped:
      return each([&](size_t i) {
        double a = std::fma(float(in(op, 0).lanes[i].f), float(in(op, 1).lanes[i].f), float(in(op, 2).lanes[i].f));
        return Element{.f = std::isnan(a) ? 0 : std::fmin(1, std::fmax(0, float(a)))};
      });
    case OpKind::ApproxExp2:
      return each([&](size_t i) { return Element{.f = flushed(float(std::exp2(flushed(in(op, 0).lanes[i].f))))}; });
    case OpKind::ApproxReciprocal:
      return each([&](size_t i) { return Element{.f = flushed(float(1 / flushed(in(op, 0).lanes[i].f)))}; });
    default: throw std::runtime_error("not evaluated: " + std::string(op->name()));
  }
}

}  // namespace tessera::test

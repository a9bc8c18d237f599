#pragma once
// Runs the host program of a module: its kernels with the tile interpreter, or as a derived class
// runs them. What cannot be run throws.

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/tile/eval.h"

namespace tessera {

class HostRunner {
 public:
  HostRunner(DimValues dims, DiagnosticEngine& diagnostics) : dims_(std::move(dims)), diagnostics_(diagnostics) {}

  std::vector<TensorValue> run(Op* function, const std::vector<TensorValue>& arguments) {
    Block* body = function->region()->front();
    return run_block(body, arguments);
  }

  virtual ~HostRunner() = default;

 protected:
  /// A result that has memory of its own, before a kernel writes it. It holds zeros.
  virtual void begin_result(TensorValue&) {}
  /// `parameters` are the kernel's: inputs, then results.
  virtual void run_kernel(Op* kernel, const std::vector<TensorValue*>& parameters,
                          const DimValues& dims) {
    if (tile::run_kernel(kernel, parameters, dims, diagnostics_).failed()) {
      throw std::runtime_error(render_all(diagnostics_, {}));
    }
  }

 private:
  int64_t size(Dim dim) { return *evaluate(dim, dims_); }
  std::vector<int64_t> extents(Type type) { return *evaluate(type->dims, dims_); }
  TensorValue made(Value* value) {
    return *TensorValue::make(value->type()->dtype, extents(value->type()));
  }

  std::vector<TensorValue> run_block(Block* block, const std::vector<TensorValue>& arguments) {
    for (unsigned i = 0; i < block->arg_count(); ++i) values_[block->arg(i)] = *arguments[i].clone();
    for (Op* op : *block) step(op);
    return copies(block->terminator(), 0);
  }

  std::vector<TensorValue> copies(Op* op, unsigned slot) {
    std::vector<TensorValue> values;
    for (Value* value : op->ins(slot)) values.push_back(*values_.at(value).clone());
    return values;
  }

  void define(Op* op, std::vector<TensorValue> results) {
    for (unsigned i = 0; i < op->result_count(); ++i) values_[op->result(i)] = std::move(results[i]);
  }

  bool holds_true(const TensorValue& condition) { return condition.get(0).i != 0; }

  void loop(Op* op) {
    std::vector<TensorValue> carried = copies(op, host::in::For::inits);
    std::string counter(op->attr(host::attr::For::counter));
    for (int64_t i = 0, count = size(op->attr(host::attr::For::count)); i < count; ++i) {
      dims_[counter] = i;
      carried = run_block(op->region()->front(), carried);
    }
    define(op, std::move(carried));
  }

  void repeat(Op* op) {
    std::vector<TensorValue> carried = copies(op, host::in::While::inits);
    while (holds_true(run_block(op->region(host::at::While::condition)->front(), carried)[0])) {
      carried = run_block(op->region(host::at::While::body)->front(), carried);
    }
    define(op, std::move(carried));
  }

  void branch(Op* op) {
    Value* condition = op->in(host::in::If::condition);
    bool truth = condition ? holds_true(values_.at(condition)) : hold(op->attr(host::attr::If::when), dims_);
    Block* taken = op->region(truth ? host::at::If::then : host::at::If::otherwise)->front();
    define(op, run_block(taken, copies(op, host::in::If::over)));
  }

  void step(Op* op) {
    switch (host::kind_of(op)) {
      case host::OpKind::Launch:
        return launch(op);
      case host::OpKind::Alias: {
        TensorValue copy = *values_.at(op->operand(0)).clone();
        copy.reshape(extents(op->result()->type()));
        values_[op->result()] = std::move(copy);
        return;
      }
      case host::OpKind::Copy:
        values_[op->result()] = *values_.at(op->operand(0)).clone();
        return;
      case host::OpKind::Constant:
        return constant(op);
      case host::OpKind::Fill:
        values_[op->result()] = made(op->result());
        return;
      case host::OpKind::Print:  // what it is about was computed
      case host::OpKind::Return:
      case host::OpKind::Yield:
        return;
      case host::OpKind::Check:
        if (!holds_true(values_.at(op->operand(0))))
          throw std::runtime_error(std::string(op->attr(host::attr::Check::message)));
        return;
      case host::OpKind::For:
        return loop(op);
      case host::OpKind::While:
        return repeat(op);
      case host::OpKind::If:
        return branch(op);
      default:
        throw std::runtime_error("unexpected " + std::string(op->name()));
    }
  }

  static Element element(Attr number, DType dtype) {
    return is_float(dtype) ? Element{.f = number->number} : Element{.i = number->integer};
  }

  void constant(Op* op) {
    TensorValue value = made(op->result());
    const std::vector<Attr>& numbers = op->attr(host::attr::Constant::values);
    for (size_t i = 0; i < numbers.size(); ++i) {
      value.set(int64_t(i), element(numbers[i], value.dtype()));
    }
    values_[op->result()] = std::move(value);
  }

  static bool hold(const std::vector<Attr>& facts, const DimValues& dims) {
    return std::ranges::all_of(read_facts(facts), [&](const DimFact& fact) {
      return holds(*evaluate(fact.left, dims), fact.relation, *evaluate(fact.right, dims));
    });
  }

  /// The first variant whose assumptions hold, else the kernel.
  Op* choice(Op* launch, const DimValues& dims) {
    for (Op* kernel : host::choices(launch)) {
      if (hold(kernel->attr(common::Kernel::assume), dims)) return kernel;
    }
    throw std::runtime_error("no kernel of a launch may run");
  }

  void launch(Op* op) {
    DimValues dims;
    for (const auto& [name, value] : op->attr(host::attr::Launch::dims)->entries)
      dims[name] = size(value->dim);
    Op* kernel = choice(op, dims);
    std::vector<TensorValue*> parameters;
    for (Value* operand : op->ins(host::in::Launch::operands)) parameters.push_back(&values_.at(operand));
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Value* place = host::place_of(op, i);
      values_[op->result(i)] = place ? *values_.at(place).clone() : made(op->result(i));
      if (!place) begin_result(values_[op->result(i)]);
      parameters.push_back(&values_.at(op->result(i)));
    }
    run_kernel(kernel, parameters, dims);
  }

  DimValues dims_;
  DiagnosticEngine& diagnostics_;
  std::map<Value*, TensorValue> values_;
};

}  // namespace tessera

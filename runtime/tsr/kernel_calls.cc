#include "runtime/tsr/kernel_calls.h"

#include <cstdio>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/text/entries.h"
#include "ir/tile/eval.h"
#include "runtime/files/text.h"
#include "runtime/format/print_text.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

namespace {

/// The host.func of that name in the module of that name.
Op* find_program(const std::vector<std::unique_ptr<Module>>& modules, const std::string& name) {
  for (const auto& module : modules) {
    if (module->name() != name || module->level() != Level::Tile) continue;
    Op* program = module->find(name);
    if (program && program->is(host::info(host::OpKind::Func))) return program;
  }
  return nullptr;
}

/// The program takes and gives what the call does.
bool fits(Op* program, Op* call) {
  Block* body = program->region()->front();
  Op* last = body->terminator();
  if (body->arg_count() != call->operand_count()) return false;
  if (last->operand_count() != call->result_count()) return false;
  for (unsigned i = 0; i < call->operand_count(); ++i) {
    if (body->arg(i)->type() != call->operand(i)->type()) return false;
  }
  for (unsigned i = 0; i < call->result_count(); ++i) {
    if (last->operand(i)->type() != call->result(i)->type()) return false;
  }
  return true;
}

/// Runs a host program whose steps are launches, copies, buffers of one value and other views of what is there.
class ProgramRun {
 public:
  ProgramRun(Op* program, const DimValues& dims, const std::function<bool()>& may_go_on,
             DiagnosticEngine& diagnostics)
      : program_(program), dims_(dims), may_go_on_(may_go_on), diagnostics_(diagnostics) {}

  Result<std::vector<TensorValue>> run(std::vector<TensorValue> arguments) {
    Block* body = program_->region()->front();
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      values_.emplace(body->arg(i), std::move(arguments[i]));
    }
    for (Op* op : *body) {
      if (op->is_terminator()) break;
      if (op->is(host::info(host::OpKind::Alias)) || op->is(host::info(host::OpKind::Copy))) {
        if (alias(op).failed()) return failure;
        continue;
      }
      if (op->is(host::info(host::OpKind::Fill))) {
        if (fill(op).failed()) return failure;
        continue;
      }
      if (op->is(host::info(host::OpKind::Print))) {
        if (print(op).failed()) return failure;
        continue;
      }
      if (!op->is(host::info(host::OpKind::Launch))) return refuse(op);
      if (launch(op).failed()) return failure;
    }
    std::vector<TensorValue> results;
    for (unsigned i = 0; i < body->terminator()->operand_count(); ++i) {
      std::optional<TensorValue> result = values_.at(body->terminator()->operand(i)).clone();
      if (!result) return too_large(body->terminator()->operand(i));
      results.push_back(std::move(*result));
    }
    return results;
  }

 private:
  Failure refuse(Op* op) {
    diagnostics_.report(diag::unsupported_kernel_call, op->loc(), symbol_name(program_));
    return failure;
  }
  Failure too_large(Value* value) {
    diagnostics_.report(diag::unsupported_tensor_size, program_->loc(), value->type()->text,
                        graph::EvalOptions().max_tensor_bytes);
    return failure;
  }

  Status alias(Op* op) {
    std::optional<std::vector<int64_t>> extents = evaluate(op->result()->type()->dims, dims_);
    if (!extents) return refuse(op);
    std::optional<TensorValue> same = values_.at(op->operand(0)).clone();
    if (!same) return too_large(op->result());
    same->reshape(std::move(*extents));
    values_.emplace(op->result(), std::move(*same));
    return success;
  }

  Status fill(Op* op) {
    Type type = op->result()->type();
    std::optional<std::vector<int64_t>> extents = evaluate(type->dims, dims_);
    if (!extents) return refuse(op);
    std::optional<TensorValue> made = TensorValue::make(type->dtype, std::move(*extents));
    if (!made) return too_large(op->result());
    Attr value = op->attr(host::attr::Fill::value);
    Element element = is_float(type->dtype) ? Element{.f = value->number} : Element{.i = value->integer};
    for (int64_t i = 0; i < made->count(); ++i) made->set(i, element);
    values_.emplace(op->result(), std::move(*made));
    return success;
  }

  Result<std::vector<int64_t>> sizes(Op* op, Attr list) {
    std::vector<int64_t> values;
    for (Attr dim : list->elements) {
      std::optional<int64_t> value = evaluate(dim->dim, dims_);
      if (!value) return refuse(op);
      values.push_back(*value);
    }
    return values;
  }

  static std::string_view bytes_of(const TensorValue& value) {
    return {reinterpret_cast<const char*>(value.data()), value.byte_count()};
  }

  Status print(Op* op) {
    Result<std::vector<int64_t>> grid = sizes(op, op->node(host::attr::Print::grid));
    if (!grid) return failure;
    std::vector<format::PrintedItem> items;
    for (Attr item : op->attr(host::attr::Print::items)) {
      using entry::PrintItem;
      unsigned i = unsigned(items.size());
      Value *values = op->in(host::in::Print::values, i), *shown = op->in(host::in::Print::shown, i);
      Result<std::vector<int64_t>> extents = sizes(op, entry::node(item, PrintItem::extents)),
                                   trip_counts = sizes(op, entry::node(item, PrintItem::trip_counts));
      std::optional<format::Dtype> dtype = format::find_dtype(to_string(values->type()->dtype));
      if (!extents || !trip_counts || !dtype || !format::is_printed_dtype(*dtype)) return refuse(op);
      items.push_back({entry::text_of(item, PrintItem::label), entry::text_of(item, PrintItem::source), *dtype,
                       values_.at(shown).dims(), std::move(*extents), std::move(*trip_counts),
                       uint32_t(entry::read(item, PrintItem::loop)),
                       values == shown ? std::string_view() : bytes_of(values_.at(values)),
                       bytes_of(values_.at(shown))});
    }
    std::optional<std::string> text = format::printed_text(*grid, items);
    if (!text) return refuse(op);
    std::fwrite(text->data(), 1, text->size(), stderr);
    return success;
  }

  Status launch(Op* op) {
    DimValues dims;
    for (const auto& [name, value] : op->attr(host::attr::Launch::dims)->entries) {
      std::optional<int64_t> extent = evaluate(value->dim, dims_);
      if (!extent) return refuse(op);
      dims[name] = *extent;
    }
    std::vector<TensorValue*> parameters;
    for (Value* operand : op->ins(host::in::Launch::operands)) parameters.push_back(&values_.at(operand));
    std::vector<int64_t> places = op->attr(host::attr::Launch::places);
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Type type = op->result(i)->type();
      std::optional<std::vector<int64_t>> extents = evaluate(type->dims, dims_);
      if (!extents) return refuse(op);
      int64_t place = places.empty() ? -1 : places[i];
      Value* over = place < 0 ? nullptr : op->in(host::in::Launch::over, unsigned(place));
      std::optional<TensorValue> made = over ? values_.at(over).clone()
                                             : TensorValue::make(type->dtype, std::move(*extents));
      if (!made) return too_large(op->result(i));
      parameters.push_back(&values_.emplace(op->result(i), std::move(*made)).first->second);
    }
    Op* kernel = program_->module()->find(op->attr(host::attr::Launch::kernel));
    return tile::run_kernel(kernel, parameters, dims, diagnostics_, {.may_go_on = may_go_on_});
  }

  Op* program_;
  const DimValues& dims_;
  const std::function<bool()>& may_go_on_;
  DiagnosticEngine& diagnostics_;
  std::map<Value*, TensorValue> values_;
};

}  // namespace

KernelCalls::KernelCalls(Op* function, const std::vector<std::unique_ptr<Module>>& modules) {
  size_t n = 0;
  walk(function, [&](Op* op) {
    if (!op->is(graph::info(graph::OpKind::KernelCall))) return;
    calls_[op] = find_program(modules, format::cat(symbol_name(function), ".", n++));
  });
}

Result<std::vector<TensorValue>> KernelCalls::run(Op* call,
                                                  const std::vector<const TensorValue*>& operands,
                                                  const DimValues& dims, graph::EvalMode mode,
                                                  const std::function<bool()>& may_go_on,
                                                  DiagnosticEngine& diagnostics) const {
  Op* program = calls_.at(call);
  if (!program || !fits(program, call)) {
    diagnostics.report(diag::unsupported_kernel_call, call->loc(),
                       call->attr(graph::attr::KernelCall::kernel));
    return failure;
  }
  auto converted = [&](const TensorValue& value, Type type,
                       DType dtype) -> Result<TensorValue> {
    std::optional<TensorValue> cast = graph::cast_tensor(value, dtype);
    if (cast) return std::move(*cast);
    diagnostics.report(diag::unsupported_tensor_size, call->loc(), type->text,
                       graph::EvalOptions().max_tensor_bytes);
    return failure;
  };
  std::vector<TensorValue> arguments, results;
  for (unsigned i = 0; i < call->operand_count(); ++i) {
    Type type = call->operand(i)->type();
    Result<TensorValue> argument = converted(*operands[i], type, type->dtype);
    if (!argument) return failure;
    arguments.push_back(std::move(*argument));
  }
  auto computed = ProgramRun(program, dims, may_go_on, diagnostics).run(std::move(arguments));
  if (!computed) return failure;
  for (unsigned i = 0; i < call->result_count(); ++i) {
    Type type = call->result(i)->type();
    Result<TensorValue> result =
        converted((*computed)[i], type, graph::held_dtype(mode, type->dtype));
    if (!result) return failure;
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace tessera::tool

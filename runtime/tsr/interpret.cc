#include "runtime/tsr/interpret.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

const OwnedTensor* find(const std::vector<NamedTensor>& tensors, std::string_view name) {
  auto it = std::find_if(tensors.begin(), tensors.end(),
                         [&](const NamedTensor& tensor) { return tensor.name == name; });
  return it == tensors.end() ? nullptr : it->tensor;
}

/// The function's arguments in order.
int collect(Op* function, const std::vector<NamedTensor>& given, std::vector<TensorValue>& out) {
  Block* body = function->region()->front();
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    std::string name(described(function, i, "name"));
    const OwnedTensor* tensor = find(given, name);
    TensorValue value;
    if (!tensor) {  // only a seed may be missing here
      value = std::move(*TensorValue::make(DType::U64, {}));
    } else if (!to_value({name, tensor->dtype, tensor->shape, tensor->content()}, value)) {
      return fail(diag::call_refused, cat("the interpreter cannot hold ", in_quotes(name), ", ",
                                          format::dtype_name(tensor->dtype), format::shape_text(tensor->shape)));
    }
    out.push_back(std::move(value));
  }
  return exit_ok;
}

/// Rounds a result to the output's dtype, into the output's memory.
int deliver(const TensorValue& value, const NamedTensor& to) {
  DType wanted = *parse_dtype(format::dtype_name(to.tensor->dtype));
  std::optional<TensorValue> rounded = graph::cast_tensor(value, wanted);
  if (!rounded) return fail(diag::memory_ran_out, "out of memory");
  if (rounded->byte_count() != to.tensor->bytes || rounded->dims() != to.tensor->shape) {
    return fail(diag::internal_error,
                cat("the interpreter gave ", in_quotes(to.name), " the shape ", format::shape_text(rounded->dims()),
                    ", and the plan ", format::shape_text(to.tensor->shape)));
  }
  if (to.tensor->bytes) std::memcpy(to.tensor->tensor.data, rounded->data(), to.tensor->bytes);
  return exit_ok;
}

/// Ends an evaluation that takes more than it was given.
class Limits {
 public:
  explicit Limits(const InterpretRequest& request) : request_(request) {}

  bool may_go_on(uint64_t bytes) {
    const DeviceOptions& limits = request_.limits;
    if (limits.max_memory && bytes > limits.max_memory) {
      tag_ = diag::memory_ran_out;
      why_ = cat(bytes, " bytes are needed; the limit is ", limits.max_memory);
    } else if (limits.max_steps && ++steps_ > limits.max_steps) {
      why_ = cat("it was ended after ", limits.max_steps, " ops, the most that it was given");
    } else if (limits.timeout > 0 && seconds() > limits.timeout) {
      why_ = cat("it was ended after ", int64_t(limits.timeout * 1000), " ms, the most that it was given");
    }
    return why_.empty();
  }
  /// `code`, after saying what limit was passed, if one was.
  int say(int code) const { return why_.empty() ? code : fail(tag_, cat(request_.entry, ": ", why_)); }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  const InterpretRequest& request_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  uint64_t steps_ = 0;
  DiagKind<1> tag_ = diag::call_ended;
  std::string why_;
};

}  // namespace

int interpret_entry(const InterpretRequest& request, const std::vector<NamedTensor>& arguments,
                    const std::vector<NamedTensor>& results) {
  GraphIr graph;
  if (int code = graph.open(request.bundle)) return code;
  Op* function = graph.entry(request.entry);
  if (!function) {
    return fail(cat("the graph in ", request.bundle, " has no entry ", in_quotes(request.entry)));
  }
  std::vector<TensorValue> values, computed;
  if (int code = collect(function, arguments, values)) return code;
  size_t ops = 0;
  for (Op* op : *function->region()->front()) ops += !op->is_terminator();
  Progress progress("interpret", ops);
  graph::EvalOptions options;
  options.mode = request.mode == "f64" ? graph::EvalMode::F64 : graph::EvalMode::Exact;
  options.progress = [&](size_t, size_t) { progress.advance(); };
  Limits limits(request);
  options.may_go_on = [&](uint64_t bytes) { return limits.may_go_on(bytes); };
  if (int code = graph.evaluate(function, std::move(values), options, computed)) return limits.say(code);
  for (size_t i = 0; i < computed.size(); ++i) {
    if (int code = deliver(computed[i], results[i])) return code;
  }
  return exit_ok;
}

}  // namespace tessera::tool

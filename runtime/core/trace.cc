#include "runtime/core/trace.h"

#include <cstdio>
#include <string>

#include "runtime/core/bind.h"
#include "runtime/handles/callbacks.h"
#include "runtime/core/function.h"
#include "runtime/core/interpret.h"

namespace tessera::runtime {

namespace {

using format::BufferKind;

/// A step as each of its tensors tells it.
tsr_trace_tensor_t at_step(const Frame& frame, size_t at) {
  const format::StepSources& sources = frame.function.sources;
  tsr_trace_tensor_t tensor{};
  tensor.size = sizeof tensor;
  tensor.entry = frame.plan.entry.c_str();
  tensor.step = at;
  tensor.source = at < sources.size() ? sources[at].c_str() : "";
  tensor.kernel = tensor.kernel_source = "";
  return tensor;
}

void tell(const Trace& trace, const Frame& frame, tsr_trace_tensor_t tensor, tsr_trace_kind_t kind,
          uint32_t index) {
  const format::PlanBuffer& buffer = frame.plan.buffers[index];
  const std::vector<int64_t>& shape = frame.placement.shapes[index];
  std::string declared = declared_shape(frame.plan, buffer);
  // What stands for a tensor that a kernel has no use for is nothing that flows.
  bool is_nothing = buffer.kind == BufferKind::Temp && declared == "[0]";
  if (is_nothing) return;
  tensor.kind = kind;
  tensor.name = buffer.name.c_str();
  std::string dtype(format::dtype_name(buffer.dtype));
  tensor.dtype = dtype.c_str();
  tensor.declared = declared.c_str();
  tensor.ndim = int32_t(shape.size());
  tensor.shape = shape.data();
  InCallback called;
  trace.function(trace.user, &tensor);
}

/// Arguments of one kind, in the order of the signature.
void tell_all(const Trace& trace, const Frame& frame, BufferKind of, tsr_trace_kind_t kind) {
  tsr_trace_tensor_t tensor = at_step(frame, frame.plan.steps.size());
  for (uint32_t i = 0; i < frame.plan.buffers.size(); ++i) {
    if (frame.plan.buffers[i].kind == of) tell(trace, frame, tensor, kind, i);
  }
}

}  // namespace

void Log::tell(tsr_log_kind_t kind, const std::string& text) const {
  if (!function) return;
  tsr_log_message_t message{sizeof message, text.c_str(), kind, 0};
  InCallback called;
  function(user, &message);
}

void Log::print(const std::string& text) const {
  if (function) return tell(TSR_LOG_OUTPUT, text);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void trace_arguments(const Trace& trace, const Frame& frame) {
  tell_all(trace, frame, BufferKind::Input, TSR_TRACE_INPUT);
  tell_all(trace, frame, BufferKind::Param, TSR_TRACE_PARAMETER);
}

void trace_launch(const Trace& trace, const Frame& frame, size_t at, const format::LaunchStep& step,
                  int64_t programs) {
  const format::KernelMeta& meta = *frame.kernels[step.kernel].meta;
  tsr_trace_tensor_t tensor = at_step(frame, at);
  tensor.kernel = meta.name.c_str();
  tensor.kernel_source = meta.source.c_str();
  tensor.programs = programs;
  for (tsr_trace_kind_t kind : {TSR_TRACE_OPERAND, TSR_TRACE_RESULT}) {
    for (size_t i = 0; i < step.buffers.size() && i < meta.buffers.size(); ++i) {
      bool is_result = kind == TSR_TRACE_RESULT;
      if (meta.buffers[i].result == is_result) tell(trace, frame, tensor, kind, step.buffers[i]);
    }
  }
}

void trace_move(const Trace& trace, const Frame& frame, size_t at, const char* what, uint32_t from,
                uint32_t to) {
  tsr_trace_tensor_t tensor = at_step(frame, at);
  tensor.kernel = what;
  if (from != format::no_index) tell(trace, frame, tensor, TSR_TRACE_OPERAND, from);
  tell(trace, frame, tensor, TSR_TRACE_RESULT, to);
}

void trace_outputs(const Trace& trace, const Frame& frame) {
  tell_all(trace, frame, BufferKind::Output, TSR_TRACE_OUTPUT);
}

}  // namespace tessera::runtime

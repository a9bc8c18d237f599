#include "runtime/tsr/trace_shapes.h"

#include <span>
#include <string_view>

#include "runtime/files/dtype.h"
#include "runtime/files/text.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool {

namespace {

using format::cat;

const char* title_of(tsr_trace_kind_t kind) {
  switch (kind) {
    case TSR_TRACE_INPUT:
      return "input";
    case TSR_TRACE_PARAMETER:
      return "parameter";
    case TSR_TRACE_OPERAND:
      return "reads";
    case TSR_TRACE_RESULT:
      return "writes";
    case TSR_TRACE_OUTPUT:
      return "output";
  }
  return "";
}

bool is_of_step(tsr_trace_kind_t kind) {
  return kind == TSR_TRACE_OPERAND || kind == TSR_TRACE_RESULT;
}

/// "mlp.tsr:6:14: step 0, kernel 'mlp.0' of stdlib/rmsnorm.tsr:3:5, 8 programs".
std::string step_text(const tsr_trace_tensor_t& tensor) {
  std::string_view source = tensor.source, kernel_source = tensor.kernel_source;
  std::string text = cat(source, source.empty() ? "" : ": ", tensor.entry, ", step ", tensor.step, ", ");
  bool is_launch = tensor.kernel != std::string_view("copy") && tensor.kernel != std::string_view("fill");
  if (!is_launch) return cat(text, "a ", tensor.kernel);
  text += cat("kernel ", format::in_quotes(tensor.kernel));
  bool elsewhere = !kernel_source.empty() && kernel_source != source;
  if (elsewhere) text += cat(" of ", kernel_source);
  if (tensor.programs == 0) return text + ", which has nothing to do";
  return cat(text, ", ", tensor.programs, tensor.programs == 1 ? " program" : " programs");
}

}  // namespace

/// Says what the tensors are of, where that is another thing than before.
void ShapePrinter::begin(const tsr_trace_tensor_t& tensor) {
  bool of_step = is_of_step(tensor.kind);
  bool is_output = tensor.kind == TSR_TRACE_OUTPUT;
  std::string section = of_step ? step_text(tensor)
                                : cat(tensor.entry, is_output ? " gives" : " is called");
  // The iterations of a loop run one step after the other: a step that reads anew begins anew.
  bool again = section == section_ && wrote_ && tensor.kind == TSR_TRACE_OPERAND;
  wrote_ = tensor.kind == TSR_TRACE_RESULT;
  if (section == section_ && !again) return;
  section_ = section;
  put(section + "\n");
}

void ShapePrinter::print(void* user, const tsr_trace_tensor_t* tensor) {
  static_cast<ShapePrinter*>(user)->begin(*tensor);
  std::span<const int64_t> extents(tensor->shape, size_t(tensor->ndim));
  std::string shape = format::shape_text(extents);
  std::string declared = shape == tensor->declared ? "" : cat(" = ", tensor->declared);
  std::string title = title_of(tensor->kind);
  title.resize(9, ' ');
  put(cat("  ", title, "  ", tensor->name, ": ", tensor->dtype, shape, declared, "\n"));
}

}  // namespace tessera::tool

#include "frontend/kernel/kernel_check.h"

#include <set>

#include "ir/graph/ops.h"

namespace tessera::frontend {

namespace {

/// What the lowering asks for where the graph calls a kernel.
schedule::KernelRequest request_of(Op* call, std::string_view machine) {
  schedule::KernelRequest request;
  request.kernel = call->attr("kernel")->string;
  request.symbol = request.kernel;
  request.machine = std::string(machine);
  request.loc = call->loc();
  Attr numbers = call->attr("parameters");
  for (unsigned i = 0; i < call->operand_count(); ++i) {
    size_t at = numbers ? size_t(numbers->elements[i]->integer) : i;
    request.operands.resize(at + 1, nullptr);  // those left out are null
    request.operands[at] = call->operand(i)->type();
  }
  if (Attr arguments = call->attr("arguments")) {
    for (const auto& [name, value] : arguments->entries) request.arguments[name] = value;
  }
  return request;
}

/// Equal for calls that ask for the same kernel.
std::string key_of(const schedule::KernelRequest& request) {
  std::string key = request.kernel;
  for (Type type : request.operands) key += fmt::format(";{}", type ? type->text : "-");
  for (const auto& [name, value] : request.arguments) {
    key += fmt::format(";{}={}", name, static_cast<const void*>(value));
  }
  return key;
}

}  // namespace

void build_kernels(Session& session, SourceKernels& kernels, const SourceModule& file,
                   Module& graph, std::string_view machine) {
  Module scratch(session.context(), session.sources(), graph.name(), Level::Schedule);
  for (const auto& request : kernels.own_kernels(file, machine)) {
    (void)kernels.instantiate(scratch, request);  // a failure is reported
  }
  std::set<std::string> built;
  for (Op* function : *graph.body()) {
    walk(function, [&](Op* op) {
      if (!op->is(graph::info(graph::OpKind::KernelCall))) return;
      schedule::KernelRequest request = request_of(op, machine);
      if (built.insert(key_of(request)).second) (void)kernels.instantiate(scratch, request);
    });
  }
}

}  // namespace tessera::frontend

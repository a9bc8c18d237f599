#include "frontend/kernel_check.h"

#include "ir/graph/ops.h"

namespace tessera::frontend {

namespace {

/// The kernels that the lowering asks for where the graph calls them.
schedule::KernelRequest request_of(Op* call, std::string_view machine) {
  schedule::KernelRequest request;
  request.kernel = call->attr(graph::attr::KernelCall::kernel);
  request.symbol = request.kernel;
  request.machine = std::string(machine);
  request.loc = call->loc();
  AttrList numbers = call->attr(graph::attr::KernelCall::parameters);
  for (unsigned i = 0; i < call->operand_count(); ++i) {
    size_t at = numbers.empty() ? i : size_t(numbers[i]);
    request.operands.resize(at + 1, nullptr);  // those left out are null
    request.operands[at] = call->operand(i)->type();
  }
  if (Attr arguments = call->attr(graph::attr::KernelCall::arguments)) {
    for (const auto& [name, value] : arguments->entries) request.arguments[name] = value;
  }
  if (Attr sizes = call->attr(graph::attr::KernelCall::sizes)) {
    for (const auto& [name, value] : sizes->entries) request.sizes[name] = value->dim;
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
  for (const auto& [name, size] : request.sizes) key += fmt::format(";{}={}", name, size->text);
  return key;
}

}  // namespace

void KernelCheck::build_own(const SourceModule& file, const ast::Stmt& declaration) {
  if (machine_.empty()) return;
  auto request = kernels_.own_kernel(file, declaration, machine_);
  if (!request) return;
  Module scratch(session_.context(), session_.sources(), "kernels", Level::Schedule);
  (void)kernels_.instantiate(scratch, *request);  // a failure is reported
}

void KernelCheck::build_called(Op* first) {
  if (machine_.empty()) return;
  Module scratch(session_.context(), session_.sources(), "kernels", Level::Schedule);
  for (Op* function = first; function; function = function->next()) {
    walk(function, [&](Op* op) {
      if (!op->is(graph::info(graph::OpKind::KernelCall))) return;
      schedule::KernelRequest request = request_of(op, machine_);
      if (built_.insert(key_of(request)).second) (void)kernels_.instantiate(scratch, request);
    });
  }
}

}  // namespace tessera::frontend

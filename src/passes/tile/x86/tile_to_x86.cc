// Kernels of fragments become functions of vector registers in a control flow graph, with the calling convention of
// a CPU kernel: a function runs the programs first … last-1 of the grid one after the other.
//
// Every tile value is a row-by-row list of registers (x86/fragment.h) from here on; nothing about the machine is
// decided here but the number of lanes. Transcendentals and casts stay as they are: expand_math and
// legalize_casts write them for the machine.

#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/analysis/kernels.h"
#include "passes/pass.h"
#include "passes/tile/x86/kernel_lowering.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

Attr free_dims_attr(Op* kernel) {
  Context& context = kernel->module()->context();
  std::vector<Attr> names;
  for (const std::string& name : free_dims(kernel)) names.push_back(context.string(name));
  return context.array(std::move(names));
}

Op* declare(Op* kernel) {
  Module& module = *kernel->module();
  Context& context = module.context();
  std::vector<Attr> parameters;
  Block* block = kernel->region()->front();
  for (unsigned i = 0; i < block->arg_count(); ++i) parameters.push_back(context.type(block->arg(i)->type()));
  Attr scratch = kernel->node(tile::attr::Kernel::scratch);
  OpState state;
  state.info = target::info(target::OpKind::Func);
  state.loc = kernel->loc();
  state.attributes = {target::attr::Func::assume(kernel->node(common::Kernel::assume)),
                      target::attr::Func::checks(kernel->node(common::Kernel::checks)),
                      target::attr::Func::dims(free_dims_attr(kernel)),
                      target::attr::Func::epilogue(kernel->node(common::Kernel::epilogue)),
                      target::attr::Func::grid(kernel->node(common::Kernel::grid)),
                      target::attr::Func::kernel(kernel->node(common::Kernel::kernel)),
                      target::attr::Func::names(parameter_names(kernel)),
                      target::attr::Func::outputs(kernel->node(common::Kernel::outputs)),
                      target::attr::Func::params(context.array(std::move(parameters))),
                      target::attr::Func::schedule(kernel->node(common::Kernel::schedule)),
                      target::attr::Func::scratch(scratch ? scratch : context.integer(0)),
                      common::Function::symbol(kernel->node(common::Function::symbol)),
                      target::attr::Func::work(kernel->node(common::Kernel::work))};
  Op* func = module.create(state);
  func->move_before(kernel);
  Block* entry = func->region()->add_block();
  Type ptr = context.ptr();
  Type index = context.scalar(DType::I64);
  std::pair<Type, std::string_view> arguments[] = {
      {ptr, "buffers"}, {ptr, "dims"}, {index, "first"}, {index, "last"}, {ptr, "scratch"}};
  for (auto [type, name] : arguments) entry->add_arg(type, name);
  return func;
}

/// Machines multiply pairs in registers of some forms only.
bool check_dots(Op* kernel, PassContext& context) {
  bool fine = true;
  walk(kernel, [&](Op* op) {
    if (!op->is(tile::info(tile::OpKind::DotPairs))) return;
    std::string problem = pair_dot_problem(op, *context.machine);
    if (problem.empty()) return;
    context.diagnostics.report(diag::unsupported_operation, op->loc(), std::string(op->name()),
                               op->result()->type()->text, context.machine->name)
        .note(op->loc(), problem);
    fine = false;
  });
  return fine;
}

}  // namespace

Status tile_to_x86(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "tile_to_x86 needs a machine");
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(tile::OpKind::Kernel))) continue;
    if (!check_dots(kernel, context)) return failure;
    Op* func = declare(kernel);
    KernelLowering(kernel, func, *context.machine).run();
    kernel->erase();
  }
  module.set_level(Level::Target);
  return success;
}

}  // namespace tessera

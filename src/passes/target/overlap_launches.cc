// Starting a kernel takes microseconds: it is launched, and its blocks are placed. On a GPU that can, this is done
// while the launch ahead of it ends. Each kernel lets the next one start, and waits in its first block, before any
// access to memory, for the launch ahead of it, which has waited for those before. So what a kernel reads is written,
// and what it overwrites has been read.
//
//   nv.launch_dependents
//   ..                        sizes, numbers of threads
//   nv.wait_prerequisites
//   ..                        loads
//
// The next one starts when all blocks run that let it. Blocks that wait leave less memory to those that run, so a
// kernel with much shared memory lets it start where it returns.
//
// The runtime asks for the early start where a kernel has the second op (programmatic dependent launch in NVIDIA's CUDA
// C++ Programming Guide, griddepcontrol in its PTX ISA).

#include "ir/core/builder.h"
#include "ir/target/ops.h"
#include "passes/pass.h"

namespace tessera {

using target::OpKind;

namespace {

/// Whether an op may touch memory that other launches see. Descriptors are parameters.
bool touches_memory(Op* op) {
  if (!(op->info().effects & (Reads | Writes)) || op->is(target::info(OpKind::PrefetchDescriptor))) return false;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Type type = op->operand(i)->type();
    if (type->is(TypeKind::Ptr) && type->space != MemorySpace::Shared) return true;
  }
  return false;
}

void put(Module& module, Op* before, OpKind kind) {
  Builder builder(module);
  builder.set_before(before);
  builder.set_loc(before->loc());
  builder.op(target::info(kind), {}, {});
}

}  // namespace

Status overlap_launches(Module& module, PassContext& context) {
  if (!context.machine->gpu.has_dependent_launches) return success;
  for (Op* func : *module.body()) {
    if (!func->is(target::info(OpKind::Func)) || func->region()->empty()) continue;
    Block* entry = func->region()->front();
    Op* first = entry->front();
    Op* access = first;
    while (!access->is_terminator() && !touches_memory(access)) access = access->next();
    bool is_large = func->attr(target::attr::Func::shared).value_or(0) > context.machine->gpu.shared / 4;
    if (!is_large) put(module, first, OpKind::LaunchDependents);
    put(module, access, OpKind::WaitPrerequisites);
    walk(func, [&](Op* op) {
      if (is_large && op->is(target::info(OpKind::Return))) put(module, op, OpKind::LaunchDependents);
    });
  }
  return success;
}

}  // namespace tessera

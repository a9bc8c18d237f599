// Numbers the accesses of kernels, so that the lowering to a machine checks each before it happens
// and can say which one it was.
//
// It runs last at Tile level, so it checks the accesses that the machine will do, with the offsets
// and limits that all passes before have made. The list of accesses goes with the kernel to the
// bundle, where the runtime finds the places in the source.

#include "ir/core/common_attributes.h"
#include "ir/core/place.h"
#include "ir/text/access_site.h"
#include "ir/tile/ops.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// The memory of global or scratch memory that an op accesses, and its name in messages; null for
/// other ops, and for shared memory, which has no offsets.
Value* accessed(Op* op, std::string_view& name) {
  Value* memory = nullptr;
  switch (kind_of(op)) {
    case OpKind::Load:
      name = "load";
      memory = op->in(in::Load::memory);
      break;
    case OpKind::Store:
      name = "store";
      memory = op->in(in::Store::memory);
      break;
    case OpKind::Gather:
      name = "gather";
      memory = op->in(in::Gather::table);
      break;
    case OpKind::CopyAsync:
      name = "copy";
      memory = op->in(in::CopyAsync::from);
      break;
    case OpKind::StoreAsync:
      name = "store";
      memory = op->in(in::StoreAsync::to);
      break;
    default:
      return nullptr;
  }
  bool shared = memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
  return shared ? nullptr : memory;
}

/// The number of the parameter, or -1 for scratch memory.
int64_t parameter_of(Value* memory) {
  while (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
  return memory->def() ? -1 : int64_t(memory->index());
}

void number_accesses(Op* kernel) {
  Context& context = kernel->module()->context();
  std::vector<Attr> sites;
  walk(kernel, [&](Op* op) {
    std::string_view name;
    Value* memory = accessed(op, name);
    if (!memory) return;
    op->set(common::Access::site, int64_t(sites.size()));
    sites.push_back(site_attr(context, {std::string(name), parameter_of(memory), place_of(op)}));
  });
  kernel->set_node(attr::Kernel::checks, sites.empty() ? nullptr : context.array(std::move(sites)));
}

}  // namespace

Status check_accesses(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (kernel->is(tile::info(OpKind::Kernel))) number_accesses(kernel);
  }
  return success;
}

}  // namespace tessera

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

using tile::OpKind;
namespace attr = tile::attr;

/// The global or scratch memory that an op with a site accesses; null for other ops, for shared memory, which has no
/// offsets, and for a gather that says what rows outside the table read as.
Value* accessed(Op* op) {
  if (!op->info().find_attribute(common::Access::site.name)) return nullptr;
  if (op->is(tile::info(OpKind::Gather)) && op->has(attr::Gather::fill)) return nullptr;
  for (ValueClass cls : {ValueClass::ReadMemory, ValueClass::WrittenMemory}) {
    for (Value* memory : op->ins(cls)) {
      bool is_shared = memory->type()->is(TypeKind::View) && memory->type()->space == MemorySpace::Shared;
      if (!is_shared) return memory;
    }
  }
  return nullptr;
}

/// "copy" for tile.copy_async.
std::string name_of(Op* access) {
  std::string_view name = access->name().substr(access->name().find('.') + 1);
  return std::string(name.substr(0, name.find('_')));
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
    Value* memory = accessed(op);
    if (!memory) return;
    op->set(common::Access::site, int64_t(sites.size()));
    sites.push_back(site_attr(context, {name_of(op), parameter_of(memory), place_of(op)}));
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

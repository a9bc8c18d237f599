// Replaces shared memory that a kernel asks for by scratch memory, on a CPU.
//
// On a CPU one thread runs a program. Its shared memory becomes scratch memory, copies happen at
// once, and waits and barriers are removed. A slot of a memory becomes an offset on its first axis.

#include "ir/tile/build.h"
#include "passes/pass.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace in = tile::in;

class ScratchUse {
 public:
  ScratchUse(Op* kernel, PassContext& context) : kernel_(kernel), context_(context), builder_(*kernel->module()) {}

  Status run() {
    std::vector<Op*> ops;
    walk(kernel_, [&](Op* op) { ops.push_back(op); });
    for (Op* op : ops) {
      builder_.set_before(op);
      builder_.set_loc(op->loc());
      replace(op);
      if (failed_) return failure;
    }
    for (Op* op : slots_) op->erase();
    return success;
  }

 private:
  struct Place {
    Value* memory;
    std::vector<Value*> offsets;  ///< on the axes before those of the tile
  };

  void replace(Op* op) {
    switch (tile::kind_of(op)) {
      case OpKind::AllocShared: {
        Type type = op->result()->type();
        Type own = builder_.context().contiguous_view(type->dims, type->dtype, MemorySpace::Scratch);
        Value* memory = builder_.value(tile::info(OpKind::Alloc), {}, own);
        memory->set_name(op->result()->name());
        op->result()->replace_all_uses(memory);
        return op->erase();
      }
      case OpKind::Slot:
        slots_.insert(slots_.begin(), op);
        return;
      case OpKind::Load:
        return access(op, in::Load::memory, in::Load::offsets);
      case OpKind::Store:
        return access(op, in::Store::memory, in::Store::offsets);
      case OpKind::CopyAsync:
        return copy(op);
      case OpKind::CopyCommit:
      case OpKind::CopyWait:
      case OpKind::Barrier:
        return op->erase();
      default:
        if (op->info().has(Threaded) || reads_slot(op)) refuse(op);
    }
  }

  static bool reads_slot(Op* op) {
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Op* def = op->operand(i)->def();
      if (def && def->is(tile::info(OpKind::Slot))) return true;
    }
    return false;
  }

  void refuse(Op* op) {
    failed_ = true;
    context_.diagnostics.report(diag::unsupported_operation, op->loc(), op->name(), "threads that share memory",
                                context_.machine ? context_.machine->name : "a CPU");
  }

  Place place_of(Value* memory) {
    Op* def = memory->def();
    if (!def || !def->is(tile::info(OpKind::Slot))) return {memory, {}};
    Place place = place_of(def->in(in::Slot::memory));
    Dim slots = place.memory->type()->dims[place.offsets.size()];
    Value* count = tile::dim(builder_, slots);
    place.offsets.push_back(tile::elementwise(builder_, ElementwiseKind::Mod, {def->in(in::Slot::index), count}));
    return place;
  }

  void access(Op* op, unsigned memory, unsigned offsets) {
    Place place = place_of(op->in(memory));
    if (place.offsets.empty()) return;
    std::vector<Value*> within = op->ins(offsets);
    place.offsets.insert(place.offsets.end(), within.begin(), within.end());
    op->set_operand(op->slot_begin(memory), place.memory);
    op->set_slot(offsets, place.offsets);
  }

  void copy(Op* op) {
    Type to = op->in(in::CopyAsync::to)->type();
    Value* value = tile::load(builder_, op->in(in::CopyAsync::from), op->ins(in::CopyAsync::offsets),
                              op->ins(in::CopyAsync::limits), builder_.context().tile(to->dims, to->dtype));
    Place place = place_of(op->in(in::CopyAsync::to));
    place.offsets.resize(place.memory->type()->rank(), tile::index(builder_, 0));
    tile::store(builder_, value, place.memory, place.offsets, {});
    op->erase();
  }

  Op* kernel_;
  PassContext& context_;
  Builder builder_;
  bool failed_ = false;
  std::vector<Op*> slots_;  ///< the innermost first
};

}  // namespace

Status use_scratch(Module& module, PassContext& context) {
  for (Op* kernel : *module.body()) {
    if (kernel->is(tile::info(OpKind::Kernel)) && !ScratchUse(kernel, context).run()) return failure;
  }
  return success;
}

}  // namespace tessera

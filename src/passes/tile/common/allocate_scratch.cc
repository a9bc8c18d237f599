// Assigns offsets in scratch memory.
//
// An alloc lives from the first to the last op of the kernel's own block that touches it, loops
// counting whole. Two that never live at the same time may share bytes. Sizes are dim expressions,
// so an alloc takes a place that has become free only if its size is known to fit; otherwise it
// gets a new place at the end. Places are multiples of 64 bytes. The number of bytes in all is the
// kernel's `scratch`.

#include <algorithm>
#include <map>
#include <vector>

#include "ir/tile/build.h"
#include "ir/tile/scratch_memory.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using tile::OpKind, tile::scratch_alignment;

class ScratchAllocation {
 public:
  explicit ScratchAllocation(Op* kernel)
      : kernel_(kernel), context_(kernel->module()->context()), dims_(context_.dims()) {}

  void run() {
    find_lives();
    std::stable_sort(lives_.begin(), lives_.end(),
                     [](const Life& a, const Life& b) { return a.first < b.first; });
    for (const Life& life : lives_) place(life);
    kernel_->set(tile::attr::Kernel::scratch, total_);
  }

 private:
  struct Life {
    Op* alloc;
    int first;
    int last;
  };
  struct Place {
    Dim offset;
    Dim size;
    int free_after;  ///< position of the last op that uses it
  };

  void find_lives() {
    std::map<Op*, int> position;
    int count = 0;
    for (Op* op : *kernel_->region()->front()) position[op] = count++;
    for (Op* op : *kernel_->region()->front()) {
      if (!op->is(tile::info(OpKind::Alloc))) continue;
      Life life{op, count, -1};
      extend(op->result(), position, life);
      lives_.push_back(life);
    }
  }

  void extend(Value* value, const std::map<Op*, int>& position, Life& life) {
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* user = use->owner();
      if (user->is(tile::info(OpKind::View))) {
        extend(user->result(), position, life);
        continue;
      }
      while (user->parent() != kernel_) user = user->parent();
      life.first = std::min(life.first, position.at(user));
      life.last = std::max(life.last, position.at(user));
    }
  }

  Dim size_of(Type type) {
    Dim bytes = dims_.constant(byte_size(type->dtype));
    for (Dim dim : type->dims) bytes = dims_.mul(bytes, dim);
    Dim unit = dims_.constant(scratch_alignment);
    return dims_.mul(dims_.ceildiv(bytes, unit), unit);
  }

  void place(const Life& life) {
    Dim size = size_of(life.alloc->result()->type());
    for (Place& place : places_) {
      if (place.free_after >= life.first || !proves_le(dims_, size, place.size)) continue;
      place.free_after = life.last;
      life.alloc->set(tile::attr::Alloc::offset, place.offset);
      return;
    }
    places_.push_back({total_, size, life.last});
    life.alloc->set(tile::attr::Alloc::offset, total_);
    total_ = dims_.add(total_, size);
  }

  Op* kernel_;
  Context& context_;
  DimTable& dims_;
  std::vector<Life> lives_;
  std::vector<Place> places_;
  Dim total_ = dims_.constant(0);
};

}  // namespace

Status allocate_scratch(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (kernel->is(tile::info(OpKind::Kernel))) ScratchAllocation(kernel).run();
  }
  return success;
}

}  // namespace tessera

#include "ir/text/window_shape.h"
#include "ir/tile/ops.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

namespace {

/// The rules that loads and stores share: one offset per axis of the memory, the tile on its last
/// axes.
void check_access(OpVerifier& verifier, Type memory, Type value, size_t offsets, size_t limits) {
  if (value->rank() > memory->rank()) {
    return verifier.error("a tile of rank {} on memory of rank {}", value->rank(), memory->rank());
  }
  if (offsets != memory->rank()) {
    return verifier.error("it has {} offsets for memory of rank {}", offsets, memory->rank());
  }
  if (value->dtype != memory->dtype) {
    return verifier.error("a tile of {} on memory of {}", to_string(value->dtype),
                          to_string(memory->dtype));
  }
  expect_limits(verifier, limits, value->rank());
}

}  // namespace

void verify_view(Op* op, OpVerifier& verifier) {
  Value* memory = op->in(in::View::memory);
  Type result = op->result()->type();
  if (!result->is(TypeKind::View))
    return verifier.error("the result must be a view, not {}", result->text);
  Op* def = memory->def();
  bool is_contiguous = !def || def->is(info(OpKind::Alloc)) ||
                       (def->is(info(OpKind::AllocShared)) && memory->type()->layout.empty());
  if (!is_contiguous) {
    return verifier.error("it is a view of a parameter or an alloc, not of another view, nor of memory with a layout");
  }
  if (Attr windows = op->attr(attr::View::windows)) {
    if (def) return verifier.error("windows are a view of a parameter");
    verify_windows(op->module()->context(), windows, memory->type(), result, verifier);
  }
  if (result->dtype != memory->type()->dtype) {
    verifier.error("a view of {} on memory of {}", to_string(result->dtype),
                   to_string(memory->type()->dtype));
  }
  MemorySpace space =
      memory->type()->is(TypeKind::View) ? memory->type()->space : MemorySpace::Global;
  if (result->space != space) {
    verifier.error("a view in space {} on memory in space {}", to_string(result->space),
                   to_string(space));
  }
}

void verify_alloc(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  if (!type->is(TypeKind::View) || type->space != MemorySpace::Scratch) {
    return verifier.error("the result must be a view in scratch space, not {}", type->text);
  }
  Context& context = op->module()->context();
  if (type != context.contiguous_view(type->dims, type->dtype, MemorySpace::Scratch)) {
    verifier.error("the result must be contiguous, not {}", type->text);
  }
  if (op->parent() && !op->parent()->info().has(Function)) {
    verifier.error("it stands inside of a loop, not in the kernel's own block");
  }
}

void verify_load(Op* op, OpVerifier& verifier) {
  check_access(verifier, op->in(in::Load::memory)->type(), op->result()->type(),
               op->slot_size(in::Load::offsets), op->slot_size(in::Load::limits));
}

void verify_store(Op* op, OpVerifier& verifier) {
  check_access(verifier, op->in(in::Store::memory)->type(), op->in(in::Store::value)->type(),
               op->slot_size(in::Store::offsets), op->slot_size(in::Store::limits));
}

namespace {

/// A coordinate for each axis of the memory and each element of the tile.
void check_coordinates(OpVerifier& verifier, Type memory, Type tile, const std::vector<Value*>& index) {
  if (index.size() != memory->rank()) {
    return verifier.error("it has {} coordinates for memory of rank {}", index.size(), memory->rank());
  }
  if (tile->dtype != memory->dtype) {
    return verifier.error("a tile of {} on memory of {}", to_string(tile->dtype), to_string(memory->dtype));
  }
  for (Value* coordinate : index) {
    Type type = coordinate->type();
    if (!is_integer(type->dtype)) {
      verifier.error("coordinates must be of an integer dtype, not {}", to_string(type->dtype));
    }
    if (type->dims != tile->dims) verifier.error("coordinates {} for elements {}", type->text, tile->text);
  }
}

}  // namespace

void verify_take(Op* op, OpVerifier& verifier) {
  check_coordinates(verifier, op->in(in::Take::memory)->type(), op->result()->type(), op->ins(in::Take::index));
}

void verify_scatter(Op* op, OpVerifier& verifier) {
  Type value = op->in(in::Scatter::value)->type();
  check_coordinates(verifier, op->in(in::Scatter::memory)->type(), value, op->ins(in::Scatter::index));
  expect_limits(verifier, op->slot_size(in::Scatter::limits), value->rank());
  bool adds = op->attr(attr::Scatter::add) && value->dtype == DType::Bool;
  if (adds) verifier.error("it does not add bool");
}

void verify_gather(Op* op, OpVerifier& verifier) {
  Type table = op->in(in::Gather::table)->type(), rows = op->in(in::Gather::rows)->type();
  Type result = op->result()->type();
  if (table->rank() != 2) return verifier.error("the table has rank {}, not 2", table->rank());
  if (!is_integer(rows->dtype)) {
    return verifier.error("row numbers must be of an integer dtype, not {}",
                          to_string(rows->dtype));
  }
  bool column = rows->rank() == 2 && rows->dims[1]->is_constant(1);
  if (rows->rank() != 1 && !column) {
    return verifier.error("rows must be [R] or [R, 1], not {}", to_text(rows->dims));
  }
  expect_limits(verifier, op->slot_size(in::Gather::limits), 2);
  if (result->rank() != 2 || result->dims[0] != rows->dims[0]) {
    return verifier.error("the result has dims {} for {} row numbers", to_text(result->dims),
                          rows->dims[0]->text);
  }
  expect_result(op, verifier, result->dims, table->dtype);
}

}  // namespace tessera::tile

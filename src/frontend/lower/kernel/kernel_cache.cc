// A kernel's parameter of type KVCache. It stands for three operands: keys and values of all
// positions, and the number of those that are there. `cache.K` and `cache.V` are tensors,
// `cache.length` is a number that the program loads. A loop over the positions stops at it, rows
// count from where they stand in the cache, and scores of positions past it are -inf.

#include <limits>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// Gives sizes of the cache that no other operand has a symbol in the kernel.
bool KernelBuilder::bind_cache(const SignatureParameter& parameter, size_t first) {
  if (request_.operands.size() < first + cache_operands) {
    report(diag::kernel_operands, request_.loc.known() ? request_.loc : function_.loc, function_.name,
           counted(first + cache_operands, "tensor"), counted_verb(request_.operands.size()));
    return false;
  }
  for (size_t i = first; i + 1 < first + cache_operands; ++i) {
    const std::vector<Dim>& extents = request_.operands[i]->dims;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      bool known = extents[axis]->constant() || own_dim(extents[axis]);
      if (known) continue;
      std::string name = fmt::format("{}_{}{}", parameter.name, i - first, axis);
      kernel_.bindings.dims[name] = {extents[axis], request_.loc,
                                     fmt::format("dimension {} of '{}'", axis, parameter.name)};
    }
  }
  return true;
}

/// The kernel's dim for one of the caller; null if it has none.
Dim KernelBuilder::own_dim(Dim of_caller) const {
  if (of_caller->constant()) return of_caller;
  for (const auto& [name, bound] : kernel_.bindings.dims) {
    if (bound.dim == of_caller) return dims().symbol(size_name(name));
  }
  return nullptr;
}

/// The parameters that a cache is, in the kernel's dims.
Datum KernelBuilder::add_cache(const SignatureParameter& parameter, size_t& next) {
  Block* body = kernel_.op->region()->front();
  std::vector<Datum> parts;
  for (const char* name : {"K", "V", "length"}) {
    Type operand = request_.operands[next++];
    std::vector<Dim> extents;
    for (Dim extent : operand->dims) extents.push_back(own_dim(extent));
    std::string full = fmt::format("{}.{}", parameter.name, name);
    Value* value = body->add_arg(context().tensor(std::move(extents), operand->dtype),
                                 module_.intern(fmt::format("{}_{}", parameter.name, name)));
    kernel_.parameters[value] = &parameter;
    IrValue tensor = ops_.handle(value, parameter.loc).as_ir();
    tensor.name = context().intern(full);
    parts.push_back(Datum::ir(tensor));
  }
  kernel_.cache = std::make_shared<CacheParameter>(parts[0], parts[1], parts[2]);
  return Datum::object(kernel_.cache);
}

Datum KernelBuilder::cache_member(const CacheParameter& cache, const ast::Identifier& name) {
  if (name.text == "K") return cache.keys;
  if (name.text == "V") return cache.values;
  if (name.text == "length") return cache_length(name.loc);
  report(diag::unknown_member, name.loc, cache.describe(), name.text).help("a KVCache has K, V and length");
  return Datum::poison();
}

/// The number of positions that are there; None without a cache.
Datum KernelBuilder::cache_length(Loc loc) {
  if (!kernel_.cache) return Datum::none();
  const IrValue& tensor = kernel_.cache->length.as_ir();
  ops_.builder().set_loc(loc);
  DType dtype = tensor.value->type()->dtype;
  Value* tile = ops_.builder().value(schedule::info(schedule::OpKind::Load), {{tensor.value}, {}},
                                     context().tile({}, dtype));
  Value* length = ops_.builder().value(schedule::info(schedule::OpKind::Extract), {{tile}}, context().scalar(dtype));
  return ops_.handle(ops_.convert(length, DType::I64), loc);
}

bool KernelBuilder::is_cache_shape(const std::vector<Dim>& shape) const {
  return kernel_.cache && shape == kernel_.cache->keys.as_ir().value->type()->dims;
}

/// The index of the loop over the cache that is being built; null outside of one.
Value* KernelBuilder::index_over_cache() {
  for (Block* block = ops_.builder().block(); block != kernel_.op->region()->front();) {
    Value* first = block->arg_count() ? block->arg(0) : nullptr;
    auto loop = kernel_.loops.find(first);
    if (loop != kernel_.loops.end() && loop->second.of_cache) return first;
    block = block->parent_op()->block();
  }
  return nullptr;
}

/// The scores, -inf where their columns are positions past the length.
Datum KernelBuilder::past_length(const Datum& scores, Loc loc) {
  Value* index = index_over_cache();
  const KernelAxis* axis = index ? kernel_.loop_axes[index] : nullptr;
  const std::vector<Dim>& shape = scores.as_ir().value->type()->dims;
  if (!axis || shape[1] != axis->tile) return scores;
  Value* columns = numbered({index, axis->tile, axis->extent}, loc);
  Datum places = ops_.handle(ops_.reshape(columns, {dims().constant(1), axis->tile}), loc);
  Datum there = apply_kind(ElementwiseKind::Lt, {places, cache_length(loc)}, loc);
  Datum nothing = Datum::number(-std::numeric_limits<double>::infinity());
  return apply_kind(ElementwiseKind::Select, {there, scores, nothing}, loc);
}

}  // namespace tessera::frontend

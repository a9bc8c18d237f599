// How ops contradict the properties of Tile IR.

#include <algorithm>
#include <limits>

#include "ir/core/common_attributes.h"
#include "ir/numbers/machine.h"
#include "ir/tile/ops.h"
#include "ir/tile/scratch_memory.h"
#include "ir/tile/shared_memory.h"
#include "ir/tile/verify.h"
#include "ir/text/properties.h"

namespace tessera::tile {

namespace {

bool is_kernel(Op* op) { return op->is(info(OpKind::Kernel)); }

/// The elements of a tile where its extents are numbers and it has at most `most`.
std::optional<int64_t> count_elements(Type tile, int64_t most) {
  int64_t elements = 1;
  for (Dim extent : tile->dims) {
    std::optional<int64_t> count = extent->constant();
    if (!count || *count > most) return std::nullopt;
    elements *= std::max<int64_t>(*count, 1);
    if (elements > most) return std::nullopt;
  }
  return elements;
}

/// The type of the first tile among the results that `holds` is false of; null where there is none.
template <typename F>
Type find_tile(Op* op, F&& holds) {
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type type = op->result(i)->type();
    if (type->is(TypeKind::Tile) && !holds(type)) return type;
  }
  return nullptr;
}

std::string needs_threads(Op* op) {
  if (op->info().has(Threaded)) return "it is for a program of many threads";
  std::optional<std::string_view> target = is_kernel(op) ? op->module()->attr(common::Module::target) : std::nullopt;
  const Machine* machine = target ? find_machine(*target) : nullptr;
  return machine && machine->is_gpu() ? fmt::format("a program of {} is run by many threads", *target) : std::string();
}

std::string has_limit_to_propagate(Op* op) {
  return op->is(info(OpKind::Within)) ? "no op that combines elements has its limits yet" : std::string();
}

std::string is_left(bool is_one) { return is_one ? "none of these may be left" : std::string(); }

std::string is_composed(Op* op) {
  return is_left(std::ranges::any_of(composed_ops, [&](OpKind kind) { return op->is(info(kind)); }));
}

std::string is_channel(Op* op) { return is_left(op->is(info(OpKind::Channel))); }

std::string is_no_fragment(Op* op) {
  constexpr int64_t most = 16384;  // each of its elements is an operand of some instruction
  Type large = find_tile(op, [&](Type tile) { return count_elements(tile, most).has_value(); });
  return large ? fmt::format("{} has not at most {} elements, as one thread holds in registers", large->text, most)
               : std::string();
}

std::string does_not_fit(Op* op) {
  constexpr int64_t most = int64_t(1) << 20;  // operands of dots go to shared memory later
  if (op->is(info(OpKind::Alloc))) return "threads of a block have no scratch memory";
  Type large = find_tile(op, [&](Type tile) { return count_elements(tile, most).has_value(); });
  return large ? fmt::format("{} has not at most {} elements, as the threads of a block hold", large->text, most)
               : std::string();
}

std::string has_operands_to_place(Op* op) {
  if (is_kernel(op) && !op->has(attr::Kernel::threads)) return "'threads' is missing";
  bool multiplies = op->is(info(OpKind::Dot)) || op->is(info(OpKind::DotPairs)) || op->is(info(OpKind::PairRows));
  return multiplies ? "an MMA takes operands from shared memory" : std::string();
}

std::string has_no_layout(Op* op) {
  if (is_kernel(op) && !op->has(attr::Kernel::threads)) return "'threads' is missing";
  Type bare = find_tile(op, [](Type tile) { return !tile->layout.empty(); });
  return bare ? bare->text + " has no layout" : std::string();
}

Op* kernel_of(Op* op) {
  while (op->parent()) op = op->parent();
  return op;
}

template <typename Bytes>
std::string no_place(const Bytes& bytes, int64_t alignment, int64_t offset, const Bytes& size) {
  return fmt::format("{} bytes, aligned to {}, are not at {} of {}", bytes, alignment, offset, size);
}

/// Whether a place in shared memory, of a kernel that states its size, holds that many bytes.
std::string check_place(Op* op, AttrKey<AttrType::Int, Arity::Optional> key, int64_t bytes, int64_t alignment) {
  if (!op->has(key)) return fmt::format("'{}' is missing", key.name);
  int64_t offset = op->required(key);
  int64_t size = kernel_of(op)->attr(attr::Kernel::shared).value_or(0);
  bool fits = offset >= 0 && offset % alignment == 0 && bytes <= size && offset <= size - bytes;
  return fits ? std::string() : no_place(bytes, alignment, offset, size);
}

std::string has_no_place_in_shared(Op* op) {
  if (is_kernel(op)) return op->has(attr::Kernel::shared) ? std::string() : "'shared' is missing";
  if (op->is(info(OpKind::AllocShared)) || op->is(info(OpKind::Barriers))) {
    Type memory = op->result()->type();
    return check_place(op, attr::AllocShared::offset, shared_bytes(memory), shared_alignment(memory));
  }
  if (!op->is(info(OpKind::Reduce)) && !op->is(info(OpKind::Scan))) return {};
  std::optional<int64_t> bytes = exchanged_bytes(op);
  if (!bytes) return op->operand(0)->type()->text + " has no layout";
  return *bytes ? check_place(op, attr::Reduce::shared_offset, *bytes, exchange_alignment) : std::string();
}

/// Whether a difference is in a size: what a kernel knows of it, its interval does not say.
bool subtracts(Dim size) {
  auto of_atom = [](const DimAtom* atom) { return atom->a && (subtracts(atom->a) || subtracts(atom->b)); };
  return std::ranges::any_of(size->terms, [&](const DimTerm& term) {
    return term.coefficient < 0 || std::ranges::any_of(term.factors, of_atom);
  });
}

/// Bytes of a kernel's scratch memory for any sizes; the greatest number where nothing is known.
int64_t least_scratch(Dim scratch) {
  constexpr int64_t unknown = std::numeric_limits<int64_t>::max();
  return subtracts(scratch) ? scratch->constant().value_or(unknown) : interval(scratch).low.value_or(unknown);
}

/// The same of a place in scratch memory whose offset is a number.
std::string check_place_in_scratch(Op* op) {
  std::optional<int64_t> offset = op->required(attr::Alloc::offset)->constant();
  if (!offset) return {};
  Dim scratch = kernel_of(op)->required(attr::Kernel::scratch);
  Type memory = op->result()->type();
  DimTable& dims = op->module()->context().dims();
  Dim needed = dims.mul(dims.constant(byte_size(memory->dtype)), element_count(dims, memory->dims));
  int64_t bytes = std::max<int64_t>(interval(needed).low.value_or(0), 0), size = least_scratch(scratch);
  bool fits = *offset >= 0 && *offset % scratch_alignment == 0 && bytes <= size && *offset <= size - bytes;
  return fits && !needed->overflow ? std::string() : no_place(needed->text, scratch_alignment, *offset, scratch->text);
}

std::string has_no_place_in_scratch(Op* op) {
  if (is_kernel(op)) return op->has(attr::Kernel::scratch) ? std::string() : "'scratch' is missing";
  if (!op->is(info(OpKind::Alloc))) return {};
  return op->has(attr::Alloc::offset) ? check_place_in_scratch(op) : "'offset' is missing";
}

constexpr PropertyInfo properties[] = {
#define PROPERTY(Name, text, ...) {text, __VA_ARGS__},
#include "ir/tile/properties.def"
#undef PROPERTY
};
const LevelProperties level_properties(Level::Tile, properties);

}  // namespace

void verify_kernel_properties(Op* kernel, OpVerifier& verifier) { verify_properties(kernel, verifier); }

}  // namespace tessera::tile

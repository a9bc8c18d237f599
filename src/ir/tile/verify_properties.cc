// How ops contradict the properties of Tile IR.

#include "ir/core/common_attributes.h"
#include "ir/numbers/machine.h"
#include "ir/tile/ops.h"
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

template <OpKind... kinds>
std::string is_left(Op* op) {
  return (op->is(info(kinds)) || ...) ? "none of these may be left" : std::string();
}

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

/// Whether a place in shared memory, of a kernel that states its size, holds that many bytes.
std::string check_place(Op* op, AttrKey<AttrType::Int, Arity::Optional> key, int64_t bytes, int64_t alignment) {
  if (!op->has(key)) return fmt::format("'{}' is missing", key.name);
  int64_t offset = op->required(key);
  Op* kernel = op;
  while (kernel->parent()) kernel = kernel->parent();
  int64_t size = kernel->attr(attr::Kernel::shared).value_or(0);
  bool fits = offset >= 0 && offset % alignment == 0 && bytes <= size && offset <= size - bytes;
  if (fits) return {};
  return fmt::format("{} bytes, aligned to {}, are not at {} of {}", bytes, alignment, offset, size);
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

std::string has_no_place_in_scratch(Op* op) {
  if (is_kernel(op)) return op->has(attr::Kernel::scratch) ? std::string() : "'scratch' is missing";
  bool is_bare = op->is(info(OpKind::Alloc)) && !op->has(attr::Alloc::offset);
  return is_bare ? "'offset' is missing" : std::string();
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

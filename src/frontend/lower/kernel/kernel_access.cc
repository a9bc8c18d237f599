#include "frontend/lower/kernel/kernel_access.h"

#include "ir/schedule/ops.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

std::optional<Access> access_of(Op* op) {
  if (op->is(info(OpKind::Load)))
    return Access{op->in(in::Load::memory), op->ins(in::Load::index), op->result()->type()->dims};
  if (op->is(info(OpKind::Store)))
    return Access{op->in(in::Store::memory), op->ins(in::Store::index), op->in(in::Store::value)->type()->dims};
  if (op->is(info(OpKind::Gather)))
    return Access{op->in(in::Gather::table), {nullptr, op->in(in::Gather::column)}, op->result()->type()->dims};
  if (!op->is(info(OpKind::CopyAsync))) return std::nullopt;
  std::vector<Value*> index = op->ins(in::CopyAsync::index);
  std::vector<Dim> tile = op->in(in::CopyAsync::to)->type()->dims;
  if (tile.size() > index.size()) return std::nullopt;
  std::vector<Value*> last(index.end() - ptrdiff_t(tile.size()), index.end());
  return Access{op->in(in::CopyAsync::from), std::move(last), std::move(tile)};
}

bool depends_on(Value* value, const Value* on, size_t depth) {
  if (value == on) return true;
  for (unsigned i = 0; depth && value && value->def() && i < value->def()->operand_count(); ++i) {
    if (depends_on(value->def()->operand(i), on, depth - 1)) return true;
  }
  return false;
}

std::optional<int64_t> fixed_index(const Value* index) {
  Op* made = index ? index->def() : nullptr;
  if (!made || !made->is(info(OpKind::Constant))) return std::nullopt;
  return made->attr(schedule::attr::Constant::value)->integer;
}

}  // namespace tessera::frontend

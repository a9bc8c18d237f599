// Checks the order of accesses to shared memory, and reports those that are not ordered.

#include <fmt/format.h>

#include "ir/layout/text.h"
#include "ir/tile/eval_run.h"
#include "ir/tile/mma_layouts.h"
#include "support/check.h"

namespace tessera::tile {

namespace {

/// The help text: how to wait for an access of that stream.
std::string_view how_to_wait(Stream stream) {
  switch (stream) {
    case Stream::Plain:
      return "order the two by a barrier or a channel";
    case Stream::Group:
      return "put a tile.copy_wait, and a tile.barrier between warps, before";
    case Stream::Store:
      return "put a tile.store_wait, and a tile.barrier between warps, before";
    case Stream::Mma:
      return "put a tile.mma_wait, and a tile.barrier between warps, before";
    case Stream::Copy:
      return "wait for the barrier or channel that the copy counts at";
  }
  TSR_UNREACHABLE("unknown stream");
}

uint8_t warp_of(const layout::Layout& layout, const layout::Point& point, bool stores) {
  if (stores) return uint8_t(layout.canonical_owner(point).warp);
  std::vector<layout::Owner> owners = layout.owners(point);
  for (const layout::Owner& owner : owners) {
    if (owner.warp != owners[0].warp) return many_warps;
  }
  return uint8_t(owners[0].warp);
}

}  // namespace

AccessMade KernelRun::make_access(Stream stream, uint32_t number, bool write) {
  bool by_engine = stream == Stream::Store || stream == Stream::Copy || (stream == Stream::Mma && !is_by_threads(op_));
  accesses_.push_back({op_, stream, write, by_engine, role_->order.role, number});
  return {uint32_t(accesses_.size() - 1), write, by_engine && options_.async_proxy};
}

AccessMade KernelRun::plain_access(const EvalValue& window, bool write) {
  if (!window.memory || !window.memory->history) return {0, write, false};
  return make_access(Stream::Plain, ++role_->order.own[Stream::Plain], write);
}

void KernelRun::touch(EvalMemory& memory, size_t byte, size_t bytes, const AccessMade& made,
                      uint8_t warp) {
  if (!memory.history) {
    if (memory.written.empty()) return;
    if (!made.write && !memory.written[byte]) fail("it reads an element that was never written");
    for (size_t b = 0; made.write && b < bytes; ++b) memory.written[byte + b] = true;
    return;
  }
  for (size_t b = 0; b < bytes && !failed_; b += memory.history->unit()) {
    auto conflict = memory.history->touch(byte + b, made, warp, role_->order, accesses_);
    if (conflict) report_conflict(*conflict, made);
  }
}

void KernelRun::report_conflict(const Conflict& conflict, const AccessMade& made) {
  if (conflict.kind == Conflict::Unwritten)
    return fail("it reads an element that was never written");
  const MemoryAccess& other = *conflict.other;
  std::string_view name = other.op->name();
  std::vector<DiagnosticNote> notes{
      {other.op->loc(), fmt::format("the {} that {} it", name, other.write ? "writes" : "reads")}};
  if (conflict.kind == Conflict::Unfenced) {
    if (other.write) {
      return fail(fmt::format("it does not see shared memory that {} wrote", name), notes,
                  "put a tile.fence_async between, in the role that writes");
    }
    return fail(fmt::format("it may write shared memory before {} has read it", name), notes,
                "put a tile.fence_async between, in the role that reads");
  }
  fail(fmt::format("it {} shared memory that {} may still {}", made.write ? "writes" : "reads",
                   name, other.write ? "write" : "read"),
       notes, std::string(how_to_wait(other.stream)));
}

/// For each element of a tile the warp that loads it, or stores it; empty where no layout says so.
const std::vector<uint8_t>& KernelRun::warps_of(Type tile, bool stores) {
  auto [known, fresh] = tile_warps_.try_emplace({tile->layout, stores});
  if (!fresh || tile->layout.empty()) return known->second;
  std::optional<layout::Layout> layout = layout::parse_layout(tile->layout);
  TSR_CHECK(layout, "the layout of a tile was not verified");
  for_each_index(sizes(tile->dims), [&](const Position& position, size_t) {
    layout::Point point{};
    for (size_t i = 0; i < position.size(); ++i) point[i] = int32_t(position[i]);
    known->second.push_back(warp_of(*layout, point, stores));
  });
  return known->second;
}

}  // namespace tessera::tile

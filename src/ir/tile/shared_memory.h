#pragma once
// How much shared memory a view takes, and where its elements lie in it.

#include <cstdint>
#include <optional>

#include "ir/core/op.h"
#include "ir/layout/shared_layout.h"

namespace tessera::tile {

/// The layout of a view in shared memory, which the verifier has read; nullopt where it has none.
std::optional<layout::SharedLayout> shared_layout_of(Type view);
/// Whether programs of a cluster can copy a tile in so many parts: rows of the axis that is not contiguous, in whole
/// groups of the 8 that a swizzle permutes alike.
bool is_cut_in(const layout::SharedLayout& layout, int64_t parts);
/// Bytes from an index of the last axis before the layout's to the next one.
int64_t slot_bytes(const layout::SharedLayout& layout);
/// Bytes that a view of constant extents takes.
int64_t shared_bytes(Type view);
/// Bytes that all alloc_shared of a kernel take together.
int64_t allocated_shared_bytes(Op* kernel);
/// What its first byte's address must be a multiple of.
int64_t shared_alignment(Type view);
/// Bytes through which warps exchange what a tile.reduce or tile.scan combines; nullopt without a layout and a plan.
std::optional<int64_t> exchanged_bytes(Op* op);
/// What their address must be a multiple of.
inline constexpr int64_t exchange_alignment = 16;

}  // namespace tessera::tile

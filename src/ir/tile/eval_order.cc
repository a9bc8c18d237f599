#include "ir/tile/eval_order.h"

#include <algorithm>

namespace tessera::tile {

namespace {

bool reaches(const Progress& progress, const MemoryAccess& access) {
  return access.number <= progress[access.stream];
}

/// What the engines do themselves needs no fence.
bool needs_fence(const MemoryAccess& access) { return !access.by_engine; }

bool fence_reaches(const Progress& progress, const MemoryAccess& access) {
  return access.number <= progress.fenced[size_t(access.stream)];
}

}  // namespace

Progress& Knowledge::role(size_t index) {
  if (index >= roles_.size()) roles_.resize(index + 1);
  return roles_[index];
}

void Knowledge::add_copy(uint32_t number) {
  if (number / 64 >= copies_.size()) copies_.resize(number / 64 + 1);
  copies_[number / 64] |= uint64_t(1) << number % 64;
}

bool Knowledge::has_copy(uint32_t number) const {
  return number / 64 < copies_.size() && (copies_[number / 64] >> number % 64 & 1) != 0;
}

void Knowledge::join(const Knowledge& other) {
  if (roles_.size() < other.roles_.size()) roles_.resize(other.roles_.size());
  for (size_t r = 0; r < other.roles_.size(); ++r) {
    Progress& mine = roles_[r];
    const Progress& theirs = other.roles_[r];
    for (size_t s = 0; s < mine.over.size(); ++s)
      mine.over[s] = std::max(mine.over[s], theirs.over[s]);
    for (size_t s = 0; s < mine.fenced.size(); ++s)
      mine.fenced[s] = std::max(mine.fenced[s], theirs.fenced[s]);
  }
  if (copies_.size() < other.copies_.size()) copies_.resize(other.copies_.size());
  for (size_t w = 0; w < other.copies_.size(); ++w) copies_[w] |= other.copies_[w];
}

bool Knowledge::is_over(const MemoryAccess& access) const {
  if (access.stream == Stream::Copy) return has_copy(access.number);
  return access.role < roles_.size() && reaches(roles_[access.role], access);
}

bool Knowledge::is_fenced(const MemoryAccess& access) const {
  return access.role < roles_.size() && fence_reaches(roles_[access.role], access);
}

Knowledge RoleOrder::known_by_all() const {
  Knowledge all = known;
  all.role(role) = own;
  return all;
}

bool RoleOrder::is_over(const MemoryAccess& access, uint8_t other_warp, uint8_t warp) const {
  if (known.is_over(access)) return true;
  bool same_warp = warps == 1 || (warp == other_warp && warp != many_warps);
  bool is_own = access.stream != Stream::Copy && access.role == role;
  return is_own && same_warp && reaches(own, access);
}

bool RoleOrder::is_fenced(const MemoryAccess& access) const {
  return !needs_fence(access) || known.is_fenced(access) ||
         (access.role == role && warps == 1 && fence_reaches(own, access));
}

std::optional<Conflict> AccessHistory::touch(size_t byte, const AccessMade& made, uint8_t warp,
                                             const RoleOrder& role,
                                             const std::vector<MemoryAccess>& all) {
  Place& place = places_[byte / unit_];
  if (place.write == none && !made.write) return Conflict{Conflict::Unwritten, nullptr};
  if (place.write != none && place.write != made.id) {
    const MemoryAccess& before = all[place.write];
    if (!role.is_over(before, place.warp, warp)) return Conflict{Conflict::Unordered, &before};
    if (made.fenced && !role.is_fenced(before)) return Conflict{Conflict::Unfenced, &before};
  }
  if (!made.write) {
    add_read(place, made.id, warp, all);
    return std::nullopt;
  }
  for (uint32_t r = place.reads; r != none; r = reads_[r].next) {
    const MemoryAccess& before = all[reads_[r].access];
    if (!role.is_over(before, reads_[r].warp, warp)) return Conflict{Conflict::Unordered, &before};
    if (made.fenced && !role.is_fenced(before)) return Conflict{Conflict::Unfenced, &before};
  }
  drop_reads(place);
  place.write = made.id;
  place.warp = warp;
  return std::nullopt;
}

/// A read takes the place of an earlier one in its stream: who knows it to be over knows both.
void AccessHistory::add_read(Place& place, uint32_t access, uint8_t warp,
                             const std::vector<MemoryAccess>& all) {
  const MemoryAccess& made = all[access];
  for (uint32_t r = place.reads; r != none; r = reads_[r].next) {
    const MemoryAccess& before = all[reads_[r].access];
    if (before.role != made.role || before.stream != made.stream || reads_[r].warp != warp)
      continue;
    reads_[r].access = access;
    return;
  }
  uint32_t at = free_;
  if (at == none) {
    at = uint32_t(reads_.size());
    reads_.emplace_back();
  } else {
    free_ = reads_[at].next;
  }
  reads_[at] = {access, warp, place.reads};
  place.reads = at;
}

void AccessHistory::drop_reads(Place& place) {
  while (place.reads != none) {
    uint32_t next = reads_[place.reads].next;
    reads_[place.reads].next = free_;
    free_ = place.reads;
    place.reads = next;
  }
}

}  // namespace tessera::tile

#include "runtime/cuda/memory_order.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tessera::runtime::cuda {

namespace {

constexpr size_t bits_of_word = 64;

bool has(const std::vector<uint64_t>& bits, size_t number) {
  size_t word = number / bits_of_word;
  return word < bits.size() && (bits[word] >> (number % bits_of_word) & 1);
}

/// Adds a number, and all of `others`.
void add_all(std::vector<uint64_t>& bits, size_t number, const std::vector<uint64_t>& others) {
  bits.resize(std::max({bits.size(), others.size(), number / bits_of_word + 1}));
  for (size_t i = 0; i < others.size(); ++i) bits[i] |= others[i];
  bits[number / bits_of_word] |= uint64_t(1) << (number % bits_of_word);
}

}  // namespace

void MemoryOrder::cut(uintptr_t at) {
  auto next = pieces_.upper_bound(at);
  if (next == pieces_.begin()) return;
  auto piece = std::prev(next);
  if (piece->first == at || piece->second.end <= at) return;
  Piece rest = piece->second;
  piece->second.end = at;
  pieces_.emplace_hint(next, at, std::move(rest));
}

std::pair<MemoryOrder::Pieces::iterator, MemoryOrder::Pieces::iterator> MemoryOrder::pieces_of(uintptr_t begin,
                                                                                             uintptr_t end) {
  cut(begin);
  cut(end);
  for (uintptr_t at = begin; at < end;) {
    auto piece = pieces_.lower_bound(at);
    if (piece == pieces_.end() || piece->first != at) {
      uintptr_t until = piece == pieces_.end() ? end : std::min(end, piece->first);
      piece = pieces_.emplace_hint(piece, at, Piece{until, {}, {}});
    }
    at = piece->second.end;
  }
  return {pieces_.lower_bound(begin), pieces_.lower_bound(end)};
}

template <typename Do>
void MemoryOrder::for_each_piece(std::span<const MemoryUse> uses, Do work) {
  for (const MemoryUse& use : uses) {
    if (use.bytes == 0) continue;
    auto begin = reinterpret_cast<uintptr_t>(use.at);
    auto [first, last] = pieces_of(begin, begin + use.bytes);
    for (auto piece = first; piece != last; ++piece) work(use, piece->second);
  }
}

std::vector<size_t> MemoryOrder::add(std::span<const MemoryUse> uses) {
  size_t number = before_.size();
  std::set<size_t, std::greater<>> found;
  for_each_piece(uses, [&](const MemoryUse& use, Piece& piece) {
    if (piece.writer) found.insert(*piece.writer);
    if (use.writes) found.insert(piece.readers.begin(), piece.readers.end());
  });
  std::vector<size_t> waits_for;
  Bits before;
  for (size_t other : found) {
    if (has(before, other)) continue;
    waits_for.push_back(other);
    add_all(before, other, before_[other]);
  }
  for_each_piece(uses, [&](const MemoryUse& use, Piece& piece) {
    // Who waits for this one waits for those that it has waited for.
    std::erase_if(piece.readers, [&](size_t reader) { return use.writes || reader == number || has(before, reader); });
    if (use.writes) piece.writer = number;
    if (!use.writes) piece.readers.push_back(number);
  });
  before_.push_back(std::move(before));
  return waits_for;
}

}  // namespace tessera::runtime::cuda

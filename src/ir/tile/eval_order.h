#pragma once
// Which accesses of shared memory are over when another one begins, however the program is timed.
//
// Each role numbers what it does in streams that are each in order: plain accesses, groups of
// copies, store_async, mma. Copies that count at a barrier come one by one. What a role knows to be
// over is then one number for each stream of each role, and a set of copies: a vector clock.
// Waiting for a barrier adds what those knew who arrived. Two accesses of one place are ordered if
// the later role knows the earlier one to be over; that does not depend on which run is being
// watched.
//
// The warps of a role are not in step. A warp knows what it did or waited for itself (`own`); a
// tile.barrier makes that known to all of them (`known`). An access records its warp where layouts
// decide it.
//
// The copy engine and the asynchronous matrix units see plain writes, and copies in groups, after a
// fence, and the copy engine may write before what threads read there is over unless a fence follows
// the reads: streams have a second number, up to which they are fenced.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/tile/ops.h"

namespace tessera::tile {

/// In what order an access stands among those of its role. Copy: in none.
enum class Stream : uint8_t { Plain, Group, Store, Mma, Copy };

/// An access of shared memory by an op.
struct MemoryAccess {
  Op* op;
  Stream stream;
  bool write;
  bool by_engine;  ///< by the copy engine or an asynchronous matrix unit, not by threads
  uint16_t role;
  uint32_t number;  ///< in its stream, from 1; of a Copy: among all copies, from 0
};

/// How far the streams of a role are over, and fenced.
struct Progress {
  std::array<uint32_t, 4> over{};
  std::array<uint32_t, 4> fenced{};

  uint32_t& operator[](Stream stream) { return over[size_t(stream)]; }
  uint32_t operator[](Stream stream) const { return over[size_t(stream)]; }
  void fence() { fenced = over; }
};

/// The set of accesses known to be complete.
class Knowledge {
 public:
  Progress& role(size_t index);
  void add_copy(uint32_t number);
  void join(const Knowledge& other);

  bool has_copy(uint32_t number) const;
  bool is_over(const MemoryAccess& access) const;
  bool is_fenced(const MemoryAccess& access) const;

 private:
  std::vector<Progress> roles_;
  std::vector<uint64_t> copies_;  ///< one bit each
};

/// A warp within a role, or this where it is not one alone or not known which.
inline constexpr uint8_t many_warps = 0xff;

/// The accesses that a role knows to be complete.
struct RoleOrder {
  uint16_t role = 0;
  int64_t warps = 1;
  Knowledge known;  ///< what all its warps know
  Progress own;     ///< how far each warp knows its own streams to be over

  /// All warps reach a tile.barrier.
  void synchronise() { known.role(role) = own; }
  /// The knowledge of all warps together, and that of one of them.
  Knowledge known_by_all() const;
  Knowledge known_by_one() const { return warps == 1 ? known_by_all() : known; }
  /// For an access by `warp` after one by `other_warp`.
  bool is_over(const MemoryAccess& access, uint8_t other_warp, uint8_t warp) const;
  bool is_fenced(const MemoryAccess& access) const;
};

/// An access as it begins.
struct AccessMade {
  uint32_t id;  ///< among all accesses
  bool write;
  bool fenced;  ///< is ordered only behind what is fenced
};

/// Why an access may not be made now.
struct Conflict {
  enum Kind : uint8_t { Unwritten, Unordered, Unfenced } kind;
  const MemoryAccess* other;
};

/// The last accesses of each place of a stretch of shared memory.
class AccessHistory {
 public:
  /// Places of `unit` bytes, which every access is a multiple of.
  AccessHistory(size_t bytes, size_t unit) : unit_(unit), places_((bytes + unit - 1) / unit) {}

  /// Checks an access of a place against those before it, then takes it in.
  std::optional<Conflict> touch(size_t byte, const AccessMade& made, uint8_t warp,
                                const RoleOrder& role, const std::vector<MemoryAccess>& all);
  size_t unit() const { return unit_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Read {
    uint32_t access;
    uint8_t warp;
    uint32_t next;
  };
  struct Place {
    uint32_t write = none;
    uint8_t warp = 0;
    uint32_t reads = none;  ///< a list in reads_
  };

  void add_read(Place& place, uint32_t access, uint8_t warp, const std::vector<MemoryAccess>& all);
  void drop_reads(Place& place);

  size_t unit_;
  std::vector<Place> places_;
  std::vector<Read> reads_;
  uint32_t free_ = none;
};

}  // namespace tessera::tile

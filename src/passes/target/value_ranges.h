#pragma once
// The range of an integer at Target level, from the ops that compute it.

#include <cstdint>

#include "ir/core/op.h"

namespace tessera {

/// All integers from `least` to `most`, both included.
struct ValueRange {
  int64_t least, most;

  bool is_within(int64_t low, int64_t high) const { return low <= least && most <= high; }
};

/// A range that holds every value that an integer scalar may have (interval arithmetic); that of its dtype where no op
/// says more. Of a u64 nothing is known: the range is all of i64.
ValueRange range_of(Value* value);

/// Whether it is from 0 to 2^32 - 1, whatever it is.
bool fits_u32(Value* value);

}  // namespace tessera

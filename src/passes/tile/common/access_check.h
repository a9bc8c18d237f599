#pragma once
// Checks of accesses as scalar arithmetic, and what they write where one fails; shared by the
// lowerings to machines.
//
// A kernel with `checks` has one buffer more than its parameters: the log. Its first u64 counts the
// entries, its second says how many there is room for; entries of 64 bytes start at byte 64. An entry
// has, as i64: the site (the access's number in `checks`), the program's number, the axis of the
// memory, and along that axis the first element, the number of elements, and the extent of the memory.
// The axis is -1 where the element is counted from the start of the parameter. The count goes on when
// there is no room left.

#include <vector>

#include "passes/tile/common/sizes.h"

namespace tessera {

/// A range of a memory: `count` elements from `first` on, along an axis of a memory with `extent` of them. All i64.
struct CheckedRange {
  int64_t axis;
  Value* first;
  Value* count;
  Value* extent;
};

/// The type of a memory, and of the parameter or alloc that it is a window of.
struct AccessedMemory {
  Type type;
  Type root;
};

/// What an access reaches: elements of `tile` below the limits (none: all), from `offsets` on along each axis of the
/// memory; through a window also of what it is a window of.
std::vector<CheckedRange> ranges_of(TargetBuilder& builder, Sizes& sizes, AccessedMemory memory, Type tile,
                                    const std::vector<Value*>& offsets, const std::vector<Value*>& limits);

class AccessCheck {
 public:
  AccessCheck(TargetBuilder& builder, std::vector<CheckedRange> ranges)
      : b_(builder), ranges_(std::move(ranges)) {}

  /// Whether elements of a range lie outside while each range has some; null where surely not.
  Value* violation();
  /// The same where the ranges are accesses of their own.
  Value* any_violation();
  /// Writes an entry about the first range that is violated. Code that only runs then.
  void record(Value* log, Value* site, Value* program);

 private:
  Value* is_outside(const CheckedRange& range);
  Value* is_some(const CheckedRange& range);

  TargetBuilder& b_;
  std::vector<CheckedRange> ranges_;
  std::vector<Value*> outside_;  ///< beside ranges_; null where surely inside
};

}  // namespace tessera

#pragma once
// What a reduction reads, in parts along the axes that it combines.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/core/builder.h"

namespace tessera {

/// Elements of a part of rows, and of everything.
inline constexpr int64_t elements_of_part = 8192;

/// Elements along the reduced axes, taken as one axis: `count` from `start` on, which become axes of these extents.
struct ReducedPart {
  Dim start, count;
  std::vector<Dim> extents;
};

class ReductionParts {
 public:
  /// Ops go to the builder's point.
  ReductionParts(Builder& builder, Op* reduce);

  /// Whether the reduced axes are neighbours, and all that is read can be walked along them as if they were one axis:
  /// values that arithmetic is done on repeat along all of them or none.
  bool is_one_axis() const;
  /// The last of several neighbouring axes that are reduced; null where there are none.
  Dim last_of_several() const { return neighbours_ && reduced_.size() > 1 ? reduced_.back() : nullptr; }
  std::string kind() const;
  /// Extents of the axes before the reduced ones and behind them, and the product of theirs.
  const std::vector<Dim>& rows() const { return rows_; }
  const std::vector<Dim>& columns() const { return columns_; }
  Dim length() const { return length_; }
  /// The number of the first reduced axis.
  int64_t axis() const { return int64_t(rows_.size()); }
  /// Rows, these extents, columns.
  std::vector<Dim> around(const std::vector<Dim>& extents) const;

  /// All whole parts of a length, as axes of parts and of their elements.
  ReducedPart whole(int64_t length) const;
  /// The elements behind these, fewer than one part has, as one axis.
  ReducedPart rest(int64_t length) const;
  /// A part of a value that has the shape of the reduction's operand. Arithmetic on single elements is done again for
  /// it, and numbers along an axis are made again: what is read there through views would have to be memory.
  Value* read(Value* value, const ReducedPart& part);
  /// The reduction of a part along the last of its axes, with the precision of sums.
  Value* reduced(const ReducedPart& part);
  /// Of two results.
  Value* combined(Value* a, Value* b);
  /// Reduces the last axis and then the others, in place of the reduction; gives the second of the two.
  Op* last_axis_first();
  /// Puts a value of as many elements in place of the result.
  void replace(Value* result);

 private:
  using Known = std::map<Value*, Value*>;
  bool walks_as_one(Value* value, std::set<Value*>& seen) const;
  Value* read(Value* value, const ReducedPart& part, Known& known);
  Value* view(Value* value, const ReducedPart& part);
  Value* reduced(Value* value, const std::vector<int64_t>& axes);
  bool is_repeated(Op* op, const Known& known) const;
  Value* numbers(Value* value, const ReducedPart& part);

  Builder& builder_;
  DimTable& table_;
  Op* reduce_;
  std::vector<Dim> rows_, reduced_, columns_;
  bool neighbours_ = false;
  Dim length_ = nullptr;
};

/// Whether an op is the cast of a matmul's result to a smaller dtype, which nothing else reads: it is stored so, and
/// not computed again.
bool is_rounded_matmul(Op* op);

/// The gir.iota whose numbers along an axis a value has, all others repeated; null for other values.
Op* numbers_along(Value* value, size_t axis);

}  // namespace tessera

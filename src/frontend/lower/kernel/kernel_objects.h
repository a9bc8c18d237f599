#pragma once
// Values that exist only while a kernel is built.

#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/value.h"
#include "ir/core/op.h"

namespace tessera::frontend {

/// One axis of a kernel.
struct KernelAxis {
  std::string name;
  Dim extent = nullptr;
  Dim tile = nullptr;  ///< extent of a program's tile: a constant, or the whole extent
  bool grid = false;
  bool blocked = false;               ///< the schedule gives `tile`
  bool single = false;                ///< nothing asks for more than one element of it for each program
  const ast::Expr* source = nullptr;  ///< the expression of the extent
  Value* index = nullptr;             ///< of this program's tile, for a grid axis

  bool is_one_tile() const;
};

/// Whether the first tile has all of the extent.
bool is_one_tile(Dim extent, Dim tile);

/// Whether two axes that are not the same have one extent, by its name, or one tile each of one extent.
bool may_be_one(const KernelAxis& a, const KernelAxis& b);

/// The value of `tile.context(…)`. The axes belong to the builder.
class TileContext : public Object {
 public:
  std::string describe() const override { return "a tile context"; }
};

/// The value of `tile.range(K, t.k)`.
class TileRange : public Object {
 public:
  TileRange(Dim count, Dim extent, Dim step) : count(count), extent(extent), step(step) {}
  std::string describe() const override { return "a range of tiles"; }

  const Dim count;
  const Dim extent;
  const Dim step;
  /// The first index and the one after the last, within 0 .. count; null: 0 and count.
  Value* first = nullptr;
  Value* last = nullptr;
  const KernelAxis* axis = nullptr;  ///< whose tiles it counts, if that was said
  const KernelAxis* steps = nullptr;  ///< of which the source asked the step
  bool of_cache = false;             ///< over the positions of the kernel's KVCache that are there
};

/// A parameter `cache: KVCache`: keys and values so far, of which the first `length` positions are there.
class CacheParameter : public Object {
 public:
  CacheParameter(Datum keys, Datum values, Datum length)
      : keys(std::move(keys)), values(std::move(values)), length(std::move(length)) {}
  std::string describe() const override { return "a KVCache"; }

  const Datum keys;
  const Datum values;
  const Datum length;  ///< a tensor of rank 0
};

enum class SoftmaxPart : uint8_t { Weights, Maximum, Sum };

/// A part of what `tile.softmax_online(s, scale=scale)` gives, before anybody has asked for it.
class OnlineSoftmax : public Object {
 public:
  OnlineSoftmax(Datum scores, Datum scale, SoftmaxPart part, Loc loc, Datum kept = Datum::none(), double factor = 1)
      : scores(std::move(scores)),
        scale(std::move(scale)),
        part(part),
        loc(loc),
        kept(std::move(kept)),
        factor(factor) {}
  std::string describe() const override { return "a part of a softmax"; }

  const Datum scores;
  const Datum scale;  ///< a number, or one of the call
  const SoftmaxPart part;
  const Loc loc;
  const Datum kept;     ///< bools: weights that are times `factor`, the others are 0; none: weights as they are
  const double factor;
};

/// A function parameter of a kernel that has its default, the identity: a place where ops may be
/// folded in.
class KernelHook : public Object {
 public:
  explicit KernelHook(std::string name) : name(std::move(name)) {}
  std::string describe() const override { return "function parameter '" + name + "'"; }

  const std::string name;
};

}  // namespace tessera::frontend

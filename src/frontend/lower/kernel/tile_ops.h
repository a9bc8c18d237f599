#pragma once
// Builds Schedule ops on tiles from operands of the language: tiles, scalars of the IR, numbers and
// sizes. Here are the rules of the kernel language about shapes and dtypes: shapes broadcast as in
// NumPy, a tile has the dtype it says, widening is implicit in source and a sched.cast in the IR,
// narrowing is written.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/values/value.h"
#include "ir/core/builder.h"
#include "ir/numbers/elementwise.h"
#include "ir/schedule/ops.h"

namespace tessera::frontend {

class Evaluator;
struct OperatorPlace;

/// The dims two shapes broadcast to: aligned at the right, extents equal or 1. Nullopt when they do
/// not.
std::optional<std::vector<Dim>> broadcast_dims(std::span<const Dim> a, std::span<const Dim> b);

/// The operator and options of a scan; `kind` as in sched.reduce.
struct ScanOptions {
  std::string_view kind;
  bool exclusive = false;
  bool reverse = false;
  bool total = false;  ///< gives the pair of the scan and the result of all elements
};

class TileOps {
 public:
  TileOps(Evaluator& evaluator, Module& module) : evaluator_(evaluator), builder_(module) {}

  Builder& builder() { return builder_; }

  // Each reports errors of the source and gives poison then.
  Datum elementwise(ElementwiseKind kind, std::span<const Datum> operands, const OperatorPlace& at);
  /// `kind` as in sched.reduce; `axes` as written, None for all.
  Datum reduce(std::string_view kind, const Datum& tile, const Datum& axes, bool keepdims, Loc loc);
  /// `axis` as written.
  Datum scan(const Datum& tile, const Datum& axis, const ScanOptions& options, Loc loc);
  /// An op along one axis, as written, whose result is a tile like the operand.
  Datum along_axis(schedule::OpKind kind, const Datum& tile, const Datum& axis, std::vector<OpAttr> attributes,
                   Loc loc);
  /// Axes as written, None for all: counted from 0, sorted; nullopt when an error was reported.
  std::optional<std::vector<int64_t>> read_axes(const Datum& axes, size_t rank, Loc loc, std::string_view what);
  /// acc + a x b; `acc` may be None.
  Datum dot(const Datum& a, const Datum& b, const Datum& acc, const OperatorPlace& at);
  Datum cast(const Datum& value, DType dtype, Loc loc);
  Datum bitcast(const Datum& value, DType dtype, Loc loc);
  /// `perm` as written; empty reverses the axes.
  Datum transpose(const Datum& tile, std::span<const Datum> perm, Loc loc);
  Datum broadcast(const Datum& tile, const std::vector<Dim>& dims, Loc loc);
  Datum full(const std::vector<Dim>& dims, const Datum& value, DType dtype, Loc loc);
  /// index * extent + 0, 1, 2, …: a tile [extent] of i64.
  Value* coordinates(Dim extent, Value* index, Loc loc);

  /// Integers as i64 tiles of one shape: `dims`, or where that is empty what they broadcast to, which it then is.
  std::optional<std::vector<Value*>> index_tiles(std::span<const Datum> index, std::vector<Dim>& dims, Loc loc);

  // Plain building blocks; operands are known to fit.
  Value* reshape(Value* tile, std::vector<Dim> dims);
  Value* broadcast_to(Value* tile, const std::vector<Dim>& dims);
  Value* convert(Value* value, DType dtype);
  Value* index_constant(int64_t value);
  /// A tile, scalar or size as an i64 index; null when an error was reported.
  Value* index(const Datum& datum, Loc loc, std::string_view what);
  /// The index of a tile of `tile` elements along an axis of `extent`. One that was read from memory, or multiplied by
  /// much, may be any number: those that have no tile become -1 or the number of tiles, so that no place in elements
  /// overflows.
  Value* tile_index(const Datum& datum, Dim extent, Dim tile, Loc loc, std::string_view what);
  /// Whether a number may be so far from 0: as it was read from memory, or for all that sizes and constants say.
  static bool may_reach(const Value* number, double distance);
  /// A handle on a value of the IR.
  Datum handle(Value* value, Loc loc) const;
  /// The value of a tile; null, with a diagnostic, for anything else, which is called `what`.
  Value* expect_tile(const Datum& datum, Loc loc, std::string_view what);

 private:
  /// The one axis of `what`, as written; nullopt when an error was reported.
  std::optional<int64_t> one_axis(const Datum& axis, size_t rank, Loc loc, std::string_view what);
  /// The dtype the operands are promoted to; nullopt when an error was reported. `real`: numbers
  /// alone are promoted to a float.
  std::optional<DType> common_dtype(std::span<const Datum> operands, bool real, const OperatorPlace& at);
  std::optional<std::vector<Dim>> common_dims(std::span<const Datum> operands, const OperatorPlace& at,
                                              std::string_view what);
  bool check_class(ElementwiseKind kind, DType dtype, std::span<const Datum> operands, Loc loc);
  bool check_number(const Datum& number, DType dtype, const OperatorPlace& at);
  /// The operand in `dtype`, as a tile of `dims` or (is_tile false) as a scalar.
  Value* materialise(const Datum& operand, DType dtype, const std::vector<Dim>& dims, bool is_tile);
  Value* materialise_constant(const Datum& number, Type type);

  Evaluator& evaluator_;
  Builder builder_;
};

}  // namespace tessera::frontend

#pragma once
// Builds tile ops with the result type inferred from the operands. Each function inserts one op at
// the builder's point and gives its result. Operands must obey the op's rules (ops.def): a wrong
// one is a bug of the caller.

#include <optional>
#include <string_view>
#include <vector>

#include "ir/core/builder.h"
#include "ir/tile/ops.h"

namespace tessera::tile {

// Scalars.

/// An i64 constant.
Value* index(Builder& builder, int64_t value);
/// The value of a dimension expression; a constant where it is one.
Value* dim(Builder& builder, Dim value);
Value* program_id(Builder& builder, int64_t axis);
/// How many programs of a tile.kernel are a cluster; 1 without clusters.
int64_t programs_of_cluster(Op* kernel);
/// What hardware allows.
inline constexpr int64_t most_programs_of_cluster = 16;
/// The number that an i64 value is known to be.
std::optional<int64_t> known_index(Value* value);
// Arithmetic on i64 values: constants fold, and x + 0, x * 1 and the like give x.
Value* add(Builder& builder, Value* a, Value* b);
Value* sub(Builder& builder, Value* a, Value* b);
Value* mul(Builder& builder, Value* a, Value* b);
Value* min(Builder& builder, Value* a, Value* b);
/// The greatest multiple of k that is not above a.
Value* round_down(Builder& builder, Value* a, int64_t k);

// Tiles.

/// Any elementwise op but a cast.
Value* elementwise(Builder& builder, ElementwiseKind kind, const std::vector<Value*>& operands);
/// `a` itself when it has that dtype.
Value* cast(Builder& builder, Value* a, DType dtype);
/// `value` is a Float, or an Int for integer dtypes.
Value* full(Builder& builder, Type type, Attr value);
/// `a` itself when it has these dims.
Value* broadcast(Builder& builder, Value* a, const std::vector<Dim>& dims);
/// Along `axis`, whose extent becomes 1; of the whole extent.
Value* reduce_keep(Builder& builder, Value* a, std::string_view kind, int64_t axis);
/// `a` below the limits, else `b`.
Value* merge(Builder& builder, Value* a, Value* b, const std::vector<Value*>& limits);
/// [2*R, C] into [R, 2*C].
Value* pair_rows(Builder& builder, Value* a);
/// c + a x b, where `b` has its rows in pairs; `sequential` as in the op's row.
Value* dot_pairs(Builder& builder, Value* a, Value* b, Value* c, bool sequential);
/// The number that changes nothing when a reduction of that kind combines it: 0, 1, the least or
/// greatest.
Attr reduction_identity(Context& context, std::string_view kind, DType dtype);
/// What rows outside the table of a gather, and elements outside the memory of a take, read as.
Attr outside_of(Op* op);
/// The elementwise op that a reduction of that kind repeats.
ElementwiseKind reduction_op(std::string_view kind);

// Memory.

Value* load(Builder& builder, Value* memory, const std::vector<Value*>& offsets,
            const std::vector<Value*>& limits, Type result, Attr fill = nullptr);
void store(Builder& builder, Value* value, Value* memory, const std::vector<Value*>& offsets,
           const std::vector<Value*>& limits);
/// `elements` elements of scratch memory.
Value* alloc(Builder& builder, Dim elements, DType dtype);
/// A window on a parameter or an alloc.
Value* view(Builder& builder, Value* memory, std::vector<Dim> dims, std::vector<Dim> strides,
            Dim offset);

// Loops.

/// A loop with an empty body of one block: arguments are the index and the carried values. The
/// caller fills the body and ends it with `yield`.
Op* for_loop(Builder& builder, Value* lo, Value* hi, Value* step, const std::vector<Value*>& inits,
             int64_t unroll = 1);
void yield(Builder& builder, const std::vector<Value*>& values);

}  // namespace tessera::tile

#pragma once
// IR types, uniqued in a Context: equal types are the same pointer.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim/dim.h"
#include "ir/numbers/dtype.h"

namespace tessera {

enum class TypeKind : uint8_t {
#define TYPE(Name, text) Name,
#include "ir/core/types.def"
#undef TYPE
};

/// Numerics policies of a tensor type. A value is stored in its dtype and computed in `accum`.
struct Policies {
  std::optional<DType> accum;
  bool stochastic_round = false;
  bool saturate = false;
  std::optional<int64_t> loss_scale;

  friend bool operator==(const Policies&, const Policies&) = default;
  bool empty() const { return *this == Policies{}; }
};

/// Where a view's memory is.
enum class MemorySpace : uint8_t { Global, Shared, Register, Scratch };
std::string_view to_string(MemorySpace space);
std::optional<MemorySpace> parse_memory_space(std::string_view text);

struct TypeNode {
  TypeKind kind;
  DType dtype = DType::F32;  ///< of everything but Ptr
  Policies policies;         ///< Tensor
  std::vector<Dim> dims;     ///< Tensor, View, Tile
  std::vector<Dim> strides;  ///< View, in elements
  Dim offset = nullptr;      ///< View, in elements
  MemorySpace space = MemorySpace::Global;  ///< View, Ptr
  int64_t lanes = 0;                        ///< Reg
  /// Tile: where its elements lie among threads and registers; View: how its last axes lie in shared memory. The
  /// text of a layout (src/ir/layout), interned and in its one form; empty where none is chosen.
  std::string_view layout;
  std::string text;

  size_t rank() const { return dims.size(); }
  bool is(TypeKind k) const { return kind == k; }
};
using Type = const TypeNode*;

/// True if both have the same dims in the same order.
bool same_dims(Type a, Type b);

}  // namespace tessera

#pragma once
// Keys of the attributes that are not those of one row: common::Kernel::assume.

#include <span>

#include "ir/core/op.h"

namespace tessera::common {

#define ATTR(name, type) static constexpr AttrKey<AttrType::type, Arity::One> name{#name};
#define ATTR_OPT(name, type) static constexpr AttrKey<AttrType::type, Arity::Optional> name{#name};
#define COMMON(Group, attributes) \
  struct Group {                  \
    attributes                    \
  };
#include "ir/core/common_attributes.def"
#undef COMMON
#undef ATTR
#undef ATTR_OPT

struct Row {
  std::string_view group;
  std::string_view name;
  AttrType type;
};
std::span<const Row> rows();

/// Whether the op takes a tile's elements along its `axis` together: reductions, scans, sorts. In Tile IR the last
/// operand slot of such an op is the limit of the axis.
inline bool is_along_axis(const Op* op) { return op->info().has(Exchanges) && op->has(Along::axis); }

}  // namespace tessera::common
